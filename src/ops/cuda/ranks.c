/* ranks.c: sums over the GPUs of several processes, by NCCL, which is looked for when there are several. */
#include "base/status.h"
#include "ops/cuda/cuda.h"

#include <string.h>

static int fail(const brim_cuda *d, int code, const char *doing, brim_error *err) {
  return brim_error_set(err, BRIM_E_UNSUPPORTED, "NCCL: %s failed: %s (%d)", doing, d->nccl.ncclGetErrorString(code), code);
}

int brim_cuda_ranks_key(brim_ops_context *c, char key[BRIM_RANKS_KEY], brim_error *err) {
  brim_cuda *d = c->device;
  brim_nccl_key made;
  if (!brim_nccl_open(&d->nccl))
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "NCCL was not found: pip install nvidia-nccl-cu13, or set BRIM_NCCL to libnccl.so.2");
  const int code = d->nccl.ncclGetUniqueId(&made);
  memcpy(key, made.bytes, BRIM_RANKS_KEY);
  return code ? fail(d, code, "ncclGetUniqueId", err) : BRIM_OK;
}

int brim_cuda_ranks_join(brim_ops_context *c, const char key[BRIM_RANKS_KEY], int32_t rank, int32_t world, brim_error *err) {
  brim_cuda *d = c->device;
  brim_nccl_key made;
  memcpy(made.bytes, key, BRIM_RANKS_KEY);
  int code = d->driver.cuCtxSetCurrent(d->context);
  if (code)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "NCCL: the GPU is not there (%d)", code);
  code = d->nccl.ncclCommInitRank(&d->ranks, world, made, rank);
  if (code)
    d->ranks = NULL;
  return code ? fail(d, code, "ncclCommInitRank", err) : BRIM_OK;
}

void brim_cuda_ranks_sum(brim_ops_context *c, real *x, int64_t count) {
  brim_cuda *d = c->device;
  if (count == 0 || !brim_cuda_ready(c))
    return;
  brim_cuda_clock_begin(c, "ncclAllReduce");
  const int code = d->nccl.ncclAllReduce(x, x, (size_t)count, NCCL_FLOAT32, NCCL_SUM, d->ranks, d->stream);
  brim_cuda_clock_end(c);
  if (code)
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "NCCL: ncclAllReduce failed: %s (%d)", d->nccl.ncclGetErrorString(code), code);
}

void brim_cuda_ranks_leave(brim_ops_context *c) {
  brim_cuda *d = c->device;
  if (d->ranks)
    d->nccl.ncclCommDestroy(d->ranks);
  d->ranks = NULL;
  brim_nccl_close(&d->nccl);
}
