printf 'text,label\n"good film,1\nbad film,0\n' >a.csv
$BRIM train --model $MODEL --train a.csv --output run
