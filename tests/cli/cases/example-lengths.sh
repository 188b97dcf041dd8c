# Planning from numbers alone, with the caller's own bound on rows: examples/lengths.c.
printf '%s\n' 50 30 20 20 30 20 | $BUILD/examples/lengths 60 | sort | grep ': 1 rows\|: 2 rows\|: 3 rows' | cut -d: -f2 | cut -d, -f1
seq 5 300 | $BUILD/examples/lengths 4096 >once
seq 5 300 | $BUILD/examples/lengths 4096 >again
cmp once again && grep -c ^epoch once
grep -c '^296 of 296 rows' once
grep hash once | sed 's/.*hash //' | sort -u | wc -l | tr -d ' '
echo 70 | $BUILD/examples/lengths 60
