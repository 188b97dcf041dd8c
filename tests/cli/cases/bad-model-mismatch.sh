# A model whose labels or checkpoint are another's.
train() { $BRIM train --train $DATA/train.csv --quiet "$@" >/dev/null; echo $?; }
train --model $MODEL --output run --epochs 1
python3 - <<'END'
import csv, os
rows = list(csv.DictReader(open(os.environ["DATA"] + "/test.csv")))
with open("three.csv", "w") as out:
    out.write("text,label\n")
    for i, row in enumerate(rows):
        out.write(f"{row['text']},{i % 3}\n")
END
# A label that the model does not have, in evaluation and beside the training data.
$BRIM evaluate --model run three.csv
echo $?
train --model $MODEL --eval three.csv --output other
# Three classes for a model of two: it is trained anew with a head of three, and says so.
$BRIM train --model run --train three.csv --output three --max-steps 1 2>&1 >/dev/null | grep tensors
$BRIM evaluate --model three $DATA/test.csv --quiet --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["rows"])'
# The checkpoint of a run of another model.
train --model three --output run --epochs 1 --resume 2>&1 | sed 's/byte [0-9]*/byte N/'
cp -r run copy && cp three/checkpoints/step-1/model.safetensors copy/checkpoints/step-6/
train --model $MODEL --output copy --epochs 1 --resume
cmp -s run/model.safetensors copy/model.safetensors && echo "the run is as it was"
