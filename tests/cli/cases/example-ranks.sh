# One plan for several processes: examples/ranks.c.
seq 5 300 | $BUILD/examples/ranks 4
seq 5 20 | $BUILD/examples/ranks 40 | tail -n 1 | cut -d';' -f1
echo 0 | $BUILD/examples/ranks 2
