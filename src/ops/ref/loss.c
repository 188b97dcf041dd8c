/* loss.c: cross entropy and mean squared error, as sums over the rows divided by the rows of the whole optimizer step. */
#include "ops/ref/ref.h"

#include <math.h>

/* Loss of one row; gradient (of the undivided loss) times `scale` to d unless NULL. */
static double cross_entropy(int32_t outputs, const real *logits, int32_t label, double scale, real *d) {
  double top = (double)logits[0], sum = 0;
  for (int32_t o = 1; o < outputs; o++)
    top = fmax(top, (double)logits[o]);
  for (int32_t o = 0; o < outputs; o++)
    sum += exp((double)logits[o] - top);
  const double lse = top + log(sum);
  for (int32_t o = 0; d && o < outputs; o++)
    d[o] = (real)(scale * (exp((double)logits[o] - lse) - (o == label)));
  return lse - (double)logits[label];
}

static double squared_error(int32_t outputs, const real *logits, double label, double scale, real *d) {
  double loss = 0;
  for (int32_t o = 0; o < outputs; o++) {
    const double error = (double)logits[o] - label;
    loss += error * error;
    if (d)
      d[o] = (real)(scale * 2 * error);
  }
  return loss;
}

void REF(loss)(brim_ops_context *c, const brim_loss *l) {
  (void)c;
  double loss = 0;
  for (int32_t r = 0; r < l->n; r++) {
    const real *logits = l->logits + (int64_t)r * l->outputs;
    real *d = l->dlogits ? l->dlogits + (int64_t)r * l->outputs : NULL;
    loss += l->regression ? squared_error(l->outputs, logits, (double)l->labels[r], 1 / l->divisor, d)
                          : cross_entropy(l->outputs, logits, (int32_t)l->labels[r], 1 / l->divisor, d);
  }
  *l->loss = loss / l->divisor;
}
