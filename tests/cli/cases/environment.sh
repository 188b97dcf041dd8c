# What the environment says and cannot be followed is said. A process that it calls a rank may be alone: it speaks, or does what asks for no
# other.
lengths() { $BRIM plan --lengths lengths >out || echo $?; }
echo 12 >lengths
BRIM_CPU=nothing lengths
BRIM_THREADS=abc lengths
BRIM_THREADS=-1 lengths
export OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2
$BRIM version
lengths
BRIM_MPI=none lengths
test -s out && echo "a plan"
$BRIM train --nothing 2>&1 | cut -c 1-40
