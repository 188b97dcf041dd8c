$BRIM --version
