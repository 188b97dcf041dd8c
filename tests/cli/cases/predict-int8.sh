# Products of bytes: predictions near those of fp32 and the same for any threads, batches and padding; training has none.
$BRIM train --model $MODEL --train $DATA/train.csv --output run --epochs 3 --lr 2e-3 --quiet >/dev/null
$BRIM predict --model run $DATA/test.csv --quiet >fp32.jsonl
$BRIM predict --model run --precision int8 $DATA/test.csv --quiet >int8.jsonl
$BRIM predict --model run --precision int8 $DATA/test.csv --quiet --threads 1 --batch-size 1 | cmp - int8.jsonl && echo the same one by one
$BRIM predict --model run --precision int8 $DATA/test.csv --quiet --padding longest --batch-size 5 | cmp - int8.jsonl && echo and padded
python3 - <<'END'
import json
fp32, int8 = ([json.loads(line) for line in open(name + ".jsonl")] for name in ("fp32", "int8"))
apart = max(abs(a - b) for one, other in zip(fp32, int8) for a, b in zip(one["scores"], other["scores"]))
print("near", 0 < apart < 0.05, all(a["label"] == b["label"] for a, b in zip(fp32, int8) if abs(a["scores"][0] - 0.5) > 0.1))
END
for precision in fp32 int8; do
  $BRIM evaluate --model run --precision $precision $DATA/test.csv --quiet --json | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["loss"], 1))' >$precision.loss
done
cmp fp32.loss int8.loss && echo nearly the same loss
$BRIM train --model run --train $DATA/train.csv --output again --precision int8 2>&1 || echo $?
