/* predict.c: predictions a window of rows at a time: of many rows and many outputs, all at once are more than memory holds. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/facts.h"
#include "train/answers/evaluate.h"

enum { ROOM = 1 << 26, FEWEST = 64 }; /* bytes of outputs at once; rows */

typedef struct windows {
  const brim_dataset *dataset;
  const brim_eval_options *given;
  uint64_t first, total; /* row of the present window, and all */
} windows;

/* The progress of all windows: rows before this one are done. */
static int on_event(void *context, const brim_event *event) {
  enum { MOST = 8 };
  const windows *w = context;
  brim_field fields[MOST];
  if (event->field_count > MOST)
    return w->given->event(w->given->event_context, event);
  memcpy(fields, event->fields, (size_t)event->field_count * sizeof *fields);
  for (int i = 0; i < event->field_count; i++)
    if (strcmp(fields[i].name, "done") == 0)
      fields[i].integer += (int64_t)w->first;
    else if (strcmp(fields[i].name, "total") == 0)
      fields[i].integer = (int64_t)w->total;
  return w->given->event(w->given->event_context, &(brim_event){event->kind, fields, event->field_count});
}

static int predict_window(brim_runtime *runtime, brim_model *model, const windows *w, const brim_eval_options *options,
                          uint64_t *rows, uint64_t count, float *logits, brim_error *err) {
  brim_dataset *window;
  if (count == w->total)
    return brim_predict(runtime, model, w->dataset, options, logits, err);
  for (uint64_t i = 0; i < count; i++)
    rows[i] = w->first + i;
  BRIM_TRY(brim_dataset_subset(runtime, w->dataset, rows, count, &window, err));
  const int status = brim_predict(runtime, model, window, options, logits, err);
  brim_dataset_free(window);
  return status;
}

static int predict_windows(brim_runtime *runtime, brim_model *model, windows *w, const brim_eval_options *options, uint64_t *rows,
                           uint64_t most, float *logits, brim_predicted_fn predicted, void *context, brim_error *err) {
  const size_t outputs = (size_t)brim_model_outputs(model);
  for (; w->first < w->total; w->first += most) {
    const uint64_t count = w->total - w->first < most ? w->total - w->first : most;
    const float *at = logits;
    BRIM_TRY(predict_window(runtime, model, w, options, rows, count, logits, err));
    for (uint64_t i = 0; i < count; i++) {
      BRIM_TRY(predicted(context, w->first + i, at, err));
      at += outputs * (size_t)brim_row_logits(model, w->dataset, w->first + i);
    }
  }
  return BRIM_OK;
}

/* Logits of a row at most. */
static size_t most_logits(const brim_model *model, const brim_dataset *dataset) {
  size_t most = 1;
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    const size_t own = (size_t)brim_row_logits(model, dataset, row);
    most = own > most ? own : most;
  }
  return most;
}

int brim_predict_each(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *given,
                      uint64_t rows_at_once, brim_predicted_fn predicted, void *context, brim_error *err) {
  BRIM_GIVEN(err, runtime, model, dataset);
  if (!predicted)
    return brim_not_given(err, "predicted");
  const size_t outputs = (size_t)brim_model_outputs(model) * most_logits(model, dataset);
  brim_eval_options options;
  brim_eval_options_init(&options);
  if (given)
    options = *given;
  brim_dataset *mapped;
  BRIM_TRY(brim_dataset_fit(runtime, model, dataset, options.max_length, false, "data", &mapped, err)); /* before the first row */
  BRIM_TRY(brim_refuse_cut(model, dataset, options.max_length, "data", err));
  windows w = {.dataset = dataset, .given = &options, .total = brim_dataset_rows(dataset)};
  brim_eval_options own = options;
  if (options.event)
    own.event = on_event, own.event_context = &w;
  if (options.padding == BRIM_PAD_MAX_LENGTH && options.max_length <= 0)
    own.max_length = brim_dataset_longest(dataset); /* of all windows */
  uint64_t most = rows_at_once ? rows_at_once : ROOM / (outputs * sizeof(float));
  most = !rows_at_once && most < FEWEST ? FEWEST : most;
  most = most < w.total ? most : w.total;
  uint64_t *rows = brim_alloc_array(runtime, (size_t)most, sizeof *rows);
  float *logits = brim_alloc_array(runtime, (size_t)most, outputs * sizeof *logits);
  int status = rows && logits ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    status = predict_windows(runtime, model, &w, &own, rows, most, logits, predicted, context, err);
  brim_release(runtime, rows);
  brim_release(runtime, logits);
  return status;
}
