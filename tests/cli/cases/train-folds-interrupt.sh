# Ctrl-C in a fold, and --resume: the same predictions as without.
train="$BRIM train --model $MODEL --train $DATA/train.csv --folds 3 --epochs 100 --batch-size 4 --save-every 100000 --quiet"
$train --output whole >/dev/null
$train --output cut >/dev/null 2>err &
pid=$!
python3 - $pid <<'END'
import os, signal, sys, time
for _ in range(3000):
    time.sleep(0.01)
    try:
        if sum('"step"' in line for line in open("cut/fold-1/log.jsonl")) > 5: break
    except OSError: pass
os.kill(int(sys.argv[1]), signal.SIGINT)
END
wait $pid
echo "exit $?"
cat err
ls cut
$train --output cut --resume >/dev/null && cmp whole/predictions.jsonl cut/predictions.jsonl && cmp whole/fold-2/model.safetensors cut/fold-2/model.safetensors && echo "the same"
