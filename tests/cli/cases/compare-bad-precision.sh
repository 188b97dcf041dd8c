for p in fp32,fp16 fp32,fast int8 bf16,bf16 ,; do
  $BRIM compare --model $MODEL --train $DATA/train.csv --precision $p || echo "exit $?"
done
$BRIM compare --model $MODEL --train $DATA/train.csv --precision fp32,bf16 --modes brim,brim,brim,brim,brim,brim,brim,brim,brim
