/* memory.c: memory of a card for who is no model: arrays that other programs read where they are. */
#include "base/memory.h"
#include "base/status.h"
#include "brim/device.h"
#include "ops/cuda/cuda.h"

struct brim_gpu_memory {
  brim_runtime *runtime;
  brim_cuda d; /* driver, device, context and stream */
  brim_cuda_address at;
  size_t size;
};

static int failed(int code, const char *doing, brim_error *err) {
  return code ? brim_error_set(err, code == CUDA_NO_MEMORY ? BRIM_E_MEMORY : BRIM_E_UNSUPPORTED, "the GPU failed in %s (%d)",
                               doing, code)
              : BRIM_OK;
}

static int open_card(brim_gpu_memory *m, int32_t card, brim_error *err) {
  brim_cuda *d = &m->d;
  int cards;
  BRIM_TRY(brim_cuda_driver_open(&d->driver, err));
  BRIM_TRY(brim_cuda_find_card(d, card, &cards, err));
  BRIM_TRY(failed(d->driver.cuDevicePrimaryCtxRetain(&d->context, d->device), "cuDevicePrimaryCtxRetain", err));
  BRIM_TRY(failed(d->driver.cuCtxSetCurrent(d->context), "cuCtxSetCurrent", err));
  return failed(d->driver.cuStreamCreate(&d->stream, CUDA_STREAM_ALONE), "cuStreamCreate", err);
}

static int fill(brim_gpu_memory *m, const void *from, brim_error *err) {
  const brim_cuda_driver *driver = &m->d.driver;
  BRIM_TRY(failed(driver->cuMemAlloc_v2(&m->at, m->size ? m->size : 1), "cuMemAlloc", err));
  if (m->size == 0 || !from)
    return BRIM_OK;
  BRIM_TRY(failed(driver->cuMemcpyHtoDAsync_v2(m->at, from, m->size, m->d.stream), "cuMemcpyHtoDAsync", err));
  return failed(driver->cuStreamSynchronize(m->d.stream), "cuStreamSynchronize", err);
}

int brim_gpu_memory_new(brim_runtime *runtime, int32_t card, const void *from, size_t size, brim_gpu_memory **out,
                        brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  brim_gpu_memory *m = brim_alloc_zero(runtime, sizeof *m);
  if (!m)
    return BRIM_NOMEM(err);
  m->runtime = runtime;
  m->size = size;
  int status = open_card(m, card, err);
  if (!status)
    status = fill(m, from, err);
  if (status)
    brim_gpu_memory_free(m);
  else
    *out = m;
  return status;
}

void *brim_gpu_memory_at(const brim_gpu_memory *memory) {
  return (void *)(uintptr_t)memory->at;
}

int brim_gpu_memory_card(const brim_gpu_memory *memory) {
  return memory->d.device;
}

int brim_gpu_memory_read(const brim_gpu_memory *memory, void *to, brim_error *err) {
  BRIM_GIVEN(err, memory, to);
  const brim_cuda *d = &memory->d;
  if (memory->size == 0)
    return BRIM_OK;
  BRIM_TRY(failed(d->driver.cuCtxSetCurrent(d->context), "cuCtxSetCurrent", err));
  BRIM_TRY(failed(d->driver.cuMemcpyDtoHAsync_v2(to, memory->at, memory->size, d->stream), "cuMemcpyDtoHAsync", err));
  return failed(d->driver.cuStreamSynchronize(d->stream), "cuStreamSynchronize", err);
}

void brim_gpu_memory_free(brim_gpu_memory *memory) {
  if (!memory)
    return;
  brim_cuda *d = &memory->d;
  if (d->context)
    d->driver.cuCtxSetCurrent(d->context);
  if (d->stream)
    d->driver.cuStreamDestroy_v2(d->stream);
  if (memory->at)
    d->driver.cuMemFree_v2(memory->at);
  if (d->context)
    d->driver.cuDevicePrimaryCtxRelease_v2(d->device);
  brim_cuda_driver_close(&d->driver);
  brim_release(memory->runtime, memory);
}
