# A stream: the same weights with other threads and prefetch; a run that is cut short resumes exactly; what does not fit is refused.
$BRIM shard $DATA/train.csv --records 9 -o shards --quiet
options="--model $MODEL --train shards --eval $DATA/test.csv --stream --shuffle-window 20 --max-steps 14 --batch-size 8 --quiet"
$BRIM train $options --output a --threads 1 --prefetch 0 --save-every 5 --keep-checkpoints 0 >/dev/null
$BRIM train $options --output b --threads 3 --prefetch 2 --save-every 5 --labels 0 --labels 1 >/dev/null
cmp a/model.safetensors b/model.safetensors && echo same weights
ls a/checkpoints
cp -r a c && rm -r c/model.safetensors c/checkpoints/step-14
$BRIM train $options --output c --resume --threads 2 --save-every 5 >/dev/null
cmp a/model.safetensors c/model.safetensors && echo same weights
# Balanced weights count the rows, as from memory.
ordered="--model $MODEL --max-steps 9 --batching sequential --lr 1e-3 --class-weights balanced --quiet"
{ cat $DATA/train.csv; grep ',1$' $DATA/train.csv; } >uneven.csv
$BRIM train $ordered --train uneven.csv --stream --shuffle-window 1000 --output e >/dev/null
$BRIM train $ordered --train uneven.csv --output m >/dev/null
cmp e/model.safetensors m/model.safetensors && echo same weights
# --epochs counts the rows: the steps, and with one window in order the weights, are those from memory.
ordered="--model $MODEL --train uneven.csv --epochs 1.5 --batching sequential --lr 1e-3"
$BRIM train $ordered --stream --shuffle-window 1000 --output g 2>&1 | grep 'rows an epoch'
$BRIM train $ordered --output h --quiet >/dev/null
cmp g/model.safetensors h/model.safetensors && echo same weights
$BRIM train --model $MODEL --train shards --stream --max-tokens 64 --output d --quiet
$BRIM train --model $MODEL --train shards --stream --repeat --output d --quiet
$BRIM train --model $MODEL --train - --format csv --labels 0 --labels 1 --stream --output d --quiet
echo "one more,1" | gzip >> shards/shard-000001.csv.gz
$BRIM train $options --output a --resume
$BRIM train --model $MODEL --train $DATA/train.csv --stream --max-steps 3 --folds 2 --output f --quiet
# With --repeat rows are read long before they are trained on, and there is no end to count to.
$BRIM train --model $MODEL --train $DATA/train.csv --stream --repeat --shuffle-window 200 --max-steps 2 --max-length 4 --output r 2>&1 | grep cut
