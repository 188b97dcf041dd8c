# Labels come out of predictions as they went in: integers, booleans and strings, and are trained on together with the rows' own.
train() { "$BRIM" train -m "$MODEL" -q --max-steps 1 -b 4 --seed 1 "$@" > out 2>&1 || cat out; }
rows() { for label; do printf '{"text":"good film","label":%s}\n{"text":"bad plot","label":%s}\n' "$label" "$label"; done; }
kinds() { grep -aoE '"labels?":([^][,]*|\[[^]]*\])' "$1" | sed 's/[0-9]\+/N/g; s/true\|false/B/g; s/\(N,\)*N]/N]/; s/\[\]/[N]/' | sort -u; }
again() { # FILE [OPTION...]: trains on the file and predicts it, then trains on both
  file=$1; shift
  train --train $file "$@" -o run --overwrite && "$BRIM" predict -q -m run $file -o predicted.jsonl && kinds predicted.jsonl
  python3 -c '
import json
texts = [("good film", "bad plot")[i % 2] for i in range(100)]
rows = [json.loads(line) for line in open("predicted.jsonl")]
open("again.jsonl", "w").writelines(json.dumps({**({} if "tokens" in row else {"text": text}), **{k: v for k, v in row.items() if k != "scores"}}) + "\n" for row, text in zip(rows, texts))'
  train --train again.jsonl --train $file "$@" -o again --overwrite
  cmp run/config.json again/config.json && "$BRIM" evaluate -q -m run again.jsonl --json | grep -o '"accuracy":1,'
}
rows 0 1 > zero.jsonl && again zero.jsonl
rows 1 2 5 > gaps.jsonl && again gaps.jsonl
rows -1 18446744073709551616 > large.jsonl && again large.jsonl
rows true false > booleans.jsonl && again booleans.jsonl
rows '"1"' '"2"' > strings.jsonl && again strings.jsonl
rows '"true"' '"false"' > names.jsonl && again names.jsonl
printf 'text,label\ngood film,3\nbad plot,7\n' > integers.csv && again integers.csv
printf 'text,label\ngood film,true\nbad plot,false\n' > booleans.csv && again booleans.csv
rows '[1,5]' '[5]' > lists.jsonl && again lists.jsonl 2>&1 | grep -v accuracy
printf '{"tokens":["good","film"],"ner_tags":[1,2]}\n{"tokens":["bad","plot"],"ner_tags":[5,1]}\n' > words.jsonl && again words.jsonl --task tokens
echo folds
train --train gaps.jsonl --folds 2 --test booleans.jsonl -o folds && for set in "" -test; do kinds folds/predictions$set.jsonl; done
echo "an integer that is no name"
train --train words.jsonl --task tokens -o run --overwrite
printf '{"tokens":["good","film"],"ner_tags":[0,2]}\n' > zero.jsonl && printf 'good 2\nfilm 0\n' > zero.conll
for rows in zero.jsonl zero.conll; do "$BRIM" evaluate -q -m run $rows; done
"$BRIM" train -q -m "$MODEL" --max-steps 1 --task tokens --train words.jsonl --eval zero.jsonl -o no
"$BRIM" train -q -m run --max-steps 1 --task tokens --train zero.jsonl --keep-head -o no
"$BRIM" train -q -m "$MODEL" --max-steps 1 --task tokens --train words.jsonl --train zero.jsonl --stream --labels 1 --labels 2 --labels 5 -o no
