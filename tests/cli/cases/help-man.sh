$BRIM help --man inspect-gradients
