$BRIM plan --lengths $DATA/lengths.txt --max-length 50 --batching uniform --padding longest --batch-size 8 --seed 1 --jsonl
# No batch is full.
$BRIM plan --lengths $DATA/lengths.txt --batch-size 64 --drop-last
