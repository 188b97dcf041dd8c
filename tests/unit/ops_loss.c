/* ops_loss.c: losses of every table: PyTorch's numbers, whole and in parts; formulas as they stand in a textbook, in the largest
 * type there is, for weights, smoothing, rows without a label, no rows at all; and gradients against differences. */
#include "ops_case.h"

#include "loss_golden.h"

/* ---- PyTorch's numbers */

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

static void check_golden(const brim_ops *ops) {
  const double tolerance = sizeof(real) == 8 ? 1e-14 : 1e-7;
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

/* ---- textbook formulas */

typedef struct setting {
  int rows, outputs;
  brim_loss_kind kind;
  double spread, smoothing;
  bool weighted, classes; /* classes: int32 labels, of which some are none */
} setting;

/* p = softmax(z): what the row costs, and its gradient p w - target. */
static long double textbook_classes(const brim_loss *l, const real *z, int label, long double *d) {
  long double sum = 0, cost = 0, shares = 0;
  for (int c = 0; c < l->outputs; c++)
    sum += expl((long double)z[c]);
  for (int c = 0; c < l->outputs; c++) {
    const long double p = expl((long double)z[c]) / sum, weight = l->weights ? (long double)l->weights[c] : 1;
    const long double target = (c == label ? 1 - (long double)l->smoothing : 0) + (long double)l->smoothing / l->outputs;
    cost -= weight * target * logl(p);
    shares += weight * target;
    d[c] = -weight * target;
  }
  for (int c = 0; c < l->outputs; c++)
    d[c] += shares * expl((long double)z[c]) / sum;
  return cost;
}

static long double textbook_values(const brim_loss *l, const real *z, const float *y, long double *d) {
  long double cost = 0;
  for (int c = 0; c < l->outputs; c++) {
    const long double x = (long double)z[c], label = (long double)y[c], p = 1 / (1 + expl(-x)), q = 1 / (1 + expl(x));
    const long double weight = l->weights ? (long double)l->weights[c] : 1;
    if (l->kind == BRIM_LOSS_SQUARED_ERROR) {
      cost += (x - label) * (x - label) / l->outputs;
      d[c] = 2 * (x - label) / l->outputs;
    } else {
      cost -= (weight * label * logl(p) + (1 - label) * logl(q)) / l->outputs;
      d[c] = ((1 - label) * p - weight * label * q) / l->outputs;
    }
  }
  return cost;
}

/* How far a table's loss, and its gradient, are from that. */
static double apart_from_textbook(const brim_loss *l) {
  long double cost = 0, worst = 0, top = 0, *d = malloc((size_t)l->outputs * sizeof *d);
  if (!d)
    abort();
  for (int r = 0; r < l->n; r++) {
    const real *z = l->logits + r * l->outputs;
    const int label = l->classes ? l->classes[r] : l->kind == BRIM_LOSS_CROSS_ENTROPY ? (int)l->labels[r] : 0;
    memset(d, 0, (size_t)l->outputs * sizeof *d);
    if (label >= 0)
      cost += l->kind == BRIM_LOSS_CROSS_ENTROPY ? textbook_classes(l, z, label, d)
                                                 : textbook_values(l, z, l->labels + r * l->outputs, d);
    for (int c = 0; c < l->outputs; c++) {
      const long double want = d[c] / (long double)l->divisor, error = (long double)l->dlogits[r * l->outputs + c] - want;
      worst = fabsl(error) <= worst || isnan(worst) ? worst : fabsl(error);
      top = fmaxl(top, fabsl(want));
    }
  }
  free(d);
  cost /= (long double)l->divisor;
  const long double off = fabsl((long double)*l->loss - cost) / (fabsl(cost) + 1e-30L), gradient = worst / (top + 1e-30L);
  const long double finer = sizeof(real) == 8 ? 1 : 1e3L; /* the loss is in double */
  const long double apart = l->n ? off * finer : fabsl((long double)*l->loss);
  return (double)(apart > gradient || isnan(apart) ? apart : gradient);
}

static void losses(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {33};
  const int count = s->rows * s->outputs;
  double loss = -1, weights[8];
  float *labels = case_alloc(&m, (size_t)count * sizeof *labels);
  int32_t *classes = case_alloc(&m, (size_t)s->rows * sizeof *classes);
  const real *logits = case_values(&m, &in, count, s->spread);
  real *dlogits = case_fill(&m, count, 7);
  for (int i = 0; i < 8; i++)
    weights[i] = 0.25 + 3 * next_unit(&in);
  for (int i = 0; i < count; i++) {
    const double u = next_unit(&in);
    labels[i] = s->kind == BRIM_LOSS_CROSS_ENTROPY ? (float)(int)(u * s->outputs)
                : s->kind == BRIM_LOSS_BINARY      ? u < 0.5
                                                   : (float)u;
  }
  for (int i = 0; i < s->rows; i++)
    classes[i] = i % 3 == 1 ? -100 : (int32_t)(next_unit(&in) * s->outputs);
  const brim_loss l = {.n = s->rows,
                       .outputs = s->outputs,
                       .kind = s->kind,
                       .logits = logits,
                       .labels = s->classes ? NULL : labels,
                       .classes = s->classes ? classes : NULL,
                       .weights = s->weighted ? weights : NULL,
                       .smoothing = s->smoothing,
                       .divisor = 8.5,
                       .loss = &loss,
                       .dlogits = dlogits};
  ops->loss(c, &l);
  real value = (real)loss;
  const double apart = apart_from_textbook(&l), most = sizeof(real) == 8 ? 1e-12 : 1e-6;
  if (!(apart < most))
    value = (real)NAN;
  static const real one = 1;
  emit_output(out, "loss, which is the textbook's", &value, 1, &one);
  emit_gradient(out, "dlogits", dlogits, count, logits, false);
  case_free(&m);
}

static void check_textbook(void) {
  static const setting settings[] = {
      {5, 3, BRIM_LOSS_CROSS_ENTROPY, 40, 0, false, false}, {5, 3, BRIM_LOSS_CROSS_ENTROPY, 3, 0.1, true, false},
      {300, 5, BRIM_LOSS_CROSS_ENTROPY, 4, 0, true, false}, {300, 5, BRIM_LOSS_CROSS_ENTROPY, 4, 0.3, false, true},
      {1, 7, BRIM_LOSS_CROSS_ENTROPY, 4, 0, true, true},    {2, 1, BRIM_LOSS_CROSS_ENTROPY, 4, 0, false, false},
      {7, 1, BRIM_LOSS_SQUARED_ERROR, 40, 0, false, false}, {300, 5, BRIM_LOSS_SQUARED_ERROR, 4, 0, false, false},
      {9, 6, BRIM_LOSS_BINARY, 30, 0, false, false},        {300, 5, BRIM_LOSS_BINARY, 4, 0, true, false},
      {0, 3, BRIM_LOSS_CROSS_ENTROPY, 4, 0, false, false},  {0, 1, BRIM_LOSS_SQUARED_ERROR, 4, 0, false, false},
      {1, 1, BRIM_LOSS_BINARY, 4, 0, true, false},          {513, 2, BRIM_LOSS_CROSS_ENTROPY, 9, 0.05, true, true},
  };
  const brim_ops_limits limits = {
      .max_slots = 1, .max_sequences = 1, .max_length = 1, .hidden = 1, .intermediate = 1, .heads = 1};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char name[64];
    snprintf(name, sizeof name, "loss %d, %d rows of %d, setting %zu", (int)settings[i].kind, settings[i].rows,
             settings[i].outputs, i);
    check_case(name, &limits, losses, &settings[i], 1e-6);
  }
}

CASES(loss) {
  check_textbook();
  if (!CASE_ON_HOST || ops_only_calls())
    return;
  check_golden(brim_ops_ref());
#ifndef BRIM_REAL_DOUBLE
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
    check_golden(brim_ops_cpu((brim_cpu_level)level));
#endif
}
