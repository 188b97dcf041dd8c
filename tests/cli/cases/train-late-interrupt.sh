# Ctrl-C after the last step, while the texts of the most wrong rows are read: the run is done, and has them.
python3 - <<'EOF'
import gzip
with gzip.open("e.csv.gz", "wt", compresslevel=1) as rows:  # which takes a while to read
    rows.write("text,label,note\n" + "".join(f"good film {i},{i % 2},{'x' * 1000000}\n" for i in range(60)))
EOF
cat >late.py <<'EOF'
import pathlib, signal, subprocess, sys, time

child, log = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL), pathlib.Path("run/log.jsonl")
while child.poll() is None and not (log.exists() and '{"event":"end"' in log.read_text()):
    time.sleep(0.001)
if child.poll() is None:
    child.send_signal(signal.SIGINT)
print("exit", child.wait())
EOF
python3 late.py $BRIM train --model $MODEL --train $DATA/train.csv --eval e.csv.gz --label-column label --epochs 1 --quiet --output run
grep '"event":"wrong"' run/evaluation.jsonl | grep -c '"text":"good film'
grep -q '"text":null' run/evaluation.jsonl || echo "all texts are there"
