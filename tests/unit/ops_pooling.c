/* Mean and largest over the tokens of a sequence, and their gradients, against PyTorch's numbers: ragged and padded. All six ways
 * side by side, with and without the tokens of prompts, against their formulas. */
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

/* ---- six ways side by side ------------------------------------------------------------------------------------ */

/* What token k of a text of `count` tokens weighs, of which those from `first` on are pooled: the formulas of ops.h. */
static double weight_of(brim_pool_mode mode, int k, int first, int count) {
  double positions = 0;
  for (int i = first; i < count; i++)
    positions += i + 1;
  switch (mode) {
  case BRIM_POOL_CLS:
    return k == first;
  case BRIM_POOL_LAST:
    return k == count - 1;
  case BRIM_POOL_MEAN:
    return k < first ? 0 : 1.0 / (count - first);
  case BRIM_POOL_MEAN_SQRT:
    return k < first ? 0 : 1 / sqrt(count - first);
  case BRIM_POOL_WEIGHTED_MEAN:
    return k < first ? 0 : (k + 1) / positions;
  default:
    return 0;
  }
}

/* The token with the largest of a column. */
static int largest_of(int s, int first, int h) {
  int best = first;
  for (int k = first; k < golden_lengths[s]; k++)
    if (golden_token(golden_hidden, s, k)[h] > golden_token(golden_hidden, s, best)[h])
      best = k;
  return best;
}

/* Number `h` of mode `mode` of a text, and where `gradient` is not NULL what a pull at it adds to the text's tokens. */
static double expected(brim_pool_mode mode, int s, int first, int h, double pull, double *gradient) {
  double sum = 0;
  const int count = golden_lengths[s], best = largest_of(s, first, h);
  for (int k = 0; k < count; k++) {
    const double weight = mode == BRIM_POOL_MAX ? k == best : weight_of(mode, k, first, count);
    sum += weight * golden_token(golden_hidden, s, k)[h];
    gradient[k] += weight * pull;
  }
  return sum;
}

/* Prompts of 0, 2, 0 and 3 tokens. */
static const int32_t prompts[GOLDEN_COUNT] = {0, 2, 0, 3};

/* Of a text that is nothing but its prompt: a sum has no terms, cls and the largest are of the whole text. */
static void swallowed(void) {
  for (int mode = 0; mode < BRIM_POOL_MODES; mode++) {
    const brim_pool_terms t = brim_pool_terms_of((brim_pool_mode)mode, 5, 3);
    const int32_t terms = mode == BRIM_POOL_CLS ? 1 : mode == BRIM_POOL_MAX ? 3 : 0;
    ok(t.to - t.from == terms && t.divisor == 1, "mode %d has %d terms", mode, (int)terms);
  }
}

static void check_joined(const brim_ops *ops, brim_pool_list modes, bool skips, int width) {
  case_memory m = {0};
  brim_ops_context c = {.runtime = runtime};
  const brim_layout layout = case_layout(&m, GOLDEN_COUNT, golden_lengths, width);
  const int64_t count = (int64_t)layout.slots * GOLDEN_WIDTH, few = (int64_t)GOLDEN_COUNT * GOLDEN_WIDTH * modes.count;
  real *x = case_fill(&m, count, 1e6), *dx = case_fill(&m, count, 7), *y = case_fill(&m, few, 7), *dy = case_fill(&m, few, 0);
  int32_t *chosen = case_alloc(&m, (size_t)GOLDEN_COUNT * GOLDEN_WIDTH * sizeof *chosen);
  double worst = 0, worst_gradient = 0;
  for (int64_t i = 0; i < few; i++)
    dy[i] = (real)(golden_pull[i % (GOLDEN_COUNT * GOLDEN_WIDTH)] + 0.125 * (double)(i % 3));
  for (int s = 0; s < GOLDEN_COUNT; s++)
    for (int k = 0; k < golden_lengths[s]; k++)
      for (int h = 0; h < GOLDEN_WIDTH; h++)
        x[(layout.offsets[s] + k) * GOLDEN_WIDTH + h] = (real)golden_token(golden_hidden, s, k)[h];
  const int32_t *skipped = skips ? prompts : NULL;
  ops->pool_joined_forward(
      &c, &(brim_pool_joined){
              .layout = layout, .width = GOLDEN_WIDTH, .modes = modes, .skipped = skipped, .x = x, .chosen = chosen, .y = y});
  ops->pool_joined_backward(
      &c, &(brim_pool_joined){
              .layout = layout, .width = GOLDEN_WIDTH, .modes = modes, .skipped = skipped, .dy = dy, .chosen = chosen, .dx = dx});
  for (int s = 0; s < GOLDEN_COUNT; s++)
    for (int h = 0; h < GOLDEN_WIDTH; h++) {
      double gradient[GOLDEN_LONGEST] = {0};
      const int first = skips && prompts[s] < golden_lengths[s] ? prompts[s] : 0;
      for (int32_t k = 0; k < modes.count; k++) {
        const int64_t at = ((int64_t)s * modes.count + k) * GOLDEN_WIDTH + h;
        worst = fmax(worst, fabs((double)y[at] - expected(modes.of[k], s, first, h, (double)dy[at], gradient)));
      }
      for (int k = 0; k < (width ? width : golden_lengths[s]); k++)
        worst_gradient = fmax(
            worst_gradient, fabs((double)dx[(layout.offsets[s] + k) * GOLDEN_WIDTH + h] - gradient[k < GOLDEN_LONGEST ? k : 0]));
    }
  ok(worst < 2e-6 && worst_gradient < 2e-6,
     "%s, %d ways from the %dth on%s, %s: values %.1e and gradients %.1e from the formulas", ops->name, (int)modes.count,
     (int)modes.of[0], skips ? " without prompts" : "", width ? "padded" : "ragged", worst, worst_gradient);
  case_free(&m);
#ifdef BRIM_REAL_DOUBLE
  case_made_forget();
#endif
}

static void check_pools(const brim_ops *ops) {
  static const brim_pool_list all = {BRIM_POOL_MODES,
                                     {BRIM_POOL_CLS, BRIM_POOL_MAX, BRIM_POOL_MEAN, BRIM_POOL_MEAN_SQRT, BRIM_POOL_WEIGHTED_MEAN,
                                      BRIM_POOL_LAST}},
                              two = {2, {BRIM_POOL_LAST, BRIM_POOL_CLS}};
  for (int skips = 0; skips < 2; skips++)
    for (int width = 0; width <= GOLDEN_LONGEST; width += GOLDEN_LONGEST) {
      for (int i = 0; i < BRIM_POOL_MODES; i++)
        check_joined(ops, (brim_pool_list){1, {(brim_pool_mode)i}}, skips, width);
      check_joined(ops, all, skips, width);
      check_joined(ops, two, skips, width);
    }
  for (int width = 0; width <= GOLDEN_LONGEST; width += GOLDEN_LONGEST) {
    check_pool(ops, &golden_mean, false, width);
    check_pool(ops, &golden_largest, true, width);
  }
}

#ifndef BRIM_REAL_DOUBLE
/* The mean and the largest alone have the bits of the operation that has only these. */
static void check_same_bits(const brim_ops *ops, bool largest) {
  case_memory m = {0};
  brim_ops_context c = {.runtime = runtime};
  const brim_layout layout = case_layout(&m, GOLDEN_COUNT, golden_lengths, 0);
  const int64_t count = (int64_t)layout.slots * GOLDEN_WIDTH, few = GOLDEN_COUNT * GOLDEN_WIDTH;
  real *x = case_fill(&m, count, 0), *dy = case_fill(&m, few, 0), *out[2], *dx[2];
  int32_t *chosen = largest ? case_alloc(&m, (size_t)few * sizeof *chosen) : NULL;
  const brim_pool_list modes = {1, {largest ? BRIM_POOL_MAX : BRIM_POOL_MEAN}};
  for (int64_t i = 0; i < count; i++)
    x[i] = (real)golden_hidden[i];
  for (int64_t i = 0; i < few; i++)
    dy[i] = (real)golden_pull[i];
  for (int i = 0; i < 2; i++)
    out[i] = case_fill(&m, few, 7), dx[i] = case_fill(&m, count, 7);
  ops->pool_forward(&c, &(brim_pool){.layout = layout, .width = GOLDEN_WIDTH, .x = x, .chosen = chosen, .y = out[0]});
  ops->pool_backward(&c, &(brim_pool_gradient){.layout = layout, .width = GOLDEN_WIDTH, .dy = dy, .chosen = chosen, .dx = dx[0]});
  ops->pool_joined_forward(
      &c, &(brim_pool_joined){.layout = layout, .width = GOLDEN_WIDTH, .modes = modes, .x = x, .chosen = chosen, .y = out[1]});
  ops->pool_joined_backward(
      &c, &(brim_pool_joined){.layout = layout, .width = GOLDEN_WIDTH, .modes = modes, .dy = dy, .chosen = chosen, .dx = dx[1]});
  ok(memcmp(out[0], out[1], (size_t)few * sizeof(real)) == 0 && memcmp(dx[0], dx[1], (size_t)count * sizeof(real)) == 0,
     "%s: the %s has the same bits either way", ops->name, largest ? "largest" : "mean");
  case_free(&m);
}

static void check_of_level(brim_cpu_level level) {
  const brim_ops *ops = brim_ops_cpu(level);
  check_pools(ops);
  check_same_bits(ops, false);
  check_same_bits(ops, true);
}
#endif

CASES(pooling) {
  swallowed();
  check_pools(brim_ops_ref());
#ifndef BRIM_REAL_DOUBLE
  runtime = case_runtime_of(2);
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
    check_of_level((brim_cpu_level)level);
  brim_runtime_free(runtime);
#endif
}
