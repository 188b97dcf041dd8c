# Files whose names say how many there are: one that is missing or there twice is refused, in folders and globs.
tokens() { $BRIM tokenize -t $MODEL "$@" 2>&1 | sed 's/,"type_ids.*/}/'; }
mkdir all && for i in 0 1 2; do printf 'text,label\ngood,0\nbad,1\n' > all/train-0000$i-of-00003-ab.csv; done
cp all/train-00000-of-00003-ab.csv all/test-00001-of-00001.csv
tokens all | wc -l && tokens 'all/train-*' | wc -l
cp -r all gap && rm gap/train-00001-of-00003-ab.csv
tokens gap
tokens 'gap/train-*-ab.csv'
tokens 'gap/train-0000[02]*' | wc -l
tokens gap/train-00000-of-00003-ab.csv gap/train-00002-of-00003-ab.csv | wc -l
$BRIM train --model $MODEL --train gap --stream --max-steps 1 --output run 2>&1
rm gap/train-00002-of-00003-ab.csv && tokens gap
cp -r all twice && gzip < twice/train-00002-of-00003-ab.csv > twice/train-00002-of-00003-ab.csv.gz && tokens twice
cp -r all mixed && cp mixed/train-00000-of-00003-ab.csv mixed/train-00000-of-00002.csv && tokens mixed
mkdir plain && for i in 1 3; do cp all/test-00001-of-00001.csv plain/part-000$i.csv; cp all/test-00001-of-00001.csv plain/one-of-$i.csv; done
tokens plain | wc -l
