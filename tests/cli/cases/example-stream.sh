# Shards, read in two calls and in one: the same batches. examples/stream.c.
for i in $(seq 40); do cat $DATA/train.txt; done >many.txt
$BRIM shard many.txt -n 600 -o shards --quiet
$BUILD/examples/stream $MODEL shards one 1000 >whole
$BUILD/examples/stream $MODEL shards two 7 >parts
$BUILD/examples/stream $MODEL shards two 1000 >>parts
grep ^batch whole >a; grep ^batch parts >b; cmp a b && wc -l <a
tail -n 1 whole
$BRIM shard many.txt -n 599 -o other --quiet
$BUILD/examples/stream $MODEL other two 1
