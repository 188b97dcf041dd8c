/* ops.c: the card's memory, the order of what it does, and its operations. */
#include "base/memory.h"
#include "base/status.h"
#include "ops/cuda/cuda.h"

static brim_cuda_address address_of(const void *memory) {
  return (brim_cuda_address)(uintptr_t)memory;
}

static void clear(brim_ops_context *c, void *memory, size_t size) {
  const brim_cuda *d = c->device;
  if (!size || !brim_cuda_ready(c))
    return;
  brim_cuda_clock_begin(c, "clear");
  brim_cuda_check(c, d->driver.cuMemsetD8Async(address_of(memory), 0, size, d->stream), "cuMemsetD8Async");
  brim_cuda_clock_end(c);
}

/* That there is no more memory is no failure of the card. */
static void *take(brim_ops_context *c, size_t size, bool zeroed) {
  const brim_cuda *d = c->device;
  brim_cuda_address memory = 0;
  if (d->driver.cuCtxSetCurrent(d->context) ||
      (d->tested.shares ? d->driver.cuMemAllocManaged(&memory, size ? size : 1, CUDA_ATTACH_GLOBAL)
                        : d->driver.cuMemAlloc_v2(&memory, size ? size : 1)))
    return NULL;
  void *at = (void *)(uintptr_t)memory;
  if (zeroed)
    clear(c, at, size);
  return at;
}

/* The driver waits for all work before it gives memory back, but not the emulation of it. A failure is returned by the next sync.
 */
static void release(brim_ops_context *c, void *memory) {
  brim_cuda *d = c->device;
  if (!memory)
    return;
  (void)brim_cuda_ready(c);
  if (!d->driver.cuCtxSetCurrent(d->context)) {
    brim_cuda_check(c, d->driver.cuStreamSynchronize(d->stream), "cuStreamSynchronize");
    d->driver.cuMemFree_v2(address_of(memory));
  }
}

static void copy(brim_ops_context *c, void *to, const void *from, size_t size) {
  const brim_cuda *d = c->device;
  if (!size || !brim_cuda_ready(c))
    return;
  brim_cuda_clock_begin(c, "copy");
  brim_cuda_check(c, d->driver.cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), size, d->stream), "cuMemcpyDtoDAsync");
  brim_cuda_clock_end(c);
}

static const char *exact_name(const brim_ops_context *c, bool half) {
  const brim_cuda *d = c->device;
  return half ? d->half_name : d->name;
}

/* Attention's deltas, or sums of blocks: of slots, or of rows of a distance embedding. */
static size_t workspace(const brim_ops_context *c, const brim_ops_limits *limits) {
  const size_t deltas = (size_t)limits->max_slots * (size_t)limits->heads * sizeof(float), sums = CU_SUMS * sizeof(double),
               rows = (size_t)(limits->max_slots > limits->distances ? limits->max_slots : limits->distances),
               block_sums = rows > BRIM_CUDA_SUMMED_ROWS ? BRIM_CUDA_ROW_SUMS * sizeof(float) : 0,
               most = deltas > sums ? deltas : sums;
  (void)c;
  return most > block_sums ? most : block_sums;
}

/* ---- the operations. What is a feature of devices is not there; any other operation without kernels says so when it is called
 */

#define MISSING(name, operands, ...)                                                                                             \
  __attribute__((unused)) static void missing_##name(brim_ops_context *c, const operands *op) {                                  \
    (void)op;                                                                                                                    \
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "the GPU has no kernels for the operation \"" #name "\": use the device cpu");         \
  }
BRIM_OPS_LIST(MISSING)

/* BRIM_CUDA_HAS_name, where it is defined, moves its operation to the second place. */
#define SECOND(first, second, ...) second
#define CHOOSE(...)                SECOND(__VA_ARGS__)
#define ENTRY(name, operands, feature, ...)                                                                                      \
  .name = CHOOSE(BRIM_CUDA_HAS_##name brim_cuda_##name, ((feature) & ~FEATURES) ? NULL : missing_##name, 0),

enum { FEATURES = BRIM_FEATURE_BF16 | BRIM_FEATURE_FP16 | BRIM_FEATURE_DISTANCES | BRIM_FEATURE_LATE_ROWS };

static const brim_ops ops = {.name = "cuda",
                             .exact_name = exact_name,
                             .features = FEATURES,
                             .workspace = workspace,
                             .open = brim_cuda_open,
                             .close = brim_cuda_close,
                             .alloc = take,
                             .release = release,
                             .write = brim_cuda_write,
                             .read = brim_cuda_read,
                             .copy = copy,
                             .clear = clear,
                             .sync = brim_cuda_sync,
                             .begin = brim_cuda_begin,
                             .end = brim_cuda_end,
                             .ranks_key = brim_cuda_ranks_key,
                             .ranks_join = brim_cuda_ranks_join,
                             .ranks_sum = brim_cuda_ranks_sum,
                             .ranks_wait = brim_cuda_ranks_wait,
                             .ranks_leave = brim_cuda_ranks_leave,
                             BRIM_OPS_LIST(ENTRY)};

const brim_ops *brim_ops_cuda(void) {
  return &ops;
}
