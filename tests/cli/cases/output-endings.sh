# A name that says another format than what is written, or that the file is packed, is refused before the work; other names are free.
try() {
  $BRIM "$@" -q >/dev/null
  echo "$? $*" | sed "s|$DATA|data|g; s|$MODEL|model|g"
}
try plan -t $MODEL $DATA/test.csv --jsonl -o plan.jsonl.gz
try plan -t $MODEL $DATA/test.csv --jsonl -o plan.JSONL
try plan -t $MODEL $DATA/test.csv -o plan.csv
try tokenize -t $MODEL $DATA/test.csv -o ids.parquet
try tokenize -t $MODEL $DATA/test.csv -o ids.txt
try embed -m $MODEL $DATA/test.csv -o vectors.npz
try embed -m $MODEL $DATA/test.csv -o vectors.npy.xz
try embed -m $MODEL $DATA/test.csv -o vectors.npy
try predict -m $MODEL $DATA/test.csv -o predictions.tsv
try inspect gradients -m $MODEL --batch none.json -o gradients.pt
try analyze -t $MODEL $DATA/test.csv --html lengths.pdf
try analyze -t $MODEL $DATA/test.csv --html lengths.htm
try compare -m $MODEL --train $DATA/train.csv --html compared.Png
try report none -o page.jsonl
try report none --csv steps.xlsx
try train -m $MODEL --train $DATA/train.csv -o run --profile=trace.json.gz
mkfifo pipe.gz
timeout 60 cat pipe.gz >read &
try tokenize -t $MODEL $DATA/test.csv -o pipe.gz
wait && wc -l <read
ls
