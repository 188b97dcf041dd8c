/* mpi_pointers.c: MPI whose handles are pointers. */
#define HANDLE void *
#define FIELD  pointer
#define KIND   brim_mpi_pointers
#include "dist/mpi_calls.h"
