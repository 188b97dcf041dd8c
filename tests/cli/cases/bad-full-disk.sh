# A limit on the size of files stands for a full disk: saving fails, and what was there stays.
$BRIM train --model $MODEL --train $DATA/train.csv --output run --max-steps 1 --quiet >/dev/null || exit 9
before=$(cksum <run/model.safetensors)
(trap '' XFSZ; ulimit -f 40; $BRIM train --model $MODEL --train $DATA/train.csv --output full --max-steps 1 --quiet)
echo "exit $?"
find full -name '*.safetensors' -o -name '*.tmp-*' 2>/dev/null
(trap '' XFSZ; ulimit -f 40; $BRIM train --model $MODEL --train $DATA/train.csv --output run --overwrite --max-steps 1 --quiet)
echo "exit $?"
[ "$before" = "$(cksum <run/model.safetensors)" ] && echo "the model is untouched"
