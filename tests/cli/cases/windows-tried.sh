# Masked words and windows as somebody tries them first: no column of texts, rows of one token, a single row, long words, no mask token,
# letters of several code points, a row longer than all windows.
mlm() { $BRIM train --model $MODEL --task mlm --max-steps 2 --overwrite --output run --quiet --train "$@" 2>&1 | sed 's/ in [0-9:]* (.*)//; s/, loss .*//'; }
printf 'a,b\n1,2\n' > none.csv && mlm none.csv
printf 'a\n' > one.txt && mlm one.txt
mlm one.txt --eval 50%
printf '\n\n' > empty.txt && mlm empty.txt
printf 'unbelievable\nunbelievable\n' > long.txt && mlm long.txt --whole-words
$BRIM train --model $MODEL --task mlm --max-steps 3 --resume --output run --quiet --train long.txt 2>&1 | sed 's/byte [0-9]*/byte N/'
$BRIM inspect masks -t $MODEL --whole-words --mask-share 1 --random-share 0 long.txt | python3 -c 'import json, sys
for line in sys.stdin: row = json.loads(line); print(sum(label >= 0 for label in row["labels"]), "of", len(row["ids"]) - 2)'
python3 -c 'print("e\u0301te\u0301 \U0001F469\u200D\U0001F467 n\u0303\u0323o \u65E5\u672C " * 30)' > letters.txt && mlm letters.txt --max-length 5 --windows 1
$BRIM train --model $MODEL --task mlm --train letters.txt --max-length 8 --windows 2 --max-windows 3 --max-steps 1 --overwrite --output run 2>&1 | grep -a longer
printf 'text,label\n"%s",1\ngood,0\n' "$(cat letters.txt)" > rows.csv
$BRIM train --model $MODEL --train rows.csv --max-length 8 --windows 2 --max-windows 3 --max-steps 1 --overwrite --output run 2>&1 | grep -a longer
$BRIM train --model $MODEL --train rows.csv --max-length 8 --windows 6 --max-steps 1 --overwrite --output run --quiet 2>&1
$BRIM train --model $MODEL --train rows.csv --max-windows 3 --max-steps 1 --overwrite --output run --quiet 2>&1
printf 'text,text_pair\na good film,a bad film of some words\n' > pairs.csv
for how in "--windows 1" "--max-windows 3"; do mlm pairs.csv --max-length 6 $how; done
mlm pairs.csv --max-length 6 && mlm letters.txt --max-length 5 --max-windows 3
$BRIM evaluate --model run letters.txt --max-length 5 --max-windows 3 --quiet 2>&1 | grep -a "^masked\|effect"
$BRIM train --model $MODEL --train rows.csv --max-steps 1 --overwrite --output run --quiet >/dev/null 2>&1
$BRIM predict --model run rows.csv --quiet 2>/dev/null | wc -l
echo "--- pairs of masked words, wherever rows are read"
for how in "" "--stream" "--cache cache"; do mlm pairs.csv --max-length 6 $how; mlm pairs.csv --max-length 6 --windows 0 $how; mlm pairs.csv --max-length 6 --max-windows 1 $how; done
$BRIM analyze -t $MODEL --task mlm --max-length 6 --max-windows 3 pairs.csv 2>&1
$BRIM plan -t $MODEL --task mlm --max-length 6 --windows 1 --stream pairs.csv 2>&1 | tail -1
