$BRIM plan --lengths $DATA/lengths.txt --padding most
