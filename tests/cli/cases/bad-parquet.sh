# Tables that only Python reads: the line that converts them is said.
for name in rows.parquet rows.arrow rows.feather; do
  : >$name
  $BRIM tokenize -t "$MODEL" $name || echo $?
done
