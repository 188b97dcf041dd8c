# A run answers the rows that it was trained on, single texts or pairs, however a file says which it has.
rows() { python3 - "$@" <<'END'
import csv, os, sys
name, columns = sys.argv[1], sys.argv[2:]
rows = [row for row in csv.DictReader(open(os.environ["DATA"] + "/train.csv"))][:12]
with open(name, "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(columns)
    for row in rows:
        out.writerow([row["label"] if column == "label" else row["text"] for column in columns])
END
}
rows single.csv text label
rows pairs.csv text text_pair label
rows named.csv text second label
train() { $BRIM train --model $MODEL --train $1 --output ${1%.csv} --max-steps 1 --batch-size 4 --quiet > /dev/null; }
train single.csv && train pairs.csv
grep -h brim_pairs single/config.json pairs/config.json
echo "--- single texts"
$BRIM predict --model single single.csv --quiet > own
$BRIM predict --model single pairs.csv > other && cmp own other
$BRIM predict --model single pairs.csv --unbuffered | wc -l
$BRIM evaluate --model single pairs.csv --json 2>note | grep -o '"rows":12' && cat note >&2
$BRIM predict --model single pairs.csv --pair-column text_pair
$BRIM predict --model single - --format csv < pairs.csv
echo "--- pairs"
$BRIM predict --model pairs pairs.csv --quiet | wc -l
$BRIM predict --model pairs named.csv --pair-column second --quiet | wc -l
$BRIM predict --model pairs single.csv
$BRIM evaluate --model pairs named.csv
$BRIM evaluate --model pairs/checkpoints/step-1 single.csv
echo "--- a stream, whose rows come after what it is evaluated on"
$BRIM train --model $MODEL --train single.csv --stream --eval pairs.csv --output streamed --max-steps 2 --batch-size 4 --quiet
true
