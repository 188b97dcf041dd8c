/* class_weights.c: "balanced", or NAME=X,NAME=Y, where a name may be quoted as a field of csv. */
#include "train/class_weights.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "data/labels.h"
#include "task/task.h"

/* ---- balanced --------------------------------------------------------------------------------------------- */

/* Rows or tokens of each class, or rows with each label; then all of them. */
static void count_rows(const brim_dataset *dataset, const brim_task_rules *task, int32_t outputs, uint64_t *counts) {
  for (uint64_t r = 0; r < brim_dataset_rows(dataset); r++) {
    brim_sample sample;
    brim_dataset_sample(dataset, r, &sample);
    if (!sample.token_labels)
      task->count(sample.labels, outputs, counts);
    for (int32_t i = 0; sample.token_labels && i < sample.length; i++)
      if (sample.token_labels[i] != BRIM_NO_LABEL)
        counts[sample.token_labels[i]]++;
  }
  const uint64_t *firsts = brim_dataset_token_labels(dataset), rows = brim_dataset_rows(dataset);
  counts[outputs] = firsts ? firsts[rows] : rows;
}

/* `counts` of each class, and after the last one all rows. */
static int balance(const brim_labels *labels, const uint64_t *counts, double *weights, brim_error *err) {
  const brim_task_rules *task = brim_task_rules_of(labels->task);
  const uint64_t rows = counts[labels->count];
  for (int32_t c = 0; c < labels->count; c++) {
    if (counts[c] == 0)
      return brim_error_set(err, BRIM_E_USAGE, "class_weights: nothing has the class \"%s\": \"balanced\" needs one of each",
                            labels->names[c]);
    if (!task->shape.one_class && counts[c] == rows)
      return brim_error_set(err, BRIM_E_USAGE, "class_weights: every row has the label \"%s\": \"balanced\" needs one without",
                            labels->names[c]);
    weights[c] = task->balance((double)counts[c], (double)rows, labels->count);
  }
  return BRIM_OK;
}

/* Rows in memory are counted here; those of a stream were, or are not known. */
static int balance_data(brim_runtime *runtime, const brim_labels *labels, const brim_class_rows *rows, double *weights,
                        brim_error *err) {
  if (rows->counted)
    return balance(labels, rows->counted, weights, err);
  if (!rows->dataset)
    return brim_error_set(err, BRIM_E_USAGE,
                          "class_weights: \"balanced\" needs the rows of each class, and a stream with named classes or "
                          "weighted sources is not counted: give each class its weight, NAME=X,NAME=Y");
  uint64_t *counts = brim_alloc_array_zero(runtime, (size_t)labels->count + 1, sizeof *counts);
  if (!counts)
    return BRIM_NOMEM(err);
  count_rows(rows->dataset, brim_task_rules_of(labels->task), labels->count, counts);
  int status = balance(labels, counts, weights, err);
  brim_release(runtime, counts);
  return status;
}

/* ---- by name ---------------------------------------------------------------------------------------------- */

/* NAME=X, and where it ends. A name without quotes ends at the last =. */
typedef struct item {
  const char *text, *number, *end; /* number NULL: there is no =, or no closing quote */
  const char *name;
  size_t name_length;
} item;

/* "A ""quoted"" name"; `room` is as long as the text. */
static void read_quoted(item *i, char *room) {
  const char *at = i->text + 1;
  size_t length = 0;
  for (; *at && (*at != '"' || at[1] == '"'); at++) {
    at += *at == '"';
    room[length++] = *at;
  }
  i->name = room, i->name_length = length;
  i->number = *at == '"' && at[1] == '=' ? at + 2 : NULL;
  i->end = strchrnul(*at ? at + 1 : at, ',');
}

static item read_item(const char *text, char *room) {
  item i = {.text = text};
  if (*text == '"') {
    read_quoted(&i, room);
    return i;
  }
  i.end = strchrnul(text, ',');
  const char *equals = memrchr(text, '=', (size_t)(i.end - text));
  i.name = text, i.name_length = equals ? (size_t)(equals - text) : 0;
  i.number = equals ? equals + 1 : NULL;
  return i;
}

static int take_weight(const brim_labels *labels, const item *i, double *weights, brim_error *err) {
  const int length = (int)(i->end - i->text);
  double value = 0.0;
  if (!i->number)
    return brim_error_set(err, BRIM_E_USAGE,
                          "class_weights: \"%.*s\" is not NAME=WEIGHT (write a name with a comma in quotes, \"a, b\"=2); "
                          "\"balanced\" is given alone",
                          length, i->text);
  if (!brim_number_real(i->number, (size_t)(i->end - i->number), &value) || !isfinite(value) || value < 0.0)
    return brim_error_set(err, BRIM_E_USAGE, "class_weights: \"%.*s\": a weight is a number of at least 0", length, i->text);
  const int32_t class = brim_labels_find(labels, i->name, i->name_length, BRIM_FORM_TEXT);
  if (class < 0)
    return brim_error_set(err, BRIM_E_USAGE, "class_weights: there is no class \"%.*s\" among the %d of the data",
                          (int)i->name_length, i->name, (int)labels->count);
  if (!isnan(weights[class]))
    return brim_error_set(err, BRIM_E_USAGE, "class_weights: \"%.*s\" is given twice: leave out one of them", (int)i->name_length,
                          i->name);
  weights[class] = value;
  return BRIM_OK;
}

static int read_weights(brim_runtime *runtime, const brim_labels *labels, const char *text, double *weights, brim_error *err) {
  char *room = brim_alloc(runtime, strlen(text) + 1);
  int status = room ? BRIM_OK : BRIM_NOMEM(err);
  double sum = 0.0;
  for (int32_t c = 0; c < labels->count; c++)
    weights[c] = (double)NAN;
  for (const char *at = text; *at && !status;) {
    const item i = read_item(at, room);
    status = take_weight(labels, &i, weights, err);
    at = *i.end ? i.end + 1 : i.end;
  }
  brim_release(runtime, room);
  for (int32_t c = 0; c < labels->count; c++)
    sum += weights[c] = isnan(weights[c]) ? 1.0 : weights[c];
  if (!status && sum <= 0.0)
    status = brim_error_set(err, BRIM_E_USAGE, "class_weights: all weights are 0: nothing would be learnt");
  return status;
}

int brim_class_weights_make(brim_runtime *runtime, const brim_model *model, const brim_class_rows *rows, const char *text,
                            double **out, brim_error *err) {
  const brim_labels *labels = brim_model_labels(model);
  *out = NULL;
  if (!text)
    return BRIM_OK;
  const brim_task_rules *task = brim_task_rules_of(labels->task);
  if (!task->balance)
    return brim_error_set(err, BRIM_E_USAGE, "class_weights: the task %s has no classes: leave them out",
                          brim_task_name(labels->task));
  double *weights = brim_alloc_array(runtime, (size_t)labels->count, sizeof *weights);
  if (!weights)
    return BRIM_NOMEM(err);
  int status = strcmp(text, "balanced") == 0 ? balance_data(runtime, labels, rows, weights, err)
                                             : read_weights(runtime, labels, text, weights, err);
  if (status)
    brim_release(runtime, weights);
  else
    *out = weights;
  return status;
}
