# A name is a name; what says that there is no label is none; what predict writes is read again. The rows are those of bug reports.
quiet() { "$BRIM" train -m "$MODEL" --max-steps 1 -b 4 --seed 1 "$@" 2>&1 >/dev/null | grep -v 'tensors are new\|memory:\|epoch 1:'; }
row() { printf '{"text":"%s","label":%s}\n' "$1" "$2"; }
{ row 'good film' '"007"'; row 'bad film' '"7"'; row 'good plot' '"08"'; row 'bad plot' '"A1"'; } > zeros.jsonl
quiet --train zeros.jsonl -o zeros
"$BRIM" predict -m zeros zeros.jsonl | cut -d, -f2 | sort -u
"$BRIM" evaluate -m zeros zeros.jsonl | head -1
echo numbers that are equal
printf 'text,label\ngood,1.0\nbad,0.0\nfilm,1.0\n' > decimals.csv
printf 'text,label\ngood,1\nbad,0\n' > integers.csv
quiet --train decimals.csv --task classification -o decimals
"$BRIM" evaluate -m decimals integers.csv | head -1
row good '"1"' > string.jsonl
"$BRIM" evaluate -m decimals string.jsonl 2>&1
echo rows without a label
printf 'text,label\ngood,0\nbad,1\nfilm,-1\nplot,2\nmore,-100\n' > none.csv
quiet --train none.csv -o none
quiet --train none.csv --stream --eval none.csv -o none-stream
"$BRIM" evaluate -m none none.csv 2>&1 | head -2
echo words
printf '{"tokens":["good","film","in","town"],"ner_tags":["B-PER","O","O","B-LOC"]}\n' > words.jsonl
quiet --task tokens --train words.jsonl -o words
printf '{"tokens":["good","\342\200\213","film"]}\n' > new.jsonl
"$BRIM" predict -m words new.jsonl -o predicted.jsonl
grep -c null predicted.jsonl
quiet --task tokens --train predicted.jsonl -o again
"$BRIM" evaluate -m words predicted.jsonl 2>&1 | head -2
printf '{"text":"good\302\240film\343\200\200in town","ner_tags":"O O U-LOC O"}\n' > spaces.jsonl
quiet --task tokens --train spaces.jsonl -o spaces
echo lists
printf "text,label\ngood,\"['fun', 'old']\"\nbad,[]\n" > printed.csv
quiet --train printed.csv --task multi-label -o printed
{ row good '[true,false]'; row bad '[false,true]'; } > booleans.jsonl
quiet --train booleans.jsonl -o booleans
{ row good '[1,0]'; row bad '[0,1]'; } > hot.jsonl
quiet --train hot.jsonl -o hot
echo names that look alike
{ row good '"caf\u00e9"'; row bad '"cafe\u0301"'; row film '"x"'; } > forms.jsonl
quiet --train forms.jsonl -o forms
printf 'text\tlabel\n"good film"\t"neg"\n"bad film"\t"pos"\n' > quoted.tsv
quiet --train quoted.tsv -o quoted
echo names that look like something else
printf 'text,label\ngood,"0,2"\nbad,"1,5"\n' > comma.csv
quiet --train comma.csv -o comma
printf 'text,label\ngood,fun\nbad,"fun,old"\n' > several.csv
quiet --train several.csv --task multi-label -o several
printf 'text,label\ngood,pos\nbad,NA\n' > missing.csv
quiet --train missing.csv -o missing
echo what is left out
printf '{"text":"good","lang":"en"}\n{"text":null}\n{"text":"bad","lang":null}\n' > optional.jsonl
"$BRIM" tokenize -t "$MODEL" optional.jsonl --where lang=en 2>&1 | cut -d: -f1-4
"$BRIM" predict -m zeros optional.jsonl 2>&1
"$BRIM" predict -m zeros optional.jsonl --min-chars 1 2>&1 | cut -d, -f1-2
mkdir folder && cp decimals.csv folder/a.csv && cp decimals.csv folder/.b.csv && cp decimals.csv folder/part-0000
"$BRIM" tokenize -t "$MODEL" folder 2>&1 | head -1
echo a step without a label
{ printf '{"tokens":["good","film"],"ner_tags":[0,1]}\n{"tokens":["in","town"],"ner_tags":[-100,-100]}\n'; } > half.jsonl
"$BRIM" train -m "$MODEL" --task tokens --train half.jsonl -b 1 --batching sequential --lr 0 -e 1 -o half >/dev/null 2>&1
python3 -c "
import json
log = [json.loads(line) for line in open('half/log.jsonl')]
print([round(e['loss'], 4) for e in log if e['event'] in ('step', 'epoch', 'end')])"
