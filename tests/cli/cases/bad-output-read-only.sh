# Where nothing can be written, whoever asks: below a file, and in a folder of the kernel's.
$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-steps 1 --quiet >/dev/null
echo mine >file
for output in file/run /proc/run; do
  $BRIM train --model $MODEL --train $DATA/train.csv --output $output --quiet
  echo $?
  $BRIM predict --model run $DATA/test.csv -o $output/predictions.jsonl --quiet
  echo $?
done
cat file
