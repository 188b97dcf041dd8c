#include "model/run/extents.h"

#include <math.h>

#include "base/status.h"
#include "model/run/host.h"
#include "model/run/mixout.h"
#include "model/run/model.h"

bool brim_extents_can(const brim_model *m) {
  return brim_model_is_host(m) && m->ops->squares != NULL;
}

static void cut_ranges(const brim_model *m, const brim_extent *extents, int32_t count, brim_update_range *out) {
  for (int32_t i = 0; i < count; i++) {
    out[i] = m->ranges[extents[i].range];
    out[i].offset += extents[i].from;
    out[i].count = extents[i].count;
    out[i].copy = out[i].copy ? out[i].copy + extents[i].from : NULL;
  }
}

void brim_extents_squares(brim_model *m, const brim_extent *extents, int32_t count, brim_update_range *room, double *squares) {
  const brim_update u = {.gradients = m->gradients, .ranges = room, .range_count = count};
  cut_ranges(m, extents, count, room);
  brim_model_enter(m, &m->train);
  brim_model_mix_gradient(m, room, count);
  m->ops->squares(&m->context, &u, squares);
}

int brim_extents_update(brim_model *m, const brim_update_options *options, const double *squares, const brim_extent *extents,
                        int32_t count, brim_update_range *room, brim_error *err) {
  brim_update u;
  BRIM_TRY(brim_model_begin_update(m, options, &u, err));
  m->ops->square_of(&m->context, &u, squares);
  cut_ranges(m, extents, count, room);
  u.ranges = room, u.range_count = count;
  u.leaves = true;
  m->ops->update(&m->context, &u);
  return BRIM_OK;
}

bool brim_extents_were_updated(const brim_model *m) {
  return isfinite(m->answers[BRIM_ANSWER_SQUARE]);
}

void brim_extents_written(brim_model *m, const brim_extent *e) {
  const brim_update_range *range = &m->ranges[e->range];
  const float *values = m->values + range->frozen + range->offset + e->from;
  if (range->copy)
    m->ops->narrow(&m->context, &(brim_to_bfloat){.count = e->count, .x = values, .y = range->copy + e->from});
}
