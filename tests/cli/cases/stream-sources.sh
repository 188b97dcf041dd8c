# Sources with weights, standard input, damage: what they do and what they refuse.
$BRIM shard $DATA/train.csv --records 9 -o a --quiet
$BRIM shard $DATA/test.csv --records 9 --format zst -o b --quiet
options="-t $MODEL --stream --shuffle-window 20 --batch-size 8 --max-length 32 --quiet"
$BRIM plan a b $options --weight 3 --weight 1 --jsonl -o mixed.jsonl
python3 - <<'END'
import json
*batches, last = map(json.loads, open("mixed.jsonl"))
rows = [tuple(row) for batch in batches for row in batch["rows"]]
assert len(set(rows)) == len(rows) == last["summary"]["read"]
first = [file for file, record in rows[:48]]
split = next(i for i, name in enumerate(last["summary"]["files"]) if name.startswith("b/"))
print("every row once;", "more of a than of b at first" if sum(file < split for file in first) > 24 else first)
END
cat $DATA/train.txt | $BRIM plan - $options --jsonl -o piped.jsonl && $BRIM plan $DATA/train.txt $options --jsonl -o file.jsonl
python3 -c 'import json; one, two = ([json.loads(line) for line in open(n)] for n in ("piped.jsonl", "file.jsonl")); print(one[:-1] == two[:-1], one[-1]["summary"]["hash"] == two[-1]["summary"]["hash"])'
$BRIM train --model $MODEL --train a --train b --weight 3 --weight 1 --repeat --stream --shuffle-window 30 --max-steps 9 --output run --quiet --json |
  python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["steps"], r["rows"])'
cat $DATA/train.csv | $BRIM train --model $MODEL --train - --format csv --labels 0 --labels 1 --stream --max-steps 3 --output piped --quiet --json |
  python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["steps"], r["rows"])'
head -c 100 a/shard-000002.csv.gz > cut && mv cut a/shard-000002.csv.gz
$BRIM plan a $options
$BRIM plan a -t $MODEL --stream --batch-size 8 --skip-damaged --jsonl -o skipped.jsonl
tail -n 1 skipped.jsonl | python3 -c 'import json, sys; s = json.load(sys.stdin)["summary"]; print(s["damaged"], s["read"] == s["rows"] + s["damaged"])'
$BRIM plan a b $options --weight 3
$BRIM plan a b $options --weight 3 --weight nothing
$BRIM train --model $MODEL --train - --format csv --stream --max-steps 3 --output none --quiet </dev/null
$BRIM plan b b $options
