# A mode with options is what a comparison with these options gives, to the bit; what all modes share is refused by name.
compare() { $BRIM compare --model $MODEL --train $DATA/train.csv --max-steps 3 --quiet "$@"; }
one() { compare --json "$@" | python3 -c 'import json, sys; print(*((m["loss"], m["tokens"], m["slots"]) for m in json.load(sys.stdin)["modes"]), sep="\n")'; }
one --modes brim,brim+batch-size=5+lr=1e-3,uniform+longest+checkpoint,uniform+acc=2 > together
one --modes brim > apart
one --modes brim --batch-size 5 --lr 1e-3 >> apart
one --modes uniform --checkpoint-activations >> apart
one --modes uniform --accumulate 2 >> apart
cmp together apart && sort together | uniq | wc -l
for mode in brim+optimizer=sgd fixed+freeze=encoder uniform+memory-limit=1GB brim+max-tokens brim+checkpoint=maybe brim+batch-size=x brim+clever; do
  compare --modes brim,$mode 2>&1
done
