$BRIM plan --lengths $DATA/lengths.txt --world-size 2 --rank 2
