python3 $FIXTURES model trained --labels 2
$BRIM inspect model --model trained | sed -E 's/[0-9.]+ MB.*/N MB/'
$BRIM inspect model --model $MODEL --batch-size 4 --max-length 40 --precision bf16 --freeze layers:1 --json | sed -E 's/"(gradients_and_moments|batch|training)":[0-9]+/"\1":N/g'
$BRIM inspect model --model trained --freeze "*[kv]*.weight" --tensors | sed -E "s/[0-9.]+ MB.*/N MB/" | grep -E "trained|layer.0.*(key|query)|word"
$BRIM inspect model --model trained --max-length 1000
$BRIM inspect model --model "$CASES/../../golden/tasks/folders/st-cls-dense" --json | sed 's/,"max_length.*"missing/, .., "missing/; s/,"memory.*//'
$BRIM inspect model --model "$CASES/../../golden/tasks/folders/st-cls-dense" | grep "^task\|^weights\|^missing"
cp -r "$CASES/../../golden/tasks/folders/st-cls-dense" other && sed -i 's/Dense"/LSTM"/' other/modules.json
$BRIM inspect model --model other | grep "^task\|^modules"
