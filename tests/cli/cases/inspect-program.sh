python3 $FIXTURES model trained --labels 2
$BRIM inspect program --model trained --max-tokens 1000 --max-rows 8 | sed -E 's/[0-9]+\.[0-9]+/N/g; s/ +/ /g'
$BRIM inspect program --model trained --pass prediction --precision int8 | grep -c 'int8_'
$BRIM inspect program --model trained --precision int8
