printf 'text,label\ngood film,1\nbad film,\n' >a.csv
$BRIM train --model $MODEL --train a.csv --output run
