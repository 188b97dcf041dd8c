# The file's options are used, the command line wins, underscores do as well as dashes.
cat >c.json <<END
{"lengths": "$DATA/lengths.txt", "batch_size": 4, "padding": "longest", "batching": "sequential", "drop-last": true}
END
$BRIM plan --config c.json --batch-size 16 --jsonl
