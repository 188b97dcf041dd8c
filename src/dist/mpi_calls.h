/* mpi_calls.h: the calls of MPI for one kind of handle. Included by mpi_numbers.c and mpi_pointers.c, which say what HANDLE is,
 * FIELD of brim_mpi_handle, and KIND, the table that comes out. */
#include "dist/mpi.h"

#define CALL(mpi, name, ...) ((int (*)(__VA_ARGS__))(mpi)->calls[MPI_CALL_##name])

static int call_initialized(const brim_mpi *mpi, bool *initialized, bool *finalized) {
  int begun = 0, ended = 0, code = CALL(mpi, INITIALIZED, int *)(&begun);
  if (!code)
    code = CALL(mpi, FINALIZED, int *)(&ended);
  *initialized = begun, *finalized = ended;
  return code;
}

static int call_init(const brim_mpi *mpi, int *provided) {
  if (mpi->begun)
    return CALL(mpi, QUERY_THREAD, int *)(provided);
  return CALL(mpi, INIT_THREAD, int *, char ***, int, int *)(NULL, NULL, mpi->serialized, provided);
}

static int call_join(brim_mpi *mpi) {
  int rank = 0, size = 1, code = CALL(mpi, COMM_DUP, HANDLE, HANDLE *)(mpi->all.FIELD, &mpi->own.FIELD);
  if (!code)
    code = CALL(mpi, COMM_SET_ERRHANDLER, HANDLE, HANDLE)(mpi->own.FIELD, mpi->errors_return.FIELD);
  if (!code)
    code = CALL(mpi, COMM_RANK, HANDLE, int *)(mpi->own.FIELD, &rank);
  if (!code)
    code = CALL(mpi, COMM_SIZE, HANDLE, int *)(mpi->own.FIELD, &size);
  mpi->rank = rank, mpi->size = size;
  return code;
}

static int call_send(brim_mpi *mpi, const void *data, size_t bytes, int32_t to, int tag, brim_mpi_handle *request) {
  return CALL(mpi, ISEND, const void *, int, HANDLE, int, int, HANDLE, HANDLE *)(data, (int)bytes, mpi->byte.FIELD, to, tag,
                                                                                 mpi->own.FIELD, &request->FIELD);
}

static int call_receive(brim_mpi *mpi, void *data, size_t bytes, int32_t from, int tag, brim_mpi_handle *request) {
  return CALL(mpi, IRECV, void *, int, HANDLE, int, int, HANDLE, HANDLE *)(data, (int)bytes, mpi->byte.FIELD, from, tag,
                                                                           mpi->own.FIELD, &request->FIELD);
}

static int call_test(brim_mpi *mpi, brim_mpi_handle *request, bool *done) {
  int flag = 0;
  const int code = CALL(mpi, TEST, HANDLE *, int *, void *)(&request->FIELD, &flag, mpi->status_ignore);
  *done = flag != 0;
  return code;
}

static int call_leave(brim_mpi *mpi) {
  return CALL(mpi, COMM_FREE, HANDLE *)(&mpi->own.FIELD);
}

static int call_finalize(const brim_mpi *mpi) {
  return CALL(mpi, FINALIZE, void)();
}

static void call_version(const brim_mpi *mpi, char *text, int *length) {
  if (CALL(mpi, VERSION, char *, int *)(text, length) != 0)
    *length = 0;
}

const brim_mpi_kind KIND = {.initialized = call_initialized,
                            .init = call_init,
                            .join = call_join,
                            .send = call_send,
                            .receive = call_receive,
                            .test = call_test,
                            .leave = call_leave,
                            .finalize = call_finalize,
                            .version = call_version};
