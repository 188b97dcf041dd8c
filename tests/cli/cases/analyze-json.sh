$BRIM analyze -t $MODEL --max-length 12 --batch-size 8 $DATA/train.csv --quiet --json
