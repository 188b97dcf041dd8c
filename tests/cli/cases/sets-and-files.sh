# One file under two names is no two sets; a file that a pattern finds on two ways is read once; a run is not begun where nothing may be
# written.
train() { $BRIM train -m $MODEL --train $DATA/train.csv --max-steps 1 -q "$@" >/dev/null || echo $?; }
cp $DATA/test.csv a.csv && ln a.csv hard.csv && ln -s a.csv soft.csv && cp a.csv copy.csv && mkdir dev && cp a.csv dev
train -o run --eval a.csv --eval a.csv
train -o run --eval one=a.csv --eval two=hard.csv
train -o run --folds 2 --eval a.csv --test soft.csv
train -o run --folds 2 --test dev --test named=dev/
train -o run --eval a.csv --eval copy.csv --eval dev
# Rows that are trained on are no test.
for more in "--eval own=./a.csv" "--stream --eval a.csv" "--folds 2 --test soft.csv"; do
  $BRIM train -m $MODEL --train hard.csv --max-steps 1 -o other --overwrite $more 2>&1 | grep 'trained on'
done
mkdir -p deep/deep/deep && cp a.csv deep/deep/deep/rows.csv
lines() { $BRIM tokenize -q -t $MODEL "$@" | wc -l; }
lines a.csv
lines 'deep/**/**/*.csv'
lines 'deep/**/deep/**/*.csv'
lines 'deep/**/*.csv' deep/deep/deep/rows.csv
# Root may write anywhere, unless it leaves that at home.
bound() { if [ "$(id -u)" = 0 ]; then setpriv --bounding-set -dac_override "$@"; else "$@"; fi; }
chmod a-w run
bound $BRIM train -m $MODEL --train none.csv -o run --overwrite
chmod u+w run && chmod a-w run/checkpoints
bound $BRIM train -m $MODEL --train none.csv -o run --resume
chmod u+w run/checkpoints
