/* loss_case.h: a table's losses against PyTorch's, whole and in parts; `real` is float or double, as ops.h says. */
#ifndef BRIM_TESTS_LOSS_CASE_H
#define BRIM_TESTS_LOSS_CASE_H
#include "ops_case.h"

#include "loss_golden.h"

/* PyTorch's mean divides by the sum of the weights of the labels, or by the rows. */
static double golden_divisor(const struct golden_loss *g) {
  double sum = 0;
  for (int r = 0; r < GOLDEN_ROWS; r++)
    sum += g->weighted && g->kind == BRIM_LOSS_CROSS_ENTROPY ? golden_weights[(int)golden_cross_entropy_labels[r]] : 1;
  return sum;
}

/* Rows [from, to) of the step; returns their part of the loss. */
static double golden_part(const brim_ops *ops, const struct golden_loss *g, int from, int to, real *dlogits) {
  static const float *const labels[] = {[BRIM_LOSS_CROSS_ENTROPY] = golden_cross_entropy_labels,
                                        [BRIM_LOSS_SQUARED_ERROR] = golden_squared_error_labels,
                                        [BRIM_LOSS_BINARY] = golden_binary_labels};
  const int width = g->kind == BRIM_LOSS_CROSS_ENTROPY ? 1 : GOLDEN_CLASSES;
  brim_ops_context c = {0};
  real logits[GOLDEN_ROWS * GOLDEN_CLASSES];
  double loss = -1;
  for (int i = 0; i < GOLDEN_ROWS * GOLDEN_CLASSES; i++)
    logits[i] = (real)golden_logits[i];
  const brim_loss l = {.n = to - from,
                       .outputs = GOLDEN_CLASSES,
                       .kind = g->kind,
                       .logits = logits + from * GOLDEN_CLASSES,
                       .labels = labels[g->kind] + from * width,
                       .weights = g->weighted ? golden_weights : NULL,
                       .smoothing = g->smoothing,
                       .divisor = golden_divisor(g),
                       .loss = &loss,
                       .dlogits = dlogits + from * GOLDEN_CLASSES};
  ops->loss(&c, &l);
  return loss;
}

static void check_losses(const brim_ops *ops, double tolerance) {
  for (size_t i = 0; i < sizeof golden_losses / sizeof *golden_losses; i++) {
    const struct golden_loss *g = &golden_losses[i];
    static const char *const names[] = {"cross entropy", "squared error", "binary cross entropy"};
    for (int cut = 0; cut < GOLDEN_ROWS; cut++) {
      real d[GOLDEN_ROWS * GOLDEN_CLASSES];
      double loss = golden_part(ops, g, 0, cut, d) + golden_part(ops, g, cut, GOLDEN_ROWS, d), worst = 0;
      for (int k = 0; k < GOLDEN_ROWS * GOLDEN_CLASSES; k++)
        worst = fmax(worst, fabs((double)d[k] - g->gradient[k]));
      ok(fabs(loss - g->loss) <= 1e-13 * fabs(g->loss) && worst <= tolerance,
         "%s %s: %s%s, smoothing %g, cut at row %d: PyTorch's loss (%.1e apart) and gradient (%.1e)", ops->name, names[g->kind],
         sizeof(real) == 8 ? "double" : "float", g->weighted ? ", weights" : "", g->smoothing, cut, fabs(loss - g->loss), worst);
    }
  }
}

#endif
