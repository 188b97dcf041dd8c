# What is said before work begins: rounds, and the memory of those that wait.
compare() { $BRIM compare --model $MODEL --train $DATA/train.csv "$@" 2>&1; }
compare --modes fixed,brim --max-steps 4 | sed -n 's/[0-9.]* MiB/N MiB/; /turns/p'
compare --modes fixed,brim,dynamic | sed -n 's/[0-9.]* MiB/N MiB/; /turns/p'
compare --modes brim | sed -n /turns/p
