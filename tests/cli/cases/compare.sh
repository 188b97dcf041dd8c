$BRIM compare --model $MODEL --train $DATA/train.csv --eval $DATA/test.csv --max-steps 3 --quiet --json | python3 -c '
import json, sys
modes = json.load(sys.stdin)["modes"]
print([m["method"] for m in modes])
fixed, dynamic, uniform, brim = modes
assert brim["tokens"] == brim["slots"] and brim["share"] == 0
assert brim["tokens"] == dynamic["tokens"] == fixed["tokens"] < dynamic["slots"] < fixed["slots"]
assert abs(brim["loss"] - fixed["loss"]) < 1e-5 and abs(brim["loss"] - dynamic["loss"]) < 1e-5
assert brim["accuracy"] == fixed["accuracy"]'
