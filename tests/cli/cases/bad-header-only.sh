echo text,label >empty.csv
$BRIM train --model $MODEL --train empty.csv --output run
ls
