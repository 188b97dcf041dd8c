# The library from a program of one's own: examples/finetune.c.
$BUILD/examples/finetune $MODEL $DATA/train.csv run 2>log | cut -d: -f1
grep -c '^step' log
$BUILD/examples/finetune $MODEL nothing.csv other
