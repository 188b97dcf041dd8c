# A program writes a row and waits for its line; options that such a run cannot keep are refused.
$BRIM train -q --model $MODEL --train $DATA/train.csv --max-steps 1 -o run >log
python3 $CASES/../answers.py $BRIM run $DATA
for wrong in '-o p.jsonl' '--cache c' '--batch-size 8' '--padding longest' '--columns a,b'; do $BRIM predict -q -m run - --unbuffered $wrong </dev/null || echo $?; done
printf 'one two three four five six\n' | $BRIM predict -q -m run - --unbuffered --max-length 4 | grep -c index
# A reranker's texts are in two columns, which the first line names; what comes is what comes of all rows together.
for i in 1 2 3; do printf '{"query":"a film","document":["%s good","bad %s"],"label":[1,0]}\n' $i $i; done >lists.jsonl
$BRIM train -q --model $MODEL --task rerank --train lists.jsonl --max-steps 1 -o ranks >log
$BRIM predict -q -m ranks lists.jsonl >together
printf '{"query":"a film","document":"good"}\n{"query":"a film","document":"bad"}\n' >pairs.jsonl && $BRIM predict -q -m ranks pairs.jsonl >apart
$BRIM predict -q -m ranks - --format jsonl --unbuffered --columns query,document <pairs.jsonl | cmp - apart && echo "a reranker"
$BRIM predict -q -m ranks lists.jsonl --unbuffered | cmp - together && echo "columns by their names"
$BRIM predict -q -m ranks - --format jsonl --unbuffered <lists.jsonl | cmp - together && echo "columns of standard input, a file"
cat lists.jsonl | $BRIM predict -q -m ranks - --format jsonl --unbuffered | cmp - together && echo "columns of standard input, a pipe"
