# Tokens that only the held-out part has.
printf 'text,label,part\ngood film x,1,0\nbad film y,0,0\ngood film,1,1\nbad story,0,1\n' >data.csv
$BRIM analyze -t $MODEL data.csv --max-length 16 --fold-column part --html page.html | tail -n 5
python3 - <<'END'
import re
table = open("page.html", encoding="utf-8").read().split("Folds: tokens", 1)[1].split("</table>", 1)[0]
for row in table.split("<tr>")[1:]:
    print(" | ".join(re.sub("<.*?>", "", cell).strip() for cell in re.findall("<t[dh].*?</t[dh]>", row)))
END
$BRIM analyze -t $MODEL data.csv --max-length 16 --folds 2 --stratify --json | python3 -c '
import json, sys
folds = json.load(sys.stdin)["folds"]
print(len(folds), sorted(folds[0]))
for f in folds:
    assert f["both_types"] + f["unseen_types"] == f["valid_types"] and f["both_types"] + f["only_train_types"] == f["train_types"]'
$BRIM analyze -t $MODEL data.csv --stratify
