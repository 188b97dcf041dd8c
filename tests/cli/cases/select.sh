printf 'text,label,split\ngood film,1,train\n,0,train\nbad film,0,dev\n x ,1,train\nthe slow plot,0,train\n' >a.csv
$BRIM plan a.csv -t $MODEL --min-chars 2 --where split=train --batch-size 1 --batching sequential --jsonl
$BRIM analyze a.csv -t $MODEL --min-chars 2 --json | tr ',' '\n' | grep excluded
$BRIM tokenize a.csv -t $MODEL --where split=dev
$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-steps 1 --quiet >/dev/null
$BRIM predict --model run a.csv --min-chars 2 | sed 's/,"label.*//'
