#include "data/relabel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/dataset.h"
#include "data/labels.h"

typedef struct relabelling {
  const brim_dataset *from;
  brim_dataset *out;
  const brim_labels *to;
  const int32_t *map; /* [classes of `from`] -1: `to` has none of that name */
  const char *name;
} relabelling;

static int refuse(const relabelling *r, uint64_t row, int32_t class, brim_error *err) {
  char names[256] = "";
  size_t used = 0;
  for (int32_t i = 0; i < r->to->count && used < sizeof names - 60; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", i ? ", " : "", r->to->names[i]);
  return brim_error_set(err, BRIM_E_MISMATCH, "%s: row %llu has the label \"%.60s\", which is not among the %d of the model: %s",
                        r->name, (unsigned long long)brim_dataset_origin(r->from, row), r->from->labels.names[class],
                        (int)r->to->count, names);
}

/* ---- labels of rows --------------------------------------------------------------------------------------- */

static int map_class(const relabelling *r, uint64_t row, float from, float *to, brim_error *err) {
  if (isnan(from)) {
    *to = from;
    return BRIM_OK;
  }
  const int32_t class = (int32_t)from;
  if (r->map[class] < 0)
    return refuse(r, row, class, err);
  *to = (float)r->map[class];
  return BRIM_OK;
}

/* 0 or 1 for each label. */
static int map_many(const relabelling *r, uint64_t row, const float *from, float *to, brim_error *err) {
  for (int32_t i = 0; i < r->to->count; i++)
    to[i] = isnan(*from) ? NAN : 0;
  for (int32_t i = 0; i < r->from->labels.count && !isnan(*from); i++) {
    if (from[i] > 0 && r->map[i] < 0)
      return refuse(r, row, i, err);
    if (r->map[i] >= 0)
      to[r->map[i]] = from[i];
  }
  return BRIM_OK;
}

static int map_values(relabelling *r, brim_error *err) {
  const brim_dataset *from = r->from;
  brim_dataset *out = r->out;
  const size_t width = (size_t)brim_labels_width(r->to), before = (size_t)from->shapes[BRIM_LABEL_BLOCK].width;
  float *values = brim_alloc_array(out->runtime, (size_t)out->rows, width * sizeof *values);
  brim_dataset_take_labels(out, values, (int32_t)width);
  if (!values)
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < out->rows; row++) {
    const float *label = brim_dataset_row_labels(from) + row * before;
    float *to = values + row * width;
    BRIM_TRY(brim_label_type_of(r->to->task)->each ? map_many(r, row, label, to, err) : map_class(r, row, *label, to, err));
  }
  return BRIM_OK;
}

/* ---- labels of tokens ------------------------------------------------------------------------------------- */

/* Memory of their numbers, and where each row's are. */
static void own_token_labels(brim_dataset *out, void *numbers, const void **rows) {
  out->own_labels = numbers;
  out->blocks[BRIM_LABEL_BLOCK].rows = rows;
}

static int map_tokens(relabelling *r, brim_error *err) {
  const brim_dataset *from = r->from;
  brim_dataset *out = r->out;
  int32_t *to = brim_alloc_array(out->runtime, (size_t)from->token_count, sizeof *to);
  const void **rows = brim_alloc_array(out->runtime, (size_t)out->rows, sizeof *rows);
  own_token_labels(out, to, rows);
  if (!to || !rows)
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < out->rows; row++) {
    rows[row] = to;
    for (int32_t i = 0; i < from->lengths[row]; i++, to++) {
      const int32_t label = brim_dataset_labels_of_tokens(from)[row][i];
      *to = label == BRIM_NO_LABEL ? label : r->map[label];
      if (label != BRIM_NO_LABEL && *to < 0)
        return refuse(r, row, label, err);
    }
  }
  return BRIM_OK;
}

/* ---- both ------------------------------------------------------------------------------------------------- */

/* What it shares with `from`, of which brim_dataset_free leaves everything but labels. */
static void lend(const brim_dataset *from, brim_dataset *out) {
  brim_runtime *runtime = out->runtime;
  *out = *from;
  out->runtime = runtime;
  out->lent = true;
  out->blocks[BRIM_LABEL_BLOCK] = (brim_block){0};
  out->labels = (brim_labels){0};
  out->excluded = (brim_exclusions){.runtime = runtime};
}

static int relabel(relabelling *r, brim_error *err) {
  lend(r->from, r->out);
  BRIM_TRY(brim_labels_copy(r->out->runtime, r->to, &r->out->labels, err));
  if (brim_dataset_row_labels(r->from))
    BRIM_TRY(map_values(r, err));
  if (brim_dataset_labels_of_tokens(r->from))
    BRIM_TRY(map_tokens(r, err));
  brim_dataset_finish(r->out);
  return BRIM_OK;
}

int brim_dataset_relabel(brim_runtime *runtime, const brim_dataset *from, const brim_labels *to, const char *name,
                         brim_dataset **out, brim_error *err) {
  const brim_labels *labels = &from->labels;
  *out = NULL;
  int32_t *map = brim_alloc_array(runtime, (size_t)labels->count, sizeof *map);
  relabelling r = {.from = from, .to = to, .map = map, .name = name, .out = brim_dataset_new(runtime, err)};
  int status = map && r.out ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t i = 0; i < labels->count && !status; i++)
    map[i] = brim_labels_find(to, labels->names[i], strlen(labels->names[i]), BRIM_FORM_TEXT);
  if (!status)
    status = relabel(&r, err);
  brim_release(runtime, map);
  if (status)
    brim_dataset_free(r.out);
  else
    *out = r.out;
  return status;
}

/* ---- other tokens ----------------------------------------------------------------------------------------- */

static int remask(const brim_dataset *from, brim_dataset *out, brim_remask_fn change, void *context, brim_error *err) {
  brim_runtime *runtime = out->runtime;
  lend(from, out);
  int32_t *ids = out->own_ids = brim_alloc_array(runtime, (size_t)from->token_count + 1, sizeof *ids);
  int32_t *labels = brim_alloc_array(runtime, (size_t)from->token_count + 1, sizeof *labels);
  const void **rows = brim_alloc_array(runtime, (size_t)from->rows + 1, sizeof *rows);
  own_token_labels(out, labels, rows);
  out->labelled_tokens = NULL;
  out->numbered = out->windows_are_rows = false;
  out->windows = (brim_windowing){0};
  out->ids = brim_alloc_array(runtime, (size_t)from->rows + 1, sizeof *out->ids);
  if (!ids || !labels || !out->ids || !rows)
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < from->rows; row++) {
    const size_t length = (size_t)from->lengths[row];
    out->ids[row] = memcpy(ids, from->ids[row], length * sizeof *ids);
    rows[row] = memcpy(labels, brim_dataset_labels_of_tokens(from)[row], length * sizeof *labels);
    change(context, row, ids, labels, (int32_t)length);
    for (size_t i = 0; i < length; i++)
      out->highest_id = ids[i] > out->highest_id ? ids[i] : out->highest_id;
    ids += length, labels += length;
  }
  BRIM_TRY(brim_labels_copy(runtime, &from->labels, &out->labels, err));
  BRIM_TRY(brim_dataset_count_labels(out, err));
  brim_dataset_finish(out);
  return BRIM_OK;
}

int brim_dataset_remask(brim_runtime *runtime, const brim_dataset *from, brim_remask_fn change, void *context, brim_dataset **out,
                        brim_error *err) {
  *out = NULL;
  brim_dataset *made = brim_dataset_new(runtime, err);
  int status = made ? remask(from, made, change, context, err) : BRIM_NOMEM(err);
  if (status)
    brim_dataset_free(made);
  else
    *out = made;
  return status;
}
