/* loss.c: losses as sums over the rows, divided by a count that belongs to the whole optimizer step.
 *
 *   cross entropy   sum of a_c (lse - z_c) over the classes, a_c = (1 - e) w_y [c = y] + e w_c / C
 *   squared error   mean of (z_c - y_c)^2 over the outputs
 *   binary          mean of (1 - y_c) z_c + (1 + (w_c - 1) y_c) log(1 + exp(-z_c)) over the outputs
 *
 * with class weights w and label smoothing e: what PyTorch's CrossEntropyLoss(weight, label_smoothing), MSELoss and
 * BCEWithLogitsLoss(pos_weight) sum up. CrossEntropyLoss divides by the sum of w_y, the others by the rows. */
#include "ops/ref/ref.h"
#include "ops/slices.h"

#include <math.h>

static double weight_of(const brim_loss *l, int32_t class) {
  return l->weights ? l->weights[class] : 1;
}

static double mean_weight(const brim_loss *l) {
  double sum = 0;
  for (int32_t c = 0; c < l->outputs; c++)
    sum += weight_of(l, c);
  return sum / l->outputs;
}

/* Loss of one row; its gradient times `scale` to d unless NULL. `mean` is the classes' mean weight. */
static double cross_entropy(const brim_loss *l, const real *logits, int32_t label, double mean, double scale, real *d) {
  const double own = (1 - l->smoothing) * weight_of(l, label), all = own + l->smoothing * mean;
  double top = (double)logits[0], sum = 0, loss = 0;
  for (int32_t c = 1; c < l->outputs; c++)
    top = fmax(top, (double)logits[c]);
  for (int32_t c = 0; c < l->outputs; c++)
    sum += exp((double)logits[c] - top);
  const double lse = brim_log_sum_exp(top, sum);
  for (int32_t c = 0; c < l->outputs; c++) {
    const double share = (c == label ? own : 0) + (l->smoothing > 0 ? l->smoothing * weight_of(l, c) / l->outputs : 0);
    if (share > 0)
      loss += share * (lse - (double)logits[c]);
    if (d)
      d[c] = (real)(scale * (all * exp((double)logits[c] - lse) - share));
  }
  return loss;
}

static double squared_error(const brim_loss *l, const real *logits, const float *labels, double scale, real *d) {
  double loss = 0;
  for (int32_t c = 0; c < l->outputs; c++) {
    const double error = (double)logits[c] - (double)labels[c];
    loss += error * error;
    if (d)
      d[c] = (real)(scale * 2 * error / l->outputs);
  }
  return loss / l->outputs;
}

static double binary_cross_entropy(const brim_loss *l, const real *logits, const float *labels, double scale, real *d) {
  double loss = 0;
  for (int32_t c = 0; c < l->outputs; c++) {
    const double z = (double)logits[c], y = (double)labels[c], weight = 1 + (weight_of(l, c) - 1) * y;
    const double small = exp(-fabs(z)), miss = (z > 0 ? small : 1) / (1 + small); /* sigmoid(-z) */
    loss += brim_binary_loss(z, y, weight_of(l, c));
    if (d)
      d[c] = (real)(scale * ((1 - y) - weight * miss) / l->outputs);
  }
  return loss / l->outputs;
}

static double no_label(const brim_loss *l, real *d) {
  for (int32_t c = 0; d && c < l->outputs; c++)
    d[c] = 0;
  return 0;
}

static double row_loss(const brim_loss *l, int32_t row, double mean, real *d) {
  const real *logits = l->logits + (int64_t)row * l->outputs;
  const double scale = 1 / l->divisor;
  if (l->classes)
    return l->classes[row] < 0 ? no_label(l, d) : cross_entropy(l, logits, l->classes[row], mean, scale, d);
  const float *labels = l->labels + (l->kind == BRIM_LOSS_CROSS_ENTROPY ? row : (int64_t)row * l->outputs);
  if (l->kind == BRIM_LOSS_CROSS_ENTROPY)
    return cross_entropy(l, logits, (int32_t)*labels, mean, scale, d);
  return (l->kind == BRIM_LOSS_BINARY ? binary_cross_entropy : squared_error)(l, logits, labels, scale, d);
}

void REF(loss)(brim_ops_context *c, const brim_loss *l) {
  (void)c;
  const brim_row_slices *s = &l->slices;
  const double mean = mean_weight(l);
  for (int32_t k = 0; k < (s->count ? s->count : 1); k++) {
    double loss = 0;
    for (int32_t r = (int32_t)brim_slice_first(s, k); r < (s->count ? s->ends[k] : l->n); r++)
      loss += row_loss(l, r, mean, l->dlogits ? l->dlogits + (int64_t)r * l->outputs : NULL);
    l->loss[k] = loss / l->divisor;
  }
}
