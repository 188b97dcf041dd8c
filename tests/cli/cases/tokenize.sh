printf 'text,text_pair\n"A good, warm film.",It is not bad\n"quoted ""quote""\nsecond line",x\n' >in.csv
$BRIM tokenize -t $MODEL in.csv
