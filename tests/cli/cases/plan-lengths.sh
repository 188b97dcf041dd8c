$BRIM plan --lengths $DATA/lengths.txt --max-length 50 --batching uniform --padding longest --batch-size 8 --seed 1 --jsonl
