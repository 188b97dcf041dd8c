printf 'text,label\ngood film,pos\nbad film,neg\n' >a.csv
printf 'text,label\ngood film,pos\nso so film,mixed\n' >b.csv
$BRIM train --model $MODEL --train a.csv --eval b.csv --output run
ls
