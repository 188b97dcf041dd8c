$BRIM plan --lengths $DATA/lengths.txt --batch-size 0
