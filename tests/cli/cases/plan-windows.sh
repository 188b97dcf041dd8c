# Long texts as windows of their rows, and what cannot be windows.
"$BRIM" analyze -t "$MODEL" --max-length 5 --windows 1 --batch-size 4 --json "$DATA/train.csv" | head -c 120
echo
"$BRIM" plan -t "$MODEL" --max-length 5 --windows 1 --max-windows 3 --batch-size 4 "$DATA/train.csv"
printf 'text,text_pair\na,b\n' > pairs.csv
"$BRIM" plan -t "$MODEL" --max-length 5 --windows 3 "$DATA/train.csv" || echo $?
"$BRIM" plan -t "$MODEL" --windows 3 "$DATA/train.csv" || echo $?
"$BRIM" plan -t "$MODEL" --max-length 5 --windows 1 pairs.csv || echo $?
"$BRIM" plan -t "$MODEL" --task mlm --batch-size 4 "$DATA/train.csv"
"$BRIM" plan -t "$MODEL" --max-length 5 --max-windows 3 "$DATA/train.csv"
seq 9 > lengths; "$BRIM" plan --lengths lengths --max-windows 3
