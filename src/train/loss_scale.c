#include "train/loss_scale.h"

enum { FIRST = 1 << 16, LARGEST = 1 << 24, STEPS = 2000 };

double brim_loss_scale(const brim_trainer *t) {
  const brim_train_options *o = &t->options;
  if (o->precision != BRIM_PRECISION_FP16)
    return 0;
  return t->state.loss_scale > 0 ? t->state.loss_scale : o->loss_scale > 0 ? o->loss_scale : FIRST;
}

bool brim_loss_scale_halve(brim_trainer *t) {
  const double scale = brim_loss_scale(t);
  if (scale <= 1)
    return false;
  brim_model_zero_gradients(t->model);
  t->state.loss_scale = scale / 2;
  return true;
}

void brim_loss_scale_served(brim_trainer *t, bool good) {
  const uint64_t steps = t->options.loss_scale_steps > 0 ? t->options.loss_scale_steps : STEPS;
  const double scale = brim_loss_scale(t);
  if (scale == 0)
    return;
  t->state.loss_scale = scale;
  t->state.skipped += !good;
  t->state.scaled = good ? t->state.scaled + 1 : 0;
  if (t->state.scaled < steps)
    return;
  t->state.scaled = 0;
  if (scale < LARGEST)
    t->state.loss_scale = 2 * scale;
}
