$BRIM compare --model $MODEL --train $DATA/train.csv --modes fixed,clever
