printf 'good film\n\nbad film\n' | $BRIM tokenize -t $MODEL/vocab.txt --no-special-tokens -
