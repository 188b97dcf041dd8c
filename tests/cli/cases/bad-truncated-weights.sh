cp -r $MODEL model && head -c 5000 $MODEL/model.safetensors >model/model.safetensors
$BRIM train --model model --train $DATA/train.csv --output run
ls
