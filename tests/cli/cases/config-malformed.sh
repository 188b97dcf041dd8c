printf '{"batch-size": 8,}' >c.json
$BRIM plan --config c.json --lengths $DATA/lengths.txt
