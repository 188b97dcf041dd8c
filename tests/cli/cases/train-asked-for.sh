# What a run writes because it was asked goes with the run, where the next one is not asked; another program's file of the name stays, and is
# named. A run that fails before its first step brings it back.
rows() { head -13 "$DATA/train.csv"; }
rows >rows.csv && rows | tac | grep -v '^text,' | sed '1i text,label' >other.csv
train() { "$BRIM" train -m "$MODEL" --train rows.csv --max-steps 2 -o run "$@" 2>err >/dev/null || echo "exit $?"; grep -E "keeps|not part" err || true; }
former() { # what is older than the run's beginning
  find run -exec touch -h -d 2001-01-01 {} + && train "$@" --overwrite
  echo "of the former run: $(find run -not -newermt 2002-01-01 | LC_ALL=C sort | xargs)"
}
single="--eval other.csv --save-every 1 --swa-start 0.5 --profile" folds="--folds 2 --eval name=other.csv --profile"
csv() { "$BRIM" report run --csv log.csv -q && mv log.csv run/log.csv; }
train $single -q && csv && former
train $folds -q --overwrite && former
train $single -q --overwrite && csv && former --folds 2
train $folds -q --overwrite && former --folds 3
train $single -q --overwrite && csv && cksum run/*.* >before
"$BRIM" train -m "$MODEL" --train rows.csv --folds 3 --memory-limit 1MB -o run --overwrite --profile -q 2>&1 | cut -c-30
cksum run/*.* | cmp - before && echo "all is back"
echo '{"displayTimeUnit":"ms","traceEvents":[]}' >run/trace.json && echo 'epoch,loss' >run/log.csv
former
train --folds 2 -q --overwrite && cp run/trace.json run/fold-0/trace.json
train -q --overwrite
cat run/trace.json run/log.csv
