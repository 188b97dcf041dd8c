$BRIM --help
