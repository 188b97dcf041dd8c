#include "train/host_loss.h"

#include <math.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/run/logits.h"

/* ---- memory -------------------------------------------------------------------------------------------------- */

void brim_host_loss_init(brim_host_loss *h, brim_runtime *runtime, const brim_target *target, const brim_model *model) {
  const brim_labels *labels = brim_model_labels(model);
  *h = (brim_host_loss){
      .runtime = runtime, .target = target, .width = brim_model_outputs(model), .label_width = brim_labels_width(labels)};
}

static void release_rows(brim_host_loss *h) {
  void *const blocks[] = {h->values, h->labels, h->gradient, h->same, h->halves, h->part};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    brim_release(h->runtime, blocks[i]);
  h->values = h->labels = h->gradient = h->part = NULL;
  h->same = NULL;
  h->halves = NULL;
  h->room = 0;
}

void brim_host_loss_free(brim_host_loss *h) {
  if (!h->runtime)
    return;
  release_rows(h);
  for (size_t i = 0; i < h->kept_room; i++)
    brim_batch_free(&h->kept[i]);
  brim_release(h->runtime, h->kept);
}

uint64_t brim_host_loss_memory(const brim_host_loss *h, uint64_t rows) {
  const uint64_t floats = 3 * (uint64_t)h->width + (uint64_t)h->label_width;
  return h->target->scope == BRIM_LOSS_ON_DEVICE ? 0 : rows * (floats * sizeof(float) + sizeof(uint64_t) + 2 * sizeof(double));
}

static int take_rows(brim_host_loss *h, size_t rows, brim_error *err) {
  const size_t width = (size_t)h->width;
  if (rows <= h->room)
    return BRIM_OK;
  release_rows(h);
  h->values = brim_alloc_array(h->runtime, rows, width * sizeof *h->values);
  h->labels = brim_alloc_array(h->runtime, rows, (size_t)h->label_width * sizeof *h->labels);
  h->gradient = brim_alloc_array(h->runtime, rows, width * sizeof *h->gradient);
  h->same = brim_alloc_array(h->runtime, rows, sizeof *h->same);
  h->halves = brim_alloc_array(h->runtime, rows, 2 * sizeof *h->halves);
  h->part = brim_alloc_array(h->runtime, rows, width * sizeof *h->part);
  if (!h->values || !h->labels || !h->gradient || !h->same || !h->halves || !h->part)
    return BRIM_NOMEM(err);
  h->room = rows;
  return BRIM_OK;
}

int brim_host_loss_begin(brim_host_loss *h, uint32_t rows, brim_error *err) {
  h->rows = rows;
  h->kept_count = 0;
  h->found = (brim_loss_found){0};
  BRIM_TRY(take_rows(h, rows, err));
  if (h->target->scope != BRIM_LOSS_OF_STEP)
    return BRIM_OK;
  memset(h->values, 0, (size_t)rows * (size_t)h->width * sizeof *h->values);
  memset(h->labels, 0, (size_t)rows * (size_t)h->label_width * sizeof *h->labels);
  memset(h->halves, 0, (size_t)rows * 2 * sizeof *h->halves);
  return BRIM_OK;
}

int brim_host_loss_keep(brim_host_loss *h, const brim_batch *part, const brim_batch **kept, brim_error *err) {
  const size_t room = h->kept_room;
  BRIM_TRY(brim_grow(h->runtime, (void **)&h->kept, &h->kept_room, (size_t)h->kept_count + 1, sizeof *h->kept, err));
  if (h->kept_room > room)
    memset(h->kept + room, 0, (h->kept_room - room) * sizeof *h->kept);
  BRIM_TRY(brim_batch_copy(&h->kept[h->kept_count], h->runtime, part, err));
  *kept = &h->kept[h->kept_count++];
  return BRIM_OK;
}

/* ---- outputs ------------------------------------------------------------------------------------------------- */

static float *value_of(const brim_host_loss *h, float *rows, uint32_t place) {
  return rows + (size_t)place * (size_t)h->width;
}

/* A 64-bit number as two that doubles hold exactly. */
static void halve(uint64_t number, double *halves) {
  halves[0] = (double)(number >> 32);
  halves[1] = (double)(number & UINT32_MAX);
}

static void take_row(brim_host_loss *h, const brim_batch *part, int32_t i) {
  const uint32_t place = part->places[i];
  const size_t labels = (size_t)h->label_width * sizeof *h->labels;
  const int32_t first = part->offsets[i], length = part->offsets[i + 1] - first;
  memcpy(value_of(h, h->values, place), h->part + (size_t)i * (size_t)h->width, (size_t)h->width * sizeof *h->values);
  memcpy(h->labels + (size_t)place * (size_t)h->label_width, part->labels + (size_t)i * (size_t)h->label_width, labels);
  halve(brim_hash64(part->ids + first, (size_t)length * sizeof *part->ids, 0), h->halves + 2 * (size_t)place);
}

int brim_host_loss_take(brim_host_loss *h, brim_model *model, const brim_batch *part, bool *finite, brim_error *err) {
  const size_t count = (size_t)part->count * (size_t)h->width;
  BRIM_TRY(brim_model_read_logits(model, h->part, err));
  *finite = true;
  for (size_t i = 0; i < count; i++)
    *finite = *finite && isfinite(h->part[i]);
  for (int32_t i = 0; i < part->count && h->target->scope == BRIM_LOSS_OF_STEP; i++)
    take_row(h, part, i);
  return BRIM_OK;
}

/* Each row is on one rank alone, and x + 0 is x: sums bring all of them to all, whichever rank had which. */
int brim_host_loss_share(brim_host_loss *h, const brim_group *group, brim_error *err) {
  const int64_t rows = h->rows;
  if (group->world_size > 1) {
    BRIM_TRY(group->sum(group->context, h->values, rows * h->width, err));
    BRIM_TRY(group->sum(group->context, h->labels, rows * h->label_width, err));
    BRIM_TRY(group->sum_double(group->context, h->halves, 2 * rows, err));
  }
  for (int64_t i = 0; i < rows; i++)
    h->same[i] = (uint64_t)h->halves[2 * i] << 32 | (uint64_t)h->halves[2 * i + 1];
  for (int64_t i = 0; i < rows * h->width; i++)
    h->values[i] += 0.0F; /* as the sum over ranks has it: never -0 */
  return BRIM_OK;
}

/* ---- losses -------------------------------------------------------------------------------------------------- */

int brim_host_loss_of_step(brim_host_loss *h, double divisor, double *loss, brim_error *err) {
  const brim_outputs outputs = {.rows = (int32_t)h->rows,
                                .width = h->width,
                                .values = h->values,
                                .label_width = h->label_width,
                                .labels = h->labels,
                                .same = h->same,
                                .how = &h->how,
                                .found = &h->found};
  return h->target->loss(h->runtime, &outputs, divisor, h->gradient, loss, err);
}

int brim_host_loss_of_rows(brim_host_loss *h, const brim_batch *part, int32_t first, int32_t count, double divisor, double *loss,
                           brim_error *err) {
  const size_t at = (size_t)first * (size_t)h->width;
  const brim_outputs outputs = {.rows = count,
                                .width = h->width,
                                .values = h->part + at,
                                .label_width = h->label_width,
                                .labels = part->labels + (size_t)first * (size_t)h->label_width,
                                .how = &h->how};
  BRIM_TRY(h->target->loss(h->runtime, &outputs, divisor, h->gradient + at, loss, err));
  return BRIM_OK;
}

/* Of a step the gradient is by place, of a part in its order. */
int brim_host_loss_seed(brim_host_loss *h, brim_model *model, const brim_batch *part, double scale, brim_error *err) {
  const bool of_step = h->target->scope == BRIM_LOSS_OF_STEP;
  BRIM_TRY(brim_model_settle(model, err)); /* a device has read what was there before */
  for (int32_t i = 0; i < part->count; i++) {
    const float *from = value_of(h, h->gradient, of_step ? part->places[i] : (uint32_t)i);
    float *to = h->part + (size_t)i * (size_t)h->width;
    for (int32_t k = 0; k < h->width; k++)
      to[k] = (float)(from[k] * scale);
  }
  return brim_model_seed(model, h->part, err);
}
