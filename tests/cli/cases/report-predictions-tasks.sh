# What a run keeps of values, of many labels and of many classes.
printf 'text,label\ngood film,0.5\nbad film,-1.25\ndull plot,0.75\nfine actor,1.5\n' > values.csv
$BRIM train --model $MODEL --train values.csv --eval values.csv --output values --quiet >/dev/null
$BRIM report values -o values.html --quiet
grep -o 'row [0-9]: label [-0-9.]*, predicted' values.html | sort
grep -c 'Each row&#39;s predicted value over its label' values.html
python3 - <<'END'
import json, random
with open("many.jsonl", "w") as out:
    for text, labels in (("good film", ["warm", "funny"]), ("bad film", []), ("dull plot", ["dull"]), ("fine actor", ["warm"])):
        print(json.dumps({"text": text, "label": labels}), file=out)
draw = random.Random(3)
with open("classes.jsonl", "w") as out:
    for i in range(300):
        print(json.dumps({"text": f"film {i}", "label": f"class {i if i < 100 else draw.randrange(3)}"}), file=out)
with open("long.csv", "w") as out:
    print("text,label", file=out)
    for i in range(30000):
        print(f"film {i % 7},{draw.gauss(0, 1):.3f}", file=out)
END
$BRIM train --model $MODEL --train many.jsonl --task multi-label --eval many.jsonl --output many --quiet >/dev/null
$BRIM report many -o many.html --quiet
grep -o 'label [a-z, ]*, predicted' many.html | sort -u
grep -c 'rows with each label, in the data, predicted, and both' many.html
$BRIM train --model $MODEL --train classes.jsonl --eval classes.jsonl --output classes --quiet >/dev/null
$BRIM report classes -o classes.html --quiet
grep -c 'what is most often taken for what' classes.html
python3 - <<'END'
import json, os
events = [json.loads(line) for line in open("classes/evaluation.jsonl")]
cells = [e for e in events if e["event"] == "confused"]
classes = [e for e in events if e["event"] == "class"]
print(len(cells) <= 40, all(c["label"] != c["predicted"] for c in cells), [c["rows"] for c in cells] == sorted((c["rows"] for c in cells), reverse=True))
print(len(classes), sum(c["rows"] for c in classes), sum(c["predicted"] for c in classes))
END
# Of very many rows a part is kept.
head -n 50 long.csv > short.csv
$BRIM train --model $MODEL --train short.csv --eval long.csv --output long --quiet >/dev/null
$BRIM report long -o long.html --quiet
grep -o 'label of 20000 of 30000 rows' long.html
python3 -c 'import os; print(os.path.getsize("long/evaluation.jsonl") < 2e6, os.path.getsize("long.html") < 1e6)'
# What cannot be judged makes no page: texts alone are left out of one.
printf '{"tokens":["good","film"],"tags":["A","B"]}\n{"tokens":["bad","film"],"tags":["B","A"]}\n' > tagged.jsonl
printf '{"tokens":["good","film"],"tags":[null,null]}\n' > untagged.jsonl
$BRIM train --model $MODEL --task tokens --train tagged.jsonl --max-steps 1 --output tags --quiet >/dev/null
$BRIM report tags --data untagged.jsonl -o tags.html --quiet 2>&1 || echo "exit $?"
ls tags.html 2>/dev/null || echo "no page"
