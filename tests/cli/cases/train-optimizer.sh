# Each optimizer keeps its own states, by name; a run says what it was trained with, and is resumed with nothing else.
train="$BRIM train --model $MODEL --train $DATA/train.csv --quiet"
$train --max-steps 3 --optim sgd --lr 0.01 --momentum 0.8 --weight-decay 0.1 --decay-towards pretrained --mixout 0.2 --output run >/dev/null
$train --max-steps 3 --optimizer adamw_torch --output plain >/dev/null
$train --max-steps 3 --output same >/dev/null
cmp plain/model.safetensors same/model.safetensors && echo "adamw_torch is adamw"
python3 - <<'END'
import json, struct
for name in "run", "plain":
    path = f"{name}/checkpoints/step-3/optimizer.safetensors"
    with open(path, "rb") as file:
        names = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    said = json.loads(open(f"{name}/log.jsonl").readline())["options"]
    print(sorted({n.split(".")[0] for n in names if n != "__metadata__"}), [said[o] for o in ("optimizer", "momentum", "decay_towards", "mixout")])
END
$train --max-steps 4 --lr 0.01 --resume --output run
$train --max-steps 3 --optimizer adagrad --output other
$train --max-steps 3 --mixout 1 --output other
