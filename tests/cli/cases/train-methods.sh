# Pooling and token types are saved with the model; new layers and layer-wise rates are the run's own.
options="--model $MODEL --train $DATA/train.csv --max-steps 3 --lr 1e-3 --quiet"
for how in "--pooling cls" "--pooling mean" "--pooling max" "--no-type-ids" "--reinit-layers 1" "--layer-lr-decay 0.5"; do
  name=$(echo $how | tr -d ' -')
  $BRIM train $options --output $name $how >/dev/null
  echo "$name: $(grep -c brim_ $name/config.json) $(grep brim_ $name/config.json | tr -d ' ,')"
  $BRIM predict --model $name $DATA/test.txt --quiet >$name.jsonl
done
md5sum *.jsonl | cut -d' ' -f1 | sort -u | wc -l
$BRIM train $options --output poolingmean --resume --pooling max 2>&1 | sed 's/byte [0-9]*/byte N/'
$BRIM train $options --output noTypes --reinit-layers 3
$BRIM train $options --output noTypes --layer-lr-decay 1.5
$BRIM train $options --output noTypes --pooling sum
# What reaches nothing that is trained is refused.
for how in "--mixout 0.1" "--weight-decay 0.1 --decay-towards pretrained" "--layer-lr-decay 0.5"; do
  $BRIM train $options --output idle --train-only 'classifier.*' $how
done
$BRIM train $options --output head >/dev/null
$BRIM train --model head --train $DATA/train.csv --max-steps 3 --output idle --keep-head --train-only '*.bias' --weight-decay 0.1
ls -d idle 2>&1
$BRIM train $options --output few --warmup-steps 3 2>&1 >/dev/null | grep warm-up
$BRIM train --model $MODEL --train $DATA/train.csv --max-steps 3 --output longer --warmup-steps 3 2>&1 >/dev/null | grep warm-up
