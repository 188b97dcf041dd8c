# What other programs leave in a folder is neither taken for a run nor removed.
train() {
  "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" --max-steps 2 --save-every 1 --keep-checkpoints 1 -q -o mine "$@" > out 2> err
  echo "exit $?"
  sed 's/^/  /' err
}
mkdir -p mine/checkpoints/mine mine/checkpoints/step-1
echo w > mine/checkpoints/mine/w.pt
echo w > mine/checkpoints/step-1/config.json
for f in config.json model.safetensors tokenizer.json; do echo MY > mine/$f; done
train
cat mine/config.json mine/model.safetensors mine/tokenizer.json
train --overwrite
rm -r mine/checkpoints/step-1
train --overwrite
train --overwrite
ls mine/checkpoints
cat mine/checkpoints/mine/w.pt
echo '{"loss": 0.5}' > mine/log.jsonl
train --overwrite
cat mine/log.jsonl
