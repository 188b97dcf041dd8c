# What cannot be trained is refused in one line, and an old run is not lost by it.
train() { $BRIM train --model $MODEL --train $DATA/train.csv --quiet "$@" >/dev/null; echo $?; }
train --output run --max-steps 2
train --output run --overwrite --lr nan
train --output run --overwrite --best-metric matched/accuracy --eval dev=$DATA/test.csv
train --output run --overwrite --class-weights 7=2
train --output run --overwrite --memory-limit 1kB
train --output run --overwrite --memory-limit many
train --output run --overwrite --patience 2
test -f run/checkpoints/step-2/state.json && test ! -e run/replaced-run && echo "the old run is there"
# The weights overflow: the last good checkpoint stays.
train --output wild --max-steps 6 --lr 1e3 --weight-decay 1e3 --clip 0 --save-every 1 --beta1 0 --warmup-steps 3 --schedule constant --eps 1e-30 2>&1 |
  sed 's/step [0-9]*/step N/; s/the \(loss\|gradient\) is not/the loss or gradient is not/; s/rows .* of/rows R of/; s/step-[0-9]*/step-N/'
$BRIM predict --model run --max-length 100000 $DATA/test.csv
echo $?
