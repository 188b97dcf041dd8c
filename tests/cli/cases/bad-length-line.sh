printf '12\n7\nseven\n' >l.txt
$BRIM plan --lengths l.txt --batch-size 2
