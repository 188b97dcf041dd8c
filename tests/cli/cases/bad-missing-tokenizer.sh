$BRIM tokenize -t nothing $DATA/train.csv
