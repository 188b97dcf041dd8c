# Rows of a reranker that all folds predict: all of them, with labels or without, and what is not labelled is not measured.
python3 - <<'END'
import json
def lines(name, rows):
    with open(name, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
words = "film plot actor story good bad great dull".split()
text = lambda i: " ".join(words[(i * k) % 8] for k in (1, 3, 5))
rows = [{"query": text(i % 4), "document": text(i), "label": i % 2} for i in range(12)]
lines("rows.jsonl", rows)
lines("none.jsonl", [{"query": r["query"], "document": r["document"]} for r in rows])
lines("half.jsonl", [{**r, "label": r["label"] if i % 2 else None} for i, r in enumerate(rows)])
groups = [{"query": text(i), "documents": [text(i + 1), text(i + 2)], "scores": [1, 0]} for i in range(12)]
lines("groups.jsonl", groups)
lines("bare.jsonl", [{"query": g["query"], "documents": g["documents"]} for g in groups])
END
train() { # TRAIN TEST [OPTION...]
  train=$1 test=$2; shift 2
  "$BRIM" train -q -m "$MODEL" --task rerank --train $train.jsonl --test $test.jsonl --folds 2 --max-steps 1 -o run --overwrite --json "$@" > out || return
  echo "$train $test $*: $(grep -c index run/predictions-test.jsonl) predicted, $(grep -o '"averages":.*' out)"
}
for test in none half rows; do train rows $test; train rows $test --missing-label skip; done
for test in bare groups; do train groups $test; done
"$BRIM" train -q -m "$MODEL" --task rerank --train rows.jsonl --eval groups.jsonl --folds 2 --max-steps 1 -o run --overwrite --json | grep -o '"averages":\[{"name":"[a-z]*","metrics":{"loss"'
# Nothing is stratified where rows stay together by query.
"$BRIM" train -q -m "$MODEL" --task rerank --train rows.jsonl --folds 2 --stratify --max-steps 1 -o stratified || echo "exit $?"
"$BRIM" analyze -q -t "$MODEL" --task rerank rows.jsonl --folds 2 --stratify || echo "exit $?"
ls -d stratified 2>/dev/null || echo "nothing is written"
