$BRIM plan --bacth-size 3 --lengths $DATA/lengths.txt
