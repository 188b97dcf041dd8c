$BRIM compare --model $MODEL --train $DATA/train.csv --max-steps 1 --modes fixed,uniform+none --quiet | sed 's/[0-9.,]*[0-9]/N/g; s/  */ /g; s/--*/-/g'
