# Every row is held out once; its prediction is that of the fold's own model, and a set besides gets the mean of all.
train="$BRIM train --model $MODEL --train $DATA/train.csv --folds 3 --epochs 2 --lr 1e-3 --test $DATA/test.txt --quiet"
$train --eval dev=$DATA/test.csv --output run --json >result
cmp result run/folds.json
ls run run/fold-1
python3 - <<'END'
import csv, json
folds = list(csv.DictReader(open("run/folds.csv")))
print([sum(row["fold"] == str(f) for row in folds) for f in range(3)], [row["row"] for row in folds] == [str(i) for i in range(96)])
result = json.load(open("run/folds.json"))
print(sorted(result), result["out_of_fold"]["rows"], [f["valid_rows"] for f in result["folds"]])
mean = sum(f["valid"]["loss"] for f in result["folds"]) / 3
assert abs(result["mean"]["loss"] - mean) < 1e-12 and abs(result["out_of_fold"]["metrics"]["loss"] - mean) < 1e-12
rows = [json.loads(line) for line in open("run/predictions.jsonl")]
print([row["index"] for row in rows] == list(range(96)), sorted(rows[0]))
print([a["name"] for a in result["averages"]], result["averages"][1]["metrics"])
print(open("run/predictions-dev.jsonl").read() == open("run/predictions-test.jsonl").read())
print([json.loads(line)["event"] for line in open("run/log.jsonl")])
END
# The averages are those of the folds' models.
for fold in 0 1 2; do $BRIM predict --model run/fold-$fold $DATA/test.txt --quiet -o fold-$fold.jsonl; done
python3 - <<'END'
import json
lines = [[json.loads(line)["scores"] for line in open(name)] for name in ["run/predictions-test.jsonl"] + [f"fold-{f}.jsonl" for f in range(3)]]
print(max(abs(mean[0] - (a[0] + b[0] + c[0]) / 3) for mean, a, b, c in zip(*lines)) < 1e-6)
END
# Going on behind the end changes nothing.
cp -r run before
$train --eval dev=$DATA/test.csv --output run --resume >/dev/null && for file in folds.csv predictions.jsonl predictions-dev.jsonl fold-2/model.safetensors; do cmp run/$file before/$file; done
# Another run in its place leaves nothing of it.
$BRIM train --model $MODEL --train $DATA/train.csv --folds 2 --stratify --max-steps 1 --overwrite --output run --quiet | tail -n 1
ls run
