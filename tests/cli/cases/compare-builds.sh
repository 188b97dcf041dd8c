# A build is the same as itself, and not the same as one that decays another way.
compare() { "$CASES/../../../tools/compare_builds" "$@"; }
compare bits "$BRIM" "$BRIM" --cpu plain --only 3,5 | sed 's/[0-9]* results compared, [0-9]* s/N results/'
printf '#!/bin/sh\ncase $1 in train) exec "%s" "$@" --beta1 0.89 ;; *) exec "%s" "$@" ;; esac\n' "$BRIM" "$BRIM" > other
chmod +x other
compare bits "$BRIM" "$PWD/other" --cpu plain --threads 1 --only 5 > said; echo "exit $?"
tail -n 1 said
