/* Mean and largest over the tokens of a sequence, and their gradients, against PyTorch's numbers: ragged and padded. */
#include "ops_case.h"

#include "pooling_golden.h"

/* Where token `k` of sequence `s` is in PyTorch's padded tensors. */
static const double *golden_token(const double *values, int s, int k) {
  return values + (s * GOLDEN_LONGEST + k) * GOLDEN_WIDTH;
}

static brim_runtime *runtime;

static void check_pool(const brim_ops *ops, const struct golden_pool *golden, bool largest, int width) {
  case_memory m = {0};
  brim_ops_context c = {.runtime = runtime};
  const brim_layout layout = case_layout(&m, GOLDEN_COUNT, golden_lengths, width);
  const int64_t count = (int64_t)layout.slots * GOLDEN_WIDTH, few = GOLDEN_COUNT * GOLDEN_WIDTH;
  real *x = case_fill(&m, count, 1e6), *dx = case_fill(&m, count, 7), *y = case_fill(&m, few, 7), *dy = case_fill(&m, few, 0);
  int32_t *chosen = largest ? case_alloc(&m, (size_t)few * sizeof *chosen) : NULL;
  double worst = 0, worst_gradient = 0;
  for (int64_t i = 0; i < few; i++)
    dy[i] = (real)golden_pull[i];
  for (int s = 0; s < GOLDEN_COUNT; s++)
    for (int k = 0; k < golden_lengths[s]; k++)
      for (int h = 0; h < GOLDEN_WIDTH; h++)
        x[(layout.offsets[s] + k) * GOLDEN_WIDTH + h] = (real)golden_token(golden_hidden, s, k)[h];
  ops->pool_forward(&c, &(brim_pool){.layout = layout, .width = GOLDEN_WIDTH, .x = x, .chosen = chosen, .y = y});
  ops->pool_backward(&c, &(brim_pool_gradient){.layout = layout, .width = GOLDEN_WIDTH, .dy = dy, .chosen = chosen, .dx = dx});
  for (int64_t i = 0; i < few; i++)
    worst = fmax(worst, fabs((double)y[i] - golden->out[i]));
  for (int s = 0; s < GOLDEN_COUNT; s++)
    for (int k = 0; k < (width ? width : golden_lengths[s]); k++)
      for (int h = 0; h < GOLDEN_WIDTH; h++)
        worst_gradient = fmax(worst_gradient, fabs((double)dx[(layout.offsets[s] + k) * GOLDEN_WIDTH + h] -
                                                   golden_token(golden->gradient, s, k)[h]));
  ok(worst < 1e-6 && worst_gradient < 1e-6, "%s, %s, %s: PyTorch's values (%.1e apart) and gradient (%.1e)", ops->name,
     largest ? "largest" : "mean", width ? "padded" : "ragged", worst, worst_gradient);
  case_free(&m);
}

static void check_pools(const brim_ops *ops) {
  for (int width = 0; width <= GOLDEN_LONGEST; width += GOLDEN_LONGEST) {
    check_pool(ops, &golden_mean, false, width);
    check_pool(ops, &golden_largest, true, width);
  }
}

CASES(pooling) {
  check_pools(brim_ops_ref());
#ifndef BRIM_REAL_DOUBLE
  runtime = case_runtime_of(2);
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
    check_pools(brim_ops_cpu((brim_cpu_level)level));
  brim_runtime_free(runtime);
#endif
}
