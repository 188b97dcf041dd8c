/* mpi.h: the dozen calls of MPI that ranks need, in a library that is found when the program runs.
 *
 * There are three binary interfaces: MPICH's (and Intel MPI's), in which handles are ints; Open MPI's, in which they are pointers
 * to objects of the library; and the standard's of MPI 5.0, in which they are pointers with fixed values. mpi_calls.h is compiled
 * once for ints and once for pointers. Messages are bytes, and no call waits. One thread at a time. */
#ifndef BRIM_DIST_MPI_H
#define BRIM_DIST_MPI_H
#include "brim/dist.h"

typedef union brim_mpi_handle {
  int number;
  void *pointer;
} brim_mpi_handle;

typedef enum brim_mpi_call {
  MPI_CALL_INIT_THREAD,
  MPI_CALL_INITIALIZED,
  MPI_CALL_FINALIZED,
  MPI_CALL_QUERY_THREAD,
  MPI_CALL_FINALIZE,
  MPI_CALL_COMM_DUP,
  MPI_CALL_COMM_FREE,
  MPI_CALL_COMM_RANK,
  MPI_CALL_COMM_SIZE,
  MPI_CALL_COMM_SET_ERRHANDLER,
  MPI_CALL_ISEND,
  MPI_CALL_IRECV,
  MPI_CALL_TEST,
  MPI_CALL_VERSION,
  MPI_CALLS
} brim_mpi_call;

typedef struct brim_mpi brim_mpi;

/* What differs between the two kinds of handles. All return MPI's code: 0 is success. */
typedef struct brim_mpi_kind {
  int (*initialized)(const brim_mpi *mpi, bool *initialized, bool *finalized);
  int (*init)(const brim_mpi *mpi, int *provided); /* or what was provided when it was initialized */
  int (*join)(brim_mpi *mpi);                      /* a communicator of our own; rank and size */
  int (*send)(brim_mpi *mpi, const void *data, size_t bytes, int32_t to, int tag, brim_mpi_handle *request);
  int (*receive)(brim_mpi *mpi, void *data, size_t bytes, int32_t from, int tag, brim_mpi_handle *request);
  int (*test)(brim_mpi *mpi, brim_mpi_handle *request, bool *done);
  int (*leave)(brim_mpi *mpi);
  int (*finalize)(const brim_mpi *mpi);
  void (*version)(const brim_mpi *mpi, char *text, int *length); /* text: at least 8192 bytes */
} brim_mpi_kind;
extern const brim_mpi_kind brim_mpi_numbers, brim_mpi_pointers;

struct brim_mpi {
  void *library;
  const brim_mpi_kind *kind;
  void (*calls[MPI_CALLS])(void);
  brim_mpi_handle all, own, byte, errors_return; /* communicators, the type of a byte, the error handler that returns */
  void *status_ignore;
  int serialized; /* the level of threads that is asked for */
  int32_t rank, size;
  bool begun;     /* by this program before us: it ends MPI too */
  char name[600]; /* "Open MPI v4.1.4 (/usr/lib/libmpi.so.40)" */
};

/* Finds the library and its calls; starts nothing. `path` NULL: what BRIM_MPI names, what is loaded, or the launcher's own. */
int brim_mpi_load(const char *path, brim_mpi *mpi, brim_error *err) BRIM_CHECK;
/* Initializes MPI, or joins what is initialized. */
int brim_mpi_start(brim_mpi *mpi, brim_error *err) BRIM_CHECK;
/* Ends what brim_mpi_start has begun. */
void brim_mpi_end(brim_mpi *mpi);

#endif
