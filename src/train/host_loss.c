#include "train/host_loss.h"

#include <math.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "batch/collate.h"
#include "data/blocks.h"
#include "model/run/logits.h"

/* ---- memory -------------------------------------------------------------------------------------------------- */

void brim_host_loss_init(brim_host_loss *h, brim_runtime *runtime, const brim_target *target, const brim_model *model,
                         int32_t most_texts) {
  const brim_labels *labels = brim_model_labels(model);
  *h = (brim_host_loss){.runtime = runtime,
                        .target = target,
                        .width = brim_model_outputs(model),
                        .label_width = brim_labels_width(labels),
                        .most_texts = most_texts};
}

void brim_host_loss_expect(brim_host_loss *h, const brim_block_shape *shapes, int count) {
  memcpy(h->shapes, shapes, (size_t)count * sizeof *shapes);
  h->block_count = count;
  if (shapes[BRIM_LABEL_BLOCK].per == BRIM_PER_ROW)
    h->label_width = shapes[BRIM_LABEL_BLOCK].width; /* a model says nothing of how many scores a row has */
}

/* Whether a step's outputs come with block b, gathered from all ranks. */
static bool is_gathered(const brim_host_loss *h, int b) {
  return b > BRIM_LABEL_BLOCK && !h->shapes[b].integers && h->shapes[b].per != BRIM_PER_TOKEN;
}

/* Numbers of block b for so many rows, all of which have places for K texts. */
static size_t numbers_of(const brim_host_loss *h, int b, size_t rows) {
  const brim_block_shape *shape = &h->shapes[b];
  return is_gathered(h, b) ? brim_block_units(shape, rows, rows * (size_t)h->most_texts, 0) * (size_t)shape->width : 0;
}

static bool of_step(const brim_host_loss *h) {
  return h->target->scope == BRIM_LOSS_OF_STEP;
}

static void release_rows(brim_host_loss *h) {
  void *const blocks[] = {h->values, h->labels, h->same, h->halves, h->counts, h->firsts};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    brim_release(h->runtime, blocks[i]);
  for (int b = 0; b < BRIM_MOST_BLOCKS; b++) {
    brim_release(h->runtime, h->blocks[b]);
    h->blocks[b] = NULL;
  }
  h->values = h->labels = NULL;
  h->same = NULL;
  h->halves = h->counts = NULL;
  h->firsts = NULL;
  h->room = 0;
}

void brim_host_loss_free(brim_host_loss *h) {
  if (!h->runtime)
    return;
  release_rows(h);
  brim_release(h->runtime, h->gradient);
  brim_release(h->runtime, h->part);
  brim_release(h->runtime, h->part_firsts);
  for (size_t i = 0; i < h->kept_room; i++)
    brim_batch_free(&h->kept[i]);
  brim_release(h->runtime, h->kept);
}

/* Of a kept part within these limits. */
static uint64_t batch_memory(const brim_host_loss *h, const brim_model_limits *limits) {
  const uint64_t tokens = (uint64_t)limits->max_slots + 1, texts = (uint64_t)limits->max_sequences + 2;
  const uint64_t text = 3 * sizeof(int32_t) + sizeof(uint64_t) + 1 + (uint64_t)h->label_width * sizeof(float);
  const uint64_t further = h->block_count > 1 ? brim_blocks_memory(h->shapes + 1, h->block_count - 1, texts, texts, tokens) : 0;
  return tokens * (sizeof(int32_t) + 1) + texts * text + further;
}

uint64_t brim_host_loss_memory(const brim_host_loss *h, uint64_t rows, uint64_t parts, const brim_model_limits *limits) {
  const uint64_t output = (uint64_t)h->width * sizeof(float), texts = rows * (uint64_t)h->most_texts;
  const uint64_t part = (uint64_t)limits->max_sequences * output;
  const uint64_t text = 2 * output + sizeof *h->same + 2 * sizeof *h->halves;
  uint64_t row = (uint64_t)h->label_width * sizeof(float) + (h->most_texts > 1 ? sizeof *h->counts + sizeof *h->firsts : 0);
  for (int b = 0; b < h->block_count; b++)
    row += numbers_of(h, b, 1) * sizeof **h->blocks;
  if (h->target->scope == BRIM_LOSS_ON_DEVICE)
    return 0;
  const uint64_t at_once = of_step(h) ? rows : (uint64_t)limits->max_sequences, most = of_step(h) ? texts : at_once;
  const uint64_t room = h->target->room ? h->target->room(&h->how, at_once, most, h->width, h->label_width) : 0;
  const uint64_t firsts = h->most_texts > 1 ? ((uint64_t)limits->max_sequences + 1) * sizeof *h->part_firsts : 0;
  const uint64_t list = (parts + parts / 2 + 16) * sizeof *h->kept; /* which grows ahead */
  return room + (of_step(h) ? part + texts * text + rows * row + list + parts * batch_memory(h, limits) : 2 * part + firsts);
}

static int take_rows(brim_host_loss *h, size_t rows, brim_error *err) {
  const size_t width = (size_t)h->width, texts = rows * (size_t)h->most_texts;
  if (rows <= h->room)
    return BRIM_OK;
  release_rows(h);
  brim_release(h->runtime, h->gradient);
  h->values = brim_alloc_array(h->runtime, texts, width * sizeof *h->values);
  h->labels = brim_alloc_array(h->runtime, rows, (size_t)h->label_width * sizeof *h->labels);
  h->gradient = brim_alloc_array(h->runtime, texts, width * sizeof *h->gradient);
  h->same = brim_alloc_array(h->runtime, texts, sizeof *h->same);
  h->halves = brim_alloc_array(h->runtime, texts, 2 * sizeof *h->halves);
  if (h->most_texts > 1) {
    h->counts = brim_alloc_array(h->runtime, rows, sizeof *h->counts);
    h->firsts = brim_alloc_array(h->runtime, rows + 1, sizeof *h->firsts);
  }
  for (int b = 0; b < h->block_count; b++)
    if (is_gathered(h, b) && !(h->blocks[b] = brim_alloc_array(h->runtime, numbers_of(h, b, rows), sizeof **h->blocks)))
      return BRIM_NOMEM(err);
  if (!h->values || !h->labels || !h->gradient || !h->same || !h->halves || (h->most_texts > 1 && (!h->counts || !h->firsts)))
    return BRIM_NOMEM(err);
  h->room = rows;
  return BRIM_OK;
}

/* For the outputs of a part and, where its loss is its own, their gradient. A device may still read what is there. */
static int take_part(brim_host_loss *h, brim_model *model, size_t texts, brim_error *err) {
  const size_t size = (size_t)h->width * sizeof *h->part;
  if (texts <= h->part_room)
    return BRIM_OK;
  BRIM_TRY(brim_model_settle(model, err));
  brim_release(h->runtime, h->part);
  h->part_room = 0;
  h->part = brim_alloc_array(h->runtime, texts, size);
  if (!of_step(h)) {
    brim_release(h->runtime, h->gradient);
    h->gradient = brim_alloc_array(h->runtime, texts, size);
  }
  if (!h->part || !h->gradient)
    return BRIM_NOMEM(err);
  h->part_room = texts;
  return BRIM_OK;
}

int brim_host_loss_begin(brim_host_loss *h, uint32_t rows, brim_error *err) {
  const size_t texts = (size_t)rows * (size_t)h->most_texts;
  h->rows = rows;
  h->kept_count = 0;
  h->found = (brim_loss_found){0};
  if (!of_step(h))
    return BRIM_OK;
  BRIM_TRY(take_rows(h, rows, err));
  memset(h->values, 0, texts * (size_t)h->width * sizeof *h->values);
  memset(h->labels, 0, (size_t)rows * (size_t)h->label_width * sizeof *h->labels);
  memset(h->halves, 0, texts * 2 * sizeof *h->halves);
  for (int b = 0; b < h->block_count; b++)
    if (is_gathered(h, b))
      memset(h->blocks[b], 0, numbers_of(h, b, rows) * sizeof **h->blocks);
  if (h->counts)
    memset(h->counts, 0, (size_t)rows * sizeof *h->counts);
  return BRIM_OK;
}

int32_t brim_host_loss_misfit(const brim_host_loss *h, const brim_batch *part) {
  const size_t width = (size_t)h->label_width;
  for (int32_t row = 0; h->how.labels != BRIM_RANGE_NONE && row < part->row_count; row++)
    for (size_t i = 0; i < width; i++) {
      const float label = part->labels[(size_t)row * width + i];
      if (!isnan(label) && brim_label_range_with(BRIM_RANGE_NONE, label) > h->how.labels)
        return row * (int32_t)width + (int32_t)i;
    }
  return -1;
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

static float *value_of(const brim_host_loss *h, float *values, uint64_t text) {
  return values + text * (uint64_t)h->width;
}

/* A 64-bit number as two that doubles hold exactly. */
static void halve(uint64_t number, double *halves) {
  halves[0] = (double)(number >> 32);
  halves[1] = (double)(number & UINT32_MAX);
}

static void take_text(brim_host_loss *h, const brim_batch *part, int32_t i) {
  const uint32_t place = part->places[i];
  const int32_t first = part->offsets[i], length = part->offsets[i + 1] - first;
  memcpy(value_of(h, h->values, place), value_of(h, h->part, (uint64_t)i), (size_t)h->width * sizeof *h->values);
  halve(brim_hash64(part->ids + first, (size_t)length * sizeof *part->ids, 0), h->halves + 2 * (size_t)place);
}

/* The numbers of the part's row i. */
static void take_block(brim_host_loss *h, int b, const brim_batch *part, int32_t i, uint32_t place, int32_t texts) {
  const brim_block_shape *shape = &h->shapes[b];
  const size_t width = (size_t)shape->width, text = part->firsts ? (size_t)part->firsts[i] : (size_t)i;
  const float *from = (const float *)part->blocks[b] + brim_block_units(shape, (size_t)i, text, 0) * width;
  float *to = h->blocks[b] + brim_block_units(shape, place, place * (size_t)h->most_texts, 0) * width;
  memcpy(to, from, brim_block_units(shape, 1, (size_t)texts, 0) * width * sizeof *to);
}

static void take_row(brim_host_loss *h, const brim_batch *part, int32_t i) {
  const size_t width = (size_t)h->label_width;
  int32_t first;
  const int32_t texts = brim_batch_texts(part, i, &first);
  const uint32_t place = part->places[first] / (uint32_t)h->most_texts;
  memcpy(h->labels + place * width, part->labels + (size_t)i * width, width * sizeof *h->labels);
  for (int b = 0; b < h->block_count; b++)
    if (is_gathered(h, b))
      take_block(h, b, part, i, place, texts);
  if (h->counts)
    h->counts[place] = texts;
  for (int32_t t = 0; t < texts; t++)
    take_text(h, part, first + t);
}

int brim_host_loss_take(brim_host_loss *h, brim_model *model, const brim_batch *part, bool *finite, brim_error *err) {
  const size_t count = (size_t)part->count * (size_t)h->width;
  BRIM_TRY(take_part(h, model, (size_t)part->count, err));
  BRIM_TRY(brim_model_read_logits(model, h->part, err));
  *finite = true;
  for (size_t i = 0; i < count; i++)
    *finite = *finite && isfinite(h->part[i]);
  for (int32_t i = 0; i < part->row_count && of_step(h); i++)
    take_row(h, part, i);
  return BRIM_OK;
}

/* From places to texts, which come no later. */
static void close_gaps(brim_host_loss *h) {
  const size_t width = (size_t)h->width * sizeof *h->values;
  h->firsts[0] = 0;
  for (uint32_t row = 0; row < h->rows; row++) {
    const uint64_t from = (uint64_t)row * (uint64_t)h->most_texts, to = (uint64_t)h->firsts[row];
    const size_t texts = (size_t)h->counts[row];
    memmove(value_of(h, h->values, to), value_of(h, h->values, from), texts * width);
    memmove(h->halves + 2 * to, h->halves + 2 * from, texts * 2 * sizeof *h->halves);
    for (int b = 0; b < h->block_count; b++) {
      const size_t numbers = (size_t)h->shapes[b].width;
      if (is_gathered(h, b) && h->shapes[b].per == BRIM_PER_TEXT)
        memmove(h->blocks[b] + to * numbers, h->blocks[b] + from * numbers, texts * numbers * sizeof **h->blocks);
    }
    h->firsts[row + 1] = h->firsts[row] + (int32_t)texts;
  }
  h->texts = (uint64_t)h->firsts[h->rows];
}

/* Each row is on one rank alone, and x + 0 is x: sums bring all of them to all, whichever rank had which. */
static int sum_rows(brim_host_loss *h, const brim_group *group, brim_error *err) {
  const int64_t rows = h->rows, texts = rows * h->most_texts;
  if (group->world_size <= 1)
    return BRIM_OK;
  BRIM_TRY(group->sum(group->context, h->values, texts * h->width, err));
  BRIM_TRY(group->sum(group->context, h->labels, rows * h->label_width, err));
  for (int b = 0; b < h->block_count; b++)
    if (is_gathered(h, b))
      BRIM_TRY(group->sum(group->context, h->blocks[b], (int64_t)numbers_of(h, b, h->rows), err));
  BRIM_TRY(group->sum_double(group->context, h->halves, 2 * texts, err));
  return h->counts ? group->sum_double(group->context, h->counts, rows, err) : BRIM_OK;
}

int brim_host_loss_share(brim_host_loss *h, const brim_group *group, brim_error *err) {
  h->texts = h->rows;
  BRIM_TRY(sum_rows(h, group, err));
  if (h->counts)
    close_gaps(h);
  for (uint64_t i = 0; i < h->texts; i++)
    h->same[i] = (uint64_t)h->halves[2 * i] << 32 | (uint64_t)h->halves[2 * i + 1];
  for (uint64_t i = 0; i < h->texts * (uint64_t)h->width; i++)
    h->values[i] += 0.0F; /* as the sum over ranks has it: never -0 */
  return BRIM_OK;
}

/* ---- losses -------------------------------------------------------------------------------------------------- */

int brim_host_loss_of_step(brim_host_loss *h, double divisor, double *loss, brim_error *err) {
  brim_outputs outputs = {.rows = (int32_t)h->rows,
                          .texts = (int32_t)h->texts,
                          .firsts = h->firsts,
                          .width = h->width,
                          .values = h->values,
                          .label_width = h->label_width,
                          .labels = h->labels,
                          .same = h->same,
                          .how = &h->how,
                          .found = &h->found,
                          .block_count = h->block_count,
                          .shapes = h->shapes};
  for (int b = 0; b < h->block_count; b++)
    outputs.blocks[b] = h->blocks[b];
  return h->target->loss(h->runtime, &outputs, divisor, h->gradient, loss, err);
}

/* Where texts of rows first .. first + count - 1 begin among these: NULL where each row is one. */
static int find_firsts(brim_host_loss *h, const brim_batch *part, int32_t first, int32_t count, const int32_t **out,
                       brim_error *err) {
  *out = NULL;
  if (!part->firsts)
    return BRIM_OK;
  BRIM_TRY(brim_grow(h->runtime, (void **)&h->part_firsts, &h->first_room, (size_t)count + 1, sizeof *h->part_firsts, err));
  for (int32_t i = 0; i <= count; i++)
    h->part_firsts[i] = part->firsts[first + i] - part->firsts[first];
  *out = h->part_firsts;
  return BRIM_OK;
}

int brim_host_loss_of_rows(brim_host_loss *h, const brim_batch *part, int32_t first, int32_t count, double divisor, double *loss,
                           brim_error *err) {
  const int32_t text = part->firsts ? part->firsts[first] : first,
                end = part->firsts ? part->firsts[first + count] : first + count;
  const int32_t *firsts;
  BRIM_TRY(find_firsts(h, part, first, count, &firsts, err));
  brim_outputs outputs = {.rows = count,
                          .texts = end - text,
                          .firsts = firsts,
                          .width = h->width,
                          .values = value_of(h, h->part, (uint64_t)text),
                          .label_width = h->label_width,
                          .labels = part->labels + (size_t)first * (size_t)h->label_width,
                          .how = &h->how,
                          .block_count = part->block_count,
                          .shapes = part->shapes};
  for (int b = 1; b < part->block_count; b++) {
    const size_t at = brim_block_units(&part->shapes[b], (size_t)first, (size_t)text, 0);
    outputs.blocks[b] = (const char *)part->blocks[b] + at * brim_block_bytes(&part->shapes[b]);
  }
  return h->target->loss(h->runtime, &outputs, divisor, value_of(h, h->gradient, (uint64_t)text), loss, err);
}

/* Where the gradient of a text is: of a step by text, of a part in its order. */
static uint64_t gradient_of(const brim_host_loss *h, const brim_batch *part, int32_t i) {
  const uint32_t place = part->places[i], most = (uint32_t)h->most_texts;
  if (!of_step(h))
    return (uint64_t)i;
  return h->firsts ? (uint64_t)h->firsts[place / most] + place % most : place;
}

int brim_host_loss_seed(brim_host_loss *h, brim_model *model, const brim_batch *part, double scale, brim_error *err) {
  BRIM_TRY(brim_model_settle(model, err)); /* a device has read what was there before */
  for (int32_t i = 0; i < part->count; i++) {
    const float *from = value_of(h, h->gradient, gradient_of(h, part, i));
    float *to = value_of(h, h->part, (uint64_t)i);
    for (int32_t k = 0; k < h->width; k++)
      to[k] = (float)(from[k] * scale);
  }
  return brim_model_seed(model, h->part, err);
}
