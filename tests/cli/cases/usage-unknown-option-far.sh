$BRIM plan --frobnicate
