printf '{\n  "batch-size": 8,\n  "paddding": "none"\n}\n' >c.json
$BRIM plan --config c.json --lengths $DATA/lengths.txt
