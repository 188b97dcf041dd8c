# Padded or not, the predictions agree.
for padding in none longest max_length; do
  $BRIM train --model $MODEL --train $DATA/train.csv --output $padding --max-steps 4 --padding $padding --quiet >/dev/null
  $BRIM predict --model $padding $DATA/test.txt --quiet >$padding.jsonl
done
python3 - <<'END'
import json
none, longest, fixed = ([json.loads(line)["scores"] for line in open(f"{p}.jsonl")] for p in ("none", "longest", "max_length"))
worst = max(abs(a - b) for other in (longest, fixed) for x, y in zip(none, other) for a, b in zip(x, y))
print("same" if worst < 1e-5 else worst)
END
