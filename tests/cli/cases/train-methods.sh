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
