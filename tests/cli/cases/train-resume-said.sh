# A run that was interrupted says where it continues, and of no tensor that it is new: the checkpoint has them all.
run() { "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" -b 8 -o run "$@" 2>&1 | grep -E "tensors|continues"; }
run --max-steps 2
run --max-steps 4 --resume
mkdir empty && "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" --max-steps 1 -o empty --resume 2>&1 | grep -E "tensors|continues"
true
