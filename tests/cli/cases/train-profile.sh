# --profile says where the time went, changes nothing, and leaves a trace; also of a run that fails.
options="--model $MODEL --train $DATA/train.csv --max-steps 3"
$BRIM train $options --output plain --quiet >/dev/null
$BRIM train $options --output run --profile >/dev/null 2>err
cmp plain/model.safetensors run/model.safetensors && echo "the same weights"
grep -c '^products  *[0-9.]* %  *[0-9.]*  *[0-9]*  *[0-9]*$' err
grep -c '^  update .* 3 *$' err
grep '^brim: the trace' err
$BRIM train $options --output here --profile=here.json --quiet >/dev/null
echo '{"profile": true}' >config.json
$BRIM train $options --output config --config config.json --quiet >/dev/null
$BRIM train --model $MODEL --train missing.csv --output broken --profile=broken.json --quiet 2>/dev/null
python3 - <<'END'
import json
for name in ("run/trace.json", "here.json", "config/trace.json", "broken.json"):
    trace = json.load(open(name))
    events, other = trace["traceEvents"], trace["otherData"]
    steps = [e for e in events if e["name"] == "step" and e["cat"] == "frame"]
    inside = sum(e["dur"] for s in steps for e in events if e["cat"] != "frame" and s["ts"] <= e["ts"] < s["ts"] + s["dur"])
    print(name, len(steps), inside <= 1.001 * sum(s["dur"] for s in steps), other["left_out"],
          sum(row["seconds"] for row in other["rows"] if row["cat"] != "frame") <= other["seconds"])
END
