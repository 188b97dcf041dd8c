# Rows of a reranker have a score for each document, however many those are; what is wrong with a row names it.
python3 - <<'END'
import csv, json, os
texts = [row["text"] for row in csv.DictReader(open(os.environ["DATA"] + "/train.csv"))][:12]
def lines(name, rows):
    with open(name, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
lists = [{"query": texts[i], "documents": texts[i + 1:i + 3 + i % 3], "scores": [1.0, 0.5, 0.25, 0.0][:2 + i % 3]} for i in range(6)]
lines("lists.jsonl", lists)
lines("short.jsonl", [*lists[:2], {**lists[2], "scores": [1.0, 0.5]}])
lines("long.jsonl", [*lists[:2], {**lists[0], "scores": [1.0, 0.5, 0.25]}])
lines("none.jsonl", [*lists[:2], {**lists[0], "scores": []}])
with open("groups.csv", "w", newline="") as file:
    csv.writer(file).writerows([["query", "positive", "negative"], *([texts[i], texts[i + 1], texts[i + 2] if i != 3 else ""] for i in range(6))])
with open("folds.csv", "w", newline="") as file:
    csv.writer(file).writerows([["text", "label", "fold"], *([text if i != 4 else "", "ab"[i % 2], 1 + i % 3] for i, text in enumerate(texts))])
END
train() { $BRIM train --model $MODEL --output run --overwrite --max-steps 2 --batch-size 8 "$@" 2>&1 | grep -v "^train\|tokens/s\|memory\|tensors\|is new\|are new\|best eval\|^the model\|epoch [0-9]\|step [0-9]*, "; }
train --task rerank --train lists.jsonl --eval lists.jsonl --loss list-net
$BRIM evaluate --model run lists.jsonl --json --quiet | grep -o '"rows":6'
train --task rerank --train lists.jsonl --loss margin-mse
for rows in short long none; do
  train --task rerank --train $rows.jsonl --loss list-net
done
train --task rerank --train groups.csv
echo "--- folds, empty texts"
train --train folds.csv --fold-column fold
train --train folds.csv
