/* extents.h: an update of some of the trained values alone, of a gradient that is in several hands. Where the device's memory is
 * the host's. */
#ifndef BRIM_MODEL_RUN_EXTENTS_H
#define BRIM_MODEL_RUN_EXTENTS_H
#include "brim/model.h"
#include "ops/ops.h"

/* Values of a range of the gradient's view (gradient.h): whole pieces of it (BRIM_UPDATE_PIECE), or all of an embedding. */
typedef struct brim_extent {
  int32_t range;
  int64_t from, count;
} brim_extent;

bool brim_extents_can(const brim_model *model);
/* Of each piece of these extents of the model's gradient, one after the other: its sum of squares. `room` [count] */
void brim_extents_squares(brim_model *model, const brim_extent *extents, int32_t count, brim_update_range *room, double *squares);
/* As brim_model_queue_update, of these extents alone: the norm is that of the squares of all pieces of all ranges. The new values
 * are left where the gradient was, too, but for embeddings. `room` [count] */
int brim_extents_update(brim_model *model, const brim_adamw *options, const double *squares, const brim_extent *extents,
                        int32_t count, brim_update_range *room, brim_error *err) BRIM_CHECK;
/* Whether that update was one: its norm is finite. */
bool brim_extents_were_updated(const brim_model *model);
/* Values that somebody else has updated are there: what is made from them is made again. */
void brim_extents_written(brim_model *model, const brim_extent *extent);
#endif
