# A link in a run's folder is replaced by the run's own file: what it points at is somebody else's, and stays. A folder of links, as `cp -as`
# makes it, is a run like another. What is no file is no log.
train() {
  "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" --eval "$DATA/test.csv" --max-steps 1 -q "$@" >out 2>err
  code=$?
  sed 's/^/  /' err
  echo "$code $*"
}
files="config.json model.safetensors tokenizer.json tokenizer_config.json vocab.txt report.html evaluation.jsonl README.md"
mkdir precious run && for f in $files; do echo mine >precious/$f && ln -s ../precious/$f run/$f; done
train -o run --overwrite --pooling mean
for f in $files; do echo mine | cmp - precious/$f; done
find run -maxdepth 1 -type l
cp -as "$PWD/run" again && cp -r run kept
train -o again --overwrite --seed 1
diff -r run kept && echo "the run behind the links is as it was"
find again -type l | LC_ALL=C sort
ln -s run/checkpoints shared && mkdir other && ln -s ../run/checkpoints other/checkpoints
train -o other
train -o other --overwrite
mkdir dangling && ln -s ../outside dangling/log.jsonl
train -o dangling
train -o dangling --overwrite
test ! -e outside && echo "nothing outside"
mkdir fifo null && mkfifo fifo/log.jsonl && ln -s /dev/null null/log.jsonl
train -o fifo --overwrite
train -o null --overwrite
ln -s nothing nowhere && train -o nowhere
mkdir folds && ln -s ../run folds/fold-0
train -o folds --overwrite --folds 2
diff -r run kept && echo "nor is it a fold"
printf 'a,b\none text,another\nmore,words\n' >pairs.csv
for name in 2_Dense 1_Pooling tensorboard; do
  mkdir -p links && ln -s ../precious links/$name
  "$BRIM" train -m "$MODEL" --task embedding --train pairs.csv --columns a,b --dense 4 --max-steps 1 -q -o links --overwrite 2>&1
  rm links/$name
done
for f in $files; do echo mine | cmp - precious/$f; done
