# A run that replaces another says what it keeps: what is not the run's, be it named like a part of it. The modules of the former run
# are those that its modules.json lists. A link in a file's place, and a README.md that is somebody's, have a line.
train() {
  "$BRIM" train -m "$MODEL" --max-steps 1 "$@" >/dev/null 2>err
  echo "$? $*" | sed 's/ *--train [^ ]*//'
  grep -E 'keeps|is a link|are links|README.md|remove it' err
}
printf 'a,b\none text,another\nmore,words\n' >pairs.csv
train --task embedding --train pairs.csv --columns a,b --dense 4 -o run
mv run/2_Dense run/projection && sed -i s/2_Dense/projection/ run/modules.json && cp -r run/projection run/2_Dense
for name in a b c d; do echo mine >"run/$name.txt"; done
train --train "$DATA/train.csv" -o run --overwrite
ls run | grep -E '_Dense|projection|Pooling|modules'
mkdir linked && ln -s ../pairs.csv linked/config.json
train --train "$DATA/train.csv" -o linked --overwrite
mkdir own && ln -s ../pairs.csv own/config.json && echo mine >own/README.md
train --train "$DATA/train.csv" --pooling mean -o own --overwrite
head -1 own/README.md pairs.csv
train --task embedding --train pairs.csv --columns a,b -o own --overwrite
train --train "$DATA/train.csv" --pooling mean -o own --overwrite --folds 2
mkdir vectors && cp own/fold-0/config.json vectors/modules.json
train --train "$DATA/train.csv" -o vectors --overwrite
ls vectors
