$BRIM plan --config none.json --lengths $DATA/lengths.txt
