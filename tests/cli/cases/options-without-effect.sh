# No option is without effect and without a word, none is given twice, and nothing is no value. What is fine here fails later: there is no
# model.
model="-m none"
train() {
  $BRIM train --train none.csv -o run $model "$@" 2>err
  echo "$? $*"
  grep -v "none: there is no such file\|none.csv: cannot open" err | sed 's/^/  /'
}
train --best-metric f1
train --min-delta 0.1
train --min-delta 0.1 --patience 2 --eval x
train --eval-every 3
train --eval-every 3 --folds 3
train --eval-batch-size 4
train --eval-batching random
train --eval-batching sorted
train --eval-padding longest
train --swa-every 2
train --swa-every 2 --swa-start 0.5
train --pad-to-multiple-of 8
train --pad-to-multiple-of 8 --padding longest
train --pad-to-multiple-of 8 --eval-padding longest --eval x
train --read-ahead 10
train --read-ahead 10 --batching packed
train --oversize alone
train --tail fill
train --tail drop
train --tail fill --max-tokens 100
train --loss-scale 8
train --epochs 3 --max-steps 2
train --epochs 1 --max-steps 2
train --lr 1e-3 --learning-rate 1e-4
train --lr 1e-3 --lr 1e-4
train -b 4 --per-device-train-batch-size 8
train -b 4 --batch-size 8
echo '{"lr": 1, "learning_rate": 2}' >config.json && train --config config.json
echo '{"lr": 1, "lr": 2}' >config.json && train --config config.json
echo '{"freeze": ""}' >config.json && train --config config.json
echo '{"lr": 1}' >config.json && train --config config.json --learning-rate 2
train --freeze ''
train --class-weights=
train --where ''
train --seed 18446744073709551615
train --seed 18446744073709551616
train --seed -1
train --seed 1e3
model="-m $MODEL"
for size in 1GB 1gb "1 GB" 2gib 4096 0x1GB 1XB -1GB " GB"; do train --memory-limit "$size"; done
$BRIM train --train "$DATA/train.txt" --task mlm --pooling mean -m "$MODEL" -o run 2>&1 | tail -1
train --train "$DATA/train.txt" --task mlm --missing-label skip
train --train "$DATA/train.txt" --task mlm --label-column label
train --momentum 0.5
train --optimizer sgd --beta1 0.5
train --decay-towards pretrained
for option in --where=a=b --text-column=x --columns=a,b --format=csv --windows=2 --tokenizer=x --device=cuda; do
  echo "evaluate $option"
  $BRIM evaluate $model --corpus x --queries y --relevant z $option
  $BRIM evaluate $model --scored-pairs x $option --windows=3
done 2>&1 | grep -v "no such file"
$BRIM embed $model --columns a,b x.csv 2>&1
model="-m none"
train --batch 4
train --accum 4
train --buf 4
# What the order of a file does not depend on, and what single texts have not.
for more in "--seed 7" "--epoch 2" "--seed 42 --epoch 0"; do $BRIM plan -b 4 --lengths $DATA/lengths.txt --batching sequential $more; done 2>&1
$BRIM train -m none --train none -o none --rank-timeout 5 2>&1
for task in tokens embedding; do
  $BRIM plan -b 4 -t none --max-length 9 --truncation only_first --task $task none.jsonl 2>&1
done
