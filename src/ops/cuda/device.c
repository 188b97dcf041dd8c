/* device.c: opens a card, and queues kernels. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "brim/device.h"
#include "ops/cuda/compile.h"
#include "ops/cuda/cuda.h"

/* LEAST_DRIVER: of CUDA 12, as the oldest NVRTC that is taken. */
enum { LEAST_DRIVER = 12000 };
enum { LEAST_CAPABILITY = 75 };

/* ---- failures */

void brim_cuda_fail(brim_ops_context *c, int code, const char *format, ...) {
  brim_cuda *d = c->device;
  char text[600];
  va_list args;
  if (d->status)
    return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  d->status = brim_error_set(&d->error, code, "%s", text);
}

static const char *name_of(const brim_cuda *d, int code) {
  const char *name = NULL;
  return d->driver.cuGetErrorName(code, &name) || !name ? "unknown" : name;
}

#define IS_CODE(name, ...) code == name ||

static bool is_lost(int code) {
  return BRIM_CUDA_LOST(IS_CODE) false;
}

bool brim_cuda_check(brim_ops_context *c, int code, const char *doing) {
  const brim_cuda *d = c->device;
  if (code == CUDA_NO_MEMORY)
    brim_cuda_fail(c, BRIM_E_MEMORY, "the GPU's memory is full (%s, in %s): compute less at once, or see what else uses it",
                   name_of(d, code), doing);
  else if (is_lost(code))
    brim_cuda_fail(
        c, BRIM_E_UNSUPPORTED,
        "the GPU was lost in %s: %s (%d); nvidia-smi and the system's log say more. What checkpoints hold is not lost: resume",
        doing, name_of(d, code), code);
  else if (code)
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "the GPU failed in %s: %s (%d)", doing, name_of(d, code), code);
  return d->status == BRIM_OK;
}

/* ---- opening */

static int check_open(const brim_cuda *d, int code, const char *doing, brim_error *err) {
  if (code == CUDA_NO_MEMORY)
    return brim_error_set(err, BRIM_E_MEMORY, "the GPU's memory is full (%s, in %s): see what else uses it", name_of(d, code),
                          doing);
  return code ? brim_error_set(err, BRIM_E_UNSUPPORTED, "the GPU cannot be used: %s gave %s (%d)", doing, name_of(d, code), code)
              : BRIM_OK;
}

int brim_cuda_find_card(brim_cuda *d, int32_t card, int *cards, brim_error *err) {
  const brim_cuda_driver *driver = &d->driver;
  int count = 0, major = 0, minor = 0, version = 0;
  const int started = driver->cuInit(0);
  if (started || driver->cuDeviceGetCount(&count) || count == 0)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "the NVIDIA driver finds no GPU: %s (%d)",
                          started ? name_of(d, started) : "none is there, or CUDA_VISIBLE_DEVICES hides it", started);
  *cards = count;
  if (driver->cuDriverGetVersion(&version) == 0 && version < LEAST_DRIVER)
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "the NVIDIA driver is too old: it knows CUDA %d.%d, and 12.0 or later is needed; install a newer one",
                          version / 1000, version % 1000 / 10);
  if (card < 0 || card > count)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "there is no GPU cuda:%d: the driver shows %d, from cuda:0 on", (int)card - 1,
                          count);
  const int ordinal = card > 0 ? card - 1 : brim_gpu_own(count);
  BRIM_TRY(check_open(d, driver->cuDeviceGet(&d->device, ordinal), "cuDeviceGet", err));
  BRIM_TRY(check_open(d, driver->cuDeviceGetAttribute(&major, CUDA_ATTRIBUTE_MAJOR, d->device), "cuDeviceGetAttribute", err));
  BRIM_TRY(check_open(d, driver->cuDeviceGetAttribute(&minor, CUDA_ATTRIBUTE_MINOR, d->device), "cuDeviceGetAttribute", err));
  BRIM_TRY(check_open(d, driver->cuDeviceGetAttribute(&d->most_shared, CUDA_ATTRIBUTE_SHARED, d->device), "cuDeviceGetAttribute",
                      err));
  d->capability = 10 * major + minor;
  snprintf(d->name, sizeof d->name, "%s-sm%d", brim_ops_cuda()->name, d->capability);
  if (d->capability < LEAST_CAPABILITY)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "the GPU has compute capability %d.%d: 7.5 (Turing, T4) or later is needed",
                          major, minor);
  return BRIM_OK;
}

static int load_module(brim_ops_context *c, brim_error *err) {
  brim_cuda *d = c->device;
  brim_cuda_image image;
  BRIM_TRY(brim_cuda_compile(c->runtime, d->capability, &image, err));
  int code = d->driver.cuModuleLoadData(&d->module, image.bytes);
  const bool again = code && image.cached; /* a file of the cache that somebody broke */
  brim_cuda_image_free(c->runtime, &image);
  if (again) {
    BRIM_TRY(brim_cuda_compile_fresh(c->runtime, d->capability, NULL, &image, err));
    code = d->driver.cuModuleLoadData(&d->module, image.bytes);
    brim_cuda_image_free(c->runtime, &image);
  }
  if (code)
    return brim_error_set(
        err, BRIM_E_UNSUPPORTED,
        "the driver does not take the kernels that NVRTC made: %s (%d); a driver older than NVRTC needs an older "
        "NVRTC (pip install nvidia-cuda-nvrtc-cu12)",
        name_of(d, code), code);
  return BRIM_OK;
}

#define KERNEL_NAME(name, ...) "brim_" #name,

static int find_kernels(brim_cuda *d, brim_error *err) {
  static const char *const names[] = {BRIM_CUDA_KERNELS(KERNEL_NAME)};
  for (int i = 0; i < CU_KERNELS; i++)
    BRIM_TRY(check_open(d, d->driver.cuModuleGetFunction(&d->kernels[i], d->module, names[i]), names[i], err));
  return BRIM_OK;
}

#define WIDE_NUMBER(name) CU_##name,

/* Attention may take more shared memory than a kernel gets unasked. */
static int ask_for_memory(const brim_cuda *d, brim_error *err) {
  static const brim_cuda_kernel wide[] = {BRIM_CUDA_WIDE(WIDE_NUMBER)};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    BRIM_TRY(check_open(d, d->driver.cuFuncSetAttribute(d->kernels[wide[i]], CUDA_KERNEL_SHARED, d->most_shared),
                        "cuFuncSetAttribute", err));
  return BRIM_OK;
}

static int open_device(brim_ops_context *c, brim_error *err) {
  brim_cuda *d = c->device;
  int cards, code = 0;
  d->tested = brim_cuda_how_tested();
  BRIM_TRY(brim_cuda_driver_open(&d->driver, err));
  BRIM_TRY(brim_cuda_find_card(d, c->card, &cards, err));
  BRIM_TRY(check_open(d, d->driver.cuDevicePrimaryCtxRetain(&d->context, d->device), "cuDevicePrimaryCtxRetain", err));
  BRIM_TRY(check_open(d, d->driver.cuCtxSetCurrent(d->context), "cuCtxSetCurrent", err));
  BRIM_TRY(check_open(d, d->driver.cuStreamCreate(&d->stream, CUDA_STREAM_ALONE), "cuStreamCreate", err));
  const char *failed = brim_cuda_open_transfers(d, &code);
  BRIM_TRY(check_open(d, code, failed, err));
  BRIM_TRY(load_module(c, err));
  BRIM_TRY(find_kernels(d, err));
  BRIM_TRY(ask_for_memory(d, err));
  brim_cuda_open_graphs(d);
  BRIM_TRY(brim_cuda_open_products(c, err));
  brim_cuda_open_matrices(d);
  return BRIM_OK;
}

int brim_cuda_open(brim_ops_context *c, brim_error *err) {
  c->device = brim_alloc_zero(c->runtime, sizeof(brim_cuda));
  if (!c->device)
    return BRIM_NOMEM(err);
  const int status = open_device(c, err);
  if (status)
    brim_cuda_close(c);
  return status;
}

void brim_cuda_close(brim_ops_context *c) {
  brim_cuda *d = c->device;
  if (!d)
    return;
  if (d->context)
    d->driver.cuCtxSetCurrent(d->context);
  if (d->stream)
    d->driver.cuStreamSynchronize(d->stream);
  brim_cuda_close_products(c);
  if (d->context) {
    brim_cuda_ranks_leave(c, true); /* those that left before have left */
    brim_cuda_close_graphs(d);
    brim_cuda_clock_close(c);
    brim_cuda_close_transfers(d);
  }
  if (d->stream)
    d->driver.cuStreamDestroy_v2(d->stream);
  if (d->module)
    d->driver.cuModuleUnload(d->module);
  if (d->context && !d->tested.keeps)
    d->driver.cuDevicePrimaryCtxRelease_v2(d->device);
  brim_cuda_driver_close(&d->driver);
  brim_release(c->runtime, d);
  c->device = NULL;
}

/* ---- kernels */

#define KERNEL_THREADS(name, args, threads) threads,

void brim_cuda_launch(brim_ops_context *c, brim_cuda_kernel kernel, int64_t x, int64_t y, size_t shared, const void *args) {
  static const unsigned threads[] = {BRIM_CUDA_KERNELS(KERNEL_THREADS)};
  static const char *const names[] = {BRIM_CUDA_KERNELS(KERNEL_NAME)};
  brim_cuda *d = c->device;
  if (d->status || x == 0 || y == 0)
    return;
  if (x > INT32_MAX || y > UINT16_MAX || shared > (size_t)d->most_shared) {
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "%s: %lld x %lld blocks with %zu bytes of shared memory do not fit this GPU",
                   names[kernel], (long long)x, (long long)y, shared);
    return;
  }
  void *list[] = {(void *)(uintptr_t)args};
  brim_cuda_note_call(d, (uint64_t)kernel);
  if (!brim_cuda_ready(c))
    return;
  brim_cuda_clock_begin(c, names[kernel] + sizeof "brim_" - 1);
  brim_cuda_check(c,
                  d->driver.cuLaunchKernel(d->kernels[kernel], (unsigned)x, (unsigned)y, 1, threads[kernel], 1, 1,
                                           (unsigned)shared, d->stream, list, NULL),
                  names[kernel]);
  brim_cuda_clock_end(c);
}

/* ---- operands */

cu_layout brim_cuda_layout_of(const brim_layout *layout) {
  return (cu_layout){
      .offsets = layout->offsets, .lengths = layout->lengths, .sequence = layout->sequence, .places = layout->places};
}

cu_rows brim_cuda_rows_of(const brim_rows *rows) {
  return (cu_rows){rows->count, rows->slot};
}

cu_typed brim_cuda_real(const real *x) {
  return (cu_typed){.wide = (real *)(uintptr_t)x};
}

cu_typed brim_cuda_half_of(const brim_ops_context *c, const brim_bfloat *x) {
  return (cu_typed){.half = (brim_bfloat *)(uintptr_t)x, .fp16 = c->fp16};
}

cu_typed brim_cuda_typed_of(const brim_ops_context *c, brim_typed x) {
  return x.type == BRIM_TYPE_BF16 ? brim_cuda_half_of(c, x.at) : brim_cuda_real(x.at);
}

cu_dropout brim_cuda_dropout_of(const brim_dropout *dropout) {
  return (cu_dropout){dropout->on, dropout->threshold, (float)dropout->scale, dropout->key[0], dropout->key[1], dropout->site};
}
