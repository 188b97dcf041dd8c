# Averages over the folds' models, for several labels a row and for values: the mean of the probabilities, and of the values.
python3 - <<'END'
import json, os, random
draw = random.Random(5)
lines = [json.loads(line)["text"] for line in open(os.environ["DATA"] + "/train.jsonl")]
with open("many.jsonl", "w") as file:
    for text in lines:
        file.write(json.dumps({"text": text, "label": [name for name in ("a", "b", "c") if draw.random() < 0.5]}) + "\n")
END
check() {
  $BRIM train --model $MODEL --train $1 --folds 2 --max-steps 6 --lr 1e-3 --eval $1 --output $2 --quiet >/dev/null || exit 1
  for fold in 0 1; do $BRIM predict --model $2/fold-$fold $1 --quiet -o fold-$fold.jsonl; done
  python3 - $2 <<'END'
import json, sys
names = [sys.argv[1] + "/predictions-eval.jsonl", "fold-0.jsonl", "fold-1.jsonl", sys.argv[1] + "/predictions.jsonl"]
mean, first, second, held_out = ([json.loads(line)["scores"] for line in open(name)] for name in names)
apart = max(abs(m - (a + b) / 2) for rows in zip(mean, first, second) for m, a, b in zip(*rows))
fold = [int(line.split(",")[1]) for line in open(sys.argv[1] + "/folds.csv").readlines()[1:]]
own = max(abs(h - (first, second)[f][row][0]) for row, (f, (h, *_)) in enumerate(zip(fold, held_out)))
result = json.load(open(sys.argv[1] + "/folds.json"))
print(len(mean), len(mean[0]), apart < 1e-6, own < 1e-6, sorted(result["averages"][0]["metrics"]))
END
}
check many.jsonl many
check $DATA/train.tsv values
$BRIM train --model $MODEL --train many.jsonl --folds 2 --stratify --output refused --quiet
grep -q 'many/fold-1' many/report.html && echo 'a page of all folds'
$BRIM report many -o page.html
test -e page.html || echo 'and no page of its own'
# Vectors of texts are measured without labels, and by scores where there are: sets beside the folds too.
printf 'anchor,positive\ngood film,fine plot\nbad film,dull plot\nwarm story,kind scene\ncold scene,weak actor\n' >pairs.csv
printf 'sentence1,sentence2,score\ngood film,fine plot,0.9\nbad film,fine plot,0.1\nwarm film,bad plot,0.4\n' >scores.csv
$BRIM train --model $MODEL --task embedding --train pairs.csv --eval pairs=pairs.csv --test scores=scores.csv --folds 2 --max-steps 1 --output vectors --quiet --json |
  python3 -c 'import json, sys; print([(a["name"], sorted(k for k, v in a["metrics"].items() if v is not None)) for a in json.load(sys.stdin)["averages"]])'
