# Labels of words of long rows: each word is learned and predicted in one window, the same with a cache, from a stream and in folds; what
# evaluation says is what predictions are; words, emoji and combining marks at the border of a window are answered once.
python3 - <<'END'
import json, random
draw = random.Random(3)
WORDS = ["good", "film", "bad", "plot", "unbelievable", "e\u0301te\u0301", "\U0001F469\u200D\U0001F467", "story", "\u65E5\u672C", "n\u0303\u0323o"]
with open("long.jsonl", "w") as lines:
    for _ in range(40):
        words = [draw.choice(WORDS) for _ in range(draw.randint(1, 30))]
        lines.write(json.dumps({"tokens": words, "ner_tags": ["B-X" if w in WORDS[:4] else "O" for w in words]}) + "\n")
END
words="$BRIM train -q -m $MODEL --task tokens --train long.jsonl --max-length 10 --windows 3 --max-windows 30 --lr 3e-3 --batch-size 8 --batching sequential"
hash() { cksum < "$1/model.safetensors" | cut -d' ' -f1; }
$words --epochs 2 -o run > out && grep -o '"brim_window[^,}]*' run/tokenizer_config.json
$words --epochs 2 --cache kept -o made > out && $words --epochs 2 --cache kept -o used > out && $words --epochs 2 -j 2 --max-tokens 60 --oversize alone -o parts > out
$words --epochs 2 --stream -o stream > out
test "$(hash run)" = "$(hash made)" && test "$(hash run)" = "$(hash used)" && test "$(hash run)" = "$(hash stream)" && echo same
$BRIM predict -q -m run long.jsonl -o a.jsonl && $BRIM predict -q -m run long.jsonl --batch-size 3 --padding longest -o b.jsonl
$BRIM evaluate -q -m run long.jsonl --json > a.json
python3 - <<'END'
import json
data, got, padded = ([json.loads(line) for line in open(name)] for name in ("long.jsonl", "a.jsonl", "b.jsonl"))
pairs = [(t, p) for d, g in zip(data, got) for t, p in zip(d["ner_tags"], g["labels"])]
measured = json.load(open("a.json"))
print("every word is answered:", all(p for _, p in pairs) and [d["tokens"] for d in data] == [g["tokens"] for g in got])
print("as evaluated:", measured["labelled"] == len(pairs), abs(measured["accuracy"] - sum(t == p for t, p in pairs) / len(pairs)) < 1e-12)
print("padded:", max(abs(a - b) for x, y in zip(got, padded) for a, b in zip(x["scores"], y["scores"])) < 1e-5)
END
$BRIM predict -m run long.jsonl --max-length 10 --windows 3 --max-windows 2 -o c.jsonl 2>&1 | grep -a windows
python3 -c 'import json; print(sum(label is None for line in open("c.jsonl") for label in json.loads(line)["labels"]) > 0)'
$words --epochs 1 --folds 2 -o folds > out && wc -l < folds/predictions.jsonl
$BRIM plan -q -t $MODEL --task tokens --max-length 10 --windows 3 -b 8 long.jsonl | tail -n 1
$BRIM compare -q --model $MODEL --task tokens --train long.jsonl --max-length 10 --windows 3 --batch-size 8 --modes brim,dynamic --max-steps 2 | cut -d' ' -f1
$words --windows 8 -o no; echo $?
