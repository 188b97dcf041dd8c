# --rank-slices: ranks that read only their slice of a stream: equal steps, every row on one of them; what it refuses.
$BRIM shard $DATA/train.csv --records 19 -o shards --quiet
options="shards -t $MODEL --stream --shuffle-window 20 --batching bucketed --batch-size 15 --max-length 32 --quiet"
for rank in 0 1 2; do $BRIM plan $options --world-size 3 --rank $rank --rank-slices --threads $((rank + 1)) --jsonl -o rank$rank.jsonl; done
$BRIM plan $options --jsonl -o whole.jsonl
for rank in 0 1 2; do $BRIM plan $options --world-size 3 --rank $rank --rank-slices --drop-last --jsonl -o drop$rank.jsonl; done
python3 - <<'END'
import json
def read(name, count):
    ranks = [[json.loads(line) for line in open(name % rank)] for rank in range(count)]
    rows = sorted(tuple(row) for lines in ranks for batch in lines[:-1] for row in batch["rows"])
    return rows, [{batch["step"] for batch in lines[:-1]} for lines in ranks], [lines[-1]["summary"] for lines in ranks]
all_rows, whole_steps, (whole,) = read("whole%.0s.jsonl", 1)
rows, steps, parts = read("rank%d.jsonl", 3)
assert rows == all_rows and sum(part["read"] for part in parts) == whole["read"]
assert steps[0] == steps[1] == steps[2] == whole_steps[0] and len({part["hash"] for part in parts}) == 3
kept, steps, parts = read("drop%d.jsonl", 3)
assert len(set(kept)) == len(kept) == len(rows) - sum(part["dropped"] for part in parts) and steps[0] == steps[1] == steps[2]
print(len(rows), "rows in", len(whole_steps[0]), "steps;", sum(part["dropped"] for part in parts), "dropped from", len(steps[0]))
END
$BRIM plan $options --world-size 4 --rank 1 --rank-slices
$BRIM plan shards -t $MODEL --stream --max-tokens 300 --world-size 2 --rank 1 --rank-slices
$BRIM plan shards -t $MODEL --batch-size 8 --rank-slices
cat $DATA/train.txt | $BRIM plan - -t $MODEL --stream --batch-size 8 --rank-slices
