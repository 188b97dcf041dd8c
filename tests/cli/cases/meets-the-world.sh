# What meets a run from outside: pipes, files in its way, options for other data, labels with other names, a run without its model.
quiet() { "$BRIM" "$@" --quiet; }
mkfifo pipe.csv
$BRIM train --model $MODEL --train pipe.csv --stream --output run
$BRIM train --model $MODEL --train pipe.csv --stream --labels 0 --labels 1 --output run
touch file
$BRIM train --model $MODEL --train $DATA/train.csv --output file
$BRIM train --model $MODEL --train $DATA/train.jsonl --quote backslash --output run
$BRIM train --model $MODEL --train $DATA/train.csv --stream --cache kept --output run
$BRIM train --model $MODEL --train $DATA/train.csv --patience 2 --output run
$BRIM train --model $MODEL --train $DATA/train.csv --class-weights balanced,0=2 --max-steps 1 --quiet --output run
cp $DATA/train.csv own.csv
cp -r $MODEL base
$BRIM train --model base --train own.csv --output missing/../base --overwrite
$BRIM train --model base --train own.csv --cache missing/../base/x --max-steps 1 --output run..d 2>&1 >/dev/null | grep cannot
quiet train --model $MODEL --train own.csv --max-steps 1 --seed 18446744073709551615 --output run > /dev/null
grep -o '"seed":[-0-9]*' run/log.jsonl
sed -i 's/,1$/,2/' own.csv
$BRIM train --model $MODEL --train own.csv --max-steps 2 --seed 18446744073709551615 --output run --resume --quiet
rm run/config.json
for command in "train --train own.csv --output other" "predict own.csv" "compare --train own.csv" "inspect model"; do $BRIM $command --model run --quiet; done
printf '{"tokens": ["a", "b"], "ner_tags": ["B-A", "X"]}\n{"tokens": ["a"], "ner_tags": ["O"]}\n' > words.jsonl
quiet train --model $MODEL --train words.jsonl --task tokens --max-steps 1 --output tagger > /dev/null
$BRIM evaluate --model tagger words.jsonl | head -1
printf '{"text": "a", "label": "1"}\n{"text": "b", "label": "0"}\n' > names.jsonl
quiet train --model $MODEL --train names.jsonl --max-steps 1 --output names > /dev/null
quiet predict --model names names.jsonl | grep -o '"label":"[01]"' | sort -u | wc -l
printf 'text\n"a \\"good\\" film"\n' > escaped.csv
quiet predict --model names --quote backslash escaped.csv | wc -l
quiet predict --model names escaped.csv
printf 'good\rbad\r' | quiet predict --model names -
ls
# A folder beside the one that a person is in.
mkdir -p deep/down && cp -r "$MODEL" here
cd deep/down && $BRIM train --model ../../here --train $DATA/train.csv --max-steps 1 --quiet --output ../run | tail -n 1 && $BRIM train --model ../../here --train $DATA/train.csv --max-steps 1 --quiet --output ../down/../down/../../other | tail -n 1
$BRIM train --model ../../here --train $DATA/train.csv --max-steps 1 --quiet --output ../missing/../run3
$BRIM train --model ../../here --train $DATA/train.csv --max-steps 1 --quiet --output ../../here --overwrite
cd ../..
