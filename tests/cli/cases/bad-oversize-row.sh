printf '12\n70\n7\n' >l.txt
$BRIM plan --lengths l.txt --max-tokens 64
