$BRIM compare --model $MODEL --train $DATA/train.csv --eval $DATA/test.csv --max-steps 3 --quiet --json | python3 -c '
import json, statistics, sys
modes = json.load(sys.stdin)["modes"]
print([m["method"] for m in modes])
fixed, dynamic, uniform, brim = modes
assert brim["tokens"] == brim["slots"] and brim["share"] == 0
assert brim["tokens"] == dynamic["tokens"] == fixed["tokens"] < dynamic["slots"] < fixed["slots"]
assert abs(brim["loss"] - fixed["loss"]) < 1e-5 and abs(brim["loss"] - dynamic["loss"]) < 1e-5
assert brim["accuracy"] == fixed["accuracy"]
for m in modes:
    rounds = m["rounds"]
    assert [r["steps"] for r in rounds] == [1, 1, 1] and all(r["seconds"] > 0 for r in rounds)
    assert [sum(r[key] for r in rounds) for key in ("tokens", "slots")] == [m["tokens"], m["slots"]]
    for r, first in zip(rounds, fixed["rounds"]):
        pace, other = (m["tokens"] / m["slots"] * r["slots"] / r["seconds"], fixed["tokens"] / fixed["slots"] * first["slots"] / first["seconds"])
        assert abs(r["speed"] / (pace / other) - 1) < 1e-3, r
    speeds = [r["speed"] for r in rounds]
    assert [m["speed_low"], m["speed"], m["speed_high"]] == [min(speeds), statistics.median(speeds), max(speeds)]
    assert abs(m["tokens_per_second"] / fixed["tokens_per_second"] / m["speed"] - 1) < 1e-3'
