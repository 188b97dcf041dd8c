/* train_folds.c: one model a fold, and what they say together. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/event.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "brim/study.h"
#include "data/facts.h"
#include "dist/group.h"
#include "model/run/ask.h"
#include "study/internal.h"
#include "task/task.h"
#include "train/answers/evaluate.h"
#include "train/answers/fit.h"
#include "train/folder/fields.h"
#include "train/folder/folder.h"
#include "train/folder/folds_mark.h"
#include "train/options.h"

enum { MOST_EVALS = 64 };

typedef struct fold_job {
  brim_runtime *runtime;
  brim_model *model;
  const brim_tokenizer *tokenizer;
  const brim_dataset *dataset;
  const brim_folds *folds;
  brim_named_dataset evals[MOST_EVALS];
  int eval_count;
  brim_dataset *mapped[MOST_EVALS + 1]; /* these as the model numbers their labels, the dataset last; NULL: they were so */
  const brim_train_options *options;
  brim_folds_result *result;
  brim_run_folder folder;
  brim_run_found found; /* in it */
  float *weights;       /* every fold starts from these */
  size_t outputs;
  uint64_t *firsts; /* of logits, by row of `dataset`: brim_logit_firsts; NULL: a row has one */
} fold_job;

static size_t model_bytes(const brim_model *model) {
  return (size_t)brim_model_flat_size(model) * sizeof(float);
}

static bool is_first_rank(const fold_job *job) {
  return job->options->group.world_size <= 1 || job->options->group.rank == 0;
}

/* ---- the folder ------------------------------------------------------------------------------------------- */

static int assignment_text(const fold_job *job, brim_text *text, brim_error *err) {
  brim_text_string(text, "row,fold\n");
  for (uint64_t row = 0; row < job->folds->rows; row++)
    brim_text_printf(text, "%llu,%d\n", (unsigned long long)brim_dataset_origin(job->dataset, row), (int)job->folds->fold[row]);
  return brim_text_status(text, err);
}

/* folds.csv is written once; who resumes must bring the same. */
static int keep_assignment(const fold_job *job, const char *path, const brim_text *text, brim_error *err) {
  char *before = NULL;
  size_t length = 0;
  if (!job->options->resume || !brim_path_exists(path))
    return brim_file_write_own(job->runtime, path, text->data, text->length, err);
  BRIM_TRY(brim_file_read_plain(job->runtime, path, 0, &before, &length, err));
  bool same = length == text->length && memcmp(before, text->data, length) == 0;
  brim_release(job->runtime, before);
  if (same)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_MISMATCH, path, 0, -1,
                       "the run was begun with other folds: give the data, the number of folds and the seed it was begun with");
}

static int write_assignment(const fold_job *job, brim_error *err) {
  char *path = brim_path_join(job->runtime, job->options->output, BRIM_FOLDS_FILE);
  brim_text text;
  brim_text_init(&text, job->runtime);
  int status = path ? assignment_text(job, &text, err) : BRIM_NOMEM(err);
  if (!status)
    status = keep_assignment(job, path, &text, err);
  brim_text_free(&text);
  brim_release(job->runtime, path);
  return status;
}

static int open_folder(fold_job *job, brim_error *err) {
  const brim_train_options *o = job->options;
  if (!o->output || !is_first_rank(job))
    return BRIM_OK;
  BRIM_TRY(brim_run_folder_open(job->runtime, o->output, o->resume, o->overwrite, &job->folder, err));
  if (o->resume && brim_path_exists(job->folder.checkpoints))
    return brim_error_at(err, BRIM_E_USAGE, o->output, 0, -1,
                         "the folder holds a run that is not in folds: resume it without folds, replace it (overwrite), or "
                         "name another folder");
  BRIM_TRY(brim_run_folder_look(&job->folder, NULL, NULL, o->overwrite, &job->found, err));
  BRIM_TRY(write_assignment(job, err));
  return brim_log_cut(&job->folder.log, 0, err);
}

/* A run that has no first fold never began, and leaves things as they were. A failure to do so would hide what made it fail. */
static void leave_nothing(fold_job *job) {
  brim_error ignored;
  char *first = brim_path_join(job->runtime, job->folder.output, "fold-0"),
       *assignment = brim_path_join(job->runtime, job->folder.output, BRIM_FOLDS_FILE);
  int status = first && assignment && !brim_path_exists(first) ? brim_run_folder_held(&job->folder, &ignored) : BRIM_E_USAGE;
  if (!status)
    status = brim_remove_tree(job->runtime, assignment, &ignored);
  if (!status)
    status = brim_run_folder_restore(&job->folder, &ignored);
  brim_release(job->runtime, first);
  brim_release(job->runtime, assignment);
}

/* ---- events ----------------------------------------------------------------------------------------------- */

static int note(fold_job *job, const char *kind, const brim_field *fields, int count, brim_error *err) {
  const brim_event event = {kind, fields, count};
  return job->folder.output ? brim_log_append(&job->folder.log, &event, err) : BRIM_OK;
}

static int note_begin(fold_job *job, brim_error *err) {
  const brim_field fields[] = {BRIM_FIELD_INT("folds", job->folds->count), BRIM_FIELD_INT("rows", job->folds->rows),
                               BRIM_FIELD_UNSIGNED("seed", job->options->seed),
                               BRIM_FIELD_JSON("options", job->options->options_json ? job->options->options_json : "null")};
  return note(job, "folds", fields, BRIM_FIELD_COUNT(fields), err);
}

/* To the program alone, as a run without folds does. */
static int tell(const fold_job *job, const char *kind, const brim_field *fields, int count, brim_error *err) {
  const brim_event event = {kind, fields, count};
  return brim_tell(job->options->event, job->options->event_context, &event, err);
}

static int tell_found(const fold_job *job, brim_error *err) {
  brim_field fields[BRIM_FOUND_FIELDS];
  return brim_run_found_fields(&job->found, fields) ? tell(job, "folder", fields, BRIM_FOUND_FIELDS, err) : BRIM_OK;
}

/* What a held-out part, or (fold -1) all of them, are worth. */
static int note_metrics(fold_job *job, const char *kind, int64_t fold, const brim_metrics *metrics, brim_error *err) {
  brim_field fields[2 + BRIM_METRIC_FIELDS] = {BRIM_FIELD_INT("fold", fold), BRIM_FIELD_INT("rows", metrics->rows)};
  int count = 2 + brim_metrics_fields(brim_model_task(job->model), metrics, fields + 2), skipped = fold < 0;
  return note(job, kind, fields + skipped, count - skipped, err);
}

static int announce(const fold_job *job, int32_t fold, const brim_fold_result *result, brim_error *err) {
  if (!is_first_rank(job))
    return BRIM_OK;
  const brim_field fields[] = {BRIM_FIELD_INT("fold", fold), BRIM_FIELD_INT("count", job->folds->count),
                               BRIM_FIELD_INT("train_rows", result->train_rows),
                               BRIM_FIELD_INT("valid_rows", result->valid_rows)};
  return tell(job, "fold", fields, BRIM_FIELD_COUNT(fields), err);
}

/* ---- predictions ------------------------------------------------------------------------------------------ */

static brim_eval_options prediction_options(const fold_job *job) {
  brim_eval_options options;
  brim_eval_options_init(&options);
  options.max_tokens = job->options->plan.max_tokens;
  options.max_length = job->options->plan.max_length;
  options.event = job->options->event;
  options.event_context = job->options->event_context;
  return options;
}

static bool of_tokens(const fold_job *job) {
  return brim_model_shape(job->model)->outputs == BRIM_OUTPUTS_OF_TOKENS;
}

/* Rows of logits that a data set has. */
static size_t logit_count(const fold_job *job, const brim_dataset *dataset) {
  return (size_t)(of_tokens(job)                      ? brim_dataset_tokens(dataset)
                  : brim_dataset_has_windows(dataset) ? brim_dataset_rows(dataset)
                                                      : brim_dataset_texts(dataset));
}

/* Logits of the held-out rows, to their places among all rows, and what they are worth. */
static int predict_held_out(const fold_job *job, int32_t fold, const brim_dataset *valid, brim_metrics *metrics,
                            brim_error *err) {
  const brim_eval_options options = prediction_options(job);
  size_t row_bytes = job->outputs * sizeof(float);
  float *logits = brim_alloc_array(job->runtime, logit_count(job, valid), row_bytes);
  if (!logits)
    return BRIM_NOMEM(err);
  int status = brim_predict(job->runtime, job->model, valid, &options, logits, err);
  if (!status)
    status = brim_model_metrics(job->runtime, job->model, logits, valid, metrics, err);
  const float *from = logits;
  for (uint64_t row = 0; row < job->folds->rows && !status; row++) {
    const uint64_t first = job->firsts ? job->firsts[row] : row, count = job->firsts ? job->firsts[row + 1] - first : 1;
    if (job->folds->fold[row] != fold)
      continue;
    memcpy(job->result->logits + first * job->outputs, from, count * row_bytes);
    from += count * job->outputs;
  }
  brim_release(job->runtime, logits);
  return status;
}

/* Adds a model's opinion of one row: the values, or the probability of each class or label. Bare scores are values. */
static void add_opinion(const fold_job *job, const float *logits, double *opinion, float *sum) {
  const bool values = brim_model_meaning(job->model).values;
  if (!values)
    brim_task_rules_of(brim_model_task(job->model))->opinion(logits, (int32_t)job->outputs, opinion);
  for (size_t c = 0; c < job->outputs; c++)
    sum[c] += values ? logits[c] : (float)opinion[c];
}

static int predict_eval(const fold_job *job, int index, brim_error *err) {
  const brim_dataset *dataset = job->evals[index].dataset;
  const brim_eval_options options = prediction_options(job);
  const size_t rows = logit_count(job, dataset);
  float *logits = brim_alloc_array(job->runtime, rows, job->outputs * sizeof *logits);
  double *probabilities = brim_alloc_array(job->runtime, job->outputs, sizeof *probabilities);
  int status = logits && probabilities ? brim_predict(job->runtime, job->model, dataset, &options, logits, err) : BRIM_NOMEM(err);
  for (size_t row = 0; row < rows && !status; row++)
    add_opinion(job, logits + row * job->outputs, probabilities, job->result->averages[index].logits + row * job->outputs);
  brim_release(job->runtime, probabilities);
  brim_release(job->runtime, logits);
  return status;
}

/* Rows that may lack a label are measured by how their texts compare, but for those that are to be predicted. */
static bool is_measured(const fold_job *job, int index) {
  const brim_task_rules *rules = brim_task_rules_of(brim_model_task(job->model));
  const brim_dataset *dataset = job->evals[index].dataset;
  const bool asked = rules->shape.bare || index < job->eval_count - job->folds->tests;
  return brim_dataset_has_labels(dataset) || (asked && rules->check && brim_dataset_firsts(dataset));
}

static int finish_average(const fold_job *job, int index, brim_error *err) {
  brim_fold_average *average = &job->result->averages[index];
  const brim_dataset *dataset = job->evals[index].dataset;
  const brim_task_rules *rules = brim_task_rules_of(brim_model_task(job->model));
  const bool values = brim_model_meaning(job->model).values;
  for (size_t i = 0, count = logit_count(job, dataset) * job->outputs; i < count; i++) {
    const float mean = average->logits[i] / (float)job->folds->count;
    average->logits[i] = values ? mean : rules->logit(mean);
  }
  average->evaluated = is_measured(job, index);
  if (!average->evaluated)
    return BRIM_OK;
  return brim_model_metrics(job->runtime, job->model, average->logits, dataset, &average->metrics, err);
}

/* ---- one fold --------------------------------------------------------------------------------------------- */

static int train_fold(const fold_job *job, const brim_dataset *train, const brim_dataset *valid, const char *output,
                      brim_fold_result *result, brim_error *err) {
  brim_train_options options = *job->options;
  brim_named_dataset evals[MOST_EVALS + 1] = {{"valid", valid}};
  int count = 1;
  for (int i = 0; i < job->eval_count; i++)
    if (is_measured(job, i))
      evals[count++] = job->evals[i];
  options.output = output;
  BRIM_TRY(brim_model_write(job->model, BRIM_VALUES, 0, brim_model_flat_size(job->model), job->weights, err));
  return brim_train(job->runtime, job->model, job->tokenizer, train, evals, count, &options, &result->run, err);
}

static int run_fold(fold_job *job, int32_t fold, const brim_dataset *train, const brim_dataset *valid, const char *output,
                    brim_error *err) {
  brim_fold_result *result = &job->result->folds[fold];
  int status = train_fold(job, train, valid, output, result, err);
  if (!status)
    status = predict_held_out(job, fold, valid, &result->metrics, err);
  for (int i = 0; i < job->eval_count && !status; i++)
    status = predict_eval(job, i, err);
  return status ? status : note_metrics(job, "fold", fold, &result->metrics, err);
}

static int fold_parts(const fold_job *job, int32_t fold, brim_dataset **train, brim_dataset **valid, char **output,
                      brim_error *err) {
  brim_fold_result *result = &job->result->folds[fold];
  char name[32];
  snprintf(name, sizeof name, "fold-%d", (int)fold);
  if (job->options->output && !(*output = brim_path_join(job->runtime, job->options->output, name)))
    return BRIM_NOMEM(err);
  BRIM_TRY(brim_run_folder_held(&job->folder, err));
  if (*output && brim_path_is_link(*output)) /* another run would be replaced through it */
    return brim_error_at(err, BRIM_E_USAGE, *output, 0, -1, "this is a link, and a fold has its own folder: remove the link");
  BRIM_TRY(brim_folds_part(job->runtime, job->dataset, job->folds, fold, false, train, err));
  BRIM_TRY(brim_folds_part(job->runtime, job->dataset, job->folds, fold, true, valid, err));
  result->train_rows = brim_dataset_rows(*train), result->valid_rows = brim_dataset_rows(*valid);
  return announce(job, fold, result, err);
}

/* Ranks that train together begin and end a fold together. */
static int one_fold(fold_job *job, int32_t fold, brim_error *err) {
  const brim_group *group = &job->options->group;
  brim_dataset *train = NULL, *valid = NULL;
  char *output = NULL;
  int status = brim_group_agree(group, fold_parts(job, fold, &train, &valid, &output, err), err);
  if (!status)
    status = brim_group_agree(group, run_fold(job, fold, train, valid, output, err), err);
  brim_release(job->runtime, output);
  brim_dataset_free(train);
  brim_dataset_free(valid);
  return status;
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

static int make_result(fold_job *job, brim_error *err) {
  brim_folds_result *result = job->result;
  result->count = job->folds->count;
  result->folds = brim_alloc_array_zero(job->runtime, (size_t)result->count, sizeof *result->folds);
  result->logits = brim_alloc_array_zero(job->runtime, logit_count(job, job->dataset), job->outputs * sizeof *result->logits);
  result->averages = brim_alloc_array_zero(job->runtime, (size_t)job->eval_count, sizeof *result->averages);
  if (!result->folds || !result->logits || !result->averages)
    return BRIM_NOMEM(err);
  for (; result->average_count < job->eval_count; result->average_count++) {
    brim_fold_average *average = &result->averages[result->average_count];
    const brim_named_dataset *eval = &job->evals[result->average_count];
    average->name = eval->name;
    average->logits = brim_alloc_array_zero(job->runtime, logit_count(job, eval->dataset),
                                            job->outputs * sizeof *average->logits);
    if (!average->logits)
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

/* Every set as the model numbers its labels; those without labels are only predicted. */
static int fit_sets(fold_job *job, brim_error *err) {
  const int32_t cut = job->options->plan.max_length;
  brim_dataset **own = &job->mapped[MOST_EVALS];
  if (brim_model_shape(job->model)->made)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "masked words are not trained in folds");
  BRIM_TRY(brim_model_take_tokenizer(job->model, job->tokenizer, err));
  BRIM_TRY(brim_dataset_fit_of(job->runtime, job->model, job->dataset, -1, cut, true, "training data", own, err));
  job->dataset = *own ? *own : job->dataset;
  for (int i = 0; i < job->eval_count; i++) {
    brim_named_dataset *set = &job->evals[i];
    const bool labels = is_measured(job, i);
    BRIM_TRY(brim_dataset_fit_of(job->runtime, job->model, set->dataset, brim_dataset_pairs_known(job->dataset), cut, labels,
                                 set->name, &job->mapped[i], err));
    set->dataset = job->mapped[i] ? job->mapped[i] : set->dataset;
  }
  return BRIM_OK;
}

static int begin_folds(fold_job *job, brim_error *err) {
  BRIM_TRY(fit_sets(job, err));
  BRIM_TRY(make_result(job, err));
  BRIM_TRY(open_folder(job, err));
  BRIM_TRY(note_begin(job, err));
  return tell_found(job, err);
}

static int end_folds(fold_job *job, brim_error *err) {
  brim_folds_result *result = job->result;
  BRIM_TRY(brim_model_metrics(job->runtime, job->model, result->logits, job->dataset, &result->metrics, err));
  for (int i = 0; i < job->eval_count; i++)
    BRIM_TRY(finish_average(job, i, err));
  BRIM_TRY(note_metrics(job, "end", -1, &result->metrics, err));
  BRIM_TRY(brim_run_folder_held(&job->folder, err));
  BRIM_TRY(brim_run_folder_clear(&job->folder, err));
  return brim_run_folder_settle(&job->folder, err);
}

static int run_folds(fold_job *job, brim_error *err) {
  const brim_group *group = &job->options->group;
  const bool known = brim_model_tokenizer(job->model) != 0;
  const int status = brim_group_agree(group, begin_folds(job, err), err);
  if (status && !known)
    brim_model_set_tokenizer(job->model, 0); /* it may be the tokenizer that is refused */
  BRIM_TRY(status);
  for (; job->result->done < job->result->count; job->result->done++)
    BRIM_TRY(one_fold(job, job->result->done, err));
  return brim_group_agree(group, end_folds(job, err), err);
}

/* Names become names of files. */
static int check_names(const fold_job *job, brim_error *err) {
  BRIM_TRY(brim_sets_check(job->evals, job->eval_count, err));
  for (int i = 0; i < job->eval_count; i++) {
    if (strchr(job->evals[i].name, '/'))
      return brim_error_set(err, BRIM_E_USAGE, "\"%s\": a name with / cannot become a file in the run", job->evals[i].name);
    for (int j = 0; j < i; j++)
      if (strcmp(job->evals[i].name, job->evals[j].name) == 0)
        return brim_error_set(err, BRIM_E_USAGE, "two sets are named \"%s\": name them with NAME=FILE", job->evals[i].name);
  }
  return BRIM_OK;
}

static int check_job(const fold_job *job, int eval_count, brim_error *err) {
  BRIM_TRY(brim_options_json_check(job->runtime, job->options, err));
  if (job->folds->rows != brim_dataset_rows(job->dataset))
    return brim_error_set(err, BRIM_E_USAGE, "folds over %llu rows do not fit a data set of %llu rows",
                          (unsigned long long)job->folds->rows, (unsigned long long)brim_dataset_rows(job->dataset));
  if (eval_count > MOST_EVALS)
    return brim_error_set(err, BRIM_E_USAGE, "%d sets to predict: at most %d", eval_count, MOST_EVALS);
  return BRIM_OK;
}

int brim_train_folds(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, const brim_dataset *dataset,
                     const brim_folds *folds, const brim_named_dataset *evals, int eval_count, const brim_train_options *options,
                     brim_folds_result *result, brim_error *err) {
  BRIM_OUT(err, result);
  BRIM_GIVEN(err, runtime, model, dataset, folds, options);
  BRIM_ARRAY(err, evals, eval_count);
  fold_job job = {.runtime = runtime,
                  .model = model,
                  .tokenizer = tokenizer,
                  .dataset = dataset,
                  .folds = folds,
                  .options = options,
                  .result = result,
                  .folder = {.log = {.file = -1}},
                  .outputs = (size_t)brim_model_outputs(model)};
  const int pairs = brim_model_pairs(model);
  *result = (brim_folds_result){.runtime = runtime};
  BRIM_TRY(check_job(&job, eval_count, err));
  for (; job.eval_count < eval_count; job.eval_count++)
    job.evals[job.eval_count] = evals[job.eval_count];
  BRIM_TRY(check_names(&job, err));
  BRIM_TRY(brim_logit_firsts(runtime, model, dataset, &job.firsts, err));
  job.weights = brim_alloc(runtime, model_bytes(model));
  int status = job.weights ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    status = brim_model_read(model, BRIM_VALUES, 0, brim_model_flat_size(model), job.weights, err);
  if (!status)
    status = run_folds(&job, err);
  if (status && job.folder.output && !options->resume)
    leave_nothing(&job);
  brim_error ignored;
  int restored = BRIM_OK;
  if (job.weights)
    restored = brim_model_write(model, BRIM_VALUES, 0, brim_model_flat_size(model), job.weights, status ? &ignored : err);
  status = status ? status : restored;
  brim_model_set_pairs(model, pairs);
  brim_run_found_free(&job.found);
  brim_run_folder_close(&job.folder);
  for (int i = 0; i <= MOST_EVALS; i++)
    brim_dataset_free(job.mapped[i]);
  brim_release(runtime, job.weights);
  brim_release(runtime, job.firsts);
  return status;
}

void brim_folds_result_free(brim_folds_result *result) {
  if (!result || !result->runtime)
    return;
  for (int i = 0; result->averages && i < result->average_count; i++)
    brim_release(result->runtime, result->averages[i].logits);
  brim_release(result->runtime, result->averages);
  brim_release(result->runtime, result->logits);
  brim_release(result->runtime, result->folds);
  *result = (brim_folds_result){0};
}
