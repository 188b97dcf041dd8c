# A copy of a run, of links, of second names or with what links lead to, is a run of its own: the original stays as it is, and the link to the
# best checkpoint is the copy's, or gone.
sums() { (cd original && find . -type f | sort | xargs cksum && find . -type l -exec readlink {} +); }
train() { "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" --save-every 1 -q "$@" >out 2>&1 || cat out; }
train --eval "$DATA/test.csv" --max-steps 2 -o original
sums >sums.txt
for how in -as -al -aL -a; do
  for words in "--eval $DATA/test.csv --max-steps 3 --resume" "--eval $DATA/test.csv --max-steps 1 --seed 7 --overwrite" \
    "--max-steps 1 --overwrite" "--max-steps 1 --folds 2 --overwrite"; do
    rm -rf copy && cp $how "$PWD/original" copy
    train $words -o copy
    sums | cmp - sums.txt
    best="none"
    test -e copy/checkpoints/best && best="a folder"
    test -L copy/checkpoints/best && best=$(readlink copy/checkpoints/best)
    echo "$how $(echo "$words" | sed 's/--eval [^ ]* //'): $best, $(ls copy/checkpoints 2>/dev/null | grep -c step-) steps"
  done
  rm -rf copy && cp $how "$PWD/original" copy
  "$BRIM" evaluate -m copy "$DATA/test.csv" -q >/dev/null && "$BRIM" report copy -q
  sums | cmp - sums.txt && echo "$how: evaluated"
done
rm -r original
train --max-steps 2 --folds 2 -o original && sums >sums.txt
for how in -as -al -aL; do
  for words in --resume "--seed 7 --overwrite"; do
    rm -rf copy && cp $how "$PWD/original" copy && rm copy/fold-1/model.safetensors
    train --max-steps 2 --folds 2 $words -o copy
    sums | cmp - sums.txt && echo "$how folds $words: $(LC_ALL=C ls copy)" | xargs
  done
done
