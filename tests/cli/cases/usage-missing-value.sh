$BRIM plan --lengths
