# What makes no folds is refused, with a reason, before anything is trained.
train="$BRIM train --model $MODEL --output run --quiet"
try() { "$@"; echo "exit $?" >&2; }
try $train --train $DATA/train.csv --folds 1
try $train --train $DATA/train.csv --folds 97
try $train --train $DATA/train.csv --stratify
try $train --train $DATA/train.csv --fold-seed 3
try $train --train $DATA/train.csv --test $DATA/test.txt
try $train --train $DATA/train.csv --fold-column kfold
try $train --train $DATA/train.csv --fold-column label --stratify
printf 'text,label,kfold\ngood film,1,0\nbad film,0,2\nbad story,0,0\n' >gap.csv
try $train --train gap.csv --fold-column kfold
printf 'text,label,kfold\ngood film,1,0\nbad film,0,\nbad story,0,1\n' >empty.csv
try $train --train empty.csv --fold-column kfold
printf 'text,label,kfold\ngood film,1,0\nbad film,0,one\nbad story,0,1\n' >word.csv
try $train --train word.csv --fold-column kfold
printf 'text,label,kfold\ngood film,1,0\nbad film,0,1\nbad story,0,1\n' >two.csv
try $train --train two.csv --fold-column kfold --folds 3
try $train --train - --format csv --fold-column kfold <two.csv
printf 'text,label\ngood film,1\nbad film,0\nbad story,0\n' >class.csv
try $train --train class.csv --folds 2 --stratify
try $train --train two.csv --folds 2 --test a=$DATA/test.txt --test a=$DATA/test.csv
try $train --train two.csv --folds 2 --test a/b=$DATA/test.txt
ls
