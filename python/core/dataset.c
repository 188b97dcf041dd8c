/* dataset.c: rows in memory, from files, from texts and from encoded rows. */
#include "core.h"
#include "study/internal.h"
#include "texts.h"

#include <math.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------------------------- */

static bool parse_format(const char *name, int *out) {
  static const char *const names[] = {"auto", "csv", "tsv", "jsonl", "txt", "conll", NULL};
  return core_named(names, name, out);
}

static bool parse_delimiter(const char *name, int *out) {
  *out = name[0];
  return name[0] && !name[1];
}

static bool parse_quote(const char *name, int *out) {
  static const char *const names[] = {"auto", "csv", "none", "backslash", NULL};
  return core_named(names, name, out);
}

bool core_source_options(PyObject *options, brim_source_options *out) {
  static const core_field fields[] = {
      CORE_FIELD(brim_source_options, no_header, CORE_BOOL),
      CORE_FIELD(brim_source_options, text_column, CORE_TEXT),
      CORE_FIELD(brim_source_options, pair_column, CORE_TEXT),
      CORE_FIELD(brim_source_options, label_column, CORE_TEXT),
      CORE_FIELD(brim_source_options, need_label, CORE_BOOL),
      CORE_FIELD(brim_source_options, min_chars, CORE_I64),
      CORE_FIELD(brim_source_options, max_record, CORE_I64),
      CORE_FIELD(brim_source_options, skip_damaged, CORE_BOOL),
      CORE_FIELD(brim_source_options, skip_unlabelled, CORE_BOOL),
      CORE_FIELD(brim_source_options, words, CORE_BOOL),
      CORE_FIELD(brim_source_options, paired, CORE_BOOL),
      CORE_FIELD(brim_source_options, least_columns, CORE_I32),
      CORE_FIELD(brim_source_options, seen_columns, CORE_BOOL),
      CORE_FIELD(brim_source_options, most_texts, CORE_I32),
      {"delimiter", CORE_ENUM, offsetof(brim_source_options, delimiter), parse_delimiter},
      {"format", CORE_ENUM, offsetof(brim_source_options, format), parse_format},
      {"quote", CORE_ENUM, offsetof(brim_source_options, quote), parse_quote, "csv, none or backslash"},
      {0}};
  return core_fields(options, fields, out);
}

/* Takes "text_columns" out of the options: a list of str, or None. The names stay as long as *held, which is to be let go. */
bool core_text_columns(PyObject *options, brim_source_options *out, PyObject **held) {
  Py_ssize_t count = 0;
  PyObject *list = core_option(options, "text_columns");
  *held = NULL;
  if (!list || list == Py_None)
    return !list ? !PyErr_Occurred() : PyDict_DelItemString(options, "text_columns") == 0;
  const char **names = core_strings(list, &count);
  if (!names)
    return false;
  PyObject *bytes = PyBytes_FromStringAndSize((const char *)names, count * (Py_ssize_t)sizeof *names);
  *held = bytes ? PyTuple_Pack(2, list, bytes) : NULL;
  Py_XDECREF(bytes);
  PyMem_Free(names);
  if (!*held || PyDict_DelItemString(options, "text_columns") != 0)
    return false;
  out->text_columns = (const char *const *)(const void *)PyBytes_AsString(PyTuple_GetItem(*held, 1));
  out->text_column_count = (int)count;
  return true;
}

static void free_columns(PyObject *capsule) {
  brim_text_columns *found = PyCapsule_GetPointer(capsule, NULL);
  brim_text_columns_free(found);
  PyMem_Free(found);
  Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule)); /* the runtime */
}

/* Holds what was found, and so the pipes that were looked into, until they are read. */
static PyObject *held_columns(PyObject *runtime, brim_text_columns *found) {
  brim_text_columns *held = PyMem_Malloc(sizeof *held);
  PyObject *capsule = held ? PyCapsule_New(held, NULL, free_columns) : PyErr_NoMemory();
  if (!capsule) {
    PyMem_Free(held);
    return NULL;
  }
  *held = *found;
  *found = (brim_text_columns){0};
  PyCapsule_SetContext(capsule, Py_NewRef(runtime));
  return capsule;
}

typedef struct columns_job {
  brim_runtime *runtime;
  const char **paths;
  Py_ssize_t path_count;
  const brim_source_options *source;
  brim_task task;
  brim_text_columns *found;
} columns_job;

/* A pipe is waited for, maybe one that another thread of Python writes to. */
static int columns_work(void *context, brim_error *error) {
  const columns_job *j = context;
  return brim_text_columns_find(j->runtime, j->paths, (int)j->path_count, j->source, j->task, j->found, error);
}

/* text_columns(runtime, paths, names or None, task, options) -> (texts, least, label or None, a row is one pair, by the first
 * megabyte, first column that is not read or None, how many, what holds pipes): which columns of files, or among these names, are
 * a row's texts. Pipes that were looked into are closed with the last, unless they are read before. */
PyObject *core_columns_find(PyObject *module, PyObject *args) {
  PyObject *runtime, *files, *list, *options, *held = NULL, *texts = NULL, *result = NULL;
  const char *task_name;
  brim_source_options source = {0};
  core_blocks blocks = {0};
  brim_text_columns found = {0};
  brim_error error;
  Py_ssize_t path_count, count;
  int task, status = BRIM_OK;
  if (!PyArg_ParseTuple(args, "OOOsO", &runtime, &files, &list, &task_name, &options))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of || !core_parse_task(task_name, &task))
    return of ? core_no_task(task_name) : NULL;
  const char **paths = core_strings(files, &path_count), **names = PyErr_Occurred() ? NULL : core_strings(list, &count);
  if (!PyErr_Occurred() && core_text_columns(options, &source, &held) && core_source_options(options, &source) &&
      core_blocks_take(core_of(module), module, options, &blocks) && core_no_more(options)) {
    source.blocks = blocks.columns, source.block_count = blocks.count;
    columns_job j = {core_use(of), paths, path_count, &source, (brim_task)task, &found};
    if (!names)
      status = core_run(core_of(module), of, columns_work, &j);
    else if ((status = brim_text_columns_among(j.runtime, names, (int)count, &source, j.task, &found, &error)) != BRIM_OK)
      core_fail(core_of(module), status, &error);
    texts = status == BRIM_OK ? PyList_New(0) : NULL;
  }
  for (int i = 0; texts && i < found.count; i++) {
    PyObject *name = PyUnicode_FromString(found.names[i]);
    if (!name || PyList_Append(texts, name) < 0)
      Py_CLEAR(texts);
    Py_XDECREF(name);
  }
  const brim_text_columns said = found;
  if (texts)
    result = Py_BuildValue("(NizNNziN)", texts, said.least, said.label, PyBool_FromLong(said.one_pair),
                           PyBool_FromLong(said.beginning), said.unread, said.unread_count, held_columns(runtime, &found));
  brim_text_columns_free(&found);
  core_blocks_free(&blocks);
  PyMem_Free(paths);
  PyMem_Free(names);
  Py_XDECREF(held);
  return result;
}

static bool dataset_options(core_state *state, PyObject *keywords, PyObject *labels, brim_dataset_options *out) {
  static const core_field fields[] = {{"task", CORE_ENUM, offsetof(brim_dataset_options, task), core_parse_task, CORE_TASKS},
                                      CORE_FIELD(brim_dataset_options, cache, CORE_PATH),
                                      {0}};
  return core_known_labels(state, labels, &out->labels) && core_source_options(keywords, &out->source) &&
         core_encode_options(keywords, &out->encode) && core_fields(keywords, fields, out) && core_no_more(keywords);
}

/* ---- making them ------------------------------------------------------------------------------------------ */

typedef struct job {
  core_runtime *runtime;
  core_tokenizer *tokenizer;
  brim_dataset_options options;
  core_listener listener;
  const char **paths;
  Py_ssize_t path_count;
  const brim_where *where;
  core_texts *texts;
  brim_dataset *dataset;
} job;

static int load_work(void *context, brim_error *error) {
  job *j = context;
  return brim_dataset_load(j->runtime->runtime, j->paths, (int)j->path_count, j->tokenizer->tokenizer, &j->options, &j->dataset,
                           error);
}

static int texts_work(void *context, brim_error *error) {
  job *j = context;
  return brim_dataset_from_texts(j->runtime->runtime, core_texts_row, j->texts, (uint64_t)j->texts->count,
                                 j->tokenizer->tokenizer, &j->options, &j->dataset, error);
}

static PyObject *wrap(core_state *state, PyObject *module, core_runtime *runtime, PyObject *tokenizer, brim_dataset *dataset) {
  core_dataset *self = core_new(state, module, CORE_DATASET, (PyObject *)runtime, tokenizer, NULL);
  if (!self) {
    brim_dataset_free(dataset);
    return NULL;
  }
  self->runtime = runtime;
  self->dataset = dataset;
  return (PyObject *)self;
}

static PyObject *run_job(PyObject *module, job *j, core_work work) {
  j->listener.state = core_of(module);
  j->listener.interpreter = PyInterpreterState_Get();
  if (j->listener.function) {
    j->options.progress = core_event;
    j->options.progress_context = &j->listener;
  }
  int status = core_listened(&j->listener, core_run(core_of(module), j->runtime, work, j));
  if (status == BRIM_OK)
    return wrap(core_of(module), module, j->runtime, (PyObject *)j->tokenizer, j->dataset);
  brim_dataset_free(j->dataset);
  return NULL;
}

/* (column, value) pairs, in memory to be freed. */
brim_where *core_conditions(PyObject *list, int *count) {
  *count = 0;
  Py_ssize_t n = list == Py_None ? 0 : PyList_Size(list);
  brim_where *where = n > 0 ? PyMem_Calloc((size_t)n, sizeof *where) : NULL;
  if (n > 0 && !where)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; where && i < n; i++)
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "ss", &where[i].column, &where[i].value)) {
      PyMem_Free(where);
      return NULL;
    }
  *count = where ? (int)n : 0;
  return where;
}

/* dataset_load(runtime, tokenizer, paths, where, labels, options, progress) */
PyObject *core_dataset_load(PyObject *module, PyObject *args) {
  PyObject *runtime, *tokenizer, *paths, *where, *labels, *options, *progress, *columns = NULL;
  core_blocks blocks = {0};
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOOOOO", &runtime, &tokenizer, &paths, &where, &labels, &options, &progress))
    return NULL;
  j.runtime = core_cast(core_of(module), runtime, CORE_RUNTIME);
  j.tokenizer = j.runtime ? core_cast(core_of(module), tokenizer, CORE_TOKENIZER) : NULL;
  if (!j.tokenizer || !core_text_columns(options, &j.options.source, &columns) ||
      !core_blocks_take(core_of(module), module, options, &blocks) ||
      !dataset_options(core_of(module), options, labels, &j.options)) {
    Py_XDECREF(columns);
    core_blocks_free(&blocks);
    return NULL;
  }
  j.options.source.blocks = blocks.columns;
  j.options.source.block_count = blocks.count;
  j.listener.function = progress == Py_None ? NULL : progress;
  brim_where *held = core_conditions(where, &j.options.source.where_count);
  j.options.source.where = held;
  j.paths = PyErr_Occurred() ? NULL : core_strings(paths, &j.path_count);
  PyObject *result = j.paths ? run_job(module, &j, load_work) : NULL;
  PyMem_Free(j.paths);
  PyMem_Free(held);
  core_blocks_free(&blocks);
  Py_XDECREF(columns);
  return result;
}

static PyObject *from_texts(PyObject *module, PyObject *runtime, PyObject *tokenizer, PyObject *labels, PyObject *options,
                            core_texts *texts) {
  job j = {.texts = texts};
  core_blocks blocks = {0};
  PyObject *result = NULL;
  j.runtime = core_cast(core_of(module), runtime, CORE_RUNTIME);
  j.tokenizer = j.runtime ? core_cast(core_of(module), tokenizer, CORE_TOKENIZER) : NULL;
  if (j.tokenizer && core_blocks_take(core_of(module), module, options, &blocks) && core_blocks_fit(&blocks, texts->count) &&
      dataset_options(core_of(module), options, labels, &j.options)) {
    j.options.source.blocks = blocks.columns;
    j.options.source.block_count = blocks.count;
    texts->blocks = &blocks;
    result = run_job(module, &j, texts_work);
  }
  core_blocks_free(&blocks);
  core_texts_free(texts);
  return result;
}

/* dataset_texts(runtime, tokenizer, texts, pairs, label texts, labels, options, lacking): lists of str or bytes, or of lists of
 * them: a row of several texts, or of pairs of its text with each. pairs and label texts may be None. lacking: a row whose second
 * text is None is one text. */
PyObject *core_dataset_texts(PyObject *module, PyObject *args) {
  PyObject *runtime, *tokenizer, *text, *pair, *label, *labels, *options;
  core_texts texts = {0};
  int lacking;
  if (!PyArg_ParseTuple(args, "OOOOOOOp", &runtime, &tokenizer, &text, &pair, &label, &labels, &options, &lacking))
    return NULL;
  texts.pairs_may_lack = lacking;
  if (!core_texts_lists(core_of(module), &texts, text, pair, label, 0)) {
    core_texts_free(&texts);
    return NULL;
  }
  return from_texts(module, runtime, tokenizer, labels, options, &texts);
}

/* dataset_arrow(runtime, tokenizer, capsule of a stream, text, pair, label column, labels, options, lacking) */
PyObject *core_dataset_arrow(PyObject *module, PyObject *args) {
  PyObject *runtime, *tokenizer, *capsule, *labels, *options;
  const char *text, *pair, *label;
  core_texts texts = {0};
  int lacking;
  if (!PyArg_ParseTuple(args, "OOOzzzOOp", &runtime, &tokenizer, &capsule, &text, &pair, &label, &labels, &options, &lacking))
    return NULL;
  texts.pairs_may_lack = lacking;
  if (!core_texts_arrow(&texts, capsule, text, pair, label)) {
    core_fail_at(core_of(module), NULL, 0);
    core_texts_free(&texts);
    return NULL;
  }
  return from_texts(module, runtime, tokenizer, labels, options, &texts);
}

/* ---- encoded rows ----------------------------------------------------------------------------------------- */

static bool check_offsets(const core_array *ids, const core_array *offsets) {
  const int64_t *at = offsets->data;
  Py_ssize_t n = offsets->shape[0] - 1;
  bool fine = n >= 0 && at[0] == 0 && at[n] == ids->shape[0];
  for (Py_ssize_t i = 0; fine && i < n; i++)
    fine = at[i] <= at[i + 1] && at[i + 1] - at[i] <= INT32_MAX;
  if (!fine)
    PyErr_SetString(PyExc_ValueError, "offsets must rise from 0 to the number of ids");
  return fine;
}

/* values: [n], or [n * width] where a row has several. */
static brim_sample *samples_of(const core_array *ids, const core_array *offsets, const core_array *types,
                               const core_array *values, int32_t width) {
  const int64_t *at = offsets->data;
  Py_ssize_t n = offsets->shape[0] - 1;
  if ((types && types->shape[0] != ids->shape[0]) || (values && values->shape[0] != n * width)) {
    PyErr_SetString(PyExc_ValueError, "type_ids must be as long as ids, and labels must be as many as rows");
    return NULL;
  }
  brim_sample *samples = PyMem_Calloc((size_t)n + 1, sizeof *samples);
  if (!samples)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; samples && i < n; i++)
    samples[i] = (brim_sample){.ids = (const int32_t *)ids->data + at[i],
                               .type_ids = types ? (const uint8_t *)types->data + at[i] : NULL,
                               .length = (int32_t)(at[i + 1] - at[i]),
                               .label = values && width == 1 ? ((const float *)values->data)[i] : __builtin_nanf(""),
                               .labels = values && width > 1 ? (const float *)values->data + i * width : NULL,
                               .label_width = values && width > 1 ? width : 0};
  return samples;
}

/* dataset_encoded(runtime, ids, offsets, type_ids, values, labels): all but ids and offsets may be None */
PyObject *core_dataset_encoded(PyObject *module, PyObject *args) {
  enum { ARRAYS = 4 };
  PyObject *runtime, *given[ARRAYS], *labels, *result = NULL;
  static const char formats[] = "iqBf";
  core_array *arrays[ARRAYS] = {0};
  if (!PyArg_ParseTuple(args, "OOOOOO", &runtime, &given[0], &given[1], &given[2], &given[3], &labels))
    return NULL;
  core_state *state = core_of(module);
  core_runtime *of = core_cast(state, runtime, CORE_RUNTIME);
  const brim_labels *known = NULL;
  if (!of || !core_known_labels(state, labels, &known))
    return NULL;
  for (int i = 0; i < ARRAYS && !PyErr_Occurred(); i++) /* ids and offsets have to be there */
    arrays[i] = i > 1 && given[i] == Py_None ? NULL : core_array_from(state, module, given[i], formats[i]);
  brim_sample *samples = !PyErr_Occurred() && check_offsets(arrays[0], arrays[1])
                             ? samples_of(arrays[0], arrays[1], arrays[2], arrays[3], known ? brim_labels_width(known) : 1)
                             : NULL;
  if (samples) {
    brim_error error;
    brim_dataset *dataset;
    int status = brim_dataset_from_samples(core_use(of), samples, (uint64_t)arrays[1]->shape[0] - 1, known, &dataset, &error);
    result = status == BRIM_OK ? wrap(state, module, of, NULL, dataset) : core_fail(state, status, &error);
  }
  PyMem_Free(samples);
  for (int i = 0; i < ARRAYS; i++)
    Py_XDECREF((PyObject *)arrays[i]);
  return result;
}

/* ---- as bytes --------------------------------------------------------------------------------------------- */

typedef struct packing {
  brim_runtime *runtime;
  const brim_dataset *from;
  brim_dataset *made;
  void *bytes;
  size_t size;
} packing;

static int pack_work(void *context, brim_error *error) {
  packing *p = context;
  return brim_dataset_pack(p->runtime, p->from, &p->bytes, &p->size, error);
}

static int unpack_work(void *context, brim_error *error) {
  packing *p = context;
  return brim_dataset_unpack(p->runtime, p->bytes, p->size, &p->made, error);
}

/* pack() -> bytes, all that it is */
static PyObject *pack(PyObject *object, PyObject *nothing) {
  (void)nothing;
  core_dataset *self = (core_dataset *)object;
  packing p = {.runtime = self->runtime->runtime, .from = self->dataset};
  const int status = core_run(self->state, self->runtime, pack_work, &p);
  PyObject *bytes = status == BRIM_OK ? PyBytes_FromStringAndSize(p.bytes, (Py_ssize_t)p.size) : NULL;
  brim_runtime_release(p.runtime, p.bytes);
  return bytes;
}

/* dataset_unpack(runtime, bytes) */
PyObject *core_dataset_unpack(PyObject *module, PyObject *args) {
  core_state *state = core_of(module);
  PyObject *runtime, *bytes;
  packing p = {0};
  if (!PyArg_ParseTuple(args, "OS", &runtime, &bytes))
    return NULL;
  core_runtime *of = core_cast(state, runtime, CORE_RUNTIME);
  if (!of)
    return NULL;
  p.runtime = of->runtime;
  p.bytes = PyBytes_AsString(bytes);
  p.size = (size_t)PyBytes_Size(bytes);
  if (core_run(state, of, unpack_work, &p) == BRIM_OK)
    return wrap(state, module, of, NULL, p.made);
  brim_dataset_free(p.made);
  return NULL;
}

/* hold_out(dataset, share, seed) -> (kept, held) */
PyObject *core_hold_out(PyObject *module, PyObject *args) {
  PyObject *dataset;
  double share;
  unsigned long long seed;
  brim_dataset *kept, *held;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OdK", &dataset, &share, &seed))
    return NULL;
  core_state *state = core_of(module);
  core_dataset *of = core_cast(state, dataset, CORE_DATASET);
  if (!of)
    return NULL;
  const int status = brim_hold_out(core_use(of->runtime), of->dataset, share, seed, &kept, &held, &error);
  if (status != BRIM_OK)
    return core_fail(state, status, &error);
  PyObject *one = wrap(state, module, of->runtime, of->keep[1], kept);
  PyObject *other = wrap(state, module, of->runtime, of->keep[1], held);
  return Py_BuildValue("(NN)", one, other);
}

/* ---- looking at them -------------------------------------------------------------------------------------- */

/* Values that all are whole may be classes that came as decimals. */
static bool has_whole_values(const brim_dataset *d) {
  const brim_labels *labels = brim_dataset_labels(d);
  bool whole = labels && !labels->names && brim_dataset_has_labels(d);
  for (uint64_t row = 0; whole && row < brim_dataset_rows(d); row++) {
    brim_sample sample;
    brim_dataset_sample(d, row, &sample);
    for (int32_t i = 0; whole && i < sample.label_width; i++)
      whole = sample.labels[i] == floorf(sample.labels[i]);
  }
  return whole;
}

static PyObject *facts(PyObject *object, PyObject *nothing) {
  (void)nothing;
  const brim_dataset *d = ((core_dataset *)object)->dataset;
  uint64_t excluded = 0, none = 0;
  const brim_exclusion *left = brim_dataset_excluded(d, &excluded);
  for (uint64_t i = 0; i < excluded; i++)
    none += strcmp(left[i].reason, BRIM_NONE_REASON) == 0;
  return Py_BuildValue(
      "{sOsOsKsKsKsKsKsKsKsisOsOsK}", "has_queries", brim_rows_have_queries(d) ? Py_True : Py_False, "whole_values",
      has_whole_values(d) ? Py_True : Py_False, "none_labels", (unsigned long long)none, "unlabelled_words",
      (unsigned long long)brim_dataset_unlabelled_words(d), "rows", (unsigned long long)brim_dataset_rows(d), "records",
      (unsigned long long)brim_dataset_records(d), "tokens", (unsigned long long)brim_dataset_tokens(d), "truncated",
      (unsigned long long)brim_dataset_truncated(d), "lost", (unsigned long long)brim_dataset_lost(d), "longest",
      (int)brim_dataset_longest(d), "has_pairs", brim_dataset_has_pairs(d) ? Py_True : Py_False, "has_labels",
      brim_dataset_has_labels(d) ? Py_True : Py_False, "fingerprint", (unsigned long long)brim_dataset_fingerprint(d));
}

/* (task, [names], outputs, what the names are) or None. */
static PyObject *labels_of(PyObject *object, PyObject *nothing) {
  (void)nothing;
  const brim_labels *labels = brim_dataset_labels(((core_dataset *)object)->dataset);
  if (!labels)
    Py_RETURN_NONE;
  return Py_BuildValue("(sNiC)", core_task_name(labels->task), core_label_names(labels), (int)labels->count, labels->form);
}

static PyObject *lengths(PyObject *object, PyObject *nothing) {
  (void)nothing;
  core_dataset *self = (core_dataset *)object;
  return (PyObject *)core_array_new(self->state, self->module, 'i', (Py_ssize_t)brim_dataset_rows(self->dataset), -1,
                                    (void *)brim_dataset_lengths(self->dataset), object, true);
}

/* firsts() -> int64 [rows + 1], or None where each row is one text */
static PyObject *firsts(PyObject *object, PyObject *nothing) {
  (void)nothing;
  core_dataset *self = (core_dataset *)object;
  const uint64_t *at = brim_dataset_firsts(self->dataset);
  if (!at)
    Py_RETURN_NONE;
  return (PyObject *)core_array_new(self->state, self->module, 'q', (Py_ssize_t)brim_dataset_rows(self->dataset) + 1, -1,
                                    (void *)at, object, true);
}

/* windows() -> (overlap, most) of rows that are windows of a text, or None */
static PyObject *windows_of(PyObject *object, PyObject *nothing) {
  (void)nothing;
  const brim_windowing how = brim_dataset_windows(((core_dataset *)object)->dataset);
  return how.most > 1 ? Py_BuildValue("(ii)", (int)how.overlap, (int)how.most) : Py_NewRef(Py_None);
}

/* text_lengths() -> int32 [texts] */
static PyObject *text_lengths(PyObject *object, PyObject *nothing) {
  (void)nothing;
  core_dataset *self = (core_dataset *)object;
  return (PyObject *)core_array_new(self->state, self->module, 'i', (Py_ssize_t)brim_dataset_texts(self->dataset), -1,
                                    (void *)brim_dataset_text_lengths(self->dataset), object, true);
}

/* blocks() -> [(name, per, integers, width)] of those besides the label */
static PyObject *blocks_of(PyObject *object, PyObject *nothing) {
  const brim_block_shape *shapes;
  const int count = brim_dataset_blocks(((core_dataset *)object)->dataset, &shapes);
  PyObject *list = PyList_New(0);
  (void)nothing;
  for (int b = 1; list && b < count; b++) {
    PyObject *item = Py_BuildValue("(siii)", shapes[b].name, (int)shapes[b].per, (int)shapes[b].integers, (int)shapes[b].width);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* numbers(row) -> [array, [units, width]] of a row's blocks besides the label */
static PyObject *numbers_of(PyObject *object, PyObject *row) {
  core_dataset *self = (core_dataset *)object;
  const brim_block_shape *shapes;
  const int count = brim_dataset_blocks(self->dataset, &shapes);
  const unsigned long long number = PyLong_AsUnsignedLongLong(row);
  brim_sample s;
  if (PyErr_Occurred())
    return NULL;
  if (number >= brim_dataset_rows(self->dataset))
    return PyErr_Format(PyExc_IndexError, "there are %llu rows", (unsigned long long)brim_dataset_rows(self->dataset));
  brim_dataset_sample(self->dataset, number, &s);
  PyObject *list = PyList_New(0);
  for (int b = 1; list && b < count; b++) {
    const int32_t units = shapes[b].per == BRIM_PER_ROW     ? 1
                          : shapes[b].per == BRIM_PER_TOKEN ? s.length
                          : s.text_lengths                  ? s.text_count
                                                            : 1;
    core_array *array = core_array_new(self->state, self->module, shapes[b].integers ? 'i' : 'f', units, shapes[b].width,
                                       (void *)s.blocks[b], object, true);
    if (!array || PyList_Append(list, (PyObject *)array) < 0)
      Py_CLEAR(list);
    Py_XDECREF((PyObject *)array);
  }
  return list;
}

/* sample(row) -> (ids, type_ids or None, label or [labels], origin) */
static PyObject *sample(PyObject *object, PyObject *row) {
  core_dataset *self = (core_dataset *)object;
  unsigned long long number = PyLong_AsUnsignedLongLong(row);
  if (PyErr_Occurred())
    return NULL;
  if (number >= brim_dataset_rows(self->dataset)) {
    PyErr_Format(PyExc_IndexError, "there are %llu rows", (unsigned long long)brim_dataset_rows(self->dataset));
    return NULL;
  }
  brim_sample s;
  brim_dataset_sample(self->dataset, number, &s);
  PyObject *ids = (PyObject *)core_array_new(self->state, self->module, 'i', s.length, -1, (void *)s.ids, object, true);
  PyObject *types = s.type_ids ? (PyObject *)core_array_new(self->state, self->module, 'B', s.length, -1, (void *)s.type_ids,
                                                            object, true)
                               : Py_NewRef(Py_None);
  PyObject *label = s.labels && s.label_width > 1 ? PyList_New(0) : PyFloat_FromDouble((double)s.label);
  for (int32_t i = 0; label && s.labels && s.label_width > 1 && i < s.label_width; i++) {
    PyObject *value = PyFloat_FromDouble((double)s.labels[i]);
    if (!value || PyList_Append(label, value) < 0)
      Py_CLEAR(label);
    Py_XDECREF(value);
  }
  return Py_BuildValue("(NNNK)", ids, types, label, (unsigned long long)brim_dataset_origin(self->dataset, number));
}

/* words(row) -> ([words], [number of each token's word, -1: special], [label of each token] or None); None: rows are not of
 * words. */
static PyObject *words(PyObject *object, PyObject *row) {
  core_dataset *self = (core_dataset *)object;
  unsigned long long number = PyLong_AsUnsignedLongLong(row);
  if (PyErr_Occurred())
    return NULL;
  if (number >= brim_dataset_rows(self->dataset))
    return PyErr_Format(PyExc_IndexError, "there are %llu rows", (unsigned long long)brim_dataset_rows(self->dataset));
  brim_sample s;
  brim_dataset_sample(self->dataset, number, &s);
  if (!s.words)
    Py_RETURN_NONE;
  PyObject *list = PyList_New(0), *numbers = PyList_New(0), *labels = s.token_labels ? PyList_New(0) : Py_NewRef(Py_None);
  const char *at = s.word_text, *end = at + s.word_text_length;
  for (; list && at < end; at += strlen(at) + 1) {
    PyObject *word = PyUnicode_DecodeUTF8(at, (Py_ssize_t)strlen(at), "replace");
    if (!word || PyList_Append(list, word) < 0)
      Py_CLEAR(list);
    Py_XDECREF(word);
  }
  for (int32_t i = 0; numbers && labels && i < s.length; i++) {
    PyObject *word = PyLong_FromLong(s.words[i]), *label = PyLong_FromLong(s.token_labels ? s.token_labels[i] : 0);
    if (!word || PyList_Append(numbers, word) < 0)
      Py_CLEAR(numbers);
    if (!label || (s.token_labels && PyList_Append(labels, label) < 0))
      Py_CLEAR(labels);
    Py_XDECREF(word);
    Py_XDECREF(label);
  }
  return Py_BuildValue("(NNN)", list, numbers, labels);
}

/* subset(rows) -> those rows, in the order in which they are given */
static PyObject *subset(PyObject *object, PyObject *rows) {
  core_dataset *self = (core_dataset *)object;
  core_array *numbers = core_array_from(self->state, self->module, rows, 'q');
  if (!numbers)
    return NULL;
  brim_error error;
  brim_dataset *dataset;
  const int status = brim_dataset_subset(core_use(self->runtime), self->dataset, numbers->data, (uint64_t)numbers->shape[0],
                                         &dataset, &error);
  Py_DECREF((PyObject *)numbers);
  return status ? core_fail(self->state, status, &error) : wrap(self->state, self->module, self->runtime, NULL, dataset);
}

static PyObject *excluded(PyObject *object, PyObject *nothing) {
  (void)nothing;
  uint64_t count;
  const brim_exclusion *list = brim_dataset_excluded(((core_dataset *)object)->dataset, &count);
  PyObject *out = PyList_New(0);
  for (uint64_t i = 0; out && i < count; i++) {
    PyObject *item = Py_BuildValue("(NLKs)", PyUnicode_DecodeFSDefault(list[i].file), (long long)list[i].line,
                                   (unsigned long long)list[i].row, list[i].reason);
    if (!item || PyList_Append(out, item) < 0)
      Py_CLEAR(out);
    Py_XDECREF(item);
  }
  return out;
}

/* name_classes([names]): before anybody else has it */
static PyObject *name_classes(PyObject *object, PyObject *list) {
  core_dataset *self = (core_dataset *)object;
  Py_ssize_t count;
  brim_error error;
  const char **names = core_strings(list, &count);
  if (!names)
    return NULL;
  const int status = brim_dataset_name_classes(self->dataset, names, (int32_t)count, &error);
  PyMem_Free(names);
  return status == BRIM_OK ? Py_NewRef(Py_None) : core_fail(self->state, status, &error);
}

static void destroy(PyObject *object) {
  brim_dataset_free(((core_dataset *)object)->dataset);
  core_drop(object);
}

static PyMethodDef methods[] = {{"facts", facts, METH_NOARGS, NULL},
                                {"labels", labels_of, METH_NOARGS, NULL},
                                {"lengths", lengths, METH_NOARGS, NULL},
                                {"firsts", firsts, METH_NOARGS, NULL},
                                {"windows", windows_of, METH_NOARGS, NULL},
                                {"text_lengths", text_lengths, METH_NOARGS, NULL},
                                {"blocks", blocks_of, METH_NOARGS, NULL},
                                {"numbers", numbers_of, METH_O, NULL},
                                {"sample", sample, METH_O, NULL},
                                {"subset", subset, METH_O, NULL},
                                {"excluded", excluded, METH_NOARGS, NULL},
                                {"pack", pack, METH_NOARGS, NULL},
                                {"words", words, METH_O, NULL},
                                {"name_classes", name_classes, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec core_dataset_spec = {.name = "brim._core.Dataset",
                                 .basicsize = sizeof(core_dataset),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = slots};
