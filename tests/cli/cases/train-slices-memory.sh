# What slices take is told by itself: as much as a run without them takes less.
run="$BRIM train --model $MODEL --train $DATA/train.csv --max-steps 1 --batch-size 24 --quiet"
$run -o without >/dev/null
$run --slices 24 -o with >/dev/null
$run --slices 24 --accumulate 3 -o parts >/dev/null
python3 - <<'END'
import json
start = {name: json.loads(open(name + "/log.jsonl").readline()) for name in ("with", "without", "parts")}
less = start["with"]["memory_training"] - start["without"]["memory_training"]
print(start["with"]["memory_slices"] == less, start["parts"]["memory_slices"] > 0, start["without"]["memory_slices"])
END
# A run that is resumed keeps its parts, and says so where a limit would have made smaller ones.
$BRIM train --model $MODEL --train $DATA/train.csv --max-steps 2 --batch-size 24 -o without --resume --memory-limit 1MB 2>&1 | grep memory-limit
