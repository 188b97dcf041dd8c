$BRIM analyze -t $MODEL
