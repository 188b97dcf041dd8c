# What a user may not have meant is said: a mean of weights that was never begun, and classes that were called otherwise.
$BRIM train --model $MODEL --train $DATA/train.csv --eval $DATA/test.csv --output run --epochs 4 --eval-every 1 --patience 1 --min-delta 100 \
  --swa-start 0.9 --batch-size 4 >/dev/null 2>log || cat log
grep "swa-start" log
sed 's/,0$/,nay/; s/,1$/,yea/' $DATA/train.csv >other.csv
$BRIM train --model run --train other.csv --output second --max-steps 1 2>&1 >/dev/null | grep "classes were"
$BRIM train --model run --train $DATA/train.csv --output third --max-steps 1 2>&1 >/dev/null | grep "classes were"; [ $? = 1 ]
