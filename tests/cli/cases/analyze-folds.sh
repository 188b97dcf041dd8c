# Tokens that only the held-out part has.
printf 'text,label,part\ngood film x,1,0\nbad film y,0,0\ngood film,1,1\nbad story,0,1\n' >data.csv
$BRIM analyze -t $MODEL data.csv --max-length 16 --fold-column part | tail -n 5
$BRIM analyze -t $MODEL data.csv --max-length 16 --folds 2 --stratify --json | python3 -c '
import json, sys
folds = json.load(sys.stdin)["folds"]
print(len(folds), sorted(folds[0]))
for f in folds:
    assert f["both_types"] + f["unseen_types"] == f["valid_types"] and f["both_types"] + f["only_train_types"] == f["train_types"]'
$BRIM analyze -t $MODEL data.csv --stratify
