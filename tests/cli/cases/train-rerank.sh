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
echo "--- orders"
train --train grades.csv > /dev/null
python3 - <<'END'
import csv, json
rows = list(csv.DictReader(open("grades.csv")))
with open("halves.csv", "w", newline="") as file:
    csv.writer(file).writerows([["query", "passage", "score"], *([r["query"], r["passage"], float(r["score"]) / 6] for r in rows)])
with open("lone.csv", "w", newline="") as file:
    csv.writer(file).writerows([["query", "document", "label"], *([f"{r['query']} {i}", r["passage"], int(i % 4 == 0)] for i, r in enumerate(rows))])
END
$BRIM predict --model run grades.csv --quiet > plain.jsonl
$BRIM predict --model run grades.csv --quiet --sort > sorted.jsonl
$BRIM predict --model run groups.jsonl --quiet > groups.out
python3 - <<'END'
import json
plain, by_query, groups = ([json.loads(line) for line in open(name)] for name in ("plain.jsonl", "sorted.jsonl", "groups.out"))
scores = [row["label"] for row in plain]
order = sorted(range(24), key=lambda i: (i // 4, -scores[i], i))
assert [row["index"] for row in by_query] == order and [row["rank"] for row in by_query] == [1, 2, 3, 4] * 6
assert all({**row, "rank": 0} == {**plain[row["index"]], "rank": 0} for row in by_query)
for row in groups:
    best = sorted(range(len(row["scores"])), key=lambda i: (-row["scores"][i], i))
    assert [row["ranks"][i] for i in best] == list(range(1, len(best) + 1)), row
print("sorted", *groups[0], *by_query[0])
END
echo "--- the loss of an evaluation"
metric() { $BRIM evaluate --model run $1 --quiet --json | python3 -c 'import json, sys; print(repr(json.load(sys.stdin)["loss"]))'; }
python3 - "$(metric halves.csv)" <<'END'
import csv, json, subprocess, sys
scores = [json.loads(line)["label"] for line in open("plain.jsonl")]
labels = [float(row["score"]) for row in csv.DictReader(open("halves.csv"))]
mean = sum((s - y) ** 2 for s, y in zip(scores, labels)) / len(labels)
print("squared error, though the labels are probabilities too:", abs(float(sys.argv[1]) - mean) < 1e-6 * mean)
END
$BRIM report run --data grades.csv --output data.html --quiet && grep -c "row [0-9]*: label" data.html
echo "--- queries with one document"
train --train pairs.csv --eval lone.csv
train --train pairs.csv --eval lone.csv --best-metric ndcg
echo "--- compared"
$BRIM compare --model $MODEL --task rerank --train pairs.csv --eval pairs.csv --max-steps 2 --modes brim,fixed --max-length 40 --json --quiet | python3 -c '
import json, sys
modes = json.load(sys.stdin)["modes"]
print(all(abs(modes[0][name] - modes[1][name]) < 1e-4 for name in ("ndcg", "mrr", "map", "eval_loss")), "rmse" in modes[0])'
echo "--- folds of values"
train --train grades.csv --folds 2 --test grades=grades.csv --max-steps 6 --lr 1e-2 | tail -1
for fold in 0 1; do $BRIM predict --model run/fold-$fold grades.csv --quiet > fold-$fold.jsonl; done
python3 - <<'END'
import json
one, other, mean = ([json.loads(line)["label"] for line in open(name)] for name in ("fold-0.jsonl", "fold-1.jsonl", "run/predictions-grades.jsonl"))
print("the mean of scores is their mean:", max(abs((a + b) / 2 - m) / (1 + abs(m)) for a, b, m in zip(one, other, mean)) < 1e-6)
END
echo "--- refused"
$BRIM predict --model run/fold-0 groups.jsonl --quiet --sort
$BRIM train --model $MODEL --task rerank --train pairs.csv --eval unlabelled.csv --output no
train --train unlabelled.csv
train --train words.csv
train --train grades.csv --loss bce
train --train grades.csv --loss bce --stream
train --train pairs.csv --loss in-group
train --train pairs.csv --loss triplet
train --train groups.jsonl --loss in-group --positive-weight 2
$BRIM train --model $MODEL --train groups.jsonl --task rerank --columns query,positive --output no
echo "--- streams of groups"
python3 - <<'END'
import csv, json
with open("mixed.jsonl", "w") as file:
    for i in range(16):
        file.write(json.dumps({"query": f"film {i}", "positive": "good", **({"negative": "bad"} if i < 15 else {})}) + "\n")
with open("triples.csv", "w", newline="") as file:
    csv.writer(file).writerows([["query", "positive", "negative"], *([f"film {i}", "good", "bad"] for i in range(16))])
END
train --train triples.csv --columns query,positive,negative --stream --loss in-group
train --train mixed.jsonl --batch-size 16 --columns query,positive,negative --stream --loss list-net
echo "--- a query and a list of its documents"
python3 - <<'END'
import json
def write(name, rows):
    open(name, "w").writelines(json.dumps({"query": f"film {i}", "documents": documents, "scores": scores}) + "\n" for i, (documents, scores) in enumerate(rows))
write("lists.jsonl", [(["good", "bad film", "some"], [1, 0, 0.5])] * 16)
write("halves.jsonl", [(["good", None, "some"], [1, 0, 0.5])] * 16)
write("fewer.jsonl", [(["good", "some"], [1, 0, 0.5])] * 16)
END
train --train lists.jsonl --eval lists.jsonl --loss list-net
$BRIM evaluate --model run lists.jsonl --quiet --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"])'
$BRIM predict --model run lists.jsonl --quiet | head -1 | cut -c1-20
train --train lists.jsonl --loss list-net --stream
for file in halves fewer; do train --train $file.jsonl --loss list-net; done
echo "--- columns that come late"
python3 - <<'END'
import json
with open("late.jsonl", "w") as file:
    for i in range(8):
        file.write(json.dumps({"anchor": "film " * 30000 if i < 7 else "film", "positive": "good", **({"negative": "bad"} if i == 7 else {})}) + "\n")
END
late() { $BRIM train --model $MODEL --task embedding --output late --overwrite --max-steps 1 --batch-size 8 --max-length 8 --train late.jsonl "$@" 2>&1 | grep "columns\|column \|steps,\|step,"; }
late | sed 's/ in [0-9:]* (.*//'
late --columns anchor,positive,negative | sed 's/ in [0-9:]* (.*//'
late --columns anchor,positive,nothing
echo "--- vectors from a reranker's folder, which is none any more"
train --train pairs.csv > out.txt
$BRIM train --model run --task embedding --train pairs.csv --output vectors --max-steps 1 --dense 4 --quiet > out.txt && grep model_type vectors/config_sentence_transformers.json
