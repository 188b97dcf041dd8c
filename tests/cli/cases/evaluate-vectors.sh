# Retrieval over files as BEIR has them and scored pairs, beside plain loops over the vectors of `brim embed`; what is wrong is named.
FOLDER="$CASES/../../golden/tasks/folders/st-prompts"
python3 -c '
import csv, json
words = "red green blue small large round old new soft loud".split()
text = lambda i: " ".join(words[(i * k + k // 3) % 10] for k in range(1, 3 + i % 5))
documents = [{"_id": str(i), "title": "" if i % 3 else "on " + words[i % 10], "text": text(i)} for i in range(60)]
documents += [{"_id": 100 + i, "text": documents[i]["text"], "other": [1, {"text": 2}]} for i in range(1, 60, 3)]
open("corpus.jsonl", "w").writelines(json.dumps(d) + "\n" for d in documents)
queries = [{"_id": "q%d" % i, "text": text(7 * i + 1)} for i in range(12)]
open("queries.jsonl", "w").writelines(json.dumps(q) + "\n" for q in queries)
pairs = [("q%d" % i, (11 * i + k) % 60, k % 3) for i in range(10) for k in range(6)] + [("q1", 101, 1), ("q1", 101, 1), ("q2", "gone", 1)]
open("relevant.tsv", "w").writelines("%s\t%s\t%s\n" % row for row in [("query-id", "corpus-id", "score"), *pairs])
joined = lambda d: (d.get("title", "") + " " + d["text"]) if d.get("title") else d["text"]
open("documents.jsonl", "w").writelines(json.dumps({"text": joined(d)}) + "\n" for d in documents)
with open("pairs.csv", "w", newline="") as file:
    csv.writer(file).writerows([("sentence1", "sentence2", "score"), *((text(i), " ".join(words[:1 + i % 10] + [words[-1 - i // 10]] * 2), i * i % 17 / 4) for i in range(30))])'
FILES="--corpus corpus.jsonl --queries queries.jsonl --relevant relevant.tsv"
evaluate() { "$BRIM" evaluate -m "$FOLDER" "$@"; }
"$BRIM" embed -m "$FOLDER" documents.jsonl --prompt document > d.jsonl
"$BRIM" embed -m "$FOLDER" queries.jsonl --prompt query > q.jsonl
for similarity in cosine dot euclidean manhattan; do
  evaluate $FILES --similarity $similarity --json > report.json
  python3 "$CASES/../retrieval.py" report.json corpus.jsonl queries.jsonl relevant.tsv $similarity d.jsonl q.jsonl
done
evaluate $FILES --at 1,7 -q | grep -v seconds
evaluate $FILES --at 100 --json -q | grep -o '"accuracy@100":[^,]*'
evaluate $FILES --json -j 1 --batch-size 1 -q | sed 's/,"seconds.*//' > one.json
evaluate $FILES --json -j 3 -q | sed 's/,"seconds.*//' | cmp - one.json && echo "the same for any threads and batches"
evaluate --scored-pairs pairs.csv --json > report.json
"$BRIM" embed -m "$FOLDER" pairs.csv --text-column sentence1 > 1.jsonl
"$BRIM" embed -m "$FOLDER" pairs.csv --text-column sentence2 > 2.jsonl
python3 "$CASES/../retrieval.py" --pairs report.json pairs.csv 1.jsonl 2.jsonl
evaluate --scored-pairs pairs.csv | grep -v seconds
# What is wrong.
evaluate --corpus corpus.jsonl --queries queries.jsonl
evaluate
evaluate $FILES pairs.csv
evaluate $FILES --at 3,x
evaluate $FILES --at 3,1,3
evaluate $FILES --query-prompt poem
evaluate --corpus none.jsonl --queries queries.jsonl --relevant relevant.tsv
: > empty.jsonl && evaluate --corpus empty.jsonl --queries queries.jsonl --relevant relevant.tsv
(cat corpus.jsonl; head -1 corpus.jsonl) > twice.jsonl && evaluate --corpus twice.jsonl --queries queries.jsonl --relevant relevant.tsv
echo '{"_id": "a", "title": "b"}' > bad.jsonl && evaluate --corpus bad.jsonl --queries queries.jsonl --relevant relevant.tsv
echo '{"_id": ["a"], "text": "b"}' > bad.jsonl && evaluate --corpus bad.jsonl --queries queries.jsonl --relevant relevant.tsv
echo '{"_id": "a", "text": "b"' > bad.jsonl && evaluate --corpus bad.jsonl --queries queries.jsonl --relevant relevant.tsv
printf 'query-id\tcorpus-id\tscore\nq1\t1\t1\nq99\t1\t1\n' > bad.tsv && evaluate --corpus corpus.jsonl --queries queries.jsonl --relevant bad.tsv
printf 'query-id\tcorpus-id\tscore\nq1\t1\tyes\n' > bad.tsv && evaluate --corpus corpus.jsonl --queries queries.jsonl --relevant bad.tsv
printf 'query-id\tcorpus-id\tscore\nq1\t1\t0\n' > bad.tsv && evaluate --corpus corpus.jsonl --queries queries.jsonl --relevant bad.tsv
printf 'q1\t1\t1\n' > bad.tsv && evaluate --corpus corpus.jsonl --queries queries.jsonl --relevant bad.tsv
head -2 pairs.csv > bad.csv && evaluate --scored-pairs bad.csv
printf 'sentence1,sentence2,score\na,b,high\nc,d,1\n' > bad.csv && evaluate --scored-pairs bad.csv
(cat relevant.tsv; printf 'q1\t101\t0\n') > bad.tsv && evaluate --corpus corpus.jsonl --queries queries.jsonl --relevant bad.tsv
(cat relevant.tsv; printf 'q1\tnone\t0\nq1\tnone\t2\n') > bad.tsv && evaluate --corpus corpus.jsonl --queries queries.jsonl --relevant bad.tsv
