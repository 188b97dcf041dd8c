$BRIM predict --model $MODEL $DATA/test.txt
