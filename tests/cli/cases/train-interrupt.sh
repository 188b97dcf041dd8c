# Ctrl-C writes a checkpoint; --resume goes on and ends with the very same weights as a run that was not interrupted.
options="--model $MODEL --train $DATA/train.csv --epochs 400 --batch-size 4 --save-every 100000 --quiet"
$BRIM train $options --output whole >/dev/null
$BRIM train $options --output cut >/dev/null 2>err &
pid=$!
python3 - $pid <<'END'
import os, signal, sys, time
for _ in range(1000):
    time.sleep(0.01)
    try:
        if sum('"step"' in line for line in open("cut/log.jsonl")) > 5: break
    except OSError: pass
os.kill(int(sys.argv[1]), signal.SIGINT)
END
wait $pid
echo "exit $?"
cat err
ls cut/checkpoints | wc -l
$BRIM train $options --output cut --resume >/dev/null && cmp whole/model.safetensors cut/model.safetensors && echo "the same weights"
