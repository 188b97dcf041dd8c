cp -r $MODEL model && sed 's/"model_type": "bert"/"model_type": "gpt9"/' $MODEL/config.json >model/config.json
$BRIM train --model model --train $DATA/train.csv --output run
