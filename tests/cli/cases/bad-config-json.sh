cp -r $MODEL model && head -c 100 $MODEL/config.json >model/config.json
$BRIM train --model model --train $DATA/train.csv --output run
