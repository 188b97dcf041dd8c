# A terminal that is closed (SIGHUP) ends a run as Ctrl-C does: with a checkpoint. At the limit of a file's size (ulimit -f) the write fails and
# is reported, and nothing half-written stays.
options="--model $MODEL --train $DATA/train.csv --batch-size 4 --quiet"
SIGNAL=SIGHUP python3 $CASES/../interrupt.py cut log.jsonl step 6 $BRIM train $options --epochs 400 --save-every 100000 --output cut
ls cut/checkpoints | wc -l
(ulimit -f 40; $BRIM train $options --epochs 1 --output full) 2>&1 | sed 's/tmp-[a-z0-9]*/tmp-XXXXXX/'
find full -name '*.tmp*'
