$BRIM tokenize -t $MODEL $DATA/train.csv >/dev/full
