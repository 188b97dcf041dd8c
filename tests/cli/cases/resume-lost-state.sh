# A checkpoint whose state.json is lost is named as that, and not taken for somebody else's folder.
train() { "$BRIM" train -q -m "$MODEL" --train "$DATA/train.csv" --save-every 1 --keep-checkpoints 5 -o run "$@" > out; }
train --max-steps 2 && rm run/checkpoints/step-2/state.json
train --max-steps 3 --resume; train --max-steps 3 --overwrite
rm -r run/checkpoints/step-2 && mkdir run/checkpoints/step-2 && echo mine > run/checkpoints/step-2/config.json
train --max-steps 3 --resume
rm -r run/checkpoints/step-2 && train --max-steps 3 --resume && grep -c 'model is in' out
