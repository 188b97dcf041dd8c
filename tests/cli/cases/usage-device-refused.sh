# A GPU that cannot be used is one line, before anything is read.
export BRIM_LIBCUDA=/nowhere/libcuda.so.1
$BRIM train --model $MODEL --train $DATA/train.csv --output run --device cuda || echo $?
$BRIM evaluate --model $MODEL $DATA/train.csv --device cuda || echo $?
$BRIM predict --model $MODEL $DATA/train.csv --device cuda || echo $?
ls
