mkdir full && echo mine >full/file
$BRIM shard $DATA/train.csv -o full; echo "exit $?"
$BRIM shard $DATA/train.csv -o full/file; echo "exit $?"
mkdir true && ln -s true link
$BRIM shard $DATA/train.csv -o link; echo "exit $?"
printf 'text,label\n"never closed,1\n' >open.csv
$BRIM shard open.csv -o out; echo "exit $?"
printf 'text,label\na,1\n' >a.csv; printf 'label,text\n1,b\n' >b.csv
$BRIM shard a.csv b.csv -o out; echo "exit $?"
$BRIM shard a.csv $DATA/train.txt -o out; echo "exit $?"
printf 'text\nab\n\377\n' >latin.csv
$BRIM shard latin.csv -o out; echo "exit $?"
$BRIM shard a.csv --where label=7 -o out; echo "exit $?"
$BRIM shard a.csv --where label -o out; echo "exit $?"
ls
