# A row of 100,000 words is cut, and said to be.
{ echo text,label; echo good film,1; yes 'bad film' | head -n 50000 | tr '\n' ' '; echo ,0; } >a.csv
$BRIM train --model $MODEL --train a.csv --output run --quiet | sed 's/ in .*//'
$BRIM analyze -t $MODEL --max-length 64 --batch-size 2 a.csv --quiet | head -n 2
