printf '{"text":"good","label":1}\n{"text":"bad" "label":0}\n' >a.jsonl
$BRIM train --model $MODEL --train a.jsonl --output run
