$BRIM tokenize -t $MODEL nothing.csv
