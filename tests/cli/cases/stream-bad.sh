# Streams that cannot be: each is refused in one line, or the summary tells what became of the rows.
$BRIM shard $DATA/train.csv --records 9 -o shards --quiet
options="-t $MODEL --stream --batch-size 4 --max-length 32 --quiet"
$BRIM plan 'none-*.gz' $options; echo "exit $?"
$BRIM plan shards shards/shard-000099.csv.gz $options; echo "exit $?"
$BRIM plan 'shards/*' 'shards/shard-00000[1-3]*' $options; echo "exit $?"
printf 'a b\n\n\nc\n' >empty.txt
$BRIM plan empty.txt $options --jsonl | grep -o '"rows":[0-9]*.*"excluded":[0-9]*'
$BRIM plan empty.txt $options --jsonl --min-chars 1 | grep -o '"rows":[0-9]*.*"excluded":[0-9]*'
$BRIM plan empty.txt $options --min-chars 9; echo "exit $?"
printf 'text,label\n' >header.csv
$BRIM plan header.csv $options; echo "exit $?"
train="$BRIM train --model $MODEL --stream --max-steps 9 --quiet"
printf 'text,label\ngood film,1\nbad film,\nthe story,0\n' >gap.csv
$train --train gap.csv --output none; echo "exit $?"
$train --train gap.csv --output begun --labels 0 --labels 1; echo "exit $?"
printf '{"text":"good film","label":1}\n{"text":"bad film","label":null}\n{"text":"bad"}\n' >gap.jsonl
$train --train gap.jsonl --output other --labels 0 --labels 1; echo "exit $?"
# A line that is a thousand times what its file is: no more of it is read than the limit.
{ echo good film; head -c 20000000 /dev/zero | tr '\0' a; echo; echo the story; } | gzip >line.txt.gz
$BRIM plan line.txt.gz $options --max-record 100000; echo "exit $?"
$BRIM plan line.txt.gz $options --max-record 100000 --skip-damaged --jsonl | grep -o '"rows":[0-9]*,.*"damaged":[0-9]*'
{ head -c 20000000 /dev/zero | tr '\0' a; echo; } | gzip >line.txt.gz
$BRIM plan line.txt.gz $options --max-record 100000 --skip-damaged; echo "exit $?"
# The reader goes away.
yes 'good film' | head -n 50000 >many.txt
$BRIM plan many.txt $options --jsonl | head -n 1 | cut -c 1-30
# A shard that is gone when the run continues.
options="--train shards --output run --shuffle-window 20 --batch-size 8 --save-every 5"
$train $options >/dev/null; rm run/model.safetensors shards/shard-000003.csv.gz
$train $options --resume; echo "exit $?"
ls -d none begun other 2>/dev/null
find run/checkpoints -mindepth 1 -maxdepth 1 2>/dev/null | cat
# Of several files that come twice the first is named, whatever the order of their inodes.
for name in d c b a; do echo good film >$name.txt; done
$BRIM plan a.txt b.txt c.txt d.txt b.txt c.txt d.txt -t $MODEL --stream --quiet; echo "exit $?"
