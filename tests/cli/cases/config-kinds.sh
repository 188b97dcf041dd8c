# Values of a config file are of the kind that the option takes: lists where it takes several, no list and no switch in the place of a name.
export HF_HOME="$PWD/home"
tell() {
  echo "$1" >c.json
  "$BRIM" train -m none --train none.csv -o run --config c.json 2>&1 | sed 's/and no model of that name.*/../'
}
printf 'anchor,positive\ngood film,fine plot\nbad film,dull plot\n' >pairs.csv
echo '{"matryoshka": [16, 8], "matryoshka_weights": [1, 0.5], "directions": ["query-to-doc", "doc-to-query"], "columns": ["anchor", "positive"]}' >c.json
"$BRIM" train -m "$MODEL" --task embedding --train pairs.csv --max-steps 1 -o lists --config c.json -q >out
head -n 1 lists/log.jsonl | grep -oE '"(columns|directions|matryoshka|matryoshka_weights|matryoshka-weights)":"[^"]*"' | sort -u
tell '{"batch-size": [8, 8]}'
tell '{"quiet": [true]}'
tell '{"cache": false}'
tell '{"labels": [true, false]}'
tell '{"seed": true}'
tell '{"freeze": ["embeddings"], "freeze": "encoder"}'
tell '{"eval": ["a.csv"], "eval": ["b.csv"]}'
# A trace where it is wanted, none where it is not.
for wanted in true false; do
  echo "{\"profile\": $wanted}" >c.json
  "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" --max-steps 1 -o $wanted --config c.json -q >out 2>&1
  ls $wanted | grep trace
done
cat >c.json <<END
{"model": "$MODEL", "train": ["$DATA/train.csv"], "modes": ["brim", "fixed"], "max-steps": 1, "max-length": 20, "json": true, "quiet": true}
END
"$BRIM" compare --config c.json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["modes"]), "modes")'
ls -d cache run 2>/dev/null || true
