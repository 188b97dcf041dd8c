# A run keeps what its last evaluations came to: `brim report RUN` alone shows them, wherever the run and its data have gone.
python3 - <<'END'
texts = ["<script>alert('x')</script>", 'he said "no" & left', "שלום עולם", "good 😀 film", "</title><b>bold</b>", "bad film " * 900, "a\x00zero"]
with open("dev.csv", "w", encoding="utf-8") as out:
    print("text,label", file=out)
    for text in texts:  # one of two equal texts is wrong
        for name in ("a<b", 'c""d'):
            print('"' + text.replace('"', '""') + f'","{name}"', file=out)
END
cp dev.csv gone.csv
options="--model $MODEL --train dev.csv --batch-size 4 --quiet"
$BRIM train $options --eval matched=dev.csv --eval other=gone.csv --output run >/dev/null
mkdir elsewhere && mv run elsewhere/moved && rm gone.csv
$BRIM report elsewhere/moved -o page.html --quiet
cat > look.py <<'END'
import html.parser, sys
class Page(html.parser.HTMLParser):
    text = ""
    def handle_data(self, data): self.text += data
    def handle_starttag(self, tag, attributes): assert tag not in ("script", "b"), tag
source = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(source)
print([part.split("</bdi>")[0] for part in source.split("<h2><bdi>")[1:]], len(source) < 1e6, source.count('class="passage"'))
for word in sys.argv[2:]:
    print(word, word in page.text)
END
python3 look.py page.html "<script>alert('x')</script>" 'he said "no" & left' "שלום עולם" "😀" "a zero" "cut here; it has 8,100 bytes" 'label c"d, predicted a<b' 'label a<b, predicted c"d'
# The same that --data shows.
$BRIM report elsewhere/moved --data dev.csv -o data.html --quiet
python3 - <<'END'
def wrong(name, title):
    text = open(name, encoding="utf-8").read()
    part = text.split(f"<h2><bdi>{title}<")[1].split("<h2>")[0]
    return part.split("<figure", 1)[1]
print(wrong("page.html", "Most wrong: matched") == wrong("page.html", "Most wrong: other") == wrong("data.html", "Most wrong"))
END
# The rows are small, however many they are; what they are is in the file.
python3 - <<'END'
import json
events = [json.loads(line) for line in open("elsewhere/moved/evaluation.jsonl", encoding="utf-8")]
log = [json.loads(line) for line in open("elsewhere/moved/log.jsonl")]
last = [e for e in log if e["event"] == "eval" and e["name"] == "other"][-1]
kept = next(e for e in events if e["event"] == "set" and e["name"] == "other")
print([kept[name] == last[name] for name in ("step", "rows", "loss", "accuracy")], sorted({e["event"] for e in events}))
print(sum(e["rows"] for e in events if e["event"] == "confused" and e["set"] == 1))
END
# Side by side: the pictures, but not everybody's texts.
$BRIM train $options --eval dev.csv --output second >/dev/null
$BRIM report elsewhere/moved second -o both.html --quiet
python3 look.py both.html
# Nothing kept, nothing evaluated, and a file that is something else.
$BRIM train $options --output plain >/dev/null
$BRIM report plain -o plain.html --quiet
python3 look.py plain.html "There was no evaluation"
mv second/evaluation.jsonl kept.jsonl
$BRIM report second -o none.html --quiet
python3 look.py none.html "No predictions were kept"
cp elsewhere/moved/evaluation.jsonl second # of another run: not shown
$BRIM report second -o none.html --quiet
python3 look.py none.html "No predictions were kept"
for change in 's/"predicted":1,"rows"/"predicted":2,"rows"/' 's/"outputs":2/"outputs":3/' 's/"task":"[a-z]*"/"task":"x"/' 's/"predicted":1,/"predicted":-1,/' '$s/$/x/'; do
  sed "$change" kept.jsonl > second/evaluation.jsonl
  $BRIM report second -o none.html --quiet || echo "exit $?"
done
# Rows that come from a pipe cannot be read again.
$BRIM train $options --eval - --output piped --format csv < dev.csv >/dev/null
$BRIM report piped -o piped.html --quiet
python3 look.py piped.html "the file could not be read again"
# An interruption keeps what there was by then.
python3 $CASES/../interrupt.py stopped log.jsonl eval 3 $BRIM train $options --eval dev.csv --eval-every 1 --epochs 4000 --output stopped 2>/dev/null
$BRIM report stopped -o stopped.html --quiet
python3 look.py stopped.html "good 😀 film" interrupted
# A new run in the folder begins without it; the folds of another keep their held-out rows.
$BRIM train $options --output second --overwrite >/dev/null
ls second/evaluation.jsonl 2>/dev/null
$BRIM train $options --folds 2 --output folds >/dev/null
$BRIM report folds/fold-1 -o fold.html --quiet
python3 look.py fold.html
