printf 'text,label\ngood film,1\nbad film,0.5\n' >a.csv
$BRIM train --model $MODEL --train a.csv --output run
