# Per-class numbers and the matrix, as a table and as JSON; they agree with the predictions.
$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-steps 3 --lr 1e-3 --quiet >/dev/null
$BRIM evaluate --model run $DATA/test.csv --quiet | sed 's/[0-9]\.[0-9]*/X/g'
$BRIM evaluate --model run $DATA/test.csv --quiet --json >metrics.json
$BRIM predict --model run $DATA/test.csv --quiet >predictions.jsonl
python3 - <<'END'
import csv, json, os
truth = [int(row["label"]) for row in csv.DictReader(open(os.environ["DATA"] + "/test.csv"))]
guess = [json.loads(line)["label"] for line in open("predictions.jsonl")]
metrics = json.load(open("metrics.json"))
matrix = [[sum(t == i and g == k for t, g in zip(truth, guess)) for k in range(2)] for i in range(2)]
assert metrics["confusion"] == matrix, (metrics, matrix)
for c, told in enumerate(metrics["classes"]):
    assert told["rows"] == sum(matrix[c]) and told["predicted"] == matrix[0][c] + matrix[1][c], told
    recall = matrix[c][c] / told["rows"]
    assert abs(told["recall"] - recall) < 1e-12, told
print(sorted(metrics), [c["name"] for c in metrics["classes"]])
END
