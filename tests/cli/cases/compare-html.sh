# The page of compare: the table, bars for each number, and the loss of all modes over samples and seconds.
$BRIM compare --model $MODEL --train $DATA/train.csv --eval $DATA/test.csv --max-steps 3 --modes fixed,brim --quiet --html page.html |
  sed 's/[0-9.,]*[0-9]/N/g; s/  */ /g; s/\(N x\|about the same\|not clear\) (N–N)/SPEED/'
python3 - <<'END'
import html, re
page = open("page.html", encoding="utf-8").read()
for title in re.findall(r"<figcaption><bdi>(.*?)</bdi>", page): print(html.unescape(title))
print("0.0 % padding" in page, "<script" in page, page.count("<path class=\"l c1\""))
print(sorted(set(re.findall(r"took turns|the median of the rounds", page))))
END
