#include "train/supply.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "data/dataset.h"
#include "data/facts.h"
#include "data/source.h"
#include "dist/group.h"
#include "feed/steps.h"
#include "model/run/fits.h"
#include "train/answers/evaluate.h"
#include "train/answers/fit.h"

#define FEED_FILE "feed.json"

/* ---- what is known beforehand ----------------------------------------------------------------------------- */

/* Labels of the feed's rows are the model's. */
static int check_feed_labels(const brim_supply *s, brim_error *err) {
  const brim_feed_options *how = brim_feed_how(s->feed);
  if (s->masks.runtime)
    return how->encode.numbering && !how->source.need_label
               ? BRIM_OK
               : brim_error_set(err, BRIM_E_USAGE, "masked words need a feed of texts whose tokens are numbered, without labels");
  if (!how->labels || !(how->source.need_label || brim_model_shape(s->model)->optional))
    return brim_error_set(err, BRIM_E_USAGE, "the feed has no labels to train on: give need_label and labels");
  if (how->labels->task != brim_model_task(s->model) || how->labels->count != brim_model_labels(s->model)->count)
    return brim_error_set(err, BRIM_E_MISMATCH, "the feed has %d labels, the model %d outputs: load it with the same labels",
                          (int)how->labels->count, (int)brim_model_labels(s->model)->count);
  const brim_labels *own = brim_model_labels(s->model);
  for (int32_t i = 0; own->names && i < own->count; i++)
    if (strcmp(own->names[i], how->labels->names[i]) != 0)
      return brim_error_set(
          err, BRIM_E_MISMATCH,
          "class %d of the feed is \"%.60s\", and of the model \"%.60s\": open the feed with the model's labels", (int)i,
          how->labels->names[i], own->names[i]);
  return BRIM_OK;
}

static int check_feed(const brim_supply *s, brim_error *err) {
  const brim_feed_options *how = brim_feed_how(s->feed);
  const brim_group *group = &s->options->group;
  int32_t world = how->plan.world_size > 1 ? how->plan.world_size : 1;
  int64_t slots, rows;
  int32_t width;
  if (how->rank != group->rank || world != group->world_size)
    return brim_error_set(err, BRIM_E_USAGE, "the feed is of rank %d of %d, the run of rank %d of %d", (int)how->rank, (int)world,
                          (int)group->rank, (int)group->world_size);
  if (s->options->max_steps == 0)
    return brim_error_set(err, BRIM_E_USAGE,
                          "max_steps: how many steps an epoch of a stream has is known only at its end, so "
                          "give the steps of the run");
  BRIM_TRY(check_feed_labels(s, err));
  BRIM_TRY(brim_tokenizers_fit(s->model, brim_feed_tokenizer(s->feed), "the feed", err));
  brim_feed_limits(s->feed, &slots, &rows, &width);
  if (width == 0)
    return brim_error_set(err, BRIM_E_USAGE, "the feed's rows may have any length: give it a max_length");
  return brim_length_fits(s->model, "the feed's rows may have", width, BRIM_E_USAGE, err);
}

int brim_supply_check(brim_supply *s, brim_error *err) {
  if (s->feed)
    return check_feed(s, err);
  if (s->masks.runtime)
    BRIM_TRY(brim_masks_fit(s->dataset, "training data", err));
  BRIM_TRY(brim_dataset_fit_of(s->runtime, s->model, s->dataset, -1, s->options->plan.max_length, !s->masks.runtime,
                               "training data", &s->mapped, err));
  s->dataset = s->mapped ? s->mapped : s->dataset;
  return BRIM_OK;
}

int brim_supply_outlook(brim_supply *s, brim_outlook *out, brim_error *err) {
  brim_plan_free(s->first);
  s->first = NULL;
  if (!s->feed)
    return brim_outlook_run(s->runtime, brim_lengths_of(s->dataset), s->options, out, &s->first, err);
  int64_t rows;
  *out = (brim_outlook){.limits = {.training = true}, .total_steps = s->options->max_steps};
  brim_feed_limits(s->feed, &out->limits.max_slots, &rows, &out->limits.max_length);
  out->limits.max_sequences = (int32_t)(rows < INT32_MAX ? rows : INT32_MAX);
  out->step_rows = (uint64_t)brim_feed_step_rows(s->feed);
  out->step_parts = (out->step_rows + (uint64_t)rows - 1) / (uint64_t)rows;
  return BRIM_OK;
}

void brim_supply_identity(const brim_supply *s, uint64_t *rows, uint64_t *fingerprint) {
  *rows = s->feed ? 0 : brim_dataset_rows(s->dataset);
  *fingerprint = s->feed ? 0 : brim_dataset_fingerprint(s->dataset);
}

brim_windowing brim_supply_windows(const brim_supply *s) {
  if (!s->feed)
    return brim_dataset_has_windows(s->dataset) ? brim_dataset_windows(s->dataset) : (brim_windowing){0};
  const brim_encode_options *encode = &brim_feed_how(s->feed)->encode;
  return encode->numbering ? (brim_windowing){0} : (brim_windowing){encode->max_windows, encode->window_overlap};
}

int brim_supply_pairs(const brim_supply *s) {
  return s->feed ? brim_feed_pairs(s->feed) : brim_dataset_pairs_known(s->dataset);
}

brim_cutting brim_supply_cutting(const brim_supply *s) {
  if (!s->feed)
    return brim_dataset_cutting(s->dataset);
  const brim_encode_options *encode = &brim_feed_how(s->feed)->encode;
  return (brim_cutting){encode->truncation, encode->truncation_side};
}

int32_t brim_supply_most_texts(const brim_supply *s) {
  return s->feed ? brim_source_most_texts(&brim_feed_how(s->feed)->source) : brim_dataset_most_texts(s->dataset);
}

int brim_supply_blocks(const brim_supply *s, brim_block_shape shapes[BRIM_MOST_BLOCKS]) {
  const brim_block_shape *of_rows;
  if (s->feed)
    return brim_feed_blocks(s->feed, shapes);
  const int count = brim_dataset_blocks(s->dataset, &of_rows);
  memcpy(shapes, of_rows, (size_t)count * sizeof *shapes);
  return count;
}

/* ---- epochs ----------------------------------------------------------------------------------------------- */

static int plan_of(const brim_supply *s, uint64_t epoch, brim_plan **out, brim_error *err) {
  const brim_lengths lengths = brim_lengths_of(s->dataset);
  BRIM_TRY(brim_dataset_intact(s->dataset, err));
  return brim_plan_new_of(s->runtime, &lengths, &s->options->plan, epoch, out, err);
}

int brim_supply_open_epoch(brim_supply *s, uint64_t epoch, uint64_t epoch_step, brim_error *err) {
  if (s->feed || (s->plan && s->plan_epoch == epoch))
    return BRIM_OK;
  brim_plan_free(s->plan);
  s->plan = epoch == 0 ? s->first : NULL;
  if (!s->plan)
    brim_plan_free(s->first);
  s->first = NULL;
  if (!s->plan)
    BRIM_TRY(plan_of(s, epoch, &s->plan, err));
  s->plan_epoch = epoch;
  s->epoch_steps = brim_plan_steps(s->plan);
  brim_planned part;
  for (s->part = 0; s->part < brim_plan_parts(s->plan); s->part++) {
    brim_plan_part(s->plan, s->options->group.rank, s->part, &part);
    if (part.step >= epoch_step)
      break;
  }
  return BRIM_OK;
}

int brim_supply_over(brim_supply *s, uint64_t epoch, uint64_t epoch_step, bool *epoch_over, bool *all, brim_error *err) {
  *all = false;
  *epoch_over = !s->feed && epoch_step == s->epoch_steps;
  if (!s->feed)
    return BRIM_OK;
  const brim_feed_options *how = brim_feed_how(s->feed);
  BRIM_TRY(brim_feed_epoch_over(s->feed, epoch_over, err));
  *all = *epoch_over && how->epochs && epoch + 1 >= how->first_epoch + how->epochs;
  return BRIM_OK;
}

double brim_supply_epochs(const brim_supply *s, uint64_t epoch, uint64_t epoch_step) {
  if (s->feed)
    return (double)epoch + (epoch_step ? brim_feed_share(s->feed) : 0.0);
  return (double)epoch + (s->epoch_steps > 0 ? (double)epoch_step / (double)s->epoch_steps : 0.0);
}

void brim_supply_close(brim_supply *s) {
  if (s->feed && s->masks.runtime)
    brim_feed_make(s->feed, NULL);
  brim_masks_free(&s->masks);
  brim_class_counter_free(&s->counter);
  brim_dataset_free(s->mapped);
  brim_plan_free(s->first);
  brim_plan_free(s->plan);
  brim_release(s->runtime, s->positions);
  if (s->position.runtime)
    brim_text_free(&s->position);
}

/* ---- masked words ------------------------------------------------------------------------------------------ */

/* Rows that come again within an epoch are masked again. */
static void masks_of_step(brim_supply *s) {
  const bool again = s->feed && brim_feed_how(s->feed)->repeat;
  s->masks.epoch = again ? s->number : s->feed ? brim_feed_epoch(s->feed) : s->plan_epoch;
  brim_masks_at_step(&s->masks, s->number, s->total);
}

static uint64_t masked_units(void *context, const brim_sample *row, int32_t length, uint64_t name) {
  brim_supply *s = context;
  masks_of_step(s);
  return (uint64_t)brim_masks_count(&s->masks, name, row->token_labels, length, row->length);
}

static void mask_batch(void *context, brim_batch *batch) {
  brim_supply *s = context;
  masks_of_step(s);
  brim_masks_make(&s->masks, batch);
}

int brim_supply_mask(brim_supply *s, brim_error *err) {
  s->counter.units = masked_units;
  s->counter.context = s;
  int64_t slots, rows;
  int32_t longest = s->feed ? 0 : brim_dataset_longest(s->dataset);
  if (s->feed) {
    brim_feed_make(s->feed, &(brim_feed_maker){masked_units, mask_batch, s});
    brim_feed_limits(s->feed, &slots, &rows, &longest);
  }
  return brim_masks_reserve(&s->masks, longest, err);
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

static void begin_step(brim_supply *s, uint32_t rows) {
  s->open = true;
  s->rows = rows;
  s->divisor = s->weight = rows;
  s->tokens = s->slots = 0;
}

/* The sum of the weights of the rows or labelled tokens, or the number of these, of a whole step, over all its parts and ranks,
 * before any of them is computed. */
static double step_weight(brim_supply *s, uint64_t step) {
  brim_planned part;
  brim_class_counter_clear(&s->counter);
  for (int32_t rank = 0; rank < s->options->group.world_size; rank++)
    for (uint64_t i = s->part, parts = brim_plan_parts(s->plan); i < parts; i++) {
      brim_plan_part(s->plan, rank, i, &part);
      if (part.step != step)
        break;
      brim_class_counter_add(&s->counter, s->dataset, &part);
    }
  return brim_class_counter_divisor(&s->counter);
}

/* Otherwise the loss divides by the rows. */
static bool counts_units(const brim_supply *s) {
  return s->counter.weights || brim_model_shape(s->model)->outputs != BRIM_OUTPUTS_OF_TEXTS;
}

/* Counts come from the plan, which knows every rank's parts. */
static int next_of_plan(brim_supply *s, const brim_batch **out, bool *last, brim_error *err) {
  const brim_group *group = &s->options->group;
  brim_planned part, mine, behind = {.step = UINT64_MAX};
  brim_plan_part(s->plan, group->rank, s->part, &mine);
  if (!s->open) {
    begin_step(s, mine.step_rows);
    if (counts_units(s)) {
      s->divisor = step_weight(s, mine.step);
      s->weight = brim_class_counter_sum(&s->counter);
    }
  }
  for (int32_t rank = 0; rank < group->world_size; rank++) {
    brim_plan_part(s->plan, rank, s->part, &part);
    s->tokens += (uint64_t)part.tokens, s->slots += (uint64_t)part.slots;
  }
  if (++s->part < brim_plan_parts(s->plan))
    brim_plan_part(s->plan, group->rank, s->part, &behind);
  *last = behind.step != mine.step;
  s->batch->count = s->batch->row_count = 0;
  if (mine.count > 0)
    BRIM_TRY(brim_batch_fill(s->batch, s->runtime, s->dataset, &mine, err));
  if (mine.count > 0 && s->counter.units)
    mask_batch(s, s->batch);
  s->batch->divisor = s->divisor;
  *out = s->batch;
  return BRIM_OK;
}

/* What brim_supply_check sees of a dataset before the run, and of a feed only here: each row with its file. */
static int check_rows(const brim_supply *s, const brim_batch *batch, brim_error *err) {
  for (int32_t i = 0; i < batch->row_count; i++) {
    const uint64_t row = batch->rows[i];
    const brim_row_name name = {brim_path_name(brim_feed_file_name(s->feed, brim_feed_file(row))), brim_feed_record(row)};
    int32_t first;
    const int32_t texts = brim_batch_texts(batch, i, &first);
    for (int32_t t = 0; t < texts; t++) {
      const brim_sample text = brim_batch_text(batch, first + t, i);
      BRIM_TRY(brim_row_fits(s->model, &text, 0, t == 0, name, err));
    }
  }
  return BRIM_OK;
}

/* The ledger of a feed counts a step, over all ranks, when it begins. */
static int next_of_feed(brim_supply *s, const brim_batch **out, bool *last, brim_error *err) {
  brim_feed_ledger before, after;
  brim_feed_tell(s->feed, &before);
  BRIM_TRY(brim_feed_next(s->feed, out, err));
  brim_feed_tell(s->feed, &after);
  if (!s->open) {
    bool same = before.epoch == after.epoch;
    begin_step(s, (*out)->step_rows);
    s->weighed = (*out)->divisor > 0.0;
    if (s->weighed)
      s->divisor = (*out)->divisor, s->weight = brim_feed_weight(s->feed);
    s->tokens = after.tokens - (same ? before.tokens : 0);
    s->slots = after.slots - (same ? before.slots : 0);
  }
  *last = brim_feed_step_over(s->feed);
  return check_rows(s, *out, err);
}

int brim_supply_next(brim_supply *s, const brim_batch **part, bool *last, brim_error *err) {
  return s->feed ? next_of_feed(s, part, last, err) : next_of_plan(s, part, last, err);
}

/* Feeds whose ranks read their own rows. */
static bool has_readers(const brim_supply *s) {
  return s->feed && brim_feed_how(s->feed)->rank_slices && s->options->group.world_size > 1;
}

int brim_supply_sum(brim_supply *s, brim_reduce *reduce, int status, brim_error *err) {
  if (!has_readers(s))
    return status;
  double sums[] = {brim_feed_weight(s->feed), (double)s->tokens, (double)s->slots};
  BRIM_TRY(brim_reduce_sum(reduce, status, sums, sizeof sums / sizeof *sums, err));
  if (sums[0] > 0.0)
    s->divisor = sums[0];
  if (s->weighed)
    s->weight = sums[0];
  s->tokens = (uint64_t)sums[1], s->slots = (uint64_t)sums[2];
  return BRIM_OK;
}

int brim_supply_step_done(brim_supply *s, brim_error *err) {
  s->open = false;
  if (!s->feed)
    return BRIM_OK;
  if (!s->position.runtime)
    brim_text_init(&s->position, s->runtime);
  brim_text_clear(&s->position);
  return brim_feed_save(s->feed, &s->position, err);
}

size_t brim_supply_row_text(const brim_supply *s, uint64_t row, char *text, size_t size) {
  int used = s->feed ? snprintf(text, size, "%s row %llu", brim_path_name(brim_feed_file_name(s->feed, brim_feed_file(row))),
                                (unsigned long long)brim_feed_record(row))
                     : snprintf(text, size, "%llu", (unsigned long long)brim_dataset_origin(s->dataset, row));
  return used < 0 ? 0 : (size_t)used < size ? (size_t)used : size;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------ */

int brim_supply_gather(brim_supply *s, brim_error *err) {
  if (!has_readers(s))
    return BRIM_OK;
  brim_release(s->runtime, s->positions);
  return brim_group_gather_texts(&s->options->group, s->runtime, s->position.data, &s->positions, err);
}

/* feed.json, or the file of another rank's slice: fresh memory. */
static char *feed_path(const brim_supply *s, const char *folder, int32_t rank) {
  char name[40] = FEED_FILE;
  if (rank > 0)
    snprintf(name, sizeof name, "feed-%d.json", (int)rank);
  return brim_path_join(s->runtime, folder, name);
}

static int save_position(const brim_supply *s, const char *folder, int32_t rank, const char *position, size_t length,
                         brim_error *err) {
  char *path = feed_path(s, folder, rank);
  int status = path ? brim_file_write_own(s->runtime, path, position, length, err) : BRIM_NOMEM(err);
  brim_release(s->runtime, path);
  return status;
}

int brim_supply_save(const brim_supply *s, const char *folder, brim_error *err) {
  if (!s->feed)
    return BRIM_OK;
  BRIM_TRY(save_position(s, folder, 0, s->position.data, s->position.length, err));
  const char *position = s->positions;
  for (int32_t rank = 0; position && rank < s->options->group.world_size; rank++, position += strlen(position) + 1)
    if (rank > 0)
      BRIM_TRY(save_position(s, folder, rank, position, strlen(position), err));
  return BRIM_OK;
}

static int restore_feed(brim_supply *s, const char *path, brim_error *err) {
  char *bytes;
  size_t length;
  BRIM_TRY(brim_file_read_plain(s->runtime, path, 0, &bytes, &length, err));
  int status = brim_feed_restore(s->feed, bytes, length, err);
  if (!status)
    status = brim_supply_step_done(s, err);
  brim_runtime_release(s->runtime, bytes);
  return status;
}

int brim_supply_restore(brim_supply *s, const char *folder, brim_error *err) {
  if (!s->feed)
    return BRIM_OK;
  char *path = feed_path(s, folder, has_readers(s) ? s->options->group.rank : 0);
  if (path && !brim_path_exists(path)) { /* fewer ranks wrote it: rank 0's position says that, and is refused */
    brim_release(s->runtime, path);
    path = feed_path(s, folder, 0);
  }
  int status = path ? restore_feed(s, path, err) : BRIM_NOMEM(err);
  brim_release(s->runtime, path);
  return status;
}
