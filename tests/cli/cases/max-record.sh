# --max-record: a record that is longer is refused with file, line and byte, or left out; wherever data are read.
printf 'text,label\nshort,0\n"never closed,0\nmore,1\nand more,0\nand so on,1\n' > open.csv
printf 'short\na line of thirty-one characters\nshort again\n' > long.txt
$BRIM plan open.csv -t $MODEL --max-record 30
$BRIM plan long.txt -t $MODEL --max-record 30 --stream
$BRIM tokenize long.txt -t $MODEL --max-record 30 >/dev/null
$BRIM train --model $MODEL --train open.csv --max-record 30 --output run --quiet
$BRIM shard long.txt --max-record 30 -o shards
test ! -e run && test ! -e shards && echo nothing is left behind
$BRIM plan long.txt -t $MODEL --max-record 31 --jsonl | tail -n 1
$BRIM plan long.txt -t $MODEL --max-record 30 --skip-damaged --jsonl | tail -n 1
$BRIM plan long.txt -t $MODEL --max-record 0
