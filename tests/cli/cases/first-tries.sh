# A table of what people try first.
python3 $CASES/../first_tries.py $BRIM $MODEL $DATA
