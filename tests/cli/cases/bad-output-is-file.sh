echo mine >run
$BRIM train --model $MODEL --train $DATA/train.csv --output run --quiet
cat run
