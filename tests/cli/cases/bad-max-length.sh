$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-length 1000
$BRIM train --model $MODEL --train $DATA/train.csv --output run --padding max_length --max-length 60 --pad-to-multiple-of 50 --quiet
