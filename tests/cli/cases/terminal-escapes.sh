# Labels, names of sets and of folders do not steer the terminal; JSON keeps them, escaped.
python3 - <<'END'
import json
labels = ["\x1b[31mEVIL", "a\nb", "\x1b]0;t\x07\u202e"] * 3
open("esc.jsonl", "w").write("".join(json.dumps({"text": "good film", "label": label}) + "\n" for label in labels))
END
esc=$(printf '\033')
$BRIM train -m $MODEL --train esc.jsonl --eval "e$esc[31mv=esc.jsonl" --max-steps 1 -o "r$esc[31m" | tail -n 1
$BRIM evaluate -m "r$esc[31m" esc.jsonl -q | tail -n +6
$BRIM evaluate -m "r$esc[31m" esc.jsonl -q --json | grep -o '"name":"[^"]*"'
$BRIM predict -m "none$esc[31m" esc.jsonl
# Nor does what the command says of files that it could not write.
turned=$(printf 'r\342\200\256')
mkdir "$turned" && echo mine >"$turned/tensorboard"
$BRIM train -q -m $MODEL --train esc.jsonl --max-steps 1 -o "$turned" --overwrite | tail -n 1
