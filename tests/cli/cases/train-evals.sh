# Two named sets, each with its own metrics; the best by one of them; patience; averaging.
$BRIM train --model $MODEL --train $DATA/train.csv --eval near=$DATA/train.csv --eval far=$DATA/test.csv --output run --epochs 2 \
  --eval-every 1 --best-metric far/loss --patience 2 --min-delta 100 --eval-batch-size 3 --eval-padding longest --swa-start 0.01 --swa-every 1 \
  --quiet --json | python3 -c '
import json, sys
result = json.load(sys.stdin)
print(sorted(result["eval"]), sorted(result["eval"]["far"]), result["stopped_early"], result["steps"])'
python3 -c '
import json
events = [json.loads(line) for line in open("run/log.jsonl")]
far = {e["step"]: e["loss"] for e in events if e["event"] == "eval" and e["name"] == "far" and not e["averaged"]}
end = events[-1]
assert end["best_step"] == min(far, key=far.get) and end["best_metric"] == min(far.values())
print([e["name"] for e in events if e["event"] == "eval" and e["averaged"]])'
# The run has fewer steps.
$BRIM train -m $MODEL --train $DATA/train.csv --eval $DATA/test.csv -o few --max-steps 2 --eval-every 3 --save-every 5 2>&1 | grep 'alone'
