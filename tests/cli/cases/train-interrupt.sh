# Ctrl-C writes a checkpoint; --resume continues and ends with the very same weights as a run that was not interrupted.
options="--model $MODEL --train $DATA/train.csv --epochs 25 --batch-size 4 --save-every 100000 --quiet"
$BRIM train $options --output whole >/dev/null
python3 $CASES/../interrupt.py cut log.jsonl step 6 $BRIM train $options --output cut 2>err
cat err
ls cut/checkpoints | wc -l
$BRIM train $options --output cut --resume >/dev/null && cmp whole/model.safetensors cut/model.safetensors && echo "the same weights"
