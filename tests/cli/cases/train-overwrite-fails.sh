# A run that fails before its first step leaves the folder as it was: the run that it was to replace, or none.
sums() { find "$1" -type f | sort | xargs cksum; }
same() { sums "$1" | cmp -s - "$1.sums" && test ! -e "$1/replaced-run" && echo "$1 is as it was"; }
printf "text,label\ngood film,1\nbad film,\n" >few.csv; stream="--stream --labels 0 --labels 1 --max-steps 2"
$BRIM train --model $MODEL --train few.csv $stream --output none --quiet
test ! -e none && echo "no folder"
$BRIM train --model $MODEL --train $DATA/train.csv --epochs 1 --output run --quiet >/dev/null && sums run >run.sums
$BRIM train --model $MODEL --train few.csv $stream --output run --overwrite --quiet
same run
$BRIM train --model $MODEL --train $DATA/train.csv --epochs 1 --folds 3 --memory-limit 1MB --output none --quiet
test ! -e none && echo "no folder"
$BRIM train --model $MODEL --train $DATA/train.csv --epochs 1 --folds 3 --output folds --quiet >/dev/null && sums folds >folds.sums
$BRIM train --model $MODEL --train $DATA/train.csv --epochs 1 --folds 3 --memory-limit 1MB --output folds --overwrite --quiet
same folds
# Modules of vectors are of the run: they go with it, but for a folder that has something else, and come back with it.
printf 'a,b\none text,another\nmore,words\n' >pairs.csv
vectors="$BRIM train --model $MODEL --task embedding --train pairs.csv --columns a,b --max-steps 1 --quiet --output vectors"
$vectors --layers joined:2 --dense 4 >/dev/null && mkdir vectors/3_Dense vectors/4_Dense vectors/7_Pooling && echo mine >vectors/3_Dense/notes && echo {} >vectors/7_Pooling/config.json && sums vectors >vectors.sums
$BRIM train --model $MODEL --train few.csv $stream --output vectors --overwrite --quiet
same vectors
$BRIM train --model $MODEL --train $DATA/train.csv --max-steps 1 --output vectors --overwrite --quiet >/dev/null
ls vectors && $BRIM predict --model vectors $DATA/test.txt --quiet | wc -l
