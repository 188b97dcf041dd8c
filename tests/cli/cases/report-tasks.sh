# Predictions of a regression and of many labels: values over labels, labels by themselves, and what is most wrong about each.
printf 'text,label\ngood film,0.5\nbad film,-1.25\ndull plot,0.75\nfine actor,1.5\n' > values.csv
$BRIM train --model $MODEL --train values.csv --output values --quiet >/dev/null
$BRIM report values --data values.csv -o values.html --quiet
grep -o 'row [0-9]: label [-0-9.]*, predicted' values.html | sort
grep -c 'Each row&#39;s predicted value over its label' values.html
python3 - <<'END'
import json
with open("many.jsonl", "w") as out:
    for text, labels in (("good film", ["warm", "funny"]), ("bad film", []), ("dull plot", ["dull"]), ("fine actor", ["warm"])):
        print(json.dumps({"text": text, "label": labels}), file=out)
END
$BRIM train --model $MODEL --train many.jsonl --task multi-label --output many --quiet >/dev/null
$BRIM report many --data many.jsonl -o many.html --quiet
grep -o 'label [a-z, ]*, predicted' many.html | sort -u
grep -c '<dt>f1_micro</dt>' many.html
