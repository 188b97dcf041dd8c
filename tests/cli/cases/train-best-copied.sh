# A copy of a run that followed the link has a folder "best": it is replaced by the link. What is something else there is refused.
train() { "$BRIM" train -q -m "$MODEL" --train "$DATA/train.csv" --eval "$DATA/test.csv" --eval-every 1 --save-every 1 --keep last --keep-checkpoints 0 -b 8 -o "$@" 2>&1 | grep '^brim'; }
best() { python3 - "$1" <<'END'
import json, os, sys
run = sys.argv[1]
step = [json.loads(line) for line in open(f"{run}/log.jsonl")][-1]["best_step"]
print(sorted(n for n in os.listdir(f"{run}/checkpoints") if not n.startswith("step-")), os.readlink(f"{run}/checkpoints/best") == f"step-{step}")
END
}
train run --max-steps 1
for how in "4 --resume" "2 --overwrite"; do
  rm -rf copy && cp -rL run copy && cp -r copy/checkpoints/best copy/checkpoints/best.tmp
  test -L copy/checkpoints/best || echo "$how"
  train copy --max-steps $how
  best copy
done
echo "something else"
rm -rf copy && cp -rL run copy && echo mine > copy/checkpoints/best/mine.txt
train copy --max-steps 4 --resume
train copy --max-steps 4 --overwrite
ls copy/checkpoints copy/checkpoints/best/mine.txt
rm -r copy/checkpoints/best && echo step-1 > copy/checkpoints/best
train copy --max-steps 4 --resume
echo "no evaluation, no link"
alone() { "$BRIM" train -q -m "$MODEL" --train "$DATA/train.csv" -b 8 --save-every 1 -o alone "$@" 2>&1 | tail -1; }
alone --max-steps 1
mkdir alone/checkpoints/best
alone --max-steps 2 --resume
