/* loss.h: the losses, and the formula that more than one place needs. The gradients are those of ops/ref/loss.c. */
#ifndef BRIM_TASK_LOSS_H
#define BRIM_TASK_LOSS_H
#include <math.h>

typedef enum brim_loss_kind { BRIM_LOSS_CROSS_ENTROPY = 0, BRIM_LOSS_SQUARED_ERROR, BRIM_LOSS_BINARY } brim_loss_kind;

/* A cross entropy is this minus the label's logit: log of the sum of exp(z_c) over logits z_c, of which `top` is the largest and
 * `sum` the sum of exp(z_c - top). */
static inline double brim_log_sum_exp(double top, double sum) {
  return top + log(sum);
}

/* Binary cross entropy of a logit and its label, from 0 to 1; the positive term counts `weight` times, as with the pos_weight of
 * PyTorch's BCEWithLogitsLoss: (1 - y) z + (1 + (weight - 1) y) log(1 + exp(-z)). */
static inline double brim_binary_loss(double z, double y, double weight) {
  return (1 - y) * z + (1 + (weight - 1) * y) * (log1p(exp(-fabs(z))) + fmax(-z, 0));
}

#endif
