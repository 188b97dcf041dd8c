# An evaluation's file whose rows change in mid-run: there is no text next to the old rows' losses, of whatever task, and that is said once.
python3 - <<'END'
import json, random
draw = random.Random(3)
def text():
    return " ".join(draw.choice(("good", "bad", "film", "plot", "fine", "dull")) for _ in range(6))
def write(name, rows):
    open(name, "w").write("".join(json.dumps(row) + "\n" for row in rows))
write("classification", [{"text": text(), "label": draw.randrange(2)} for i in range(20)])
write("tokens", [{"tokens": text().split(), "tags": [draw.choice("OAB") for _ in range(6)]} for i in range(20)])
write("embedding", [{"anchor": text(), "positive": text()} for i in range(20)])
write("rerank", [{"query": text(), "docs": [text(), text(), text()], "label": [1, 0, draw.randrange(2)]} for i in range(20)])
END
for task in classification tokens embedding rerank; do
  cp $task train.jsonl && cp $task eval.jsonl
  ACTION="tac $task >eval.jsonl" python3 $CASES/../interrupt.py $task-run log.jsonl step 1 \
    $BRIM train -m $MODEL --task $task --train train.jsonl --eval eval.jsonl --max-steps 300 --lr 1e-6 -o $task-run 2>said
  grep "no texts" said
  grep '"event":"wrong"' $task-run/evaluation.jsonl | grep -o '"text":n*' | sort -u
done
# Of a run that is shown, likewise where it is a page's turn: a link at the page's name is replaced, and what it points at stays.
echo mine >mine && rm classification-run/report.html && ln -s ../mine classification-run/report.html
$BRIM report classification-run --quiet && cat mine && head -c 15 classification-run/report.html
