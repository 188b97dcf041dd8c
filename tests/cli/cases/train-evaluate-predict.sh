$BRIM train --model $MODEL --train $DATA/train.jsonl --eval dev=$DATA/test.jsonl --output run --epochs 2 --lr 1e-2 --quiet --json |
  python3 -c 'import json,sys; r = json.load(sys.stdin); print(r["steps"], r["rows"], r["best_metric"] is not None, r["output"])'
ls run
$BRIM evaluate --model run $DATA/test.jsonl --quiet --json | python3 -c 'import json,sys; print(sorted(json.load(sys.stdin)))'
cut -d, -f1 $DATA/test.csv | $BRIM predict --model run --format csv - -o p.jsonl --quiet
python3 - <<'END'
import json
rows = [json.loads(line) for line in open("p.jsonl")]
assert [row["index"] for row in rows] == list(range(24))
assert all(row["label"] in ("neg", "pos") and abs(sum(row["scores"]) - 1) < 1e-6 for row in rows)
assert all(row["label"] == ("neg", "pos")[row["scores"].index(max(row["scores"]))] for row in rows)
print("predictions are in order")
END
