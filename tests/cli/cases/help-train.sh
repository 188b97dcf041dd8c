$BRIM train --help
