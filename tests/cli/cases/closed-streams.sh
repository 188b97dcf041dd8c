# Closed standard streams: no file of a run gets their numbers, and what would be said goes nowhere. A reader that is gone takes nothing from
# a run that is done.
train() { "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" --max-steps 2 "$@"; }
train -o errors >/dev/null 2>&-
echo $?
train -o output -q >&-
echo $?
train -o all >&- 2>&- <&-
echo $?
for run in errors output all; do "$BRIM" report $run -q && python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' $run/log.jsonl; done
{ train -o reader -q; echo "exit $?" >&2; } | true
