# Memory and output of an evaluation grow with rows and with classes, not with their product.
python3 - $MODEL <<'END'
import random, sys
draw = random.Random(1)
words = "good bad film movie story plot warm cold scene actor".split()
with open("many.csv", "w") as out:
    out.write("text,label\n" + "".join(f"{' '.join(draw.choice(words) for _ in range(3))},{i}\n" for i in range(6000)))
END
cat >peak.py <<'END'
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "wb"), stderr=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
print(done.returncode, "below 300 MB" if peak < 300 else f"{peak} MB")
END
python3 peak.py train.txt $BRIM train -m $MODEL --train many.csv --eval many.csv --max-steps 1 -o run
python3 peak.py table.txt $BRIM evaluate -m run many.csv
python3 peak.py all.json $BRIM evaluate -m run many.csv --json
python3 - <<'END'
import json, os
got = json.load(open("all.json"))
classes = got["classes"]
log = [json.loads(line) for line in open("run/log.jsonl")]
told = next(event for event in log if event["event"] == "eval")
print(len(classes), "classes", sum(c["rows"] for c in classes), "rows", sum(c["predicted"] for c in classes), "predicted")
print(got["confusion"], len(got["confused"]), os.path.getsize("all.json") < 1 << 20, os.path.getsize("table.txt") < 1 << 20)
print(all(abs(got[name] - told[name]) < 1e-9 for name in ("loss", "accuracy", "f1")))
END
