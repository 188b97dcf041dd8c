# A limit on the size of files stands for a full disk: saving fails, nothing half-written stays, and what was there is untouched.
(trap '' XFSZ; ulimit -f 40; $BRIM train --model $MODEL --train $DATA/train.csv --output full --max-steps 1 --quiet)
echo "exit $?"
find full -name '*.safetensors' -o -name '*.tmp-*'
yes 'good film' | head -n 2000 >long.txt
$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-steps 1 --quiet >/dev/null
echo mine >predictions.jsonl
(trap '' XFSZ; ulimit -f 40; $BRIM predict --model run long.txt -o predictions.jsonl --quiet)
echo "exit $?"
cat predictions.jsonl
$BRIM predict --model run long.txt --quiet >/dev/full
echo "exit $?"
# What is kept is said.
train="$BRIM train --model $MODEL --train $DATA/train.csv --max-steps 2 --save-every 1 --keep-checkpoints 2 --quiet --output kept"
$train >/dev/null
rm -r kept/checkpoints/step-2
(trap '' XFSZ; ulimit -f 40; $train --resume)
(trap '' XFSZ; ulimit -f 40; $train --overwrite)
ls -d kept/replaced-run/checkpoints/step-1
# Not where it cannot be read.
$train --resume >/dev/null && rm kept/checkpoints/step-2/model.safetensors
$train --resume || echo "exit $?"
