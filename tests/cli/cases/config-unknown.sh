echo '{"config": "d.json"}' >d.json
$BRIM plan --config d.json --lengths $DATA/lengths.txt
printf '{\n  "batch-size": 8,\n  "paddding": "none"\n}\n' >c.json
$BRIM plan --config c.json --lengths $DATA/lengths.txt
