# Masked words of long texts: windows are rows, none of a text is left out; held out together; the same weights from a stream and when
# it is resumed; evaluation makes them too, and a text of 5 MB is cut at 1024 of them, which is said.
python3 -c '
words = "good film bad plot and some more words of a story".split()
for i in range(60): print(" ".join(words[(i * k) % len(words)] for k in range(1, 3 + (i * 7) % 40)))' > long.txt
train() { $BRIM train --model $MODEL --train long.txt --task mlm --max-length 16 --batch-size 8 --lr 1e-3 --quiet --json "$@" | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["steps"], "steps", r["rows"], "rows")'; }
train --epochs 1 --output run
train --epochs 1 --windows 4 --output overlap
$BRIM train --model $MODEL --train long.txt --task mlm --max-length 16 --windows 4 --max-windows 2 --max-steps 1 --output few 2>&1 | grep -a 'longer than'
$BRIM train --model $MODEL --train long.txt --task mlm --max-length 16 --eval 20% --max-steps 1 --output held 2>&1 | grep -a 'held out'
! grep brim_window run/tokenizer_config.json
$BRIM evaluate --model run long.txt --max-length 16 --json --quiet | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["rows"], "rows", r["masked"], "masked")'
stream() { train --stream --shuffle-window 20 --max-steps 12 --save-every 1 --keep-checkpoints 20 --windows 3 --batching packed --max-tokens 100 "$@"; }
stream --output whole && stream --output again --prefetch 0
for step in 9 5; do
  rm -rf resumed && cp -r again resumed && rm -f resumed/model.safetensors
  for later in $(seq $((step + 1)) 12); do rm -rf resumed/checkpoints/step-$later; done
  grep -c '"number":[1-9]' resumed/checkpoints/step-$step/feed.json
  stream --resume --output resumed >/dev/null && cmp whole/model.safetensors resumed/model.safetensors && echo "resumed after step $step"
done
train --epochs 1 --output two --cache kept -j 2 && train --epochs 1 --output three --cache kept && cmp run/model.safetensors two/model.safetensors && cmp run/model.safetensors three/model.safetensors && echo "the same bits"
python3 -c 'print("good film " * 500000)' > large.txt
$BRIM train --model $MODEL --train large.txt --task mlm --max-length 16 --max-steps 1 --output large 2>&1 | grep -a 'longer than'
echo 'a [MASK]' | $BRIM predict --model run - --windows 2 --quiet || echo $?
echo 'a [MASK]' | $BRIM predict --model run - --quiet | cut -d, -f1-2
$BRIM train --model $MODEL --train long.txt --task mlm --max-length 16 --windows 20 --output wide --quiet || echo $?
# What a plan and an analysis say of them, from files and from a stream.
planned() { $BRIM plan -t $MODEL --task mlm --max-length 16 --windows 4 --max-windows 3 --batch-size 8 --jsonl --quiet "$@" long.txt | tail -n 1 | python3 -c 'import json, sys; r = json.load(sys.stdin)["summary"]; print(*(r[name] for name in ("rows", "tokens", "truncated", "lost", "repeated")))'; }
planned && planned --stream --shuffle-window 20
$BRIM plan -t $MODEL --task mlm --max-length 16 --windows 4 --batch-size 8 long.txt 2>&1 | grep -a 'two windows'
$BRIM analyze -t $MODEL --task mlm --max-length 16 --windows 4 --max-windows 3 --quiet long.txt | sed -n '1,3p; /^rows cut/,/^$/p; /^3 windows/p'
$BRIM analyze -t $MODEL --task mlm --max-length 16 --quiet long.txt | sed -n '1p; /cuts/p; /^no/p'
$BRIM analyze -t $MODEL --task mlm --max-length 16 --folds 2 --quiet long.txt || echo $?
printf 'text,text_pair\n%s,%s\n' "$(head -n 40 long.txt | tr "\n" " ")" "$(head -n 2 long.txt | tr "\n" " ")" > pairs.csv
$BRIM plan -t $MODEL --task mlm --max-length 16 --batch-size 8 pairs.csv 2>&1 | grep -a cut
# What is left out is counted in records, as the file has them.
$BRIM train --model $MODEL --train long.txt --task mlm --max-length 16 --min-chars 40 --max-steps 1 --output chars 2>&1 | grep -a 'left out'
$BRIM evaluate --model run long.txt --max-length 16 --min-chars 40 2>&1 | grep -a 'left out'
# An epoch of a stream has all windows, as one of rows in memory.
train --epochs 1 --stream --output epoch
$BRIM train --model $MODEL --train long.txt --task mlm --stream --max-length 16 --windows 4 --max-windows 2 --epochs 1 --output cut 2>&1 | grep -a lost
grep -o '"truncated.*repeated":[0-9]*' overlap/log.jsonl few/log.jsonl
