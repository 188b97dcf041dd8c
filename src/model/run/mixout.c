/* mixout.c: see mixout.h. */
#include "model/run/mixout.h"

#include "base/status.h"
#include "model/run/model.h"

static brim_mixout mixout_of(const brim_model *m) {
  return (brim_mixout){.values = m->values,
                       .gradients = m->gradients,
                       .kept = m->kept,
                       .start = m->start,
                       .ranges = m->ranges,
                       .range_count = m->range_count,
                       .dropout = m->mixing};
}

int brim_model_mix(brim_model *model, uint64_t seed, uint64_t step, brim_error *err) {
  uint32_t key[2];
  if (model->mixout <= 0)
    return BRIM_OK;
  brim_dropout_key(seed, step, key);
  model->mixing = brim_dropout_make(model->mixout, key, 0);
  const brim_mixout op = mixout_of(model);
  model->ops->mixout_forward(&model->context, &op);
  BRIM_TRY(model->ops->sync(&model->context, err));
  model->mixed = true;
  model->int8_made = model->half_made = false;
  return BRIM_OK;
}

void brim_model_unmix(brim_model *model) {
  for (int32_t i = 0; model->mixed && i < model->range_count; i++) {
    const brim_update_range *range = &model->ranges[i];
    if (range->mixed)
      model->ops->copy(&model->context, model->values + range->frozen + range->offset, model->kept + range->offset,
                       (size_t)range->count * sizeof *model->kept);
  }
  if (model->mixed)
    model->int8_made = model->half_made = false;
  model->unmixed = model->mixed;
}

void brim_model_mix_answered(brim_model *model, bool done) {
  if (!done)
    brim_model_unmix(model);
  if (model->unmixed)
    model->mixed = model->unmixed = false;
}

void brim_model_mix_gradient(brim_model *model, const brim_update_range *ranges, int32_t count) {
  if (!model->mixing.on)
    return;
  brim_mixout op = mixout_of(model);
  op.ranges = ranges;
  op.range_count = count;
  model->ops->mixout_backward(&model->context, &op);
  model->mixing.on = false;
}
