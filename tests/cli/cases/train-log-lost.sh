# A run whose log.jsonl was removed goes on from its checkpoint, says so, and stays a run that can be resumed and replaced.
options="--model $MODEL --train $DATA/train.csv --batch-size 16 --save-every 1 --keep-checkpoints 0 --max-steps 3 --output run"
$BRIM train $options -q >/dev/null
cksum <run/model.safetensors >whole
rm -r run/checkpoints/step-3 run/model.safetensors run/log.jsonl
$BRIM train $options --resume 2>&1 >/dev/null | grep log.jsonl
grep -o '"event":"[a-z]*","\(step\|version\)":[^,]*' run/log.jsonl
grep -o '"log_lost":[a-z]*' run/log.jsonl
cksum <run/model.safetensors | cmp - whole && echo "the same weights"
rm -r run/checkpoints/step-3
$BRIM train $options --resume 2>&1 >/dev/null | grep log.jsonl
$BRIM train $options --overwrite -q >/dev/null && echo replaced
# A tokenizer's file that is wrong is named in its folder.
cp -r "$MODEL" model && echo '{"new": 7000}' >model/added_tokens.json
echo good | $BRIM tokenize -t model - 2>&1
