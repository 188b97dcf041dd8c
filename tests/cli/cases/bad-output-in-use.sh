mkdir run && echo mine >run/notes.txt
$BRIM train --model $MODEL --train $DATA/train.csv --output run --quiet
ls run
