for rank in 0 1 2; do $BRIM plan --lengths $DATA/lengths.txt --max-length 50 --batch-size 16 --world-size 3 --rank $rank --jsonl; done
