/* feed.c: batches from files larger than memory. */
#include "blocks.h"

#include <string.h>
#include <unistd.h>

typedef struct job {
  core_runtime *runtime;
  core_tokenizer *tokenizer;
  brim_source_options source;
  brim_task task;
  brim_labels labels;
  uint64_t rows;
  brim_feed_options options;
  const char **paths;
  Py_ssize_t path_count;
  brim_feed *feed;
  const brim_batch *batch;
  const char *state;
  Py_ssize_t state_length;
} job;

static int open_work(void *context, brim_error *error) {
  job *j = context;
  return brim_feed_open(j->runtime->runtime, j->paths, (int)j->path_count, j->tokenizer->tokenizer, &j->options, &j->feed, error);
}

static int next_work(void *context, brim_error *error) {
  job *j = context;
  return brim_feed_next(j->feed, &j->batch, error);
}

static int restore_work(void *context, brim_error *error) {
  job *j = context;
  return brim_feed_restore(j->feed, j->state, (size_t)j->state_length, error);
}

static int scan_work(void *context, brim_error *error) {
  job *j = context;
  return brim_labels_scan(j->runtime->runtime, j->paths, (int)j->path_count, &j->source, j->task, NULL, NULL, &j->labels,
                          &j->rows, error);
}

static PyObject *scanned(core_state *state, PyObject *module, PyObject *runtime, job *j) {
  core_labels *counted = core_new(state, module, CORE_LABELS, runtime, NULL, NULL);
  if (!counted)
    return NULL;
  brim_labels *labels = &counted->labels;
  *labels = j->labels, j->labels = (brim_labels){0};
  return Py_BuildValue("(sNiCKN)", core_task_name(labels->task), core_label_names(labels), (int)labels->count, labels->form,
                       (unsigned long long)j->rows, counted);
}

/* labels_scan(runtime, paths, where, options of a source, task) -> (task, names, outputs, what names are, rows, labels with the
 * rows of each): one pass over files */
PyObject *core_labels_scan(PyObject *module, PyObject *args) {
  PyObject *runtime, *paths, *where, *options, *result = NULL;
  const char *task_name;
  int task;
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOOs", &runtime, &paths, &where, &options, &task_name))
    return NULL;
  core_state *state = core_of(module);
  j.runtime = core_cast(state, runtime, CORE_RUNTIME);
  if (!j.runtime || !core_source_options(options, &j.source) || !core_no_more(options))
    return NULL;
  if (!core_parse_task(task_name, &task))
    return core_no_task(task_name);
  j.task = (brim_task)task;
  brim_where *held = core_conditions(where, &j.source.where_count);
  j.source.where = held;
  j.paths = PyErr_Occurred() ? NULL : core_strings(paths, &j.path_count);
  if (j.paths && core_run(state, j.runtime, scan_work, &j) == BRIM_OK)
    result = scanned(state, module, runtime, &j);
  brim_labels_free(&j.labels);
  PyMem_Free(j.paths);
  PyMem_Free(held);
  return result;
}

static bool feed_options(core_state *state, PyObject *keywords, PyObject *labels, brim_feed_options *out) {
  static const core_field fields[] = {
      CORE_FIELD(brim_feed_options, rank, CORE_I32),     CORE_FIELD(brim_feed_options, rank_slices, CORE_BOOL),
      CORE_FIELD(brim_feed_options, window, CORE_U64),   CORE_FIELD(brim_feed_options, first_epoch, CORE_U64),
      CORE_FIELD(brim_feed_options, epochs, CORE_U64),   CORE_FIELD(brim_feed_options, repeat, CORE_BOOL),
      CORE_FIELD(brim_feed_options, prefetch, CORE_I32), {0}};
  if (!core_known_labels(state, labels, &out->labels) || !core_fields(keywords, fields, out) ||
      !core_source_options(keywords, &out->source) || !core_plan_options(keywords, &out->plan))
    return false;
  out->encode.max_length = out->plan.max_length;
  return core_encode_options(keywords, &out->encode) && core_no_more(keywords);
}

/* Doubles, one a path, as bytes. */
static PyObject *shares_of(PyObject *weights, Py_ssize_t count) {
  if (!PyList_Check(weights) || PyList_Size(weights) != count) {
    PyErr_Format(PyExc_ValueError, "weights must hold one number for each of the %zd sources", count);
    return NULL;
  }
  PyObject *shares = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(double));
  for (Py_ssize_t i = 0; shares && i < count; i++) {
    double share = PyFloat_AsDouble(PyList_GetItem(weights, i));
    memcpy(PyBytes_AsString(shares) + i * (Py_ssize_t)sizeof share, &share, sizeof share);
  }
  return shares;
}

/* The conditions of rows, in memory that an object holds; their texts are the list's. */
static PyObject *hold_conditions(PyObject *list, brim_source_options *source) {
  brim_where *where = core_conditions(list, &source->where_count);
  PyObject *held = PyErr_Occurred() ? NULL
                                    : PyBytes_FromStringAndSize((const char *)where,
                                                                (Py_ssize_t)source->where_count * (Py_ssize_t)sizeof *where);
  PyMem_Free(where);
  source->where = held ? (const brim_where *)(const void *)PyBytes_AsString(held) : NULL;
  return held;
}

/* feed(runtime, tokenizer, paths, weights, labels, options, where): keeps labels, options and conditions, which the feed points
 * into. */
PyObject *core_feed_make(PyObject *module, PyObject *args) {
  PyObject *runtime, *tokenizer, *paths, *weights, *labels, *options, *where;
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOOOOO", &runtime, &tokenizer, &paths, &weights, &labels, &options, &where))
    return NULL;
  core_state *state = core_of(module);
  j.runtime = core_cast(state, runtime, CORE_RUNTIME);
  j.tokenizer = j.runtime ? core_cast(state, tokenizer, CORE_TOKENIZER) : NULL;
  PyObject *columns = NULL;
  core_blocks blocks = {0};
  if (!j.tokenizer || !core_text_columns(options, &j.options.source, &columns) ||
      !core_blocks_take(state, module, options, &blocks) || !feed_options(state, options, labels, &j.options)) {
    Py_XDECREF(columns);
    core_blocks_free(&blocks);
    return NULL;
  }
  j.options.source.blocks = blocks.columns;
  j.options.source.block_count = blocks.count;
  PyObject *conditions = hold_conditions(where, &j.options.source);
  j.paths = conditions ? core_strings(paths, &j.path_count) : NULL;
  PyObject *shares = j.paths && weights != Py_None ? shares_of(weights, j.path_count) : Py_NewRef(Py_None);
  j.options.weights = shares && shares != Py_None ? (const double *)(const void *)PyBytes_AsString(shares) : NULL;
  int status = j.paths && !PyErr_Occurred() ? core_run(state, j.runtime, open_work, &j) : -1;
  PyMem_Free(j.paths);
  PyObject *held = status == BRIM_OK ? PyTuple_Pack(8, runtime, labels, options, shares, where, conditions,
                                                    columns ? columns : Py_None, blocks.held ? blocks.held : Py_None)
                                     : NULL;
  core_blocks_free(&blocks);
  Py_XDECREF(columns);
  Py_XDECREF(shares);
  Py_XDECREF(conditions);
  core_feed *self = held ? core_new(state, module, CORE_FEED, held, tokenizer, NULL) : NULL;
  Py_XDECREF(held);
  if (!self) {
    brim_feed_close(j.feed);
    return NULL;
  }
  self->runtime = j.runtime;
  self->feed = j.feed;
  self->pid = (long)getpid();
  return (PyObject *)self;
}

/* Its threads and files are the parent's. */
static bool usable(core_feed *self) {
  if (self->feed && self->pid == (long)getpid())
    return true;
  PyErr_SetString(PyExc_RuntimeError, self->feed ? "this stream was opened before a fork: open it in the process that reads it"
                                                 : "the stream is closed");
  return false;
}

static PyObject *next(PyObject *object, PyObject *nothing) {
  core_feed *self = (core_feed *)object;
  (void)nothing;
  if (!usable(self) || !core_enter(self))
    return NULL;
  job j = {.feed = self->feed};
  int status = core_run(self->state, self->runtime, next_work, &j);
  PyObject *result = status == BRIM_OK ? core_batch_copy(self->state, self->module, self->runtime->runtime, j.batch) : NULL;
  if (result && PyErr_CheckSignals() < 0) /* else the interpreter would throw a moment later, and the batch away */
    Py_CLEAR(result);
  if (j.batch && !result)
    brim_feed_put_back(self->feed);
  core_leave(self);
  if (status == BRIM_END)
    Py_RETURN_NONE;
  return result;
}

static PyObject *save(PyObject *object, PyObject *nothing) {
  core_feed *self = (core_feed *)object;
  (void)nothing;
  if (!usable(self) || !core_enter(self))
    return NULL;
  brim_text text;
  brim_error error;
  brim_text_init(&text, self->runtime->runtime);
  int status = brim_feed_save(self->feed, &text, &error);
  PyObject *result = status == BRIM_OK ? PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.length, "strict")
                                       : core_fail(self->state, status, &error);
  brim_text_free(&text);
  core_leave(self);
  return result;
}

static PyObject *restore(PyObject *object, PyObject *text) {
  core_feed *self = (core_feed *)object;
  job j = {.feed = self->feed};
  j.state = PyUnicode_AsUTF8AndSize(text, &j.state_length);
  if (!j.state || !usable(self) || !core_enter(self))
    return NULL;
  int status = core_run(self->state, self->runtime, restore_work, &j);
  core_leave(self);
  if (status != BRIM_OK)
    return NULL;
  Py_RETURN_NONE;
}

/* What the feed has done so far; false with an exception set. */
static bool tell(PyObject *object, brim_feed_ledger *l) {
  core_feed *self = (core_feed *)object;
  if (!usable(self) || !core_enter(self))
    return false;
  brim_feed_tell(self->feed, l);
  core_leave(self);
  return true;
}

static PyObject *ledger(PyObject *object, PyObject *nothing) {
  brim_feed_ledger l;
  (void)nothing;
  if (!tell(object, &l))
    return NULL;
  return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsKsKsKsKsKsK}", "epoch", (unsigned long long)l.epoch, "rows_read",
                       (unsigned long long)l.rows_read, "rows_excluded", (unsigned long long)l.rows_excluded, "rows_damaged",
                       (unsigned long long)l.rows_damaged, "rows_yielded", (unsigned long long)l.rows_yielded, "rows_dropped",
                       (unsigned long long)l.rows_dropped, "rows_waiting", (unsigned long long)l.rows_waiting, "rows_truncated",
                       (unsigned long long)l.rows_truncated, "tokens_lost", (unsigned long long)l.tokens_lost, "tokens_repeated",
                       (unsigned long long)l.tokens_repeated, "tokens", (unsigned long long)l.tokens, "slots",
                       (unsigned long long)l.slots, "batches", (unsigned long long)l.batches, "steps",
                       (unsigned long long)l.steps, "hash", (unsigned long long)l.hash);
}

static PyObject *files(PyObject *object, PyObject *nothing) {
  core_feed *self = (core_feed *)object;
  (void)nothing;
  if (!usable(self))
    return NULL;
  PyObject *list = PyList_New(0);
  for (int64_t i = 0; list && i < brim_feed_file_count(self->feed); i++) {
    PyObject *name = PyUnicode_DecodeFSDefault(brim_feed_file_name(self->feed, i));
    if (!name || PyList_Append(list, name) < 0)
      Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}

/* (epoch, batches of it so far that have rows) */
static PyObject *get_place(PyObject *object, void *nothing) {
  brim_feed_ledger l;
  (void)nothing;
  if (!tell(object, &l))
    return NULL;
  return Py_BuildValue("(KK)", (unsigned long long)l.epoch, (unsigned long long)l.batches);
}

static PyObject *get_memory(PyObject *object, void *nothing) {
  core_feed *self = (core_feed *)object;
  (void)nothing;
  return usable(self) ? PyLong_FromUnsignedLongLong(brim_feed_memory(self->feed)) : NULL;
}

static PyObject *close_feed(PyObject *object, PyObject *nothing) {
  core_feed *self = (core_feed *)object;
  (void)nothing;
  if (self->feed && self->pid == (long)getpid()) {
    if (!core_enter(self))
      return NULL;
    brim_feed *feed = self->feed;
    self->feed = NULL;
    Py_BEGIN_ALLOW_THREADS brim_feed_close(feed);
    Py_END_ALLOW_THREADS core_leave(self);
  }
  Py_RETURN_NONE;
}

static void destroy(PyObject *object) {
  core_feed *self = (core_feed *)object;
  if (self->feed && self->pid == (long)getpid())
    brim_feed_close(self->feed);
  core_drop(self);
}

static PyMethodDef methods[] = {{"next", next, METH_NOARGS, NULL},
                                {"save", save, METH_NOARGS, NULL},
                                {"restore", restore, METH_O, NULL},
                                {"ledger", ledger, METH_NOARGS, NULL},
                                {"files", files, METH_NOARGS, NULL},
                                {"close", close_feed, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef members[] = {
    {"place", get_place, NULL, NULL, NULL}, {"memory", get_memory, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {Py_tp_getset, members}, {0, NULL}};
PyType_Spec core_feed_spec = {.name = "brim._core.Feed",
                              .basicsize = sizeof(core_feed),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              .slots = slots};
