# The batches of a stream: every row once, the same with any number of threads; ranks share them; csv and txt, gz and zst.
# Rows of several texts, as in memory.
printf 'anchor,positive\ngood film,bad film\nthe story,the same story\n' > pairs.csv
for stream in "" --stream; do $BRIM plan -q -t $MODEL --task embedding pairs.csv -b 1 $stream --jsonl | tail -n 1 | cut -d, -f1-4; done
$BRIM plan -q -t $MODEL --task rerank --columns positive,anchor pairs.csv -b 1 --stream --jsonl | tail -n 1 | cut -d, -f1-4
$BRIM shard $DATA/train.csv --records 9 --format zst -o shards --quiet
options="shards -t $MODEL --stream --shuffle-window 20 --batching bucketed --padding longest --batch-size 8 --max-length 32 --quiet"
$BRIM plan $options --threads 1 --prefetch 0 --jsonl -o one.jsonl
$BRIM plan $options --threads 3 --prefetch 2 --jsonl -o many.jsonl
cmp one.jsonl many.jsonl && echo same batches
$BRIM plan $options --epoch 1 --jsonl -o later.jsonl
$BRIM plan $options --world-size 2 --rank 0 --jsonl -o rank0.jsonl
$BRIM plan $options --world-size 2 --rank 1 --jsonl -o rank1.jsonl
python3 - <<'END'
import json
def read(*names):
    batches, summaries = [], []
    for name in names:
        *lines, last = map(json.loads, open(name))
        batches += lines
        summaries.append(last["summary"])
    return batches, summaries
one, (summary,) = read("one.jsonl")
rows = sorted(tuple(row) for batch in one for row in batch["rows"])
assert len(set(rows)) == len(rows) == summary["rows"] == summary["read"], summary
later, (other,) = read("later.jsonl")
assert sorted(tuple(row) for batch in later for row in batch["rows"]) == rows and other["hash"] != summary["hash"]
shared, parts = read("rank0.jsonl", "rank1.jsonl")
assert sorted(tuple(row) for batch in shared for row in batch["rows"]) == rows
assert parts[0]["batches"] == parts[1]["batches"] and {part["hash"] for part in parts} == {summary["hash"]}
print("every row once", len(summary["files"]), "files")
END
$BRIM plan $options --world-size 2
