# bf16 takes less memory for nearly the same loss, and the same bits with checkpoints; a run continues with the precision it began with.
python3 - $MODEL deep <<'END'
import json, shutil, sys
shutil.copytree(sys.argv[1], "deep")
config = json.load(open("deep/config.json"))
config["num_hidden_layers"] = 6
json.dump(config, open("deep/config.json", "w"))
END
options="--model deep --train $DATA/train.csv --epochs 1 --lr 1e-3 --reinit-layers 4 --quiet"
$BRIM train $options --output wide >/dev/null
$BRIM train $options --output narrow --precision bf16 >/dev/null
$BRIM train $options --output again --precision bf16 --checkpoint-activations --threads 1 >/dev/null
cmp narrow/model.safetensors again/model.safetensors && echo same
cmp -s narrow/model.safetensors wide/model.safetensors || echo not quite those of fp32
python3 - <<'END'
import json
log = {name: [json.loads(line) for line in open(name + "/log.jsonl")] for name in ("wide", "narrow", "again")}
memory = {name: lines[0]["memory_training"] for name, lines in log.items()}
loss = {name: [l["loss"] for l in lines if l["event"] == "step"] for name, lines in log.items()}
print("memory falls", memory["again"] < memory["narrow"] < memory["wide"], log["narrow"][0]["options"]["precision"])
print("loss is near", all(abs(a - b) < 0.02 for a, b in zip(loss["wide"], loss["narrow"])))
END
$BRIM train $options --output narrow --resume 2>&1 | sed 's/byte [0-9]*/byte N/'
# Predictions take the same word: rounded as in training, and otherwise fp32.
for precision in fp32 bf16; do
  $BRIM predict --model narrow --precision $precision $DATA/test.csv --quiet >$precision.jsonl
  $BRIM evaluate --model narrow --precision $precision $DATA/test.csv --quiet --json >$precision.json
done
cmp -s fp32.jsonl bf16.jsonl || echo rounded
python3 - <<'END'
import json
scores = [[json.loads(line)["scores"] for line in open(name + ".jsonl")] for name in ("fp32", "bf16")]
print("near", max(abs(a - b) for one, other in zip(*scores) for a, b in zip(one, other)) < 0.02)
print("near", abs(json.load(open("fp32.json"))["loss"] - json.load(open("bf16.json"))["loss"]) < 0.02)
END
$BRIM evaluate --model narrow --precision fp16 $DATA/test.csv 2>&1 || echo $?
# A line says once that bf16 would be faster: where the processor has the instructions and layers are wide, until --precision is given.
PYTHONPATH=$CASES/../../../tools python3 - <<'END'
import pathlib, random_models
random_models.write_model(pathlib.Path("broad"), "bert", act="gelu", dropout=0.1, hidden=256, inner=64, layers=1, heads=4, words=3005, positions=64)
END
python3 - $BRIM $MODEL $DATA <<'END'
import json, subprocess, sys
brim, small, data = sys.argv[1:]
def lines(model, *more):
    done = subprocess.run([brim, "train", "--model", model, "--train", data + "/train.csv", "--max-steps", "1", "-o", "hint", "--overwrite", *more],
                          capture_output=True, text=True)
    if done.returncode:
        print(done.stderr)
    return done.stderr.count("--precision bf16 would be faster here")
fast = json.loads(subprocess.run([brim, "doctor", "--no-speed", "--json"], capture_output=True, text=True).stdout)["bf16_fast"]
print("hint", lines("broad") == fast, lines("broad", "--precision", "fp32"), lines("broad", "--precision", "bf16"), lines(small))
END
