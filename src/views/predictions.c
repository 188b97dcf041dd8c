/* predictions.c: predictions as lines of JSON, and what a run in folds keeps of its end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/status.h"
#include "model/run/ask.h"
#include "target/target.h"
#include "task/task.h"
#include "train/answers/evaluate.h"
#include "views/views.h"

/* ---- lines ------------------------------------------------------------------------------------------------ */

static void put_score(brim_json_writer *json, const char *name, double score) {
  brim_json_put_printf(json, name, "%.9g", score); /* nine digits hold any float */
}

static brim_answer answer_of(const brim_model *model, const float *logits, double *scores) {
  const brim_labels *labels = brim_model_labels(model);
  return (brim_answer){.outputs = brim_model_outputs(model),
                       .names = (const char *const *)labels->names,
                       .literal = labels->form != BRIM_FORM_NAME,
                       .bare = brim_model_scores_bare(model),
                       .logits = logits,
                       .scores = scores};
}

static double score_of(const brim_model *model, float logit) {
  return brim_model_scores_bare(model) ? (double)logit : brim_sigmoid(logit);
}

/* How many are better; of equal ones the first is. */
static int32_t rank_of(const float *logits, int32_t count, int32_t at) {
  int32_t rank = 1;
  for (int32_t i = 0; i < count; i++)
    rank += logits[i] > logits[at] || (logits[i] == logits[at] && i < at);
  return rank;
}

static void put_group(brim_json_writer *json, const brim_model *model, const float *logits, int32_t count) {
  brim_json_open_array(json, "scores");
  for (int32_t i = 0; i < count; i++)
    put_score(json, NULL, score_of(model, logits[i]));
  brim_json_close_array(json);
  brim_json_open_array(json, "ranks");
  for (int32_t i = 0; i < count; i++)
    brim_json_put_integer(json, NULL, rank_of(logits, count, i));
  brim_json_close_array(json);
}

static void put_row(brim_json_writer *json, const brim_model *model, const float *logits, double *scores) {
  const brim_answer answer = answer_of(model, logits, scores);
  brim_task_rules_of(brim_model_task(model))->put(json, &answer);
  brim_json_open_array(json, "scores");
  for (int32_t i = 0; i < answer.outputs; i++)
    put_score(json, NULL, scores[i]);
  brim_json_close_array(json);
}

/* ---- words ------------------------------------------------------------------------------------------------ */

/* Tokens of the labels that a row has: the first token of each word, or every token where there are no words; -1: cut off, or
 * the word gives no token. */
static int32_t next_token(const brim_sample *row, int32_t word, int32_t *at) {
  if (!row->words)
    return word;
  while (*at < row->length && row->words[*at] < word)
    ++*at;
  return *at < row->length && row->words[*at] == word ? *at : -1;
}

static int32_t label_count(const brim_sample *row) {
  int32_t count = row->words ? 0 : row->length;
  for (size_t i = 0; row->words && i < row->word_text_length; i++)
    count += row->word_text[i] == 0;
  return count;
}

static void put_words(brim_json_writer *json, const brim_sample *row) {
  const char *at = row->word_text, *end = at + row->word_text_length;
  brim_json_open_array(json, "tokens");
  for (; at < end; at += strlen(at) + 1)
    brim_json_put_string(json, NULL, at);
  brim_json_close_array(json);
}

/* "labels" and "scores": of each word its class and how likely that is; null where nothing was predicted. */
static void put_tokens(brim_json_writer *json, const brim_model *model, const brim_sample *row, const float *logits,
                       double *scores) {
  const size_t outputs = (size_t)brim_model_outputs(model);
  const int32_t count = label_count(row);
  if (row->words)
    put_words(json, row);
  for (int pass = 0; pass < 2; pass++) {
    int32_t at = 0;
    brim_json_open_array(json, pass ? "scores" : "labels");
    for (int32_t word = 0; word < count; word++) {
      const int32_t token = next_token(row, word, &at);
      const brim_answer own = answer_of(model, logits + (size_t)(token < 0 ? 0 : token) * outputs, scores);
      if (token < 0)
        brim_json_put_string(json, NULL, NULL);
      else if (pass)
        put_score(json, NULL, brim_outcome_of(own.logits, own.outputs, 0).score);
      else
        brim_answer_put_best(json, NULL, &own);
    }
    brim_json_close_array(json);
  }
}

static bool gives_scores(const brim_model *model) {
  return brim_model_shape(model)->joins_pairs;
}

static bool has_documents(const brim_model *model, const brim_dataset *dataset) {
  return gives_scores(model) && brim_dataset_firsts(dataset);
}

void brim_prediction_put(brim_text *out, const brim_model *model, const brim_dataset *dataset, uint64_t row, uint64_t index,
                         const float *logits, double *scores) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "index", index);
  if (brim_model_shape(model)->words) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    put_tokens(&json, model, &sample, logits, scores);
  } else if (has_documents(model, dataset)) {
    put_group(&json, model, logits, (int32_t)brim_row_logits(model, dataset, row));
  } else {
    put_row(&json, model, logits, scores);
  }
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

/* ---- sorted ----------------------------------------------------------------------------------------------- */

typedef struct ranked {
  uint64_t query, first, row; /* equal for rows of one query, and its first row */
  float score;
} ranked;

static bool is_after_in_query(const void *a, const void *b, const void *context) {
  const ranked *x = a, *y = b;
  (void)context;
  return x->query != y->query ? x->query > y->query : x->row > y->row;
}

static bool is_after(const void *a, const void *b, const void *context) {
  const ranked *x = a, *y = b;
  (void)context;
  if (x->first != y->first)
    return x->first > y->first;
  return x->score != y->score ? x->score < y->score : x->row > y->row;
}

static void sort_rows(const brim_dataset *dataset, const float *logits, ranked *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    brim_sample sample;
    brim_dataset_sample(dataset, i, &sample);
    rows[i] = (ranked){.query = brim_row_query(&sample), .row = i, .score = logits[i]};
  }
  brim_sort(rows, count, sizeof *rows, is_after_in_query, NULL);
  for (size_t i = 0; i < count; i++)
    rows[i].first = i > 0 && rows[i].query == rows[i - 1].query ? rows[i - 1].first : rows[i].row;
  brim_sort(rows, count, sizeof *rows, is_after, NULL);
}

static int put_sorted(brim_text *out, const brim_model *model, const brim_dataset *dataset, const ranked *rows, size_t count,
                      brim_error *err) {
  int64_t rank = 0;
  double score;
  for (size_t i = 0; i < count; i++) {
    brim_json_writer json = {.out = out};
    rank = i > 0 && rows[i].first == rows[i - 1].first ? rank + 1 : 1;
    brim_json_open_object(&json, NULL);
    brim_json_put_count(&json, "index", brim_dataset_origin(dataset, rows[i].row));
    put_row(&json, model, &rows[i].score, &score);
    brim_json_put_integer(&json, "rank", rank);
    brim_json_close_object(&json);
    brim_text_string(out, "\n");
  }
  return brim_text_status(out, err);
}

int brim_predict_sorted(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                        brim_text *out, brim_error *err) {
  BRIM_GIVEN(err, runtime, model, dataset, out);
  const size_t count = (size_t)brim_dataset_rows(dataset);
  if (!gives_scores(model))
    return brim_error_set(err, BRIM_E_USAGE, "a reranker's predictions can be sorted, and the model is of %s",
                          brim_task_name(brim_model_task(model)));
  if (has_documents(model, dataset))
    return brim_error_set(err, BRIM_E_USAGE, "rows of several documents have the rank of each: they are not sorted besides");
  ranked *rows = brim_alloc_array(runtime, count + 1, sizeof *rows);
  float *logits = brim_alloc_array(runtime, count + 1, sizeof *logits);
  int status = rows && logits ? brim_predict(runtime, model, dataset, options, logits, err) : BRIM_NOMEM(err);
  if (!status) {
    sort_rows(dataset, logits, rows, count);
    status = put_sorted(out, model, dataset, rows, count, err);
  }
  brim_release(runtime, rows);
  brim_release(runtime, logits);
  return status;
}

/* ---- lines of all rows ------------------------------------------------------------------------------------ */

/* A line for each row, to a file that is complete or absent. logits: [rows or tokens, outputs]. */
static int write_predictions(brim_runtime *runtime, const char *path, const brim_model *model, const brim_dataset *dataset,
                             const float *logits, brim_error *err) {
  const size_t outputs = (size_t)brim_model_outputs(model);
  double *scores = brim_alloc_array(runtime, outputs, sizeof *scores);
  if (!scores)
    return BRIM_NOMEM(err);
  brim_text out;
  brim_text_init(&out, runtime);
  for (uint64_t i = 0, rows = brim_dataset_rows(dataset); i < rows; i++) {
    brim_prediction_put(&out, model, dataset, i, brim_dataset_origin(dataset, i), logits, scores);
    logits += outputs * (size_t)brim_row_logits(model, dataset, i);
  }
  int status = brim_text_status(&out, err);
  if (!status)
    status = brim_file_write_own(runtime, path, out.data, out.length, err);
  brim_text_free(&out);
  brim_release(runtime, scores);
  return status;
}

/* ---- folds ------------------------------------------------------------------------------------------------ */

void brim_folds_spread(const brim_folds_result *result, brim_task task, int which, double *mean, double *deviation) {
  brim_field numbers[BRIM_METRIC_FIELDS];
  double sum = 0, square = 0;
  for (int i = 0; i < result->count; i++) {
    brim_metrics_fields(task, &result->folds[i].metrics, numbers);
    sum += numbers[which].real;
  }
  *mean = sum / result->count;
  for (int i = 0; i < result->count; i++) {
    brim_metrics_fields(task, &result->folds[i].metrics, numbers);
    square += (numbers[which].real - *mean) * (numbers[which].real - *mean);
  }
  *deviation = sqrt(square / (result->count - 1));
}

static void put_metrics_json(brim_json_writer *json, const char *name, const brim_metrics *metrics, brim_task task) {
  brim_field numbers[BRIM_METRIC_FIELDS];
  int count = brim_metrics_fields(task, metrics, numbers);
  brim_json_open_object(json, name);
  for (int i = 0; i < count; i++)
    brim_json_put_number(json, numbers[i].name, numbers[i].real);
  brim_json_close_object(json);
}

static void put_spread_json(brim_json_writer *json, const brim_folds_result *result, brim_task task) {
  brim_field numbers[BRIM_METRIC_FIELDS];
  int count = brim_metrics_fields(task, &result->metrics, numbers);
  for (int spread = 0; spread < 2; spread++) {
    brim_json_open_object(json, spread ? "deviation" : "mean");
    for (int i = 0; i < count; i++) {
      double values[2];
      brim_folds_spread(result, task, i, &values[0], &values[1]);
      brim_json_put_number(json, numbers[i].name, values[spread]);
    }
    brim_json_close_object(json);
  }
}

static void put_fold_json(brim_json_writer *json, int index, const brim_fold_result *f, brim_task task) {
  brim_json_open_object(json, NULL);
  brim_json_put_integer(json, "fold", index);
  brim_json_put_count(json, "train_rows", f->train_rows);
  brim_json_put_count(json, "valid_rows", f->valid_rows);
  brim_json_put_count(json, "steps", f->run.steps);
  brim_json_put_count(json, "tokens", f->run.tokens);
  brim_json_put_number(json, "seconds", f->run.seconds);
  brim_json_put_number(json, "train_loss", f->run.loss);
  put_metrics_json(json, "valid", &f->metrics, task);
  brim_json_close_object(json);
}

void brim_folds_json(brim_text *out, const brim_folds_result *result, brim_task task) {
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_open_array(&json, "folds");
  for (int i = 0; i < result->count; i++)
    put_fold_json(&json, i, &result->folds[i], task);
  brim_json_close_array(&json);
  put_spread_json(&json, result, task);
  brim_json_open_object(&json, "out_of_fold");
  brim_json_put_count(&json, "rows", result->metrics.rows);
  put_metrics_json(&json, "metrics", &result->metrics, task);
  brim_json_close_object(&json);
  brim_json_open_array(&json, "averages");
  for (int i = 0; i < result->average_count; i++) {
    brim_json_open_object(&json, NULL);
    brim_json_put_string(&json, "name", result->averages[i].name);
    if (result->averages[i].evaluated)
      put_metrics_json(&json, "metrics", &result->averages[i].metrics, task);
    else
      brim_json_put_string(&json, "metrics", NULL);
    brim_json_close_object(&json);
  }
  brim_json_close_array(&json);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

/* A name of a file in the folder; NULL: no memory. */
static char *path_of(brim_runtime *runtime, const char *folder, const char *set) {
  const size_t room = strlen(set) + sizeof "predictions-.jsonl";
  char *name = brim_alloc(runtime, room), *path = NULL;
  if (name) {
    snprintf(name, room, "predictions%s%s.jsonl", *set ? "-" : "", set);
    path = brim_path_join(runtime, folder, name);
  }
  brim_release(runtime, name);
  return path;
}

static int write_set(brim_runtime *runtime, const char *folder, const char *set, const brim_model *model,
                     const brim_dataset *dataset, const float *logits, brim_error *err) {
  char *path = path_of(runtime, folder, set);
  const int status = path ? write_predictions(runtime, path, model, dataset, logits, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

static int write_json(brim_runtime *runtime, const char *folder, const brim_folds_result *result, brim_task task,
                      brim_error *err) {
  char *path = brim_path_join(runtime, folder, "folds.json");
  brim_text json;
  brim_text_init(&json, runtime);
  brim_folds_json(&json, result, task);
  int status = path ? brim_text_status(&json, err) : BRIM_NOMEM(err);
  if (!status)
    status = brim_file_write_own(runtime, path, json.data, json.length, err);
  brim_text_free(&json);
  brim_release(runtime, path);
  return status;
}

int brim_folds_write(brim_runtime *runtime, const char *folder, const brim_model *model, const brim_dataset *dataset,
                     const brim_named_dataset *evals, const brim_folds_result *result, brim_error *err) {
  BRIM_GIVEN(err, runtime, folder, model, dataset, result);
  const bool vectors = brim_target_of(brim_model_task(model))->nearest; /* which `brim embed` writes */
  if (!vectors)
    BRIM_TRY(write_set(runtime, folder, "", model, dataset, result->logits, err));
  for (int i = 0; i < result->average_count && !vectors; i++)
    BRIM_TRY(write_set(runtime, folder, result->averages[i].name, model, evals[i].dataset, result->averages[i].logits, err));
  return write_json(runtime, folder, result, brim_model_task(model), err);
}
