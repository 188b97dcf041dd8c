$BRIM train --model $MODEL --train $DATA/train.csv --output run --precision fp16
