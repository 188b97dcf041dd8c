# However many steps a run may take, its start is that of a short one: the same memory, and the first step at once. Epochs that were not
# planned ahead, some with larger parts, give the bits of a run that knew them.
start() { python3 -c 'import json, sys
e = json.loads(open(sys.argv[1]).readline())
print(e["total_steps"], "steps")
print(e["memory_training"], e["slots_at_once"])' "$1/log.jsonl"; }
train() { $BRIM train -m $MODEL --train $DATA/train.csv -q "$@" >/dev/null; }
train --max-steps 3 --eval $DATA/test.csv --best-metric loss -o short
train --max-steps 4294967296 --eval $DATA/test.csv --eval-every 2 --best-metric loss --patience 1 --min-delta 1000 -o long
start short >short.txt
start long >long.txt
head -n 1 short.txt long.txt
tail -n 1 short.txt >a
tail -n 1 long.txt >b
cmp a b && echo "planned alike"
train --max-steps 120 -o by-steps
train --epochs 20 -o by-epochs
cmp by-steps/model.safetensors by-epochs/model.safetensors && echo "the same weights"
