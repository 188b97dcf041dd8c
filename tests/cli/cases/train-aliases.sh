$BRIM train --model $MODEL --train $DATA/train.csv --output a --max-steps 2 --learning-rate 1e-3 --num-workers 1 --quiet >/dev/null
$BRIM train --model $MODEL --train $DATA/train.csv --output b --max-steps 2 --lr 1e-3 --threads 2 --quiet >/dev/null
cmp a/model.safetensors b/model.safetensors && echo same
