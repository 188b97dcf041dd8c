# A file of options may begin with the mark that editors of Windows put there; places count from the file's first byte.
printf '\357\273\277{"batch-size": 2}' > marked.json && "$BRIM" plan -q -t "$MODEL" --config marked.json "$DATA/lengths.txt" > out && echo read
printf '\357\273\277{"batch-sizes": 2}' > wrong.json && "$BRIM" plan -q -t "$MODEL" --config wrong.json "$DATA/lengths.txt" || true
