# Quoted line ends stay inside records, every shard has the header, and what comes out is what went in.
printf 'text,label,split\n"a ""b"" c\nd",1,train\ne,0,dev\n"f\r\ng",1,train\nlast,0,train' >a.csv
$BRIM shard a.csv --records 2 -o shards
ls shards
zcat shards/shard-000000.csv.gz; echo ==; zcat shards/shard-000001.csv.gz | od -c | head -3
$BRIM tokenize -t $MODEL a.csv --quiet >one; $BRIM tokenize -t $MODEL shards --quiet >two; cmp one two && echo same ids
$BRIM shard $DATA/train.jsonl -n 40 -o zst --format zst --quiet -j 1
$BRIM shard $DATA/train.jsonl -n 40 -o again --format zst --quiet -j 3
cmp zst/shard-000002.jsonl.zst again/shard-000002.jsonl.zst && ls again
$BRIM tokenize -t $MODEL $DATA/train.jsonl --quiet >one; $BRIM tokenize -t $MODEL again --quiet >two; cmp one two && echo same ids
$BRIM shard $DATA/train.txt -n 40 -o lines --quiet && zcat lines/* | cmp - $DATA/train.txt && echo same bytes
# Selected records, and a source without a text column.
printf 'id\tname\n1\ta\n2\tb\n' | $BRIM shard - --input-format tsv -o plain
zcat plain/shard-000000.tsv.gz
$BRIM shard a.csv --where split=train --min-chars 2 -o some
zcat some/*.gz | wc -l
