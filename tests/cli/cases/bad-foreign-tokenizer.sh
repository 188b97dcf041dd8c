mkdir tok && { cat $MODEL/vocab.txt; seq 100000 100500; } >tok/vocab.txt
$BRIM train --model $MODEL -t tok --train $DATA/train.csv --output run
