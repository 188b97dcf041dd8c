# Rows with an empty text are counted, and those of pairs without a second one: in memory and in streams, in tables and in JSON.
printf 'text,label\na,0\n"  ",1\n,1\na b,0\n' >single.csv
printf 'text,text_pair,label\na,b,0\n,b,1\na,,0\n,,1\n' >pairs.csv
printf '{"text":"a","text_pair":"b","label":0}\n{"text":"b","label":1}\n{"text":"a","text_pair":null,"label":0}\n' >pairs.jsonl
printf '{"text":"a","label":0}\n{"text":"b","label":1}\n' >single.jsonl
train() { $BRIM train --model $MODEL --output run --overwrite -b 4 --epochs 1 "$@" 2>&1 | grep 'empty text'; }
for more in "" --stream; do
  for file in single.csv pairs.csv pairs.jsonl "pairs.jsonl --train single.jsonl"; do train --train $file $more; done
done
echo "--- left out, whichever text of a row it is; a second one that is null and was not asked for is none"
printf 'text,text_pair,label\na,b,0\n,b,1\na,,0\nb,a,1\n' >pairs.csv
printf 'query,document,label\na,b,0\n,b,1\na,,0\nb,a,1\n' >rerank.csv
printf '{"text":"a","text_pair":null,"label":0}\n{"text":"a","text_pair":"b","label":0}\n{"text":"b","text_pair":"a","label":1}\n' >pairs.jsonl
printf '{"query":"a","document":null,"label":0}\n{"query":"a","document":"b","label":0}\n{"query":"b","document":"a","label":1}\n' >rerank.jsonl
for rows in pairs.csv pairs.jsonl "pairs.jsonl --pair-column text_pair" "rerank.csv --task rerank --loss bce" "rerank.jsonl --task rerank --loss bce"; do
  for more in "" --stream; do
    $BRIM train --model $MODEL --output run --overwrite -b 4 --epochs 1 --min-chars 1 --train $rows $more 2>&1 | grep 'empty text\|left out\|excluded\|^brim: .*label'
  done
done
