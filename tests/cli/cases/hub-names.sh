# A model by its name in the Hugging Face hub's local cache. Nothing is ever fetched: a line says what would.
export HF_HOME="$PWD/home"
snapshot=home/hub/models--owner--tiny/snapshots/0123abcd
mkdir -p "$snapshot" home/hub/models--owner--tiny/refs
printf 0123abcd >home/hub/models--owner--tiny/refs/main
cp "$MODEL"/* "$snapshot"
$BRIM train -m owner/tiny --train "$DATA/train.csv" --max-steps 2 -o run --quiet >out && $BRIM train -m "$MODEL" --train "$DATA/train.csv" \
  --max-steps 2 -o same --quiet >out && cmp run/model.safetensors same/model.safetensors && echo the same weights
$BRIM tokenize -t owner/tiny@0123abcd --max-length 5 "$DATA/test.csv" | head -n 1
$BRIM train -m owner/tiny@v2 --train "$DATA/train.csv" --max-steps 2 -o none
$BRIM evaluate -m owner/other "$DATA/test.csv"
$BRIM predict -m ../hub/owner "$DATA/test.csv"
mkdir -p owner && cp -r "$MODEL" owner/tiny && rm "$snapshot/model.safetensors"
$BRIM train -m owner/tiny --train "$DATA/train.csv" --max-steps 2 -o beside --quiet >out && echo a folder of that name comes first
rm -r owner
$BRIM train -m owner/tiny --train "$DATA/train.csv" --max-steps 2 -o none
ls -d *
