# Data as people have it: semicolons, JSON arrays, xz and bzip2, rows without a label, labels that look alike, lists of 0.0 and 1.0.
train() {
  $BRIM train --model $MODEL --max-steps 1 "$@" 2>&1 | grep -vE '^brim: (steps:|2 tensors|4 tensors)|tokens/s'
}
sed 's/,/;/' $DATA/train.csv >semi.csv
train --train semi.csv -o a
train --train semi.csv --delimiter ';' -o b
train --train semi.csv --delimiter ';;' -o c
train --train $DATA/train.jsonl --delimiter ';' -o c
printf 'text|label\na film|x\na plot|y\n' | $BRIM train -m $MODEL --train - --format tsv --delimiter '|' --max-steps 1 -o d -q >/dev/null && echo 'bars on standard input'
python3 - $DATA <<'END'
import bz2, json, lzma, pathlib, sys
data = pathlib.Path(sys.argv[1])
rows = [json.loads(line) for line in open(data / "train.jsonl")]
pathlib.Path("array.json").write_text(json.dumps(rows, indent=1))
pathlib.Path("train.csv.xz").write_bytes(lzma.compress((data / "train.csv").read_bytes()))
pathlib.Path("train.csv.bz2").write_bytes(bz2.compress((data / "train.csv").read_bytes()))
END
# One model of the same rows, however they are written.
$BRIM train -m $MODEL --train $DATA/train.jsonl --max-steps 2 -o lines -q >/dev/null
$BRIM train -m $MODEL --train array.json --max-steps 2 -o array -q >/dev/null
cmp lines/model.safetensors array/model.safetensors && echo "an array"
$BRIM train -m $MODEL --train $DATA/train.csv --max-steps 2 -o plain -q >/dev/null
$BRIM doctor --no-speed --json >doctor.json
for packed in xz bz2; do
  if grep -q "\"$packed\"" doctor.json; then
    $BRIM train -m $MODEL --train train.csv.$packed --max-steps 2 -o $packed -q >/dev/null
    cmp plain/model.safetensors $packed/model.safetensors && echo $packed
  else
    echo $packed
  fi
done
$BRIM shard array.json -n 50 -o shards -q && gzip -dc shards/*.gz | wc -l
$BRIM train -m $MODEL --train shards --max-steps 2 -o sharded -q >/dev/null && cmp lines/model.safetensors sharded/model.safetensors && echo "its shards"
# Labels.
printf 'text,label\na film,1\na plot,\na story,0\n' >gaps.csv
train --train gaps.csv -o e
train --train gaps.csv --missing-label skip -o e
$BRIM train -m $MODEL --train gaps.csv --missing-label skip --stream --max-steps 1 -o f -q >/dev/null && echo "a stream"
$BRIM evaluate -m e gaps.csv --missing-label skip --json -q | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"])'
$BRIM train -m $MODEL --train gaps.csv --missing-label skip --folds 2 -o g -q >/dev/null && python3 -c 'print(open("g/folds.csv").read().split()[1:] and sum(1 for _ in open("g/predictions.jsonl")))'
printf 'text,label\na, pos\nb,pos\nc,neg\n' >alike.csv
train --train alike.csv -o h
printf 'text,label\na,1.0\nb,0.0\n' >decimals.csv
train --train decimals.csv -o i
train --train decimals.csv --task classification -o j
printf 'text,label\na,0\nb,0.5\nc,1\n' >mixed.csv
train --train mixed.csv -o k
printf '{"text":"a","label":[1.0,0.0,1.0]}\n{"text":"b","label":[0.0,0.0,1.0]}\n' >hot.jsonl
train --train hot.jsonl -o l
printf '{"text":"a","label":[1.5,0.0]}\n{"text":"b","label":[0.0,1.0]}\n' >values.jsonl
train --train values.jsonl -o m
