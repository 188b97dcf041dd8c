# A run in folds and one that is not: neither is continued with as the other, and what replaces one leaves nothing of it.
train="$BRIM train --model $MODEL --train $DATA/train.csv --max-steps 2 --quiet"
try() { "$@" >/dev/null; echo "exit $?"; }
try $train --folds 2 --output folds
try $BRIM evaluate --model folds $DATA/test.csv --quiet
cp -r folds before
try $train --output folds --resume
diff -r folds before && echo 'as it was'
try $train --output folds
try $train --output folds --overwrite --class-weights good=2
diff -r folds before && echo 'still as it was'
# A process that was killed while it continued left an empty log.
cp -r folds killed && : >killed/log.jsonl
try $train --output killed
try $train --folds 3 --output killed
cmp folds/folds.csv killed/folds.csv && ls killed | grep fold-
try $train --output folds --overwrite
ls folds
try $train --output folds --resume
cp -r folds before-2
try $train --folds 2 --output folds --resume
diff -r folds before-2 && echo 'as it was'
try $train --folds 2 --output folds --overwrite
ls folds
