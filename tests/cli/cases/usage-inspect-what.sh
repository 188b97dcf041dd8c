$BRIM inspect
