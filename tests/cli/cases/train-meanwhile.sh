# What others do to a run's files while it goes on, or between its two halves, is noticed before anything is written or trained on.
options="--model $MODEL --train data.csv --batch-size 4 --save-every 100000 --quiet"
cp "$DATA/train.csv" data.csv
train() { python3 $CASES/../interrupt.py "$1" log.jsonl step 3 $BRIM train $options --output "$@" 2>err; cat err; }
# The folder goes, and another run begins there: the first writes nothing more.
ACTION='mv run away && rm -r away && $BRIM train --model $MODEL --train data.csv --max-steps 1 --quiet --output run >/dev/null && cp -r run other' \
  train run --epochs 40
diff -r run other && echo "the other run is as it was"
ACTION='mv gone away && rm -r away' train gone --epochs 40
test ! -e gone && echo "nothing is there"
ACTION='rm alone/log.jsonl' train alone --epochs 40
test ! -e alone/model.safetensors && test ! -e alone/log.jsonl && echo "no model is there"
# A cache is cut.
$BRIM train $options --max-steps 1 --cache cache --output first >/dev/null
ACTION='truncate -s 100 cache/*' train cached --epochs 400 --cache cache | sed 's/^brim: .* was cut .*/a line/' | grep .
SIGNAL=SIGBUS train bus --epochs 400
# A file of a stream is another one in the next epoch, or has grown.
cp data.csv kept.csv
stream="--stream --labels 0 --labels 1 --epochs 40 --shuffle-window 16 --prefetch 0"
ACTION='head -20 kept.csv >data.new && mv data.new data.csv' train shorter $stream
cp kept.csv data.csv
ACTION='tail -n +2 kept.csv | head -8 >>data.csv' train longer $stream
cp kept.csv data.csv
# config.json says something else when the run is resumed; written otherwise it may say the same.
cp -r "$MODEL" model
options="--model model --train data.csv --epochs 25 --batch-size 4 --save-every 100000 --quiet"
train cut
for change in hidden_dropout_prob=0.3 hidden_act=\"relu\" num_attention_heads=2 layer_norm_eps=1e-6 classifier_dropout=0.2; do
  python3 -c 'import json, sys
name, value = sys.argv[1].split("=")
config = json.load(open(sys.argv[2]))
json.dump({**config, name: json.loads(value), "transformers_version": "9", "architectures": ["X"]}, open("model/config.json", "w"))' $change "$MODEL/config.json"
  $BRIM train $options --output cut --resume || echo $?
done 2>&1 | sed 's/.*: the run/the run/'
python3 -c 'import json, sys
config = json.load(open(sys.argv[1]))
json.dump({"classifier_dropout": None, **dict(reversed(config.items()))}, open("model/config.json", "w"), indent=7)' "$MODEL/config.json"
$BRIM train $options --output cut --resume >/dev/null && echo "the same in other words"
