/* ranks.c: sums over the GPUs of several processes, by NCCL, which is looked for when there are several.
 *
 * Sums have a separate stream, so that a piece of the gradient is summed while the computing stream makes the next one. The
 * host waits for the computing stream alone until all ranks have said that they are well: where one is not, the others' sums
 * would never end, and are given up. */
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

static int open_stream(brim_cuda *d, brim_error *err) {
  brim_cuda_ranks *r = &d->ranks;
  int code = d->driver.cuStreamCreate(&r->stream, CUDA_STREAM_ALONE);
  if (!code)
    code = d->driver.cuEventCreate(&r->complete, CUDA_EVENT_NO_TIMING);
  if (!code)
    code = d->driver.cuEventCreate(&r->summed, CUDA_EVENT_NO_TIMING);
  return code ? brim_error_set(err, BRIM_E_UNSUPPORTED, "NCCL: the GPU has no stream for sums (%d)", code) : BRIM_OK;
}

int brim_cuda_ranks_join(brim_ops_context *c, const char key[BRIM_RANKS_KEY], int32_t rank, int32_t world, brim_error *err) {
  brim_cuda *d = c->device;
  brim_nccl_key made;
  memcpy(made.bytes, key, BRIM_RANKS_KEY);
  int code = d->driver.cuCtxSetCurrent(d->context);
  if (code)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "NCCL: the GPU is not there (%d)", code);
  code = d->nccl.ncclCommInitRank(&d->ranks.joined, world, made, rank);
  if (code)
    d->ranks.joined = NULL;
  return code ? fail(d, code, "ncclCommInitRank", err) : open_stream(d, err);
}

void brim_cuda_ranks_sum(brim_ops_context *c, real *x, int64_t count) {
  brim_cuda *d = c->device;
  brim_cuda_ranks *r = &d->ranks;
  if (count == 0 || !brim_cuda_ready(c) ||
      !brim_cuda_check(c, d->driver.cuEventRecord(r->complete, d->stream), "cuEventRecord") ||
      !brim_cuda_check(c, d->driver.cuStreamWaitEvent(r->stream, r->complete, 0), "cuStreamWaitEvent"))
    return;
  const int code = d->nccl.ncclAllReduce(x, x, (size_t)count, NCCL_FLOAT32, NCCL_SUM, r->joined, r->stream);
  r->under_way = true;
  if (code)
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "NCCL: ncclAllReduce failed: %s (%d)", d->nccl.ncclGetErrorString(code), code);
}

/* In a profile: how long the computing stream waits, which is what backward did not hide. */
void brim_cuda_ranks_wait(brim_ops_context *c) {
  brim_cuda *d = c->device;
  brim_cuda_ranks *r = &d->ranks;
  if (!r->under_way || !brim_cuda_ready(c))
    return;
  brim_cuda_clock_begin(c, "ncclAllReduce");
  if (brim_cuda_check(c, d->driver.cuEventRecord(r->summed, r->stream), "cuEventRecord"))
    brim_cuda_check(c, d->driver.cuStreamWaitEvent(d->stream, r->summed, 0), "cuStreamWaitEvent");
  brim_cuda_clock_end(c);
  r->under_way = false;
}

void brim_cuda_ranks_leave(brim_ops_context *c, bool broken) {
  brim_cuda *d = c->device;
  brim_cuda_ranks *r = &d->ranks;
  if (r->joined)
    (broken ? d->nccl.ncclCommAbort : d->nccl.ncclCommDestroy)(r->joined);
  if (r->stream)
    d->driver.cuStreamDestroy_v2(r->stream);
  if (r->complete)
    d->driver.cuEventDestroy_v2(r->complete);
  if (r->summed)
    d->driver.cuEventDestroy_v2(r->summed);
  *r = (brim_cuda_ranks){0};
  brim_nccl_close(&d->nccl);
}
