$BRIM plan $DATA/test.csv -t $MODEL --batching sequential --padding max_length --max-length 16 --batch-size 10 --jsonl --quiet
