# What others keep in the folder of a checkpoint stays there when the checkpoint goes, which is said; its folder is no checkpoint then.
train() { "$BRIM" train -m "$MODEL" --train "$DATA/train.csv" -b 8 --save-every 1 --keep-checkpoints 1 -o run "$@" 2>&1 | grep -a -e 'keeps' -e 'continues' -e '^brim: run'; }
mine() { find run -name 'mine*' | sort; }
train --max-steps 2
echo mine > run/checkpoints/step-2/mine.jsonl
mkdir run/checkpoints/step-2/mine && echo '{}' > run/checkpoints/step-2/mine/config.json
echo "resumed"
train --max-steps 4 --resume
ls run/checkpoints run/checkpoints/step-2 && mine
echo "resumed again"
train --max-steps 5 --resume
ls run/checkpoints
echo "replaced: the same step is written into the folder that was left"
echo mine > run/checkpoints/step-5/mine.txt
train --max-steps 2 --overwrite
ls run/checkpoints run/checkpoints/step-5 && mine
"$BRIM" evaluate -m run/checkpoints/step-2 "$DATA/train.csv" --json --quiet > /dev/null && echo "step-2 is a model"
echo "replaced once more"
train --max-steps 1 --overwrite
ls run/checkpoints && mine
echo "a run that fails before it begins"
echo mine > run/checkpoints/step-1/mine.csv
"$BRIM" train -m "$MODEL" --train "$DATA/train.csv" --max-steps 1 --max-tokens 3 --oversize error -o run --overwrite --quiet 2> /dev/null || echo "exit $?"
mine
"$BRIM" train -m "$MODEL" --train "$DATA/train.csv" -b 8 --folds 2 --max-steps 1 --quiet -o folds > /dev/null
echo mine > folds/fold-1/checkpoints/step-1/mine.txt
"$BRIM" train -m "$MODEL" --train "$DATA/train.csv" -b 8 --folds 2 --max-steps 1 --quiet -o folds --overwrite 2>&1 || echo "exit $?"
find folds -name mine.txt
