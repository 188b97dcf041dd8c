# Rows in memory, kept on disk, as ragged and padded batches: examples/batches.c.
$BUILD/examples/batches $MODEL $DATA/train.csv kept >first
$BUILD/examples/batches $MODEL $DATA/train.csv kept >second
cmp first second && ls kept | wc -l | tr -d ' '
grep -c ^step first
head -n 3 first
sed -n 's/^step \([0-9]*\): \([0-9]*\) of .*/\1 \2/p' first | awk '{ rows[$1] += $2 } END { for (s = 0; s in rows; s++) print s, rows[s] }'
$BUILD/examples/batches $MODEL $DATA/lengths.txt kept
