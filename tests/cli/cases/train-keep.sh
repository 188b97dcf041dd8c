# A share of the rows is held out; the model at the end is that of the best evaluation, or of the last step.
for keep in best last; do
  $BRIM train --model $MODEL --train $DATA/train.csv --eval 25% --keep $keep --lr 1 --eval-every 1 --max-steps 3 --output $keep 2>&1 |
    grep -e "held out" -e "^the model" -e "^best" | sed 's/[01]\.[0-9]*/N/'
done
python3 - <<'END'
import json
for keep in ("best", "last"):
    events = [json.loads(line) for line in open(f"{keep}/log.jsonl")]
    accuracy = {e["step"]: e["accuracy"] for e in events if e["event"] == "eval"}
    end = events[-1]
    assert end["best_step"] == max(accuracy, key=accuracy.get), (accuracy, end)
    assert open(f"{keep}/model.safetensors", "rb").read() == open(f"{keep}/checkpoints/{'best' if keep == 'best' else 'step-3'}/model.safetensors", "rb").read()
    print(keep, sorted(accuracy), end["rows"])
END
$BRIM train --model $MODEL --train $DATA/train.csv --keep best --output none 2>&1
$BRIM train --model $MODEL --train $DATA/train.csv --eval 0% --output none 2>&1
$BRIM train --model $MODEL --train $DATA/train.csv --eval 100% --output none 2>&1
$BRIM train --model $MODEL --train $DATA/train.csv --eval 10% --stream --output none 2>&1
$BRIM train --model $MODEL --train $DATA/train.csv --eval 10% --folds 2 --output none 2>&1
$BRIM train --model $MODEL --train $DATA/train.csv --eval 10% --best-metric f1_macro --output none 2>&1 | grep metric
ls
