/* train.c: a model is trained: options, who listens, what a run gave. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct job {
  core_runtime *runtime;
  core_model *model;
  const brim_tokenizer *tokenizer;
  const brim_dataset *dataset;
  brim_named_dataset *evals;
  int eval_count;
  brim_train_options train;
  brim_train_result result;
  brim_feed *feed;   /* NULL: the dataset is what is trained on */
  PyObject *measure; /* of own metrics; NULL: there are none */
  brim_profile *profile;
  const char *trace; /* where it goes */
  int own_trace;     /* in the folder of the run, by its name there */
  core_listener listener;
  core_viewer viewer;
} job;

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
      {"precision", CORE_ENUM, offsetof(brim_train_options, precision), core_parse_precision, "fp32, bf16 or fp16"},
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
      CORE_FIELD(brim_train_options, output, CORE_PATH),
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
  const Py_ssize_t rows = (Py_ssize_t)core_outcome_count(e->dataset), outputs = brim_model_outputs(model->model);
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
  if (!thread)
    return brim_error_set(error, BRIM_E_MEMORY, "out of memory");
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
    status = (j->own_trace ? brim_profile_write_own : brim_profile_write)(j->profile, j->trace, error);
  if (j->result.interrupted)
    brim_runtime_resume(runtime); /* what the run keeps is still to be written */
  core_viewer_close(&j->viewer, status == BRIM_OK || (j->result.interrupted && (j->result.steps > 0 || j->train.resume)));
  return status;
}

/* [(name, dataset)], in memory to be freed. */
brim_named_dataset *core_named_sets(core_state *state, PyObject *list, int *count) {
  Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
  brim_named_dataset *sets = PyMem_Calloc((size_t)n + 1, sizeof *sets);
  if (!sets)
    PyErr_NoMemory();
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
 * whether its name is the folder's, without TensorBoard) */
PyObject *core_train(PyObject *module, PyObject *args) {
  PyObject *model, *tokenizer, *dataset, *evals, *plan, *options, *event, *own, *trace;
  core_state *state = core_of(module);
  int quiet;
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOOOOOOOpp", &model, &tokenizer, &dataset, &evals, &plan, &options, &event, &own, &trace,
                        &j.own_trace, &quiet) ||
      (trace != Py_None && !core_path(trace, &j.trace)))
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
