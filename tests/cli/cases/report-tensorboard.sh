# TensorBoard's files say what the log says, also over an interruption. BRIM_TENSORBOARD names a Python that has the tensorboard package:
# it must read the same (tools/check-tensorboard).
options="--model $MODEL --train $DATA/train.csv --eval dev=$DATA/test.csv --eval-every 50 --epochs 20 --batch-size 4 --save-every 100000 --quiet"
python3 $CASES/../interrupt.py run log.jsonl step 6 $BRIM train $options --output run 2>/dev/null
$BRIM train $options --output run --resume >/dev/null
python3 $CASES/../read_tensorboard.py run/tensorboard > read.txt
python3 - <<'END'
import json, struct
def single(x): return struct.unpack("<f", struct.pack("<f", x))[0]
said = {(tag, int(step)): float(value) for tag, step, value in (line.split() for line in open("read.txt"))}
wanted = {}
for line in open("run/log.jsonl"):
    event = json.loads(line)
    prefix = {"step": "train", "eval": "eval/" + str(event.get("name"))}.get(event.pop("event"))
    for name, value in event.items():
        if prefix and name not in ("step", "name") and value is not None and not isinstance(value, bool):
            wanted[f"{prefix}/{name}", event["step"]] = single(value)
print("the same numbers" if said == wanted else f"{len(said)} and {len(wanted)} numbers")
END
if [ -n "${BRIM_TENSORBOARD:-}" ]; then
  "$BRIM_TENSORBOARD" $CASES/../read_tensorboard.py run/tensorboard --package 2>/dev/null | cmp - read.txt || echo "the package reads other numbers"
fi
