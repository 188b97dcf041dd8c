# The reader goes away: no message, no failure of ours.
$BRIM plan --lengths $DATA/lengths.txt --batch-size 1 --jsonl 2>err | head -n 1
cat err
