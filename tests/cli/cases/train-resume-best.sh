# Evaluations and the best of a run that is resumed: rows that it did not have before, and a checkpoint that is gone or damaged.
run() { "$BRIM" train -q -m "$MODEL" --train "$DATA/train.csv" -b 8 --lr 0 -o run "$@" 2>&1 | grep -v tokens/s | sed 's/state.json: line [0-9]*, byte [0-9]*/state.json: line L, byte N/; s/long [0-9]* bytes/long/; s/is [0-9]* bytes long/is N bytes long/'; }
best() { run --eval "$DATA/test.csv" --eval-every 1 --keep-checkpoints 0 "$@"; }
run --max-steps 2
run --max-steps 2 --resume --eval "$DATA/test.csv" | sed 's/accuracy [0-9.]*/accuracy X/'
grep -c '"event":"eval"' run/log.jsonl
rm -r run
best --max-steps 3 --keep best | tail -1
truncate -s 30 run/checkpoints/step-1/state.json
best --max-steps 4 --resume --keep best
rm -r run/checkpoints/step-1
best --max-steps 4 --resume --keep best
for file in state.json model.safetensors optimizer.safetensors; do
  cp -r run/checkpoints/step-3/$file kept
  truncate -s 30 run/checkpoints/step-3/$file
  best --max-steps 4 --resume --keep last
  mv kept run/checkpoints/step-3/$file
done
best --max-steps 4 --resume --keep last | sed 's/accuracy [0-9.]*/accuracy X/'
