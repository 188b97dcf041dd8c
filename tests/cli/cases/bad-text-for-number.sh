printf 'text,label\ngood film,1.5\nbad film,poor\n' >a.csv
$BRIM train --model $MODEL --train a.csv --output run --task regression
