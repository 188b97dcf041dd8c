# What is wrong with a row or an option is said in its own words, and what is not read is not judged.
rows() { printf '%s\n' "$@" > rows.jsonl; }
train() { "$BRIM" train -q -m "$MODEL" --train rows.jsonl --max-steps 1 -o run --overwrite "$@" | grep -v '^1 step\|^the model'; }
echo "--- labels"
rows '{"query":"a","documents":["b","c"],"scores":[1,null]}' '{"query":"a","documents":["b","c"],"scores":[1,0]}'; train --task rerank; train --task rerank --missing-label skip
rows '{"query":"a","documents":[],"scores":[]}' '{"query":"a","documents":["b","c"],"scores":[1,0]}'; train --task rerank
rows '{"text":"a","label":["", "b"]}' '{"text":"a","label":["b",null]}'; train; sed -i 1d rows.jsonl; train
rows '{"text":"a","label":"1"}' '{"text":"b","label":1}'; train
rows '{"text":"a","label":1}' '{"text":"b","label":"1"}'; train
echo "--- labels that are not read"
rows '{"text":"film","label":{"x":1}}' '{"text":"plot","label":[[1],[2]]}' && train --task mlm
printf '{"text":"film","label":1}\n{"text":"plot","label":2}\n' > labelled.jsonl && "$BRIM" train -q -m "$MODEL" --train labelled.jsonl --max-steps 1 -o classes > out
"$BRIM" predict -q -m classes rows.jsonl | grep -c label
"$BRIM" evaluate -q -m classes rows.jsonl
for command in tokenize "plan -b 2" analyze; do "$BRIM" $command -q -t "$MODEL" rows.jsonl > out && echo fine; done
echo "--- options"
rows '{"anchor":"a","positive":"b"}' '{"anchor":"b","positive":"c"}'
train --task embedding --stream
"$BRIM" train -q -m "$MODEL" --task embedding --train rows.jsonl --epochs 1 --stream --loss in-batch -o no
"$BRIM" compare -m "$MODEL" --train rows.jsonl --task mlm
"$BRIM" help compare | grep -c mlm
echo "--- data"
for tool in xz bzip2; do { printf 'text,label\na,x\n' | $tool; printf more; } > more.csv.$tool; done; mv more.csv.bzip2 more.csv.bz2
for file in more.csv.xz more.csv.bz2; do "$BRIM" tokenize -q -t "$MODEL" $file | grep -v ids; done
printf 'text,label\na,\357\274\221\nb,\357\274\222\n' > wide.csv && "$BRIM" train -m "$MODEL" --train wide.csv --max-steps 1 -o wide 2>&1 | grep -a 'a number'
