printf 'text,label\ngood film,1.5\nbad film,nan\n' >a.csv
$BRIM train --model $MODEL --train a.csv --output run
