$BRIM plan --lengths $DATA/lengths.txt --max-length 50 --batching random --padding none --batch-size 16
