printf '{"batch-size": "eight"}' >c.json
$BRIM plan --config c.json --lengths $DATA/lengths.txt
