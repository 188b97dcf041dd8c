$BRIM train --model $MODEL --train $DATA/train.csv --output run --device cuda
