$BRIM tokenize -t $MODEL $DATA/train.csv -o ids.jsonl && wc -l <ids.jsonl
$BRIM tokenize -t $MODEL $DATA/train.csv --threads 1 | cmp - ids.jsonl && ls
