$BRIM train --model $MODEL --train $DATA/train.tsv --output run --max-steps 3 --quiet >/dev/null
$BRIM evaluate --model run $DATA/test.tsv --quiet --json | python3 -c 'import json,sys; print(sorted(json.load(sys.stdin)))'
$BRIM predict --model run $DATA/test.tsv --quiet | python3 -c '
import json, sys
for line in list(sys.stdin)[:2]:
    row = json.loads(line)
    assert row["scores"] == [row["label"]]
    print(sorted(row))'
# A stream of several values a row: how many there are, the first row says.
printf 'text,label\ngood film,0.5|2\nbad film,0|1\n' > values.csv
for how in "" --stream; do $BRIM train --model $MODEL --task regression --train values.csv $how --max-steps 2 --batching sequential --output values --overwrite --quiet 2>&1 | sed 's/ in [0-9:]* (.*),/,/'; done
# Numbers that are too long for a line.
printf 'text,label\na,1e37\nb,0\nc,2e37\n' > large.csv
$BRIM train --model $MODEL --task regression --train large.csv --eval large.csv --max-steps 2 -o large 2>&1 | grep -o "loss [0-9.e+]*\\|rmse [0-9.e+]*"
$BRIM evaluate -q -m large large.csv | grep "loss\\|rmse"
grep -o "[0-9.]*e+74\\|[0-9]\\{30\\}" large/report.html | sort -u
