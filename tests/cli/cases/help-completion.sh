$BRIM completion tcsh
