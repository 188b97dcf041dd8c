for schedule in linear cosine constant; do
  $BRIM train --model $MODEL --train $DATA/train.csv --output $schedule --max-steps 5 --warmup-steps 2 --lr 1e-3 \
    --schedule $schedule --quiet >/dev/null
  grep -o '"schedule":"[a-z]*"' $schedule/log.jsonl | sort -u | tr '\n' ' '
  grep '"event":"step"' $schedule/log.jsonl | sed 's/.*"lr":\([^,}]*\).*/\1/' | awk '{ printf "%.6f ", $1 }'
  echo
done
$BRIM train --model $MODEL --train $DATA/train.csv --output no --schedule step
echo $?
$BRIM train --model $MODEL --train $DATA/train.csv --output linear --max-steps 5 --warmup-steps 2 --lr 1e-3 --schedule cosine --resume
echo $?
