# What is odd about the data and the model is said, and --quiet keeps it back.
$BRIM train --model $MODEL --train $DATA/train.csv --output a --max-length 8 --max-steps 1 >/dev/null
$BRIM train --model $MODEL --train $DATA/train.csv --output b --max-length 8 --max-steps 1 --quiet >/dev/null
