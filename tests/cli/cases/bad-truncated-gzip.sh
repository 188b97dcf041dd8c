gzip -c $DATA/train.csv | head -c 300 >a.csv.gz
$BRIM tokenize -t $MODEL a.csv.gz >/dev/null
