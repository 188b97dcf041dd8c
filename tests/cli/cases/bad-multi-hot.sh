# 1 and 0 for each label are not names of labels: no row has a label twice.
printf '{"text":"x","label":[1,0,1]}\n{"text":"y","label":[0,0,1]}\n' >oh.jsonl
$BRIM train -m $MODEL --train oh.jsonl --max-steps 1 -o run -q
echo $?
printf 'text,label\nx,a|b\ny,b|b\n' >bars.csv
$BRIM train -m $MODEL --train bars.csv --task multi-label --max-steps 1 -o run -q
echo $?
printf '{"text":"x","label":["a","b"]}\n{"text":"y","label":["b"]}\n' >good.jsonl
$BRIM train -m $MODEL --train good.jsonl --max-steps 1 -o run -q >/dev/null
printf '{"text":"x","label":["a","a"]}\n' >twice.jsonl
$BRIM evaluate -m run twice.jsonl -q
echo $?
