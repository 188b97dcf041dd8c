$BRIM train --model $MODEL --train $DATA/train.tsv --output run --max-steps 3 --quiet >/dev/null
$BRIM evaluate --model run $DATA/test.tsv --quiet --json | python3 -c 'import json,sys; print(sorted(json.load(sys.stdin)))'
$BRIM predict --model run $DATA/test.tsv --quiet | python3 -c '
import json, sys
for line in list(sys.stdin)[:2]:
    row = json.loads(line)
    assert row["scores"] == [row["label"]]
    print(sorted(row))'
