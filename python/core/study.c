/* study.c: comparisons of batchings, analyses of data, training in folds. */
#include "core.h"

#include <stdio.h>
#include <string.h>

enum { MOST_MODES = BRIM_MOST_MODES };

typedef struct job {
  core_runtime *runtime;
  core_model *model;
  const brim_tokenizer *tokenizer; /* NULL: lengths are not studied */
  const brim_dataset *dataset, *eval;
  brim_named_dataset *evals;
  int eval_count, tests;
  brim_train_options train;
  core_listener listener;
  brim_mode modes[MOST_MODES];
  brim_train_options own[MOST_MODES]; /* options of each mode */
  brim_mode_result results[MOST_MODES];
  brim_mode_curve curves[MOST_MODES];
  int mode_count, turn; /* whose turn it is */
  brim_study study;
  brim_windowing windows;
  brim_length_study at_length[BRIM_MOST_LENGTHS];
  int length_count;
  const core_array *given; /* the fold of each row; NULL: they are drawn */
  const char **paths;      /* whose column says it */
  Py_ssize_t path_count;
  const char *fold_column;
  brim_source_options source;
  PyObject *text_columns; /* holds the source's */
  int32_t fold_count;
  unsigned long long fold_seed;
  int stratify;
  brim_folds folds;
  brim_folds_result folded;
  core_viewer viewer; /* of the present fold */
  PyObject *measure;  /* of own metrics; NULL: there are none */
} job;

static int on_event(void *context, const brim_event *event) {
  return core_event(&((job *)context)->listener, event);
}

/* The common part of what trains: options and who listens. */
static bool begin(core_state *state, job *j, PyObject *plan, PyObject *options, PyObject *event) {
  brim_train_options_init(&j->train);
  if (!core_plan_options(plan, &j->train.plan) || !core_no_more(plan) || !core_train_options(options, &j->train) ||
      !core_no_more(options))
    return false;
  j->runtime = j->model->runtime;
  j->listener = (core_listener){.state = state,
                                .function = event == Py_None ? NULL : event,
                                .trains = true,
                                .interpreter = PyInterpreterState_Get(),
                                .telling = &j->model->telling};
  j->train.event = on_event;
  j->train.event_context = j;
  return true;
}

/* ---- compare ---------------------------------------------------------------------------------------------- */

static int on_mode_event(void *context, const brim_event *event) {
  job *j = context;
  brim_error error;
  const brim_field *index = strcmp(event->kind, "mode") == 0 ? brim_event_field(event, "index") : NULL;
  if (index)
    j->turn = (int)index->integer;
  if (brim_mode_curve_add(j->runtime->runtime, &j->curves[j->turn], event, &error))
    return BRIM_E_MEMORY;
  return on_event(context, event);
}

static int compare_work(void *context, brim_error *error) {
  job *j = context;
  j->train.event = on_mode_event;
  return brim_compare(j->runtime->runtime, j->model->model, j->dataset, j->eval, &j->train, j->modes, j->mode_count, j->results,
                      error);
}

/* [(name, batching, padding, plan options, options)] */
static bool read_modes(job *j, PyObject *list) {
  const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;
  if (count < 1 || count > MOST_MODES)
    return PyErr_Format(PyExc_ValueError, "expected 1 to %d modes to compare", MOST_MODES) != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    const char *batching, *padding;
    PyObject *plan, *options;
    brim_train_options *own = &j->own[i];
    int chosen[2];
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sssOO", &j->modes[i].name, &batching, &padding, &plan, &options))
      return false;
    brim_train_options_init(own);
    if (!core_plan_options(plan, &own->plan) || !core_no_more(plan) || !core_train_options(options, own) ||
        !core_no_more(options))
      return false;
    if (!core_parse_batching(batching, &chosen[0]) || !core_parse_padding(padding, &chosen[1]))
      return PyErr_Format(PyExc_ValueError, "there is no mode %s+%s", batching, padding) != NULL;
    j->modes[i].batching = (brim_batching)chosen[0];
    j->modes[i].padding = (brim_padding)chosen[1];
    j->modes[i].options = own;
  }
  j->mode_count = (int)count;
  return true;
}

static PyObject *number_list(const double *values, size_t count) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *value = PyFloat_FromDouble(values[i]);
    if (!value || PyList_SetItem(list, (Py_ssize_t)i, value) < 0)
      Py_CLEAR(list);
  }
  return list;
}

/* [(steps, tokens, slots, seconds, speed)] */
static PyObject *round_list(const brim_mode_result *r) {
  PyObject *list = PyList_New(r->round_count);
  for (int i = 0; list && i < r->round_count; i++) {
    const brim_mode_round *of = &r->rounds[i];
    PyObject *item = Py_BuildValue("(KKKdd)", (unsigned long long)of->steps, (unsigned long long)of->tokens,
                                   (unsigned long long)of->slots, of->seconds, of->speed);
    if (!item || PyList_SetItem(list, i, item) < 0)
      Py_CLEAR(list);
  }
  return list;
}

static PyObject *mode_dict(const job *j, int index) {
  char said[48];
  const brim_mode_result *r = &j->results[index];
  const brim_mode_curve *c = &j->curves[index];
  const brim_precision precision = r->mode.options->precision;
  PyObject *curve = Py_BuildValue("(NNN)", number_list(c->samples, c->count), number_list(c->seconds, c->count),
                                  number_list(c->loss, c->count));
  PyObject *metrics = r->evaluated ? core_metrics_dict(&r->metrics) : Py_NewRef(Py_None);
  brim_speed_text(j->results, index, said, sizeof said);
  return Py_BuildValue("{sssssssKsKsKsKsdsdsdsdsNsNsdsssdsdsdsssN}", "name", r->mode.name, "batching",
                       brim_batching_name(r->mode.batching), "padding", brim_padding_name(r->mode.padding), "steps",
                       (unsigned long long)r->steps, "rows", (unsigned long long)r->rows, "tokens", (unsigned long long)r->tokens,
                       "slots", (unsigned long long)r->slots, "seconds", r->seconds, "tokens_per_second", r->tokens_per_second,
                       "padding_share", r->padding_share, "loss", r->loss, "metrics", metrics, "curve", curve, "memory",
                       c->memory, "precision", brim_precision_name(precision), "speed", r->speed, "speed_low", r->speed_low,
                       "speed_high", r->speed_high, "speed_said", said, "rounds", round_list(r));
}

/* compare(model, dataset, dataset or None, plan options, options, modes, event) -> [{..}], the metric that is shown of them */
PyObject *core_compare(PyObject *module, PyObject *args) {
  PyObject *model, *dataset, *eval, *plan, *options, *modes, *event;
  core_state *state = core_of(module);
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOOOOO", &model, &dataset, &eval, &plan, &options, &modes, &event))
    return NULL;
  j.model = core_cast(state, model, CORE_MODEL);
  core_dataset *rows = j.model ? core_cast(state, dataset, CORE_DATASET) : NULL;
  core_dataset *held = rows && eval != Py_None ? core_cast(state, eval, CORE_DATASET) : NULL;
  if (PyErr_Occurred() || !begin(state, &j, plan, options, event) || !read_modes(&j, modes) || !core_enter(j.model))
    return NULL;
  j.dataset = rows->dataset;
  j.eval = held ? held->dataset : NULL;
  int status = core_listened(&j.listener, core_run(state, j.runtime, compare_work, &j));
  core_leave(j.model);
  PyObject *list = status == BRIM_OK ? PyList_New(0) : NULL;
  for (int i = 0; list && i < j.mode_count; i++) {
    PyObject *item = mode_dict(&j, i);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  for (int i = 0; i < MOST_MODES; i++)
    brim_mode_curve_free(&j.curves[i]);
  if (!list)
    return NULL;
  const brim_similarity own = brim_model_meaning(j.model->model).similarity;
  return Py_BuildValue("Ns", list, brim_comparison_metric(brim_model_task(j.model->model), own, j.results, j.mode_count));
}

/* ---- analyze ---------------------------------------------------------------------------------------------- */

static int study_work(void *context, brim_error *error) {
  job *j = context;
  if (j->tokenizer)
    j->length_count = brim_study_lengths(j->dataset, j->tokenizer, &j->windows, j->train.plan.max_length, j->at_length);
  return brim_study_dataset(j->runtime->runtime, j->dataset, &j->train.plan, &j->study, error);
}

/* A number, or None where there is none. */
static PyObject *known_count(bool known, uint64_t count) {
  return known ? PyLong_FromUnsignedLongLong(count) : Py_NewRef(Py_None);
}

static PyObject *strategies_of(const brim_study *study) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < study->strategy_count; i++) {
    const brim_strategy_study *s = &study->strategies[i];
    PyObject *item = Py_BuildValue(
        "{sssssKsKsKsKsdsdsdsdsd}", "batching", brim_batching_name(s->batching), "padding", brim_padding_name(s->padding),
        "tokens", (unsigned long long)s->ledger.tokens, "slots", (unsigned long long)s->ledger.slots, "batches",
        (unsigned long long)s->ledger.batches, "steps", (unsigned long long)s->ledger.steps, "padding_share", s->padding_share,
        "cost", s->cost, "step_rows", s->step_rows, "step_rows_deviation", s->step_rows_deviation, "length_bias", s->length_bias);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *lengths_of(const job *j) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < j->length_count; i++) {
    const brim_length_study *s = &j->at_length[i];
    PyObject *item = Py_BuildValue("(iKKKKNNNN)", (int)s->length, (unsigned long long)s->tokens, (unsigned long long)s->cut_rows,
                                   (unsigned long long)s->lost, (unsigned long long)s->computed,
                                   known_count(s->has_windows, s->windows), known_count(s->has_windows, s->window_cut_rows),
                                   known_count(s->has_windows, s->window_lost), known_count(s->has_windows, s->window_computed));
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* analyze(dataset, plan options, tokenizer or None, overlap and number of windows) -> {rows, tokens, .., histogram, percentiles,
 * strategies, at_length: [(length, tokens, cut_rows, ..)]} */
PyObject *core_analyze(PyObject *module, PyObject *args) {
  PyObject *dataset, *plan, *tokenizer;
  core_state *state = core_of(module);
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOii", &dataset, &plan, &tokenizer, &j.windows.overlap, &j.windows.most))
    return NULL;
  core_tokenizer *counts = tokenizer != Py_None ? core_cast(state, tokenizer, CORE_TOKENIZER) : NULL;
  if (tokenizer != Py_None && !counts)
    return NULL;
  j.tokenizer = counts ? counts->tokenizer : NULL;
  core_dataset *rows = core_cast(state, dataset, CORE_DATASET);
  if (!rows || !core_plan_options(plan, &j.train.plan) || !core_no_more(plan))
    return NULL;
  j.runtime = rows->runtime;
  j.dataset = rows->dataset;
  if (core_run(state, j.runtime, study_work, &j) != BRIM_OK)
    return NULL;
  const brim_study *s = &j.study;
  core_array *histogram = core_array_new(state, module, 'q', (Py_ssize_t)s->longest + 1, -1, s->histogram, NULL, false);
  core_array *percentiles = core_array_new(state, module, 'i', 101, -1, (void *)s->percentiles, NULL, false);
  PyObject *result = Py_BuildValue("{sKsKsKsKsKsKsisisdsdsNsNsNsN}", "rows", (unsigned long long)s->rows, "texts",
                                   (unsigned long long)s->texts, "tokens", (unsigned long long)s->tokens, "truncated",
                                   (unsigned long long)s->truncated, "lost", (unsigned long long)s->lost, "repeated",
                                   (unsigned long long)s->repeated, "shortest", (int)s->shortest, "longest", (int)s->longest,
                                   "mean", s->mean, "median", s->median, "histogram", histogram, "percentiles", percentiles,
                                   "strategies", strategies_of(s), "at_length", lengths_of(&j));
  brim_study_free(&j.study);
  return result;
}

/* ---- folds ------------------------------------------------------------------------------------------------ */

/* Each fold is a run of its own, and keeps what a run keeps. */
static int next_fold(job *j, const brim_event *event) {
  char folder[4200];
  brim_error error;
  const brim_field *fold = brim_event_field(event, "fold");
  core_viewer_close(&j->viewer, true);
  if (!j->train.output)
    return BRIM_OK;
  snprintf(folder, sizeof folder, "%s/fold-%lld", j->train.output, fold ? (long long)fold->integer : 0LL);
  return core_viewer_open(&j->viewer, j->runtime->runtime, folder, &error);
}

static int on_fold_event(void *context, const brim_event *event) {
  job *j = context;
  const int status = strcmp(event->kind, "fold") == 0 ? next_fold(j, event) : BRIM_OK;
  if (j->viewer.views)
    (void)brim_views_event(j->viewer.views, event);
  return status ? status : on_event(context, event);
}

static void on_evaluated(void *context, const brim_evaluation *evaluation) {
  job *j = context;
  if (j->viewer.views)
    brim_views_evaluated(j->viewer.views, evaluation);
}

static int on_own_metrics(void *context, const brim_evaluation *evaluation, brim_own_metric *metrics, int *count,
                          brim_error *error) {
  job *j = context;
  return core_own_metrics(&j->listener, j->model, j->measure, evaluation, metrics, count, error);
}

static int make_folds(job *j, brim_error *error) {
  brim_runtime *runtime = j->runtime->runtime;
  if (j->paths)
    return brim_folds_read(runtime, j->paths, (int)j->path_count, &j->source, j->fold_column, j->dataset, j->fold_count,
                           &j->folds, error);
  if (j->given)
    return brim_folds_given(runtime, j->given->data, (uint64_t)j->given->shape[0], j->fold_count, &j->folds, error);
  if (j->stratify)
    return brim_folds_stratify(runtime, j->dataset, j->fold_count, j->fold_seed, &j->folds, error);
  return brim_folds_deal(runtime, j->dataset, j->fold_count, j->fold_seed, &j->folds, error);
}

static int folds_work(void *context, brim_error *error) {
  job *j = context;
  int status = make_folds(j, error);
  j->folds.tests = j->tests;
  j->train.event = on_fold_event, j->train.evaluated = on_evaluated;
  j->train.own_metrics = j->measure ? on_own_metrics : NULL;
  if (status == BRIM_OK)
    status = brim_train_folds(j->runtime->runtime, j->model->model, j->tokenizer, j->dataset, &j->folds, j->evals, j->eval_count,
                              &j->train, &j->folded, error);
  if (status == BRIM_OK && j->train.output)
    status = brim_folds_write(j->runtime->runtime, j->train.output, j->model->model, j->dataset, j->evals, &j->folded, error);
  if (status == BRIM_E_CANCELLED)
    brim_runtime_resume(j->runtime->runtime); /* what the run keeps is still to be written */
  const bool begun = j->folded.folds && (j->folded.done == j->folded.count || j->folded.folds[j->folded.done].run.steps > 0);
  core_viewer_close(&j->viewer, status == BRIM_OK || (status == BRIM_E_CANCELLED && (begun || j->train.resume)));
  return status;
}

/* [rows, outputs] of a data set, or [tokens, outputs] where these have the labels. */
static PyObject *logits_of(core_state *state, PyObject *module, const float *logits, const brim_dataset *dataset,
                           const brim_model *model) {
  const uint64_t rows = brim_model_shape(model)->outputs == BRIM_OUTPUTS_OF_TOKENS ? brim_dataset_tokens(dataset)
                                                                                   : brim_dataset_rows(dataset);
  return (PyObject *)core_array_new(state, module, 'f', (Py_ssize_t)rows, brim_model_outputs(model), (void *)logits, NULL, false);
}

static bool put_item(PyObject *list, PyObject *item) {
  const bool fine = item && PyList_Append(list, item) == 0;
  Py_XDECREF(item);
  return fine;
}

static PyObject *folds_dict(core_state *state, PyObject *module, const job *j) {
  const brim_folds_result *r = &j->folded;
  PyObject *folds = PyList_New(0), *averages = PyList_New(0);
  bool fine = folds && averages;
  for (int32_t i = 0; fine && i < r->count; i++)
    fine = put_item(folds,
                    Py_BuildValue("{sKsKsKsN}", "train_rows", (unsigned long long)r->folds[i].train_rows, "valid_rows",
                                  (unsigned long long)r->folds[i].valid_rows, "steps", (unsigned long long)r->folds[i].run.steps,
                                  "metrics", core_metrics_dict(&r->folds[i].metrics)));
  for (int i = 0; fine && i < r->average_count; i++) {
    const brim_fold_average *a = &r->averages[i];
    PyObject *metrics = a->evaluated ? core_metrics_dict(&a->metrics) : Py_NewRef(Py_None);
    fine = put_item(averages,
                    Py_BuildValue("{sssNsN}", "name", a->name, "logits",
                                  logits_of(state, module, a->logits, j->evals[i].dataset, j->model->model), "metrics", metrics));
  }
  if (!fine) {
    Py_XDECREF(folds);
    Py_XDECREF(averages);
    return NULL;
  }
  core_array *fold = core_array_new(state, module, 'i', (Py_ssize_t)j->folds.rows, -1, j->folds.fold, NULL, false);
  return Py_BuildValue("{sNsNsNsNsN}", "folds", folds, "averages", averages, "fold", fold, "logits",
                       logits_of(state, module, r->logits, j->dataset, j->model->model), "metrics",
                       core_metrics_dict(&r->metrics));
}

/* column: (paths, where, options of a source, name); None: no column says it. *where is to be freed. */
static bool take_column(job *j, PyObject *column, brim_where **where) {
  PyObject *paths, *conditions, *source;
  if (column == Py_None)
    return true;
  if (!PyArg_ParseTuple(column, "OOOs", &paths, &conditions, &source, &j->fold_column) ||
      !core_text_columns(source, &j->source, &j->text_columns) || !core_source_options(source, &j->source) ||
      !core_no_more(source))
    return false;
  *where = core_conditions(conditions, &j->source.where_count);
  j->source.where = *where;
  j->paths = PyErr_Occurred() ? NULL : core_strings(paths, &j->path_count);
  return j->paths != NULL;
}

/* train_folds(model, tokenizer, dataset, evals, plan options, options, event, count, seed, stratify, folds of the rows or None,
 * column or None, own metrics or None, how many of evals are tests) */
PyObject *core_train_folds(PyObject *module, PyObject *args) {
  PyObject *model, *tokenizer, *dataset, *evals, *plan, *options, *event, *given, *column, *own, *result = NULL;
  brim_where *where = NULL;
  core_state *state = core_of(module);
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOOOOOiKpOOOi", &model, &tokenizer, &dataset, &evals, &plan, &options, &event, &j.fold_count,
                        &j.fold_seed, &j.stratify, &given, &column, &own, &j.tests))
    return NULL;
  j.model = core_cast(state, model, CORE_MODEL);
  core_dataset *rows = j.model ? core_cast(state, dataset, CORE_DATASET) : NULL;
  core_tokenizer *words = rows ? core_cast(state, tokenizer, CORE_TOKENIZER) : NULL;
  if (!words || !begin(state, &j, plan, options, event))
    return NULL;
  j.tokenizer = words->tokenizer;
  j.dataset = rows->dataset;
  j.measure = own == Py_None ? NULL : own;
  core_array *folds = given == Py_None ? NULL : core_array_from(state, module, given, 'i');
  j.given = folds;
  const bool told = !PyErr_Occurred() && take_column(&j, column, &where);
  j.evals = told ? core_named_sets(state, evals, &j.eval_count) : NULL;
  if (j.evals && core_enter(j.model)) {
    int status = core_listened(&j.listener, core_run(state, j.runtime, folds_work, &j));
    core_leave(j.model);
    if (status == BRIM_OK)
      result = folds_dict(state, module, &j);
    brim_folds_result_free(&j.folded);
    brim_folds_free(&j.folds);
  }
  PyMem_Free(j.evals);
  PyMem_Free(j.paths);
  PyMem_Free(where);
  Py_XDECREF(j.text_columns);
  Py_XDECREF((PyObject *)folds);
  return result;
}
