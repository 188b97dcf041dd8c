# Rows are encoded once; a changed file and a damaged cache are told and made good.
printf 'text,label\ngood film,1\nbad film,0\nthe slow plot,0\n' >a.csv
run() { $BRIM analyze a.csv -t $MODEL --cache kept --json "$@" | cut -c1-60; }
clean() { sed 's/[0-9a-f]\{16\}\.rows/HASH.rows/'; }
run 2>&1 | grep -v '^encode' | clean
run 2>&1 | clean
printf 'text,label\ngood film,1\nbad plot,0\nthe slow plot,0\n' >a.csv
run 2>&1 | grep -v '^encode' | clean
file=$(ls kept/*.rows)
head -c 100 "$file" >half && mv half "$file"
run 2>&1 | grep -v '^encode' | clean
$BRIM train --model $MODEL --train a.csv --cache kept --output one --max-steps 2 --quiet --json | grep -c '"steps":2'
$BRIM train --model $MODEL --train a.csv --cache kept --output two --max-steps 2 --json 2>&1 >/dev/null | grep cache | clean
cmp one/model.safetensors two/model.safetensors && echo the same weights
$BRIM evaluate --model one a.csv --cache kept --json --quiet | grep -c accuracy
$BRIM predict --model one a.csv --cache kept --quiet | wc -l | tr -d ' '
$BRIM plan a.csv -t $MODEL --cache kept --batch-size 3 --batching sequential --jsonl --quiet | head -n 1
ls kept | wc -l | tr -d ' '
