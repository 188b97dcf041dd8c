/* mpi_numbers.c: MPI whose handles are ints. */
#define HANDLE int
#define FIELD  number
#define KIND   brim_mpi_numbers
#include "dist/mpi_calls.h"
