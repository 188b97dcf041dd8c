# A row's documents have a score each, in their order: those of the same rows, one document a line.
python3 - <<'E'
import json
lists = [["good", "", "bad film"], ["", "some", ""], ["", ""], ["good", " ", "", "plot"], [""], ["bad film", "good"]]
def write(name, rows):
    open(name, "w").writelines(json.dumps(row) + "\n" for row in rows)
write("lists.jsonl", [{"query": f"film {i}", "documents": documents} for i, documents in enumerate(lists)])
write("groups.jsonl", [{"query": f"film {i}", "positive": documents[0], "negatives": documents[1:]} for i, documents in enumerate(lists)])
write("pairs.jsonl", [{"query": f"film {i}", "document": one} for i, documents in enumerate(lists) for one in documents])
write("train.jsonl", [{"query": f"film {i}", "documents": documents, "scores": [1 / (k + 1) for k in range(len(documents))]} for i, documents in enumerate(lists)])
write("null.jsonl", [{"query": "film", "documents": ["good", "bad"]}, {"query": "film", "documents": ["good", None, "bad"]}])
write("alone.jsonl", [{"query": "film", "document": "good"}, {"query": "film", "document": None}])
E
"$BRIM" train -q -m "$MODEL" --task rerank --train train.jsonl --eval train.jsonl --loss mse --max-steps 2 --lr 1e-2 -o run > out
predict() { "$BRIM" predict -q -m run "$@"; }
predict lists.jsonl > lists.out && predict --unbuffered lists.jsonl > unbuffered.out && predict groups.jsonl > groups.out && predict pairs.jsonl > pairs.out
python3 - <<'E'
import json
lists, unbuffered, groups, pairs = ([json.loads(line) for line in open(f"{name}.out")] for name in ("lists", "unbuffered", "groups", "pairs"))
counts = [len(json.loads(line)["documents"]) for line in open("lists.jsonl")]
alone = [row["label"] for row in pairs]
for name, rows in (("lists", lists), ("unbuffered", unbuffered), ("groups", groups)):
    found = [row["scores"] for row in rows]
    print(name, [len(scores) for scores in found] == counts, max((abs(a - b) for a, b in zip(sum(found, []), alone)), default=1) < 1e-5)
E
echo "--- of each its own scores, in training and evaluation"
python3 - <<'E'
import json
rows = [json.loads(line) for line in open("train.jsonl")]
with open("each.jsonl", "w") as file:
    file.writelines(json.dumps({"query": row["query"], "document": d, "label": s}) + "\n" for row in rows for d, s in zip(row["documents"], row["scores"]))
E
metric() { "$BRIM" evaluate -q -m run --json "$1"; }
metric train.jsonl > lists.json && metric each.jsonl > each.json && python3 -c '
import json
lists, each = (json.load(open(name)) for name in ("lists.json", "each.json"))
print(all(abs(lists[name] - each[name]) < 1e-6 for name in ("ndcg", "mrr", "map")))'
echo "--- null is no text"
predict null.jsonl
predict alone.jsonl
predict null.jsonl --min-chars 1 | cut -c1-20
echo "--- columns"
printf 'query,positive,negative_1,negative_2\nfilm,good,bad,\nfilm,good,,\nfilm,,bad,plot\n' > ends.csv && predict ends.csv | sed 's/.*"ranks"/"ranks"/; s/.*"label".*/one/'
printf 'query,positive,negative_1,negative_2\nfilm,good,bad,plot\nfilm,good,,plot\n' > gaps.csv
predict gaps.csv
predict --unbuffered gaps.csv | wc -l
"$BRIM" train -q -m "$MODEL" --task rerank --train gaps.csv --max-steps 1 -o gaps | tail -1
