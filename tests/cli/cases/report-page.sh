# A page that holds what is in the data as text, and a table for other programs.
python3 - <<'END'
texts = ["<script>alert('x')</script>", 'he said "no" & left', "שלום עולם", "مرحبا", "good 😀 film", "</title><b>bold</b>", "plain bad film"]
with open("odd.csv", "w", encoding="utf-8") as out:
    print("text,label", file=out)
    for i, text in enumerate(texts * 3):
        print('"' + text.replace('"', '""') + '",' + ("a<b", 'c"d')[i % 2], file=out)
END
$BRIM train --model $MODEL --train odd.csv --eval odd.csv --output run --epochs 2 --batch-size 4 --quiet >/dev/null
$BRIM train --model $MODEL --train odd.csv --eval odd.csv --output other --epochs 1 --padding longest --quiet >/dev/null
$BRIM report run --data odd.csv -o page.html
$BRIM report run other -o both.html --csv steps.csv --quiet
head -n 1 steps.csv
cut -d, -f1-3 steps.csv | sed -n '2p;$p'
python3 - <<'END'
import html, html.parser, os
class Page(html.parser.HTMLParser):
    void = {"meta", "link", "path", "rect", "circle"}
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.text = [], [], [], ""
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        assert not any(name in ("src", "onload", "onclick") for name, _ in attributes), attributes
        if tag not in self.void: self.open.append(tag)
    def handle_startendtag(self, tag, attributes): self.tags.append(tag)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
    def handle_data(self, data): self.text += data
for name in ("run/report.html", "page.html", "both.html"):
    text = open(name, encoding="utf-8").read()
    page = Page()
    page.feed(text)
    assert not page.open and len(set(page.ids)) == len(page.ids), name
    assert "script" not in page.tags and "b" not in page.tags and "://" not in text, name
    print(name, "is well-formed,", page.text.count("Numbers"), "pictures,", "under" if os.path.getsize(name) < 1e6 else "over", "1 MB")
    if name == "page.html":
        shown = [part in page.text for part in ("<script>alert('x')</script>", 'he said "no" & left', "שלום עולם", "😀", "</title><b>bold</b>", "a<b", 'c"d')]
        print("shown as text:", shown)
END
grep -c '<figcaption[^>]*><bdi>Memory' run/report.html
$BRIM report run other || echo "exit $?"
$BRIM report run other --data odd.csv -o x.html || echo "exit $?"
$BRIM report nowhere || echo "exit $?"
$BRIM report run ./run/ -o x.html || echo "exit $?"
$BRIM report run --data odd.csv --csv x.csv || echo "exit $?"
$BRIM report run --csv - | wc -l
ls
# Training's loss and the evaluations' stand in one picture, shares end at 1, what was given is what was given, and what differs is said.
python3 - <<'END'
import re
def cells(page, caption):
    table = re.search(rf"<caption>{caption}</caption>(.*?)</table>", page, re.S)[1]
    return [re.findall(r"<bdi>(.*?)</bdi>", row) for row in re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.S)]
run, other, both = (open(name, encoding="utf-8").read() for name in ("run/report.html", "other/report.html", "both.html"))
loss, accuracy = (run.split(f"<figcaption><bdi>{title}</bdi>")[1].split("</figure>")[0] for title in ("Loss", "Evaluation: accuracy"))
print("pictures of loss:", re.findall(r"<bdi>(\w+)</bdi></li>", loss))
print("axis of accuracy:", max(float(n) for n in re.findall(r'end" x="41"[^>]*>([\d.]+)<', accuracy)) <= 1)
print("one evaluation is a number:", "Evaluation: accuracy" not in other and "best accuracy, step" in other)
print("given:", [name for name, _ in cells(run, "what was given")])
print("differ:", [row[0] for row in cells(both, "what was given") if row[-1] == "differs"])
END
