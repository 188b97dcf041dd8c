# docs/command-line.md is what the program says; `brim help --markdown > docs/command-line.md` renews it.
$BRIM help --markdown | diff - $CASES/../../../docs/command-line.md && echo same
