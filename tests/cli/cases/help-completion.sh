$BRIM completion bash >script && bash -c '. ./script; COMP_WORDS=(brim train --eval-); COMP_CWORD=2; _brim; echo "${COMPREPLY[@]}"'
$BRIM completion tcsh
