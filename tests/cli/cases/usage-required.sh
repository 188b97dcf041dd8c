$BRIM train --train $DATA/train.csv --output run
