# Predictions in the order of the file: examples/predict.c gives what brim predict gives.
$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-steps 2 --quiet >/dev/null
$BUILD/examples/predict run $DATA/test.csv >here
$BRIM predict --model run $DATA/test.csv --quiet | sed 's/{"index":\([0-9]*\),"label":\([0-9]*\).*/\1: \2/' >there
cmp here there && wc -l <here | tr -d ' '
$BUILD/examples/predict run missing.csv
