$BRIM analyze -t $MODEL --max-length 12 --batch-size 8 $DATA/train.csv --quiet
# The advice and the table at that length say the same, for windows too.
$BRIM analyze -t $MODEL --max-length 6 --batch-size 8 $DATA/train.csv --quiet --windows=1 --max-windows=2 | grep '^ *6 *[0-9.]* %\|of the tokens'
