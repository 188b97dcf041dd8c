printf 'text,label\ngood film,1\nbad film, slow,0\n' >a.csv
$BRIM train --model $MODEL --train a.csv --output run
