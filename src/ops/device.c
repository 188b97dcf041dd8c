/* device.c: what computes here, and how fast. */
#include "brim/device.h"

#include <math.h>
#include <time.h>

#include "base/memory.h"
#include "base/runtime.h"
#include "ops/ops.h"

enum { REPEATS = 7, LARGEST = 1 << 20 };

brim_device_info brim_device_describe(const brim_runtime *runtime) {
  static const char *const products[][2] = {
      {"own kernels, plain C", "own kernels, plain C"},
      {"own kernels, AVX2 and FMA, tiles of 6 x 16", "own kernels, AVX2 and FMA, tiles of 6 x 16; bytes: AVX-VNNI"},
      {"own kernels, AVX-512, tiles of 14 x 32", "own kernels, AVX-512, tiles of 14 x 32; bytes: AVX-512 VNNI"}};
  const brim_cpu_level level = brim_runtime_cpu(runtime);
  return (brim_device_info){.kernels = brim_ops_cpu(level)->name,
                            .products = products[level][runtime->dot_bytes[level]],
                            .threads = brim_runtime_threads(runtime)};
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Operands of a layer: x [rows, in], w and dw [out, in], y [rows, out]. */
typedef struct operands {
  int32_t rows, in, out;
  float *x, *w, *dw, *y;
} operands;

static void run_once(const brim_ops *ops, brim_ops_context *c, const operands *o, double best[3]) {
  const brim_linear product = {
      .rows = o->rows, .in = o->in, .out = o->out, .x = o->x, .x_stride = o->in, .w = o->w, .y = o->y, .y_stride = o->out};
  brim_linear_gradient of_input = {.rows = o->rows,
                                   .in = o->in,
                                   .out = o->out,
                                   .x = o->x,
                                   .x_stride = o->in,
                                   .w = o->w,
                                   .dy = o->y,
                                   .dy_stride = o->out},
                       of_weight = of_input;
  of_input.dx = o->x;
  of_input.dx_stride = o->in;
  of_weight.dw = o->dw;
  const double start = seconds();
  ops->linear_forward(c, &product);
  const double forward = seconds();
  ops->linear_backward(c, &of_input);
  const double input = seconds();
  ops->linear_backward(c, &of_weight);
  best[0] = fmin(best[0], forward - start);
  best[1] = fmin(best[1], input - forward);
  best[2] = fmin(best[2], seconds() - input);
}

int brim_device_gemm_speed(brim_runtime *runtime, int32_t rows, int32_t in, int32_t out, brim_gemm_speed *speed,
                           brim_error *err) {
  if (rows < 1 || in < 1 || out < 1 || rows > LARGEST || in > LARGEST || out > LARGEST)
    return brim_error_set(err, BRIM_E_USAGE, "a product of %d x %d -> %d cannot be timed: sizes go from 1 to %d", rows, in, out,
                          LARGEST);
  const brim_ops *ops = brim_ops_cpu(brim_runtime_cpu(runtime));
  const brim_ops_limits limits = {
      .max_slots = rows, .max_sequences = 1, .max_length = 1, .hidden = in, .intermediate = out, .heads = in};
  brim_ops_context c = {.runtime = runtime};
  c.workspace_size = ops->workspace(&c, &limits);
  const size_t x_size = (size_t)rows * (size_t)in, w_size = (size_t)in * (size_t)out, y_size = (size_t)rows * (size_t)out;
  float *values = brim_alloc_aligned(runtime, (x_size + 2 * w_size + y_size) * sizeof *values);
  c.workspace = brim_alloc_aligned(runtime, c.workspace_size);
  int status = BRIM_OK;
  if (values && c.workspace) {
    const operands o = {rows, in, out, values, values + x_size, values + x_size + w_size, values + x_size + 2 * w_size};
    const double billions = 2e-9 * (double)rows * (double)in * (double)out;
    double best[3] = {INFINITY, INFINITY, INFINITY};
    for (size_t i = 0; i < x_size + 2 * w_size + y_size; i++)
      values[i] = 0;
    for (int i = 0; i < REPEATS; i++)
      run_once(ops, &c, &o, best);
    *speed = (brim_gemm_speed){billions / best[0], billions / best[1], billions / best[2]};
  } else {
    status = brim_error_set(err, BRIM_E_MEMORY, "not enough memory to time a product of %d x %d -> %d", rows, in, out);
  }
  brim_release_aligned(runtime, values);
  brim_release_aligned(runtime, c.workspace);
  return status;
}
