$BRIM tokenize -t $MODEL --text-column review $DATA/train.csv
