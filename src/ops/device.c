/* device.c: what computes here, and how fast. */
#include "brim/device.h"

#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "ops/ops.h"

enum { LEAST_REPEATS = 3, REPEATS = 7, LARGEST = 1 << 20 };
static const double ENOUGH = 0.2; /* seconds: a slow product is not repeated more often than it must */

brim_device_info brim_device_describe(const brim_runtime *runtime) {
  static const char *const products[][2] = {
      {"own kernels, plain C", "own kernels, plain C"},
      {"own kernels, AVX2 and FMA, tiles of 6 x 16", "own kernels, AVX2 and FMA, tiles of 6 x 16; bytes: AVX-VNNI"},
      {"own kernels, AVX-512, tiles of 14 x 32", "own kernels, AVX-512, tiles of 14 x 32; bytes: AVX-512 VNNI"},
      {"own kernels, AMX, each value as three of 16 bits; else AVX-512",
       "own kernels, AMX, each value as three of 16 bits; else AVX-512; bytes: AVX-512 VNNI"}};
  static const char *const bf16[] = {[BRIM_BF16_WIDENED] = "widened to fp32 while they are packed: memory is saved, no time",
                                     [BRIM_BF16_PAIRS] = "vdpbf16ps, two products a lane",
                                     [BRIM_BF16_TILES] = "AMX, tiles of 16 x 32",
                                     [BRIM_BF16_TILES_EMULATED] = "tiles in plain C, for tests"};
  const brim_cpu_level level = brim_runtime_cpu(runtime);
  return (brim_device_info){.kernels = brim_ops_cpu(level)->name,
                            .products = products[level][runtime->dot_bytes[level]],
                            .bf16 = bf16[runtime->bf16],
                            .bf16_fast = runtime->bf16 == BRIM_BF16_PAIRS || runtime->bf16 == BRIM_BF16_TILES,
                            .threads = brim_runtime_threads(runtime)};
}

/* Operands of a layer: x [rows, in], w and dw [out, in], y [rows, out]; of 16-bit values where these are asked for, but dw. */
typedef struct operands {
  brim_product_kind kind;
  int32_t rows, in, out;
  void *x, *w, *y;
  float *dw;
  brim_int8 packed;
} operands;

static void forward(const brim_ops *ops, brim_ops_context *c, const operands *o) {
  if (o->kind == BRIM_PRODUCT_BF16)
    ops->bf16_forward(c, &(brim_bf16_linear){.rows = o->rows,
                                             .in = o->in,
                                             .out = o->out,
                                             .x = o->x,
                                             .x_stride = o->in,
                                             .w = o->w,
                                             .y = {BRIM_TYPE_BF16, o->y},
                                             .y_stride = o->out});
  else if (o->kind == BRIM_PRODUCT_INT8)
    ops->int8_forward(
        c, &(brim_int8_linear){.rows = o->rows, .w = o->packed, .x = o->x, .x_stride = o->in, .y = o->y, .y_stride = o->out});
  else
    ops->linear_forward(
        c,
        &(brim_linear){
            .rows = o->rows, .in = o->in, .out = o->out, .x = o->x, .x_stride = o->in, .w = o->w, .y = o->y, .y_stride = o->out});
}

/* Of the input, or of the weight. */
static void backward(const brim_ops *ops, brim_ops_context *c, const operands *o, bool weight) {
  if (o->kind == BRIM_PRODUCT_BF16)
    ops->bf16_backward(c, &(brim_bf16_linear_gradient){.rows = o->rows,
                                                       .in = o->in,
                                                       .out = o->out,
                                                       .x = o->x,
                                                       .x_stride = o->in,
                                                       .w = o->w,
                                                       .dy = o->y,
                                                       .dy_stride = o->out,
                                                       .dx = {BRIM_TYPE_BF16, weight ? NULL : o->x},
                                                       .dx_stride = o->in,
                                                       .dw = weight ? o->dw : NULL});
  else
    ops->linear_backward(c, &(brim_linear_gradient){.rows = o->rows,
                                                    .in = o->in,
                                                    .out = o->out,
                                                    .x = o->x,
                                                    .x_stride = o->in,
                                                    .w = o->w,
                                                    .dy = o->y,
                                                    .dy_stride = o->out,
                                                    .dx = weight ? NULL : o->x,
                                                    .dx_stride = o->in,
                                                    .dw = weight ? o->dw : NULL});
}

/* Seconds of all of it. */
static double run_once(const brim_ops *ops, brim_ops_context *c, const operands *o, double best[3]) {
  const double start = brim_seconds_now();
  forward(ops, c, o);
  const double end = brim_seconds_now();
  best[0] = fmin(best[0], end - start);
  if (o->kind == BRIM_PRODUCT_INT8)
    return end - start;
  backward(ops, c, o, false);
  const double input = brim_seconds_now();
  backward(ops, c, o, true);
  const double weight = brim_seconds_now();
  best[1] = fmin(best[1], input - end);
  best[2] = fmin(best[2], weight - input);
  return weight - start;
}

int brim_device_gemm_speed(brim_runtime *runtime, brim_product_kind kind, int32_t rows, int32_t in, int32_t out,
                           brim_gemm_speed *speed, brim_error *err) {
  BRIM_OUT(err, speed);
  BRIM_GIVEN(err, runtime);
  if ((unsigned)kind > BRIM_PRODUCT_INT8)
    return brim_error_set(err, BRIM_E_USAGE, "a product of kind %d does not exist", (int)kind);
  if (rows < 1 || in < 1 || out < 1 || rows > LARGEST || in > LARGEST || out > LARGEST)
    return brim_error_set(err, BRIM_E_USAGE, "a product of %d x %d -> %d cannot be timed: sizes go from 1 to %d", rows, in, out,
                          LARGEST);
  const brim_ops *ops = brim_ops_cpu(brim_runtime_cpu(runtime));
  const brim_ops_limits limits = {.max_slots = rows,
                                  .max_sequences = 1,
                                  .max_length = 1,
                                  .hidden = in,
                                  .intermediate = out,
                                  .heads = in,
                                  .int8 = kind == BRIM_PRODUCT_INT8,
                                  .bf16 = kind == BRIM_PRODUCT_BF16};
  brim_ops_context c = {.runtime = runtime};
  c.workspace_size = ops->workspace(&c, &limits);
  const size_t x_size = (size_t)rows * (size_t)in, w_size = (size_t)in * (size_t)out, y_size = (size_t)rows * (size_t)out;
  const size_t packed = kind == BRIM_PRODUCT_INT8 ? ops->int8_size(in, out) : 0;
  float *values = brim_alloc_aligned(runtime, (x_size + 2 * w_size + y_size) * sizeof *values);
  c.workspace = brim_alloc_aligned(runtime, c.workspace_size);
  operands o = {.kind = kind, .rows = rows, .in = in, .out = out};
  o.packed = (brim_int8){in, out, brim_alloc_aligned(runtime, packed ? packed : 1)};
  int status = BRIM_OK;
  if (values && c.workspace && o.packed.packed) {
    const double billions = 2e-9 * (double)rows * (double)in * (double)out;
    double best[3] = {INFINITY, INFINITY, INFINITY};
    o.x = values, o.w = values + x_size, o.dw = values + x_size + w_size, o.y = values + x_size + 2 * w_size;
    for (size_t i = 0; i < x_size + 2 * w_size + y_size; i++)
      values[i] = 0;
    if (packed)
      ops->int8_pack(&c, &(brim_int8_pack){.w = o.w, .to = o.packed});
    double spent = 0;
    for (int i = 0; i < REPEATS && !status && (i < LEAST_REPEATS || spent < ENOUGH); i++) {
      spent += run_once(ops, &c, &o, best);
      status = brim_check_cancel(runtime, err);
    }
    *speed = (brim_gemm_speed){billions / best[0], billions / best[1], billions / best[2]};
  } else {
    status = brim_error_set(err, BRIM_E_MEMORY, "not enough memory to time a product of %d x %d -> %d", rows, in, out);
  }
  brim_release_aligned(runtime, values);
  brim_release_aligned(runtime, c.workspace);
  brim_release_aligned(runtime, o.packed.packed);
  return status;
}
