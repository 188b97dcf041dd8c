$BRIM train --model $MODEL --train $DATA/train.csv --output run --lr nan
