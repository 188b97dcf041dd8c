# What is advised can be given: an option that the command lacks is named with the command that has it, and one that is given is not
# advised again.
"$BRIM" train -q -m "$MODEL" --train "$DATA/train.csv" --max-steps 1 -o classes > out
printf '{"text":"a","label":0.5}\n{"text":"b","label":1.5}\n' > values.jsonl
"$BRIM" train -q -m "$MODEL" --train values.jsonl --max-steps 1 -o values > out
printf '{"text":"a","label":["x"]}\n{"text":"b","label":["y","x"]}\n' > sets.jsonl
"$BRIM" train -q -m "$MODEL" --train sets.jsonl --task multi-label --max-steps 1 -o sets > out
train() { "$BRIM" train -q -m "$MODEL" --train "$DATA/train.csv" --max-steps 1 -o no "$@"; }
exec 2>&1
echo "--- the task of a model is known"
printf '{"text":"a","label":["0","1"]}\n' > list.jsonl && "$BRIM" evaluate -q -m classes list.jsonl; "$BRIM" report -q classes --data list.jsonl
printf '{"text":"a","label":"good"}\n' > word.jsonl && "$BRIM" evaluate -q -m values word.jsonl
printf '{"text":"a","label":[0.3,0.5]}\n' > shares.jsonl && "$BRIM" evaluate -q -m sets shares.jsonl
"$BRIM" train -q -m "$MODEL" --task classification --train list.jsonl --max-steps 1 -o no
echo "--- options of other commands"
printf 'a O\nb X\n\nc O\n' > words.conll && printf '{"tokens":["a","b"],"ner_tags":["O","X"]}\n' > words.jsonl
for command in predict evaluate; do "$BRIM" $command -q -m classes words.conll; "$BRIM" $command -q -m classes words.jsonl; done
"$BRIM" embed -q -m classes words.conll -o no.npy; "$BRIM" report -q classes --data words.conll
"$BRIM" train -q -m "$MODEL" --train words.conll --max-steps 1 -o no
echo "--- delimiters"
printf 'text;label\na;1\n' > semicolon.csv; printf 'text,label\na,1\n' > comma.tsv; printf 'text,note;x,label\na,b,1\n' > both.tsv
printf 'text\tlabel\na\t1\n' > tab.csv; printf 'text,label\na,1\n' > comma.csv
for file in semicolon.csv comma.tsv both.tsv tab.csv; do "$BRIM" predict -q -m classes $file; "$BRIM" shard -q --min-chars 1 $file -o no; done
for file in comma.csv comma.tsv tab.csv; do "$BRIM" predict -q -m classes --delimiter ';' $file; done
"$BRIM" predict -q -m classes --format tsv comma.csv; "$BRIM" predict -q -m classes --delimiter , comma.tsv | wc -l
printf 'Text,label\na,1\n' > capital.csv && "$BRIM" predict -q -m classes capital.csv
printf "a,1\n" > bare.csv && "$BRIM" evaluate -q -m classes --no-header bare.csv
cp comma.csv no-ending; "$BRIM" shard -q no-ending -o no; "$BRIM" predict -q -m classes no-ending
echo "--- names of options"
train --layers x; train --freeze '*.foo'; train --train-only '*.foo'; train --train-only foo; train --freeze 'classifier.*'; mkdir seed && train --train seed
echo "--- memory"
train --memory-limit 1MB 2>&1 | sed 's/[0-9.]* MB/N MB/g; s/, or --max-length 9 (N MB)//; s/--checkpoint-activations (N MB), //'
python3 - <<'END'
import os, re, subprocess
command = [os.environ["BRIM"], "train", "-q", "-m", os.environ["MODEL"], "--train", os.environ["DATA"] + "/train.csv", "--max-steps", "1", "-o", "no"]
for limit in ("1MB", "3.14MB", "5.96MB", "6.04MB"):
    said = subprocess.run(command + ["--memory-limit", limit], capture_output=True, text=True).stderr
    few, needed, *others = map(float, re.findall(r"([0-9.]+) MB", said))
    print(few <= float(limit[:-2]), few < needed, all(other < needed for other in others))
END
echo "--- a tokenizer, and rows that can be read once"
mkdir tokenizer && cp "$MODEL/vocab.txt" tokenizer && for folder in tokenizer tokenizer/vocab.txt; do "$BRIM" predict -q -m $folder comma.csv; done
once() { "$BRIM" train -q -m "$MODEL" --train - --format jsonl --stream --max-steps 1 -o no "$@"; }
once --task regression < shares.jsonl; once < shares.jsonl
echo "--- help"
for words in "predict extra" "inspect extra" "no predict" no; do "$BRIM" help $words || true; done
