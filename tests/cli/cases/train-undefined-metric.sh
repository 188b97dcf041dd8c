# A metric that evaluations leave undefined is no reason to stop, and that there is no best one is said. At a rate of 0 all predictions are of
# one class, and so the correlation of Matthews is undefined, as it may be in the first steps of any run.
train() { $BRIM train --model $MODEL --train $DATA/train.csv --eval $DATA/test.csv --eval-every 1 --max-steps 3 --patience 1 --overwrite "$@" 2>&1; }
train --lr 0 --best-metric matthews --output run | grep -v "tokens/s" | tail -n 3
train --lr 0 --output run | sed 's/ in 0:.*//' | tail -n 4
python3 - <<'END'
import json
print([e["step"] for e in map(json.loads, open("run/log.jsonl")) if e["event"] == "eval"])
END
