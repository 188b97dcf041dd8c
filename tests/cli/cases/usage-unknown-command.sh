$BRIM trian
