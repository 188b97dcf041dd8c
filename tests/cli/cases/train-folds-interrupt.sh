# Ctrl-C in a fold, and --resume: the same predictions as without.
train="$BRIM train --model $MODEL --train $DATA/train.csv --folds 3 --epochs 12 --batch-size 4 --save-every 100000 --quiet"
$train --output whole >/dev/null
python3 $CASES/../interrupt.py cut fold-1/log.jsonl step 6 $train --output cut 2>err
cat err
ls cut
$train --output cut --resume >/dev/null && cmp whole/predictions.jsonl cut/predictions.jsonl && cmp whole/fold-2/model.safetensors cut/fold-2/model.safetensors && echo "the same"
