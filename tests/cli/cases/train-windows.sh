# A run keeps the windows that it was trained with: predict and evaluate make them, unless told otherwise.
train() { $BRIM train --model $MODEL --train $DATA/train.csv --max-length 8 --windows 2 --max-steps 2 --quiet "$@" >/dev/null; }
train --max-windows 3 --output run --eval $DATA/test.csv && grep -o '"brim_window[^,}]*' run/tokenizer_config.json
grep -q '"event":"wrong"' run/evaluation.jsonl && echo 'what was wrong is kept'
$BRIM predict --model run $DATA/test.csv --quiet -o kept.jsonl
$BRIM predict --model run $DATA/test.csv --quiet --max-length 8 --windows 2 --max-windows 3 -o given.jsonl
$BRIM predict --model run $DATA/test.csv --quiet --windows 0 --max-windows 2 -o other.jsonl
cmp kept.jsonl given.jsonl && ! cmp -s kept.jsonl other.jsonl && echo "the run's windows"
$BRIM evaluate --model run $DATA/test.csv --quiet >kept && $BRIM evaluate --model run $DATA/test.csv --quiet --windows 2 --max-windows 3 >given && cmp kept given
$BRIM evaluate --model run $DATA/test.csv 2>&1 >/dev/null | grep windows
# A run without windows that begins from one keeps none.
$BRIM train --model run --train $DATA/train.csv --max-steps 1 --quiet --output plain >/dev/null && ! grep brim_window plain/tokenizer_config.json
