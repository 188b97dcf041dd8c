# A program writes a row and waits for its line; options that such a run cannot keep are refused.
$BRIM train -q --model $MODEL --train $DATA/train.csv --max-steps 1 -o run >log
python3 $CASES/../answers.py $BRIM run $DATA
for wrong in '-o p.jsonl' '--cache c' '--batch-size 8' '--padding longest' '--columns a,b'; do $BRIM predict -q -m run - --unbuffered $wrong </dev/null || echo $?; done
printf 'one two three four five six\n' | $BRIM predict -q -m run - --unbuffered --max-length 4 | grep -c index
