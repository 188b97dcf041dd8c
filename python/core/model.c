/* model.c: load, train, evaluate, predict, save. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct job {
  core_runtime *runtime;
  core_model *model;
  const char *path;
  brim_model_options load;
  brim_model *loaded;
  const brim_tokenizer *tokenizer;
  const brim_dataset *dataset;
  brim_named_dataset *evals;
  int eval_count;
  brim_eval_options eval;
  brim_train_options train;
  brim_train_result result;
  brim_feed *feed;   /* NULL: the dataset is what is trained on */
  PyObject *measure; /* of own metrics; NULL: there are none */
  brim_profile *profile;
  const char *trace; /* where it goes */
  brim_metrics metrics;
  core_array *logits;
  int on_device; /* logits stay there: in gpu */
  brim_gpu_memory *gpu;
  core_listener listener;
  core_viewer viewer;
  brim_judged judged;
  core_array *outcomes[5]; /* label, predicted, loss, score, label_score of each row */
  Py_ssize_t first, count; /* rows of the dataset */
} job;

/* ---- loading and saving ----------------------------------------------------------------------------------- */

static int load_work(void *context, brim_error *error) {
  job *j = context;
  return brim_model_load(j->runtime->runtime, j->path, &j->load, &j->loaded, error);
}

static int save_work(void *context, brim_error *error) {
  job *j = context;
  int status = brim_make_folder(j->runtime->runtime, j->path, error);
  return status == BRIM_OK ? brim_model_save(j->model->model, j->path, error) : status;
}

static bool parse_pooling(const char *name, int *out) {
  brim_pooling pooling;
  bool known = brim_pooling_parse(name, &pooling);
  *out = (int)pooling;
  return known;
}

static bool parse_device(const char *name, int *out) {
  const bool cuda = strcmp(name, "cuda") == 0;
  *out = cuda ? BRIM_DEVICE_CUDA : BRIM_DEVICE_CPU;
  return cuda || strcmp(name, "cpu") == 0;
}

/* model(runtime, path, dataset or labels or None, options) */
PyObject *core_model_make(PyObject *module, PyObject *args) {
  static const core_field fields[] = {CORE_FIELD(brim_model_options, seed, CORE_U64),
                                      CORE_FIELD(brim_model_options, kernels, CORE_TEXT),
                                      CORE_FIELD(brim_model_options, no_type_ids, CORE_BOOL),
                                      CORE_FIELD(brim_model_options, reinit_layers, CORE_I32),
                                      CORE_FIELD(brim_model_options, layers, CORE_TEXT),
                                      CORE_FIELD(brim_model_options, dense, CORE_I32),
                                      CORE_FIELD(brim_model_options, dense_activation, CORE_TEXT),
                                      CORE_FIELD(brim_model_options, card, CORE_I32),
                                      CORE_FIELD(brim_model_options, tf32, CORE_BOOL),
                                      {"pooling", CORE_ENUM, offsetof(brim_model_options, pooling), parse_pooling,
                                       "cls, mean, max, mean-sqrt, weighted-mean or last, or several with commas between"},
                                      {"device", CORE_ENUM, offsetof(brim_model_options, device), parse_device, "cpu or cuda"},
                                      {0}};
  PyObject *runtime, *labels, *options;
  job j = {0};
  if (!PyArg_ParseTuple(args, "OsOO", &runtime, &j.path, &labels, &options))
    return NULL;
  core_state *state = core_of(module);
  j.runtime = core_cast(state, runtime, CORE_RUNTIME);
  if (!j.runtime || !core_fields(options, fields, &j.load) || !core_no_more(options) ||
      !core_known_labels(state, labels, &j.load.labels))
    return NULL;
  int status = core_run(state, j.runtime, load_work, &j);
  core_model *self = status == BRIM_OK ? core_new(state, module, CORE_MODEL, runtime, NULL, NULL) : NULL;
  if (!self) {
    brim_model_free(j.loaded);
    return NULL;
  }
  self->runtime = j.runtime;
  self->model = j.loaded;
  self->values = brim_model_values(j.loaded);
  self->copies = self->values == NULL;
  return (PyObject *)self;
}

/* describe(runtime, path) -> {type, task, max_length, vocab_size, type_count, made_for, made_length}: what the folder says;
 * weights are not read. */
PyObject *core_describe(PyObject *module, PyObject *args) {
  PyObject *runtime;
  const char *path;
  brim_model_info info;
  brim_error error;
  if (!PyArg_ParseTuple(args, "Os", &runtime, &path))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of)
    return NULL;
  int status = brim_model_describe(core_use(of), path, &info, &error);
  if (status != BRIM_OK)
    return core_fail(core_of(module), status, &error);
  char name[BRIM_POOLING_NAME];
  const char *made_for = info.made_for == BRIM_POOLING_CONFIG ? NULL : brim_pooling_name(info.made_for, name);
  return Py_BuildValue("{siszsssssisisi}", "made_length", (int)info.made_length, "made_for", made_for, "task",
                       core_task_name(info.task), "type", info.type, "max_length", (int)info.max_length, "vocab_size",
                       (int)info.vocab_size, "type_count", (int)info.type_count);
}

static PyObject *save(PyObject *object, PyObject *folder) {
  core_model *self = (core_model *)object;
  job j = {.runtime = self->runtime, .model = self};
  if (!PyArg_Parse(folder, "s", &j.path) || !core_enter(self))
    return NULL;
  int status = core_run(self->state, self->runtime, save_work, &j);
  core_leave(self);
  if (status != BRIM_OK)
    return NULL;
  Py_RETURN_NONE;
}

/* ---- evaluation ------------------------------------------------------------------------------------------- */

static bool parse_precision(const char *name, int *out) {
  brim_precision precision;
  bool known = brim_precision_parse(name, &precision);
  *out = (int)precision;
  return known;
}

static bool eval_options(PyObject *options, brim_eval_options *out) {
  static const core_field fields[] = {
      {"precision", CORE_ENUM, offsetof(brim_eval_options, precision), parse_precision, "fp32, bf16, fp16 or int8"}, {0}};
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

/* One a row, or one a labelled token. */
static uint64_t outcome_count(const brim_dataset *dataset) {
  const uint64_t rows = brim_dataset_rows(dataset), *firsts = brim_dataset_token_labels(dataset);
  return firsts ? firsts[rows] : rows;
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
  const bool one = brim_model_shape(j->model->model)->one_class;
  if (one)
    j->eval.outcomes = malloc(((size_t)outcome_count(j->dataset) + 1) * sizeof *j->eval.outcomes);
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

static PyObject *predict(PyObject *object, PyObject *args) {
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
  const Py_ssize_t rows = (Py_ssize_t)outcome_count(j->dataset);
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
static PyObject *evaluate(PyObject *object, PyObject *args) {
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

/* ---- training --------------------------------------------------------------------------------------------- */

static bool parse_schedule(const char *name, int *out) {
  brim_schedule schedule;
  bool known = brim_schedule_parse(name, &schedule);
  *out = (int)schedule;
  return known;
}

static bool parse_final(const char *name, int *out) {
  brim_final final;
  bool known = brim_final_parse(name, &final);
  *out = (int) final;
  return known;
}

static bool parse_rhythm(const char *name, int *out) {
  static const char *const names[] = {"epoch", "steps", "no", NULL};
  return core_named(names, name, out);
}

bool core_train_options(PyObject *options, brim_train_options *out) {
  static const core_field fields[] = {
      CORE_FIELD(brim_train_options, epochs, CORE_REAL),
      CORE_FIELD(brim_train_options, max_steps, CORE_U64),
      CORE_FIELD(brim_train_options, freeze, CORE_TEXT),
      CORE_FIELD(brim_train_options, train_only, CORE_TEXT),
      CORE_FIELD(brim_train_options, checkpoint_activations, CORE_BOOL),
      {"precision", CORE_ENUM, offsetof(brim_train_options, precision), parse_precision, "fp32, bf16 or fp16"},
      CORE_FIELD(brim_train_options, memory_limit, CORE_U64),
      CORE_FIELD(brim_train_options, swa_start, CORE_REAL),
      CORE_FIELD(brim_train_options, swa_every, CORE_U64),
      CORE_FIELD(brim_train_options, lr, CORE_REAL),
      CORE_FIELD(brim_train_options, layer_lr_decay, CORE_REAL),
      CORE_FIELD(brim_train_options, class_weights, CORE_TEXT),
      CORE_FIELD(brim_train_options, mask_rate, CORE_TEXT),
      CORE_FIELD(brim_train_options, label_smoothing, CORE_REAL),
      CORE_FIELD(brim_train_options, loss_scale, CORE_REAL),
      CORE_FIELD(brim_train_options, loss_scale_steps, CORE_U64),
      CORE_FIELD(brim_train_options, patience, CORE_U64),
      CORE_FIELD(brim_train_options, min_delta, CORE_REAL),
      {"eval_batch_size", CORE_I64, offsetof(brim_train_options, eval.batch_size), NULL},
      {"eval_max_tokens", CORE_I64, offsetof(brim_train_options, eval.max_tokens), NULL},
      {"eval_batching", CORE_ENUM, offsetof(brim_train_options, eval.batching), core_parse_batching,
       "sequential, random, uniform, sorted, bucketed or packed"},
      {"eval_padding", CORE_ENUM, offsetof(brim_train_options, eval.padding), core_parse_padding, "none, longest or max_length"},
      CORE_FIELD(brim_train_options, beta1, CORE_REAL),
      CORE_FIELD(brim_train_options, beta2, CORE_REAL),
      CORE_FIELD(brim_train_options, eps, CORE_REAL),
      CORE_FIELD(brim_train_options, optimizer, CORE_TEXT),
      CORE_FIELD(brim_train_options, momentum, CORE_REAL),
      CORE_FIELD(brim_train_options, decay_towards, CORE_TEXT),
      CORE_FIELD(brim_train_options, mixout, CORE_REAL),
      CORE_FIELD(brim_train_options, weight_decay, CORE_REAL),
      CORE_FIELD(brim_train_options, clip, CORE_REAL),
      {"schedule", CORE_ENUM, offsetof(brim_train_options, schedule), parse_schedule, "linear, cosine or constant"},
      CORE_FIELD(brim_train_options, warmup_steps, CORE_U64),
      CORE_FIELD(brim_train_options, warmup_ratio, CORE_REAL),
      CORE_FIELD(brim_train_options, log_every, CORE_U64),
      CORE_FIELD(brim_train_options, eval_every, CORE_U64),
      CORE_FIELD(brim_train_options, save_every, CORE_U64),
      CORE_FIELD(brim_train_options, keep_checkpoints, CORE_I32),
      CORE_FIELD(brim_train_options, best_metric, CORE_TEXT),
      CORE_FIELD(brim_train_options, best_is_small, CORE_BOOL),
      {"keep", CORE_ENUM, offsetof(brim_train_options, final), parse_final, "best or last"},
      {"eval_when", CORE_ENUM, offsetof(brim_train_options, eval_when), parse_rhythm, "epoch, steps or no"},
      {"save_when", CORE_ENUM, offsetof(brim_train_options, save_when), parse_rhythm, "epoch, steps or no"},
      CORE_FIELD(brim_train_options, resume, CORE_BOOL),
      CORE_FIELD(brim_train_options, resume_anyway, CORE_BOOL),
      CORE_FIELD(brim_train_options, overwrite, CORE_BOOL),
      CORE_FIELD(brim_train_options, seed, CORE_U64),
      CORE_FIELD(brim_train_options, output, CORE_TEXT),
      CORE_FIELD(brim_train_options, options_json, CORE_TEXT),
      {"loss", CORE_TEXT, offsetof(brim_train_options, loss.name), NULL},
      {"scale", CORE_REAL, offsetof(brim_train_options, loss.scale), NULL},
      {"margin", CORE_REAL, offsetof(brim_train_options, loss.margin), NULL},
      {"temperature", CORE_REAL, offsetof(brim_train_options, loss.temperature), NULL},
      {"positive_weight", CORE_REAL, offsetof(brim_train_options, loss.positive_weight), NULL},
      {"distance", CORE_TEXT, offsetof(brim_train_options, loss.distance), NULL},
      {"directions", CORE_TEXT, offsetof(brim_train_options, loss.directions), NULL},
      {"partition", CORE_TEXT, offsetof(brim_train_options, loss.partition), NULL},
      {"similarity", CORE_TEXT, offsetof(brim_train_options, loss.similarity), NULL},
      {"hardness", CORE_TEXT, offsetof(brim_train_options, loss.hardness), NULL},
      {"hardness_strength", CORE_REAL, offsetof(brim_train_options, loss.hardness_strength), NULL},
      {"matryoshka", CORE_TEXT, offsetof(brim_train_options, loss.matryoshka), NULL},
      {"matryoshka_weights", CORE_TEXT, offsetof(brim_train_options, loss.matryoshka_weights), NULL},
      {0}};
  return core_fields(options, fields, out);
}

/* The caller's function, and what the run keeps of itself. */
static int on_event(void *context, const brim_event *event) {
  job *j = context;
  (void)brim_views_event(j->viewer.views, event);
  return core_event(&j->listener, event);
}

static void on_evaluated(void *context, const brim_evaluation *evaluation) {
  brim_views_evaluated(((job *)context)->viewer.views, evaluation);
}

/* Labels of an evaluation as Python sees them: classes of rows or tokens, or the values of each row. */
static core_array *labels_of(core_model *self, const brim_evaluation *e, Py_ssize_t rows) {
  if (e->outcomes) {
    core_array *classes = CORE_NEW_ARRAY(self, 'i', rows, -1);
    for (Py_ssize_t i = 0; classes && i < rows; i++)
      ((int32_t *)classes->data)[i] = e->outcomes[i].label;
    return classes;
  }
  const int32_t width = brim_labels_width(brim_dataset_labels(e->dataset));
  core_array *values = CORE_NEW_ARRAY(self, 'f', rows, width > 1 ? width : -1);
  for (Py_ssize_t i = 0; values && i < rows; i++) {
    brim_sample sample;
    brim_dataset_sample(e->dataset, (uint64_t)i, &sample);
    memcpy((float *)values->data + i * width, sample.labels, (size_t)width * sizeof(float));
  }
  return values;
}

/* [(name, number)] of a list into metrics; false with an exception. */
static bool take_metrics(PyObject *list, brim_own_metric *metrics, int *count) {
  const Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
  if (n > BRIM_MOST_OWN_METRICS)
    return PyErr_Format(PyExc_ValueError, "compute_metrics: at most %d metrics, not %zd", (int)BRIM_MOST_OWN_METRICS, n) != NULL;
  for (Py_ssize_t i = 0; i < n; i++) {
    const char *name;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sd", &name, &metrics[i].value))
      return false;
    if (strlen(name) >= sizeof metrics->name)
      return PyErr_Format(PyExc_ValueError, "compute_metrics: the name \"%s\" is too long", name) != NULL;
    snprintf(metrics[i].name, sizeof metrics->name, "%s", name);
  }
  *count = (int)n;
  return true;
}

static void measure(core_model *model, PyObject *function, const brim_evaluation *e, brim_own_metric *metrics, int *count) {
  const Py_ssize_t rows = (Py_ssize_t)outcome_count(e->dataset), outputs = brim_model_outputs(model->model);
  core_array *logits = CORE_NEW_ARRAY(model, 'f', rows, outputs), *labels = logits ? labels_of(model, e, rows) : NULL;
  if (labels)
    memcpy(logits->data, e->logits, (size_t)(rows * outputs) * sizeof(float));
  PyObject *list = labels ? PyObject_CallFunction(function, "sKOO", e->name, (unsigned long long)e->step, logits, labels) : NULL;
  (void)(list && take_metrics(list, metrics, count));
  Py_XDECREF(list);
  Py_XDECREF((PyObject *)labels);
  Py_XDECREF((PyObject *)logits);
}

int core_own_metrics(core_listener *listener, core_model *model, PyObject *function, const brim_evaluation *evaluation,
                     brim_own_metric *metrics, int *count, brim_error *error) {
  PyThreadState *thread = core_enter_python(listener);
  measure(model, function, evaluation, metrics, count);
  return core_leave_python(listener, thread) ? BRIM_OK : brim_error_set(error, BRIM_E_USAGE, "compute_metrics failed");
}

static int on_own_metrics(void *context, const brim_evaluation *evaluation, brim_own_metric *metrics, int *count,
                          brim_error *error) {
  job *j = context;
  return core_own_metrics(&j->listener, j->model, j->measure, evaluation, metrics, count, error);
}

static int train_rows(job *j, brim_error *error) {
  brim_runtime *runtime = j->runtime->runtime;
  if (j->feed)
    return brim_train_feed(runtime, j->model->model, j->tokenizer, j->feed, j->evals, j->eval_count, &j->train, &j->result,
                           error);
  return brim_train(runtime, j->model->model, j->tokenizer, j->dataset, j->evals, j->eval_count, &j->train, &j->result, error);
}

static int train_work(void *context, brim_error *error) {
  job *j = context;
  brim_runtime *runtime = j->runtime->runtime;
  const bool writes = j->train.group.rank == 0;
  int status = core_viewer_open(&j->viewer, runtime, writes ? j->train.output : NULL, error);
  if (status != BRIM_OK)
    return status;
  status = j->trace ? brim_profile_new(runtime, &j->profile, error) : BRIM_OK;
  j->train.profile = j->profile;
  if (status == BRIM_OK)
    status = train_rows(j, error);
  if (status == BRIM_OK && j->profile)
    status = brim_profile_write(j->profile, j->trace, error);
  if (j->result.interrupted)
    brim_runtime_resume(runtime); /* what the run keeps is still to be written */
  core_viewer_close(&j->viewer, status == BRIM_OK || (j->result.interrupted && (j->result.steps > 0 || j->train.resume)));
  return status;
}

/* [(name, dataset)], in memory to be freed. */
brim_named_dataset *core_named_sets(core_state *state, PyObject *list, int *count) {
  Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
  brim_named_dataset *sets = PyMem_Calloc((size_t)n + 1, sizeof *sets);
  for (Py_ssize_t i = 0; sets && i < n; i++) {
    PyObject *dataset;
    core_dataset *of = NULL;
    if (PyArg_ParseTuple(PyList_GetItem(list, i), "sO", &sets[i].name, &dataset))
      of = core_cast(state, dataset, CORE_DATASET);
    if (!of) {
      PyMem_Free(sets);
      return NULL;
    }
    sets[i].dataset = of->dataset;
  }
  *count = (int)n;
  return sets;
}

/* [(name, kind of work, calls, seconds, operations)] */
static PyObject *profile_list(const brim_profile *profile) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && profile && i < brim_profile_row_count(profile); i++) {
    const brim_profile_row *row = brim_profile_row_at(profile, i);
    PyObject *item = Py_BuildValue("(ssKdd)", row->name, brim_work_name(row->work), (unsigned long long)row->calls, row->seconds,
                                   row->flops);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *result_dict(core_state *state, PyObject *module, job *j) {
  const brim_train_result *r = &j->result;
  PyObject *judged = core_judged_list(state, module, (PyObject *)j->runtime, j->viewer.sets, j->viewer.count);
  return Py_BuildValue("{szsNsNsNsKsKsKsKsdsdsdsKsKsKsOsOsO}", "metric", r->metric, "profile", profile_list(j->profile), "judged",
                       judged, "notes", PyUnicode_DecodeUTF8(j->viewer.said, (Py_ssize_t)strlen(j->viewer.said), "replace"),
                       "steps", (unsigned long long)r->steps, "rows", (unsigned long long)r->rows, "tokens",
                       (unsigned long long)r->tokens, "slots", (unsigned long long)r->slots, "loss", r->loss, "seconds",
                       r->seconds, "best_metric", r->best_metric, "best_step", (unsigned long long)r->best_step, "model_step",
                       (unsigned long long)r->model_step, "averaged", (unsigned long long)r->averaged, "stopped_early",
                       r->stopped_early ? Py_True : Py_False, "resumed", r->resumed ? Py_True : Py_False, "interrupted",
                       r->interrupted ? Py_True : Py_False);
}

/* Rows in memory, or a feed that is open in this process. */
static bool take_rows(core_state *state, PyObject *rows, job *j) {
  if (!Py_IS_TYPE(rows, state->types[CORE_FEED])) {
    core_dataset *dataset = core_cast(state, rows, CORE_DATASET);
    j->dataset = dataset ? dataset->dataset : NULL;
    return dataset != NULL;
  }
  core_feed *feed = (core_feed *)rows;
  j->feed = feed->pid == (long)getpid() ? feed->feed : NULL;
  if (!j->feed)
    PyErr_SetString(PyExc_RuntimeError, "the stream is closed, or was opened before a fork");
  return j->feed != NULL;
}

/* train(model, tokenizer or None, dataset or feed, evals, plan options, options, event, own metrics or None, trace or None,
 * without TensorBoard) */
PyObject *core_train(PyObject *module, PyObject *args) {
  PyObject *model, *tokenizer, *dataset, *evals, *plan, *options, *event, *own;
  core_state *state = core_of(module);
  int quiet;
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOOOOOOzp", &model, &tokenizer, &dataset, &evals, &plan, &options, &event, &own, &j.trace,
                        &quiet))
    return NULL;
  j.viewer.quiet = quiet;
  j.model = core_cast(state, model, CORE_MODEL);
  const bool rows = j.model && take_rows(state, dataset, &j);
  core_tokenizer *words = rows && tokenizer != Py_None ? core_cast(state, tokenizer, CORE_TOKENIZER) : NULL;
  brim_train_options_init(&j.train);
  if (PyErr_Occurred() || !core_plan_options(plan, &j.train.plan) || !core_no_more(plan) ||
      !core_train_options(options, &j.train) || !core_no_more(options))
    return NULL;
  j.train.group = core_group();
  j.runtime = j.model->runtime;
  j.tokenizer = words ? words->tokenizer : NULL;
  j.measure = own == Py_None ? NULL : own;
  j.train.own_metrics = j.measure ? on_own_metrics : NULL;
  j.listener = (core_listener){.state = state,
                               .function = event == Py_None ? NULL : event,
                               .trains = true,
                               .interpreter = PyInterpreterState_Get(),
                               .telling = &j.model->telling};
  j.train.event = on_event;
  j.train.evaluated = on_evaluated;
  j.train.event_context = &j;
  j.evals = core_named_sets(state, evals, &j.eval_count);
  if (!j.evals || !core_enter(j.model)) {
    PyMem_Free(j.evals);
    return NULL;
  }
  const bool free_feed = !j.feed || core_enter(dataset);
  int status = free_feed ? core_listened(&j.listener, core_run(state, j.runtime, train_work, &j)) : -1;
  if (j.feed && free_feed)
    core_leave(dataset);
  core_leave(j.model);
  PyMem_Free(j.evals);
  PyObject *result = status == BRIM_OK ? result_dict(state, module, &j) : NULL;
  for (int i = 0; i < j.viewer.count; i++)
    brim_judged_free(&j.viewer.sets[i]);
  free(j.viewer.sets);
  brim_profile_free(j.profile);
  return result;
}

/* ---- what it is ------------------------------------------------------------------------------------------- */

static PyObject *names_of(const brim_model *m, int count, const char *(*name)(const brim_model *, int)) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++) {
    PyObject *one = PyUnicode_FromString(name(m, i));
    if (!one || PyList_Append(list, one) < 0)
      Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}

/* Classes that the folder's config.json names otherwise. */
static PyObject *former_classes(const brim_model *m) {
  PyObject *list = PyList_New(0);
  const char *name;
  for (int32_t i = 0; list && (name = brim_model_former_class(m, i)) != NULL; i++) {
    PyObject *one = PyUnicode_FromString(name);
    if (!one || PyList_Append(list, one) < 0)
      Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}

static PyObject *facts(PyObject *object, PyObject *nothing) {
  (void)nothing;
  const brim_model *m = ((core_model *)object)->model;
  char pooling[BRIM_POOLING_NAME];
  return Py_BuildValue("{sOsNsNsNsssssisisisisssNsOsssz}", "bare", brim_model_scores_bare(m) ? Py_True : Py_False, "unused",
                       names_of(m, brim_model_unused_count(m), brim_model_unused_name), "new",
                       names_of(m, brim_model_initialized_count(m), brim_model_initialized_name), "former", former_classes(m),
                       "pooling", brim_pooling_name(brim_model_pooling(m), pooling), "type", brim_model_type(m), "max_length",
                       (int)brim_model_max_length(m), "vocab_size", (int)brim_model_vocab_size(m), "hidden_size",
                       (int)brim_model_hidden_size(m), "outputs", (int)brim_model_outputs(m), "task",
                       core_task_name(brim_model_task(m)), "labels", core_label_names(brim_model_labels(m)), "strings",
                       brim_model_labels(m)->strings ? Py_True : Py_False, "kernels", brim_model_kernels(m), "untrained",
                       brim_model_initialized_count(m) ? brim_model_initialized_name(m, 0) : NULL);
}

/* Nobody computes with the model now: it is not in use, or waits for a function that an event was told to. */
static bool rests(const core_model *self) {
  return !self->busy || self->telling;
}

/* Of a model on another device: its weights as they are, in memory that stays where it is. */
static bool read_copy(core_model *self) {
  const int64_t count = brim_model_flat_size(self->model);
  brim_error error;
  if (!self->values)
    self->values = malloc((size_t)count * sizeof *self->values);
  if (!self->values) {
    PyErr_NoMemory();
    return false;
  }
  const int status = brim_model_read(self->model, BRIM_VALUES, 0, count, self->values, &error);
  if (status != BRIM_OK)
    core_fail(self->state, status, &error);
  return status == BRIM_OK;
}

static bool write_copy(core_model *self) {
  brim_error error;
  const int status = !self->values
                         ? BRIM_OK
                         : brim_model_write(self->model, BRIM_VALUES, 0, brim_model_flat_size(self->model), self->values, &error);
  if (status != BRIM_OK)
    core_fail(self->state, status, &error);
  return status == BRIM_OK;
}

/* [(name, array)]: the arrays share the model's memory, which training changes, or that of its copy. */
static PyObject *parameters(PyObject *object, PyObject *nothing) {
  core_model *self = (core_model *)object;
  (void)nothing;
  if (rests(self))
    brim_model_catch_up(self->model);
  if (self->copies && !read_copy(self))
    return NULL;
  PyObject *list = PyList_New(0);
  for (int32_t i = 0; list && i < brim_model_parameter_count(self->model); i++) {
    const brim_parameter *p = brim_model_parameter(self->model, i);
    core_array *values = core_array_new(self->state, self->module, 'f', (Py_ssize_t)p->shape[0],
                                        p->rank == 2 ? (Py_ssize_t)p->shape[1] : -1, self->values + p->offset, object, false);
    PyObject *item = Py_BuildValue("(sN)", p->name, values);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* To be called after the arrays of parameters() were written to. */
static PyObject *written(PyObject *object, PyObject *nothing) {
  core_model *self = (core_model *)object;
  (void)nothing;
  if (!rests(self)) {
    core_enter(self); /* raises what it raises for a busy object */
    return NULL;
  }
  if (self->copies && !write_copy(self))
    return NULL;
  brim_model_state_written(self->model);
  Py_RETURN_NONE;
}

/* encodes_with(tokenizer): rows that another one encoded are refused from now on. */
static PyObject *encodes_with(PyObject *object, PyObject *tokenizer) {
  core_model *self = (core_model *)object;
  core_tokenizer *of = core_cast(self->state, tokenizer, CORE_TOKENIZER);
  uint64_t content;
  brim_error error;
  if (!of)
    return NULL;
  const int status = brim_tokenizer_content(of->tokenizer, brim_model_shape(self->model)->words, &content, &error);
  if (status != BRIM_OK)
    return core_fail(self->state, status, &error);
  brim_model_set_tokenizer(self->model, content);
  Py_RETURN_NONE;
}

/* What (first, others, by column) and the names of columns, lists of strings, mean in a folder. False: an exception is set. */
static bool find_prompts(core_state *state, brim_runtime *runtime, const char *folder, PyObject *wanted, PyObject *columns,
                         brim_prompts *out) {
  const char *first, *others;
  Py_ssize_t given_count, count;
  PyObject *by_column;
  brim_error error;
  *out = (brim_prompts){0};
  if (!PyArg_ParseTuple(wanted, "zzO", &first, &others, &by_column))
    return false;
  const char **given = core_strings(by_column, &given_count), **names = given ? core_strings(columns, &count) : NULL;
  int status = BRIM_OK;
  if (names) {
    status = brim_prompts_find(runtime, folder, first, others, out, &error);
    out->runtime = runtime;
    if (status == BRIM_OK)
      status = brim_prompts_of_columns(out, folder, given, (int)given_count, names, (int)count, &error);
  }
  PyMem_Free(given);
  PyMem_Free(names);
  if (status != BRIM_OK)
    core_fail(state, status, &error);
  return names && status == BRIM_OK;
}

/* prompts(tokenizer, folder, wanted, columns): what rows' texts begin with, which what is saved keeps. */
static PyObject *prompts(PyObject *object, PyObject *args) {
  core_model *self = (core_model *)object;
  PyObject *tokenizer, *wanted, *columns;
  const char *folder;
  brim_prompts found;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OsOO", &tokenizer, &folder, &wanted, &columns))
    return NULL;
  core_tokenizer *of = core_cast(self->state, tokenizer, CORE_TOKENIZER);
  if (!of || !find_prompts(self->state, core_use(self->runtime), folder, wanted, columns, &found))
    return NULL;
  const int status = brim_prompts_use(&found, of->tokenizer, self->model, &error);
  brim_prompts_free(&found);
  if (status != BRIM_OK)
    return core_fail(self->state, status, &error);
  Py_RETURN_NONE;
}

/* prompts(runtime, folder, wanted, columns) -> what each text of a row begins with, or None */
PyObject *core_prompts_find(PyObject *module, PyObject *args) {
  PyObject *runtime, *wanted, *columns;
  const char *folder;
  brim_prompts found;
  if (!PyArg_ParseTuple(args, "OsOO", &runtime, &folder, &wanted, &columns))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of || !find_prompts(core_of(module), core_use(of), folder, wanted, columns, &found))
    return NULL;
  PyObject *texts = PyList_New(BRIM_MOST_PROMPTS);
  for (int i = 0; i < BRIM_MOST_PROMPTS && texts; i++) {
    PyObject *text = found.texts[i] ? PyUnicode_FromString(found.texts[i]) : Py_NewRef(Py_None);
    if (!text || PyList_SetItem(texts, i, text) != 0)
      Py_CLEAR(texts);
  }
  brim_prompts_free(&found);
  return texts;
}

static void destroy(PyObject *object) {
  core_model *self = (core_model *)object;
  brim_model_free(self->model);
  if (self->copies)
    free(self->values);
  core_drop(object);
}

static PyMethodDef methods[] = {{"save", save, METH_O, NULL},
                                {"predict", predict, METH_VARARGS, NULL},
                                {"evaluate", evaluate, METH_VARARGS, NULL},
                                {"facts", facts, METH_NOARGS, NULL},
                                {"encodes_with", encodes_with, METH_O, NULL},
                                {"prompts", prompts, METH_VARARGS, NULL},
                                {"parameters", parameters, METH_NOARGS, NULL},
                                {"written", written, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec core_model_spec = {.name = "brim._core.Model",
                               .basicsize = sizeof(core_model),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
