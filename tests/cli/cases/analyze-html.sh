# The page of analyze: every strategy, the labels, texts, and the folds; numbers as in the table.
$BRIM analyze -t $MODEL --max-length 12 --batch-size 4 $DATA/train.csv --html page.html --folds 2 --samples 2 --quiet | tail -n 6 | head -n 1
$BRIM analyze -t $MODEL --max-length 12 --batch-size 4 $DATA/train.csv --html again.html --folds 2 --samples 2 --quiet --json --threads 1 >/dev/null
cmp page.html again.html && echo "the same for any number of threads"
python3 - <<'END'
import html, re
page = open("page.html", encoding="utf-8").read()
print("pictures:", page.count('role="img"'), " under 1 MB:", len(page) < 1e6, " script:", "<script" in page)
for title in re.findall(r"<h2><bdi>(.*?)</bdi>", page): print(html.unescape(title))
print(len(re.findall("class=\"passage\"", page)), "texts,", page.count("drawn at random"), "of them at random")
END
printf 'text,label\na film,0.25\nthe other film,-1.5\nbad,0.75\n' > values.csv
$BRIM analyze -t $MODEL --batch-size 2 values.csv --html values.html --quiet >/dev/null && grep -c 'Number of rows by the value of their label' values.html
cut -d, -f1 $DATA/test.csv | $BRIM analyze -t $MODEL --format csv - --html x.html || echo "exit $?"
$BRIM analyze -t $MODEL $DATA/train.csv --html no/such/folder.html >/dev/null || echo "exit $?"
ls
