/* evaluate.c: what a model makes of rows: predict, evaluate. */
#include "core.h"

#include <stdlib.h>

typedef struct job {
  core_runtime *runtime;
  core_model *model;
  const brim_dataset *dataset;
  brim_eval_options eval;
  brim_metrics metrics;
  core_array *logits;
  int on_device; /* logits stay there: in gpu */
  brim_gpu_memory *gpu;
  core_listener listener;
  brim_judged judged;
  core_array *outcomes[5]; /* label, predicted, loss, score, label_score of each row */
  Py_ssize_t first, count; /* rows of the dataset */
} job;

bool core_parse_precision(const char *name, int *out) {
  brim_precision precision;
  bool known = brim_precision_parse(name, &precision);
  *out = (int)precision;
  return known;
}

uint64_t core_outcome_count(const brim_dataset *dataset) {
  const uint64_t rows = brim_dataset_rows(dataset), *firsts = brim_dataset_token_labels(dataset);
  return firsts ? firsts[rows] : rows;
}

static bool eval_options(PyObject *options, brim_eval_options *out) {
  static const core_field fields[] = {
      {"precision", CORE_ENUM, offsetof(brim_eval_options, precision), core_parse_precision, "fp32, bf16, fp16 or int8"}, {0}};
  brim_plan_options plan = {.batching = out->batching, .padding = out->padding, .batch_size = out->batch_size};
  if (!core_fields(options, fields, out) || !core_plan_options(options, &plan) || !core_no_more(options))
    return false;
  out->batching = plan.batching;
  out->padding = plan.padding;
  out->batch_size = plan.batch_size;
  out->max_tokens = plan.max_tokens;
  out->max_length = plan.max_length;
  return true;
}

/* All rows, or a window of them. */
static int predict_work(void *context, brim_error *error) {
  job *j = context;
  brim_runtime *runtime = j->runtime->runtime;
  brim_dataset *window = NULL;
  int status = BRIM_OK;
  if (j->eval.padding == BRIM_PAD_MAX_LENGTH && j->eval.max_length <= 0)
    j->eval.max_length = brim_dataset_longest(j->dataset); /* of all windows */
  if ((uint64_t)j->count < brim_dataset_rows(j->dataset)) {
    uint64_t *rows = malloc(((size_t)j->count + 1) * sizeof *rows);
    for (Py_ssize_t i = 0; rows && i < j->count; i++)
      rows[i] = (uint64_t)(j->first + i);
    status = rows ? brim_dataset_subset(runtime, j->dataset, rows, (uint64_t)j->count, &window, error)
                  : brim_error_set(error, BRIM_E_MEMORY, "out of memory");
    free(rows);
  }
  const brim_dataset *rows_of = window ? window : j->dataset;
  if (!status && j->on_device)
    status = brim_predict_gpu(runtime, j->model->model, rows_of, &j->eval, &j->gpu, error);
  else if (!status)
    status = brim_predict(runtime, j->model->model, rows_of, &j->eval, j->logits->data, error);
  brim_dataset_free(window);
  return status;
}

/* Where each row's texts begin, of rows that have several answers; a row's windows have one. */
static const uint64_t *several_of(const brim_dataset *dataset) {
  return brim_dataset_windows(dataset).most > 1 ? NULL : brim_dataset_firsts(dataset);
}

/* A column an outcome's part: loss and probabilities as floats. */
static void cut_outcomes(const job *j, const brim_outcome *outcomes) {
  for (Py_ssize_t i = 0; i < j->outcomes[0]->shape[0]; i++) {
    ((int32_t *)j->outcomes[0]->data)[i] = outcomes[i].label;
    ((int32_t *)j->outcomes[1]->data)[i] = outcomes[i].predicted;
    ((float *)j->outcomes[2]->data)[i] = (float)outcomes[i].loss;
    ((float *)j->outcomes[3]->data)[i] = (float)outcomes[i].score;
    ((float *)j->outcomes[4]->data)[i] = (float)outcomes[i].label_score;
  }
}

static int evaluate_work(void *context, brim_error *error) {
  job *j = context;
  const bool one = j->outcomes[0] != NULL;
  if (one)
    j->eval.outcomes = malloc(((size_t)core_outcome_count(j->dataset) + 1) * sizeof *j->eval.outcomes);
  else
    j->eval.logits = j->logits->data;
  if (one && !j->eval.outcomes)
    return brim_error_set(error, BRIM_E_MEMORY, "out of memory");
  const brim_task task = brim_model_task(j->model->model);
  int status;
  const brim_shape *shape = brim_task_shape(task);                           /* rows of several texts are judged as such */
  if (!shape->several_texts && (several_of(j->dataset) || !shape->judged)) { /* there is no answer of a row */
    j->judged = (brim_judged){.runtime = j->runtime->runtime, .task = task};
    status = brim_evaluate(j->runtime->runtime, j->model->model, j->dataset, &j->eval, &j->metrics, error);
  } else {
    status = brim_judge_dataset(j->runtime->runtime, j->model->model, j->dataset, &j->eval, &j->metrics, &j->judged, error);
  }
  if (one && status == BRIM_OK)
    cut_outcomes(j, j->eval.outcomes);
  free(j->eval.outcomes);
  return status;
}

PyObject *core_metrics_dict(const brim_metrics *m) {
  return Py_BuildValue("{sKsKsKsdsdsdsdsdsdsdsdsdsdsdsdsdsdsdsdsdsdsdsd}", "rows", (unsigned long long)m->rows, "tokens",
                       (unsigned long long)m->tokens, "slots", (unsigned long long)m->slots, "loss", m->loss, "accuracy",
                       m->accuracy, "f1", m->f1, "matthews", m->matthews, "f1_micro", m->f1_micro, "f1_macro", m->f1_macro,
                       "rmse", m->rmse, "pearson", m->pearson, "spearman", m->spearman, "entity_precision", m->entity_precision,
                       "entity_recall", m->entity_recall, "entity_f1", m->entity_f1, "spearman_dot", m->spearman_dot,
                       "spearman_euclidean", m->spearman_euclidean, "spearman_manhattan", m->spearman_manhattan,
                       "average_precision", m->average_precision, "mrr", m->mrr, "ndcg", m->ndcg, "map", m->map, "seconds",
                       m->seconds);
}

/* The common part: method(dataset, options, progress), and of predict the first row, their number, and whether logits stay on the
 * model's device. */
static bool begin(core_model *self, PyObject *args, job *j) {
  PyObject *dataset, *options, *progress;
  if (!PyArg_ParseTuple(args, "OOO|nnp", &dataset, &options, &progress, &j->first, &j->count, &j->on_device))
    return false;
  core_dataset *of = core_cast(self->state, dataset, CORE_DATASET);
  brim_eval_options_init(&j->eval);
  if (!of || !eval_options(options, &j->eval))
    return false;
  j->runtime = self->runtime;
  j->model = self;
  j->dataset = of->dataset;
  j->listener = (core_listener){
      .state = self->state, .function = progress == Py_None ? NULL : progress, .interpreter = PyInterpreterState_Get()};
  j->eval.event = core_event;
  j->eval.event_context = &j->listener;
  return core_enter(self);
}

/* Rows of logits of the rows that are asked for: one a row, or one a text, or a token. */
static Py_ssize_t logit_rows(const job *j) {
  Py_ssize_t count = 0;
  const uint64_t *firsts = several_of(j->dataset);
  if (firsts)
    return (Py_ssize_t)(firsts[j->first + j->count] - firsts[j->first]);
  if (brim_model_shape(j->model->model)->outputs != BRIM_OUTPUTS_OF_TOKENS)
    return j->count;
  for (Py_ssize_t i = 0; i < j->count; i++)
    count += brim_dataset_lengths(j->dataset)[j->first + i];
  return count;
}

PyObject *core_model_predict(PyObject *object, PyObject *args) {
  core_model *self = (core_model *)object;
  job j = {0};
  if (!begin(self, args, &j))
    return NULL;
  const bool inside = j.first >= 0 && j.count >= 0 && (uint64_t)j.first + (uint64_t)j.count <= brim_dataset_rows(j.dataset);
  if (!inside)
    PyErr_SetString(PyExc_ValueError, "there are no such rows");
  const Py_ssize_t rows = inside ? logit_rows(&j) : 0, outputs = brim_model_outputs(self->model);
  if (inside && !j.on_device)
    j.logits = CORE_NEW_ARRAY(self, 'f', rows, outputs);
  const bool ready = inside && (j.logits || j.on_device);
  int status = ready ? core_listened(&j.listener, core_run(self->state, self->runtime, predict_work, &j)) : -1;
  core_leave(self);
  if (status == BRIM_OK && j.on_device)
    return (PyObject *)core_array_on_gpu(self->state, self->module, 'f', rows, outputs, j.gpu, (PyObject *)self->runtime);
  brim_gpu_memory_free(j.gpu);
  if (status != BRIM_OK)
    Py_CLEAR(j.logits);
  return (PyObject *)j.logits;
}

/* What evaluate_work fills in. */
static bool room_for_rows(core_model *self, job *j) {
  static const char formats[] = {'i', 'i', 'f', 'f', 'f'};
  const Py_ssize_t rows = (Py_ssize_t)core_outcome_count(j->dataset);
  const uint64_t *firsts = several_of(j->dataset);
  if (!brim_model_shape(self->model)->one_class)
    return (j->logits = CORE_NEW_ARRAY(self, 'f', firsts ? (Py_ssize_t)firsts[rows] : rows, brim_model_outputs(self->model))) !=
           NULL;
  for (int i = 0; i < 5; i++)
    if (!(j->outcomes[i] = CORE_NEW_ARRAY(self, formats[i], rows, -1)))
      return false;
  return true;
}

/* evaluate(dataset, options, progress) -> (metrics, Judged, (label, predicted, loss, score, label_score) or logits) */
PyObject *core_model_evaluate(PyObject *object, PyObject *args) {
  core_model *self = (core_model *)object;
  PyObject *judged = NULL, *result = NULL;
  job j = {0};
  if (!begin(self, args, &j))
    return NULL;
  int status = room_for_rows(self, &j) ? core_listened(&j.listener, core_run(self->state, self->runtime, evaluate_work, &j)) : -1;
  core_leave(self);
  if (status == BRIM_OK)
    judged = core_judged_take(self->state, self->module, (PyObject *)self->runtime, &j.judged);
  if (judged && j.logits)
    result = Py_BuildValue("NOO", core_metrics_dict(&j.metrics), judged, j.logits);
  else if (judged)
    result = Py_BuildValue("NO(OOOOO)", core_metrics_dict(&j.metrics), judged, j.outcomes[0], j.outcomes[1], j.outcomes[2],
                           j.outcomes[3], j.outcomes[4]);
  brim_judged_free(&j.judged);
  Py_XDECREF(judged);
  Py_XDECREF((PyObject *)j.logits);
  for (int i = 0; i < 5; i++)
    Py_XDECREF((PyObject *)j.outcomes[i]);
  return result;
}
