# What is written never replaces what is read, whichever command, option, link or pattern names it; nor is anything begun that could not be
# written in the end. A link that names an output stays, and its target is replaced.
sums() { find . -type f ! -name '*.sums' | sort | xargs cksum; }
brim() {
  "$BRIM" "$@" -q >out.sums 2>err.sums
  code=$?
  sed 's/^/  /' out.sums err.sums
  echo "$code $*"
}
cp -r "$MODEL" model
head -20 "$DATA/test.csv" >io.csv
mkdir data && cp io.csv data/one.csv
echo 12 >lengths && echo '{"quiet": true}' >config.json
echo '[{"ids":[2,5,3],"label":0}]' >batch.json
"$BRIM" train -m model --train io.csv --max-steps 1 --eval io.csv -o run -q >/dev/null
cp -r "$CASES/../../golden/tasks/folders/st-prompts" vectors && chmod -R u+w vectors
cp -r vectors listed && mv listed/1_Pooling listed/words && sed -i s/1_Pooling/words/ listed/modules.json
ln io.csv hard.csv && ln -s io.csv soft.csv && ln -s run/model.safetensors weights
sums >before.sums
brim analyze -t model --html io.csv io.csv
brim analyze -t model --html hard.csv soft.csv
brim analyze -t model --html data/one.csv 'data/*.csv'
brim analyze -t model --html data/one.csv data
brim analyze -t model --html model/vocab.txt io.csv
brim compare -m model --train io.csv --eval named=io.csv --html soft.csv
brim tokenize -t model/vocab.txt io.csv -o model/vocab.txt
brim tokenize -t model/vocab.txt io.csv -o model/tokenizer_config.json
brim predict -m run -t model/vocab.txt io.csv -o model/config.json
brim tokenize -t model --config config.json io.csv -o config.json
brim plan --lengths lengths -o lengths
brim plan --lengths lengths --simulate ranks=2,bandwidth=1,latency=1,model=model -o model/config.json
brim predict -m run io.csv -o run/model.safetensors
brim predict -m run io.csv -o weights
brim predict -m run -t model io.csv -o model/tokenizer_config.json
brim inspect gradients -m run --batch batch.json -o batch.json
brim inspect gradients -m run --batch batch.json -o ./run/../run/model.safetensors
brim report run --csv run/log.jsonl
brim report run -o run/log.jsonl
brim report run --data io.csv -o io.csv
brim report run --csv page -o ./page
brim train -m model --train io.csv -o new --profile=io.csv
brim train -m model --train io.csv -o new --profile=new/model.safetensors
brim train -m model --train io.csv -o new --profile=new/checkpoints/x
brim train -m run --train io.csv -o run --overwrite
brim train -m run --train io.csv -o ./run/ --resume
brim train -m run/checkpoints/step-1 --train io.csv -o run --overwrite
brim train -m model -t run --train io.csv -o run --overwrite
brim train -m model --train run/evaluation.jsonl -o run --overwrite
mkdir named && cp io.csv named/trace.json && cp io.csv v.npy.partial && cp io.csv w.npy.partial.json && sums >before.sums
brim train -m model --format csv --train named/trace.json -o named --profile
brim train -m model --train io.csv -o new --profile=new
brim train -m model --train io.csv -o new --profile=new/config_sentence_transformers.json
brim train -m model --train io.csv -o new --cache new
brim train -m model --train io.csv -o new --cache new/checkpoints
brim embed -m model --format csv v.npy.partial -o v.npy
brim embed -m model --format csv w.npy.partial.json -o w.npy
brim embed -m model io.csv -o v.npy
brim embed -m model io.csv -o w.npy
brim embed -m vectors io.csv -o vectors/config_sentence_transformers.json
brim embed -m vectors io.csv -o vectors/1_Pooling/config.json
brim embed -m listed io.csv -o listed/words/config.json
brim predict -m run io.csv -o new/
brim train -m model --train io.csv -o new --profile=nowhere/x
brim train -m model --train io.csv -o new --profile=new/deeper/x
brim train -m model --train io.csv -o io.csv/new
brim predict -m run io.csv -o nowhere/x
brim predict -m run io.csv -o run
brim predict -m run - -t - </dev/null
brim predict -m run io.csv -o run/checkpoints/step-1/model.safetensors
brim report run -o run/checkpoints/step-1/state.json
brim embed -m run io.csv -o "$(echo run/tensorboard/*)" | sed 's/events[.0-9a-z]*/EVENTS/'
brim train -m run --train io.csv --max-steps 1 -o run/checkpoints/step-1 --overwrite
brim predict -m run io.csv -o "$(printf 'x%.0s' $(seq 256))" | tr -s x
brim train -m model --train io.csv -o "$(printf 'x%.0s' $(seq 256))" | tr -s x
sums | cmp - before.sums && test ! -e new && echo "all as it was"
# All that is no input
"$BRIM" train -m model --train io.csv --max-steps 1 -o new --profile=new/trace -q >/dev/null && test -s new/trace && echo "a trace"
echo old >target && ln -s target linked
brim predict -m run io.csv -o linked
brim predict -m run io.csv -o run/predictions.jsonl
brim predict -m run io.csv -o run/predictions.jsonl
brim predict -m run io.csv -o /dev/null
brim report run -o run/report.html
readlink linked
cmp target run/predictions.jsonl && echo "through the link"
