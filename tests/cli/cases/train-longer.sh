# A finished run becomes longer: with rates that do not depend on the length, its weights are those of a run that was begun so long; with
# others both rates are said. Shorter, and without the option it was begun with, it is refused. Other instructions continue when asked for.
train() {
  $BRIM train --model $MODEL --train $DATA/train.csv --eval $DATA/test.csv --batch-size 16 "$@"
}
train --schedule constant -e 5 -o whole -q >/dev/null
train --schedule constant -e 3 -o part -q >/dev/null
train --schedule constant -e 5 -o part --resume 2>&1 >/dev/null | grep longer
cmp whole/model.safetensors part/model.safetensors && echo "the same weights"
train -e 1 -o falling -q >/dev/null
train -e 2 -o falling --resume --json 2>said | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["steps"], r["resumed"])'
grep longer said
python3 -c '
import json
lines = [json.loads(line) for line in open("falling/log.jsonl")]
print([e["step"] for e in lines if e["event"] == "step"] == list(range(1, 13)), [e["former_steps"] for e in lines if e["event"] == "resume"])
print(all(abs(e["lr"] - 5e-5 * (13 - e["step"]) / 12) < 1e-12 for e in lines if e["event"] == "step" and e["step"] > 6))'
train -e 1 -o falling --resume -q || echo $?
train --max-steps 14 -o falling --resume -q >/dev/null && train -o falling --resume -q || echo $?
train --max-steps 15 -o falling --resume-anyway -q || echo $?
# An average keeps what it has, and that is said where a run of this length would not have it.
for steps in 8 10 30; do train --max-steps $steps --swa-start 0.5 -o mean --resume 2>&1 >/dev/null | grep "average keeps" || echo "$steps steps: nothing to say"; done
# The folds of a run become longer too.
folds() {
  $BRIM train --model $MODEL --train $DATA/train.csv --folds 2 --schedule constant -q "$@" >/dev/null
}
folds -e 1 -o folds && folds -e 2 -o folds --resume && folds -e 2 -o twice && cmp folds/predictions.jsonl twice/predictions.jsonl && echo "the same predictions"
# Rows that the best was chosen by stay those, also where a run between evaluates nothing.
sed '2,9d' $DATA/test.csv > other.csv
once() { $BRIM train --model $MODEL --train $DATA/train.csv -o judged -q "$@"; }
once --eval $DATA/test.csv -e 1 >/dev/null && once -e 2 --resume >/dev/null
once --eval other.csv -e 3 --resume 2>&1 | grep -c "other evaluation rows"
once --eval $DATA/test.csv -e 3 --resume | grep -c "^best evaluation"
# Where the processor has nothing but the plain instructions there is nothing to see.
train --cpu plain --max-steps 3 -o plain -q >/dev/null
if $BRIM doctor --no-speed --json | grep -q 'cpu-avx'; then
  train --cpu avx2 --max-steps 5 -o plain --resume -q 2>&1 | grep -c "begun with the kernels cpu-plain"
  train --cpu avx2 --max-steps 5 -o plain --resume --resume-anyway 2>&1 >/dev/null | grep -c "begun with cpu-plain and continues with cpu-avx2 from step 4"
else
  printf '1\n1\n'
fi
