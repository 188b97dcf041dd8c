# A tokenizer may know a token that its model does not embed, as long as no text has it.
cp -r $MODEL model && echo zebra >>model/vocab.txt
$BRIM train --model model --train $DATA/train.csv --output run --max-steps 2 >/dev/null 2>err && grep -c 'embeds only' err
printf 'text,label\na good film,1\na zebra film,0\n' >zebra.csv
$BRIM train --model model --train zebra.csv --output run2 --quiet
