# Words with a label each: training with evaluation, resuming, folds, predictions and evaluations that agree with each other.
cat > words.py <<'END'
import json, random, sys
draw = random.Random(5)
GOOD, BAD = "good great fine".split(), "bad poor dull slow".split()
OTHER = "the film was a story and not so plot".split()

def row():
    words, tags = [], []
    for _ in range(draw.randint(2, 6)):
        kind = draw.choice([None, None, "GOOD", "BAD"])
        for i in range(draw.randint(1, 2)):
            words.append(draw.choice(OTHER if not kind else GOOD if kind == "GOOD" else BAD))
            tags.append("O" if not kind else ("I-" if i else "B-") + kind)
    return words, tags

for name, count in (("train", 90), ("eval", 30)):
    rows = [row() for _ in range(count)]
    with open(name + ".jsonl", "w") as lines, open(name + ".conll", "w") as sentences:
        sentences.write("-DOCSTART- O\n\n")
        for words, tags in rows:
            lines.write(json.dumps({"tokens": words, "ner_tags": tags}) + "\n")
            sentences.write("".join(f"{w} {t}\n" for w, t in zip(words, tags)) + "\n")
END
cat > check.py <<'END'
"""The metrics of `brim evaluate --json` from the lines of `brim predict`: check.py DATA PREDICTIONS METRICS"""
import json, sys
data, got = ([json.loads(line) for line in open(name)] for name in sys.argv[1:3])
metrics = json.load(open(sys.argv[3]))
assert [g["tokens"] for g in got] == [d["tokens"] for d in data] and [g["index"] for g in got] == list(range(len(data)))
assert all(len(g["labels"]) == len(g["scores"]) == len(g["tokens"]) and all(0 < s <= 1 for s in g["scores"]) for g in got)

def entities(tags):
    found, start = set(), None
    for i, tag in enumerate(tags + ["O"]):
        goes_on = start is not None and tag == "I-" + tags[start][2:]
        if start is not None and not goes_on:
            found.add((start, i, tags[start][2:])); start = None
        if tag != "O" and not goes_on:
            start = i
    return found

pairs = [(t, p) for d, g in zip(data, got) for t, p in zip(d["ner_tags"], g["labels"])]
truth, guess = ([entities(tags) for tags in rows] for rows in ([d["ner_tags"] for d in data], [g["labels"] for g in got]))
hit, n, m = sum(len(a & b) for a, b in zip(truth, guess)), sum(map(len, truth)), sum(map(len, guess))
expected = {"rows": len(data), "labelled": len(pairs), "accuracy": sum(t == p for t, p in pairs) / len(pairs),
            "entity_precision": hit / m, "entity_recall": hit / n, "entity_f1": 2 * hit / (n + m)}
for name, value in expected.items():
    assert abs(metrics[name] - value) < 1e-12, (name, metrics[name], value)
for one in metrics["classes"]:
    assert one["rows"] == sum(t == one["name"] for t, _ in pairs) and one["predicted"] == sum(p == one["name"] for _, p in pairs)
print("the metrics are those of the predictions")
END
cat > near.py <<'END'
"""Predictions that differ by no more than FAR: near.py FAR ONE OTHER"""
import json, sys
one, other = ([json.loads(line) for line in open(name)] for name in sys.argv[2:4])
far = max(abs(a - b) for x, y in zip(one, other) for a, b in zip(x["scores"], y["scores"]))
print("near" if len(one) == len(other) and far < float(sys.argv[1]) else f"{far} apart")
END
python3 words.py
train="$BRIM train -q -m $MODEL --task tokens --train train.jsonl --eval eval.jsonl --epochs 6 --lr 4e-3 --batch-size 16"
$train -o run | sed 's/ in .*//' | head -n 1
"$BRIM" predict -q -m run eval.jsonl -o a.jsonl && "$BRIM" evaluate -q -m run eval.jsonl --json > a.json
python3 check.py eval.jsonl a.jsonl a.json
"$BRIM" evaluate -q -m run eval.conll --json > b.json && python3 -c "
import json; a, b = json.load(open('a.json')), json.load(open('b.json')); a.pop('seconds'), b.pop('seconds'); print('conll:', a == b)"
python3 -c "
import json; last = [e for e in map(json.loads, open('run/log.jsonl')) if e['event'] == 'eval'][-1]; a = json.load(open('a.json'))
print('as in the log:', all(abs(a[k] - last[k]) < 1e-5 for k in ('loss', 'accuracy', 'f1_micro', 'f1_macro', 'entity_f1')))"
echo "--- the same weights from conll, by several threads, and after an interruption"
hash() { cksum < "$1/model.safetensors" | cut -d' ' -f1; }
$BRIM train -q -m $MODEL --task tokens --train train.conll --eval eval.conll --epochs 6 --lr 4e-3 -j 2 -o conll > out
$train --epochs 2 -o half --schedule constant > out && $train --schedule constant -o half --resume > out && $train --schedule constant -o whole > out
test "$(hash run)" = "$(hash conll)" && test "$(hash half)" = "$(hash whole)" && echo same
echo "--- streamed: the same weights, with weights of classes too, and after an interruption with rows that wait"
stream="$BRIM train -q -m $MODEL --task tokens --train train.conll --batching sequential --lr 4e-3 --batch-size 16 --max-tokens 40 --epochs 2"
for weights in "" "--class-weights balanced"; do
  $stream $weights -o memory --overwrite > out && $stream $weights --stream --eval eval.jsonl -o streamed --overwrite > out
  test "$(hash memory)" = "$(hash streamed)" && echo same
done
packed="$BRIM train -q -m $MODEL --task tokens --train train.conll --stream --batching packed --max-tokens 50 --shuffle-window 13 --schedule constant"
$packed --max-steps 9 -o at-once > out && $packed --max-steps 4 -o later > out && grep -c '"waiting":\[{' later/checkpoints/step-4/feed.json
$packed --max-steps 9 --resume -o later > out && test "$(hash at-once)" = "$(hash later)" && echo same
echo "--- kept on disk: made, then used"
for how in made used; do
  $BRIM train -m $MODEL --task tokens --train train.conll --batching sequential --lr 4e-3 --batch-size 16 --epochs 2 --max-tokens 40 --cache kept -o kept-$how 2>&1 | grep -ao "90 rows from the cache"
  $stream -o memory --overwrite > out; test "$(hash memory)" = "$(hash kept-$how)" && echo same
done
echo "--- padded, in parts, in bf16, by bytes"
$train --padding longest --max-tokens 40 -o parts > out && "$BRIM" predict -q -m parts eval.jsonl -o b.jsonl && python3 near.py 0.01 a.jsonl b.jsonl
"$BRIM" predict -q -m run eval.jsonl --padding max_length --max-length 40 --batch-size 7 -o b.jsonl && python3 near.py 1e-5 a.jsonl b.jsonl
"$BRIM" predict -q -m run eval.jsonl --precision bf16 -o b.jsonl && python3 near.py 0.05 a.jsonl b.jsonl
"$BRIM" predict -q -m run eval.jsonl --precision int8 -o b.jsonl && python3 near.py 0.05 a.jsonl b.jsonl
$train --precision bf16 --best-metric entity_f1 --class-weights balanced --label-smoothing 0.1 -o bf16 | tail -n 1
echo "--- folds"
$BRIM train -q -m $MODEL --task tokens --train train.jsonl --test eval.jsonl --epochs 6 --lr 4e-3 --folds 3 -o folds > out
"$BRIM" evaluate -q -m run train.jsonl --json > c.json
python3 - <<'END'
import json
data, got = ([json.loads(line) for line in open(name)] for name in ("train.jsonl", "folds/predictions.jsonl"))
right = [t == p for d, g in zip(data, got) for t, p in zip(d["ner_tags"], g["labels"])]
whole = json.load(open("folds/folds.json"))["out_of_fold"]["metrics"]
print([g["tokens"] for g in got] == [d["tokens"] for d in data], abs(sum(right) / len(right) - whole["accuracy"]) < 1e-12)
print(len(open("folds/predictions-test.jsonl").readlines()))
END
$BRIM train -q -m $MODEL --task tokens --train train.jsonl --max-steps 1 --folds 3 --stratify -o even > out
python3 -c 'import json; print([fold["valid_rows"] for fold in json.load(open("even/folds.json"))["folds"]])'
echo "--- before training"
for format in jsonl conll; do
  "$BRIM" analyze -q -t $MODEL --task tokens --folds 3 --stratify train.$format | grep -a -E ' rows, |^ +[0-2]  +60 +30 '
  "$BRIM" plan -q -t $MODEL --task tokens -b 8 train.$format | tail -n 1
  "$BRIM" tokenize -q -t $MODEL --task tokens train.$format | python3 -c 'import json, sys; print(sum(len(json.loads(line)["ids"]) for line in sys.stdin))'
done
"$BRIM" tokenize -q -t $MODEL train.conll
echo "--- texts, and a model that labels tokens continues without --task"
echo "the film was great" | "$BRIM" predict -q -m run - | sed 's/,"scores.*//'
printf 'text\n"a bad plot"\n""\n' > t.csv && "$BRIM" predict -q -m run t.csv | sed 's/,"scores.*//'
"$BRIM" train -m run --train train.jsonl --max-steps 1 -o more 2>&1 | grep -a 'task:'
echo "--- refused"
"$BRIM" predict -q -m run eval.jsonl --max-length 3 | head -n 1 | sed 's/.*"labels"/"labels"/; s/,"scores.*//'
printf '{"tokens":["a"],"tags":["B-UGLY"]}\n' > wrong.jsonl && "$BRIM" evaluate -q -m run wrong.jsonl
printf '{"tokens":["a"],"tags":[12]}\n' > wrong.jsonl && "$BRIM" evaluate -q -m run wrong.jsonl
printf '{"tokens":["a"]}\n' > wrong.jsonl && "$BRIM" evaluate -q -m run wrong.jsonl
$BRIM train -q -m $MODEL --train train.conll -o no
$BRIM train -q -m $MODEL --train train.jsonl -o no
$BRIM train -q -m $MODEL --task tokens --train train.jsonl --max-length 2 -o no
echo "--- row by row"
echo "the film was great" | "$BRIM" predict -q -m run - --unbuffered | sed 's/,"scores.*//'
echo "--- a word on each row"
for word in a film plot; do echo "{\"tokens\":[\"$word\"],\"tags\":[\"X\"]}"; done > words.jsonl
for task in train evaluate; do [ $task = train ] && set -- --task tokens -m $MODEL --max-steps 1 -o rows --train || set -- -m rows; $BRIM $task "$@" words.jsonl 2>&1 | grep -a "one word"; done
echo '{"tokens":["a","film"],"tags":["X","X"]}' >> words.jsonl && $BRIM evaluate -m rows words.jsonl 2>&1 | grep -a "one word" || echo "a sentence among them"
