$BRIM help --man inspect-gradients
$BRIM help --man | head -n 12
$BRIM help --man train | grep -A 2 'output' | head -n 3
