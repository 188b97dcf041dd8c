# Rerankers: pairs with a label, groups of a query with its documents; metrics of the documents of each query; the run is a folder
# of a cross-encoder, whose scores are probabilities.
python3 - <<'END'
import csv, json, os
texts = [row["text"] for row in csv.DictReader(open(os.environ["DATA"] + "/train.csv"))][:24]
def table(name, header, rows):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
rows = [(texts[q], texts[(q * 5 + d) % 24], int(d == 0)) for q in range(6) for d in range(4)]
table("pairs.csv", ["query", "document", "label"], rows)
table("grades.csv", ["query", "passage", "score"], [(q, d, 3 * y) for q, d, y in rows])
table("unlabelled.csv", ["query", "document"], [row[:2] for row in rows])
table("words.csv", ["query", "document", "label"], [(q, d, "yes") for q, d, _ in rows])
with open("groups.jsonl", "w") as file:
    for q in range(6):
        file.write(json.dumps({"query": texts[q], "positive": texts[q * 5 % 24], "negatives": texts[q + 1:q + 2 + q % 3]}) + "\n")
END
train() { $BRIM train --model $MODEL --task rerank --output run --overwrite --max-steps 2 --batch-size 8 "$@" 2>&1 | grep -v "^train\|tokens/s\|memory\|tensors\|is new\|are new"; }
train --train pairs.csv --eval pairs.csv
ls run && cat run/config_sentence_transformers.json
python3 -c '
import json
config = json.load(open("run/config.json"))
print(config["architectures"], config["id2label"], config["sentence_transformers"])'
$BRIM predict --model run pairs.csv --quiet | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(len(rows), all(row["scores"] == [row["label"]] and 0 < row["label"] < 1 for row in rows))'
$BRIM evaluate --model run pairs.csv --quiet --json | python3 -c 'import json, sys; print(sorted(json.load(sys.stdin)))'
train --train grades.csv
train --train pairs.csv --positive-weight 3 --loss bce
train --train groups.jsonl --eval groups.jsonl
train --train groups.jsonl --loss bce
echo "--- refused"
train --train unlabelled.csv
train --train words.csv
train --train grades.csv --loss bce
train --train pairs.csv --loss in-group
train --train pairs.csv --loss triplet
train --train groups.jsonl --loss in-group --positive-weight 2
$BRIM train --model $MODEL --train groups.jsonl --task rerank --columns query,positive --output no
