# Ctrl-C before the first step, while the run waits for its first rows: the folder is as it was, with the run that was to be replaced,
# or there is none.
sums() { find "$1" -type f | sort | xargs cksum; }
same() { sums "$1" | cmp -s - "$1.sums" && test ! -e "$1/replaced-run" && echo "$1 is as it was"; }
interrupt="python3 $CASES/../interrupt.py"
train="$BRIM train --model $MODEL --train - --format csv --stream --labels 0 --labels 1 --max-steps 9 --quiet"
$interrupt none log.jsonl start 1 $train --output none
test ! -e none && echo "no folder"
$BRIM train --model $MODEL --train $DATA/train.csv --epochs 1 --output run --quiet >/dev/null && sums run >run.sums
$interrupt run log.jsonl csv 1 $train --output run --overwrite # of the two only this one names a format
same run
