$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-length 1000
