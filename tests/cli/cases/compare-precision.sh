for p in fp32,bf16 fp32 bf16; do
  $BRIM compare --model $MODEL --train $DATA/train.csv --eval $DATA/test.csv --max-steps 3 --modes dynamic,brim --precision $p --quiet --json
done | python3 -c '
import json, sys
both, fp32, bf16 = (json.loads(line)["modes"] for line in sys.stdin)
print([(m["method"], m["precision"]) for m in both])
print([(m["method"], m["precision"]) for m in bf16])
def key(m): return m["loss"], m["eval_loss"], m["tokens"], m["slots"]
assert [key(m) for m in both] == [key(fp32[0]), key(bf16[0]), key(fp32[1]), key(bf16[1])]
assert all(a["loss"] != b["loss"] and abs(a["loss"] - b["loss"]) < 1e-2 for a, b in zip(fp32, bf16))'
