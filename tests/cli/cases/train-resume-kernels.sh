# A run that was begun with other instructions continues with those, bit for bit; instructions that are asked for and differ are refused.
options="--model $MODEL --train $DATA/train.csv --batch-size 4 --save-every 1 --keep-checkpoints 0 --quiet"
$BRIM train $options --cpu plain --output whole >/dev/null
$BRIM train $options --cpu plain --output cut >/dev/null
newest=$(ls cut/checkpoints | grep step- | sort -t- -k2 -n | tail -1)
rm -r "cut/checkpoints/$newest" cut/model.safetensors
$BRIM train $options --output cut --resume >/dev/null && cmp whole/model.safetensors cut/model.safetensors && echo "the same weights"
rm -r "cut/checkpoints/$newest"
$BRIM doctor --no-speed --json | grep -q avx || { echo "refused"; exit; }
$BRIM train $options --output cut --resume --cpu avx2 2>err || { grep -q "begun with the kernels" err && echo "refused"; }
