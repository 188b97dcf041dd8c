# Labels as a|b and as JSON lists give the same run; predictions name the labels that are more likely than not.
python3 - <<'END'
import csv, json, os
rows = list(csv.DictReader(open(os.environ["DATA"] + "/train.csv")))
many = [(row["text"], ["film"] * ("film" in row["text"]) + ["good"] * (row["label"] == "1")) for row in rows]
with open("many.csv", "w") as table, open("many.jsonl", "w") as lines:
    table.write("text,label\n")
    for text, labels in many:
        table.write(f"{text},{'|'.join(labels)}\n")
        lines.write(json.dumps({"text": text, "label": labels}) + "\n")
END
for data in many.csv many.jsonl; do
  $BRIM train --model $MODEL --train $data --eval $data --output $data.run --epochs 1 --lr 1e-3 --task multi-label --quiet \
    --class-weights balanced --best-metric f1_micro >/dev/null || echo failed
done
cmp many.csv.run/model.safetensors many.jsonl.run/model.safetensors
python3 -c '
import json
config = json.load(open("many.csv.run/config.json"))
print(config["problem_type"], config["id2label"])'
$BRIM evaluate --model many.csv.run many.jsonl --quiet --json | python3 -c 'import json,sys; print(sorted(json.load(sys.stdin)))'
$BRIM predict --model many.csv.run many.csv --quiet | python3 -c '
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    assert row["label"] == [name for name, score in zip(["film", "good"], row["scores"]) if score > 0.5], row
    assert all(0 < score < 1 for score in row["scores"])
print("labels are the scores above one half")'
$BRIM train --model $MODEL --train many.csv --output no --task multi-label --label-smoothing 0.1
echo $?
$BRIM train --model $MODEL --train many.csv --output no --task multi-label --class-weights goood=2
echo $?
$BRIM evaluate --model many.csv.run $DATA/test.csv
echo $?
ls
