# Masked words: texts without labels; a folder that is measured, filled and trained further; a stream; what is refused.
mlm() { $BRIM train --model $MODEL --train "$@" --task mlm --quiet --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["steps"], "steps", r["rows"], "rows")'; }
mlm $DATA/train.csv --eval 20% --mask-rate 0.3:0.15 --whole-words --max-steps 4 --output run
cut -d'"' -f4 run/log.jsonl | uniq -c | sed 's/^ *//'
$BRIM evaluate --model run $DATA/train.csv --json --quiet | python3 -c 'import json, sys; print(*json.load(sys.stdin))'
printf 'the [MASK] was good\nno mask\n' > masks.txt
$BRIM predict --model run masks.txt --quiet | python3 -c 'import json, sys
for line in sys.stdin: r = json.loads(line); print(r["index"], r["masks"], [len(best) for best in r["best"]])'
$BRIM train --model run --train $DATA/train.csv --task classification --max-steps 2 --output next --quiet --json | grep -c '"steps": *2'
mlm $DATA/train.csv --stream --epochs 1 --max-length 32 --output streamed
$BRIM tokenize -t $MODEL --words tokenizer masks.txt
$BRIM inspect masks -t $MODEL --mask-rate 0.5 --mask-share 1 --random-share 0 --seed 3 masks.txt
printf 'good\n\nbad\n' > short.txt
mlm short.txt --max-steps 2 --output short
refused() { $BRIM train --model $MODEL --train masks.txt --output bad --quiet "$@" 2>&1; }
refused --task mlm --folds 2
refused --task mlm --keep-head
refused --task mlm --mask-rate 1.5
refused --task mlm --label-smoothing 0.1
refused --task mlm --class-weights balanced
refused --mask-rate 0.3
$BRIM compare --model $MODEL --train masks.txt --task mlm --modes brim --quiet 2>&1
$BRIM predict --model run masks.txt --unbuffered --quiet 2>&1
$BRIM predict --model $MODEL masks.txt --quiet >/dev/null 2>&1 || echo "a bare encoder is not trained"
# A stream whose rows wait for the next window resumes to the same bytes; a tied decoder whose words are not trained.
seq 40 | sed 's/.*/good film & bad plot and some more words/' > many.txt
stream() { $BRIM train --model $MODEL --train many.txt --task mlm --stream --shuffle-window 10 --max-length 16 --batch-size 7 --max-steps 5 --save-every 1 --keep-checkpoints 9 --quiet "$@" >/dev/null; }
stream --output whole && stream --output halves --prefetch 0
ls halves/checkpoints | tr "\n" " "
for step in 2 3; do
  rm -rf again && cp -r halves again && rm -rf again/model.safetensors again/checkpoints/step-5 again/checkpoints/step-4
  [ $step = 3 ] || rm -rf again/checkpoints/step-3
  stream --output again --resume && cmp whole/model.safetensors again/model.safetensors && echo "resumed after step $step"
done
mlm masks.txt --train-only '*.bias,cls.*' --max-steps 2 --output biases
refused --task mlm --windows 6 --max-length 8
$BRIM report run --data masks.txt -o report.html --quiet 2>&1 || :
