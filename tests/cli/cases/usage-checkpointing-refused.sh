$BRIM train --model $MODEL --train $DATA/train.csv --output run --gradient-checkpointing
