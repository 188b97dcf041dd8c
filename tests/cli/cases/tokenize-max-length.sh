$BRIM tokenize -t $MODEL --max-length 4 $DATA/pairs.csv | head -n 2
printf 'good film' | $BRIM tokenize -t $MODEL --max-length 1 -
