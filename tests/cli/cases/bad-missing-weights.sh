cp -r $MODEL model && rm model/model.safetensors
$BRIM train --model model --train $DATA/train.csv --output run
ls
