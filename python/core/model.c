/* model.c: a model: load, save, what it is, its weights. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
  core_runtime *runtime;
  core_model *model;
  const char *path;
  brim_model_options load;
  brim_model *loaded;
  core_tokenizer *tokenizer;
  brim_saving saving;
  brim_saved saved;
} job;

/* ---- loading and saving ----------------------------------------------------------------------------------- */

static int load_work(void *context, brim_error *error) {
  job *j = context;
  return brim_model_load(j->runtime->runtime, j->path, &j->load, &j->loaded, error);
}

static int save_work(void *context, brim_error *error) {
  job *j = context;
  return brim_model_save(j->model->model, j->tokenizer ? j->tokenizer->tokenizer : NULL, &j->saving, j->path, &j->saved, error);
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
  if (!PyArg_ParseTuple(args, "OO&OO", &runtime, core_path, &j.path, &labels, &options))
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

/* describe(runtime, path) -> {type, task, max_length, vocab_size, type_count, made_for, made_length, scored_length}: what the
 * folder says; weights are not read. */
PyObject *core_describe(PyObject *module, PyObject *args) {
  PyObject *runtime;
  const char *path;
  brim_model_info info;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OO&", &runtime, core_path, &path))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of)
    return NULL;
  int status = brim_model_describe(core_use(of), path, &info, &error);
  if (status != BRIM_OK)
    return core_fail(core_of(module), status, &error);
  char name[BRIM_POOLING_NAME];
  const char *made_for = info.made_for == BRIM_POOLING_CONFIG ? NULL : brim_pooling_name(info.made_for, name);
  return Py_BuildValue("{sisiszsssssisisi}", "made_length", (int)info.made_length, "scored_length", (int)info.scored_length,
                       "made_for", made_for, "task", core_task_name(info.task), "type", info.type, "max_length",
                       (int)info.max_length, "vocab_size", (int)info.vocab_size, "type_count", (int)info.type_count);
}

/* save(folder, tokenizer, max_length, overlap, most) -> links that were replaced, the first, whether README.md is somebody
 * else's; the folder alone: the model without a tokenizer */
static PyObject *save(PyObject *object, PyObject *args) {
  core_model *self = (core_model *)object;
  job j = {.runtime = self->runtime, .model = self};
  PyObject *tokenizer = NULL;
  if (!PyArg_ParseTuple(args, "O&|Oiii", core_path, &j.path, &tokenizer, &j.saving.max_length, &j.saving.windows.overlap,
                        &j.saving.windows.most))
    return NULL;
  j.tokenizer = tokenizer ? core_cast(self->state, tokenizer, CORE_TOKENIZER) : NULL;
  if ((tokenizer && !j.tokenizer) || !core_enter(self))
    return NULL;
  const int status = core_run(self->state, self->runtime, save_work, &j);
  core_leave(self);
  return status == BRIM_OK ? Py_BuildValue("isO", j.saved.links, j.saved.link, j.saved.own_readme ? Py_True : Py_False) : NULL;
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
  return Py_BuildValue("{sOsNsNsNsssssisisisisssNsCsssz}", "bare", brim_model_scores_bare(m) ? Py_True : Py_False, "unused",
                       names_of(m, brim_model_unused_count(m), brim_model_unused_name), "new",
                       names_of(m, brim_model_initialized_count(m), brim_model_initialized_name), "former", former_classes(m),
                       "pooling", brim_pooling_name(brim_model_pooling(m), pooling), "type", brim_model_type(m), "max_length",
                       (int)brim_model_max_length(m), "vocab_size", (int)brim_model_vocab_size(m), "hidden_size",
                       (int)brim_model_hidden_size(m), "outputs", (int)brim_model_outputs(m), "task",
                       core_task_name(brim_model_task(m)), "labels", core_label_names(brim_model_labels(m)), "form",
                       brim_model_labels(m)->form, "kernels", brim_model_kernels(m), "untrained",
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

/* What (first, others, by column) and the names of columns, lists of strings, mean in a folder. `before`: the columns of rows
 * that came before, whose texts must begin with the same; None: there are none. False: an exception is set. */
static bool find_prompts(core_state *state, brim_runtime *runtime, const char *folder, PyObject *wanted, PyObject *before,
                         PyObject *columns, brim_prompts *out) {
  const char *first, *others;
  Py_ssize_t given_count, count, first_count = 0;
  PyObject *by_column;
  brim_error error;
  *out = (brim_prompts){0};
  if (!PyArg_ParseTuple(wanted, "zzO", &first, &others, &by_column))
    return false;
  const char **given = core_strings(by_column, &given_count), **names = given ? core_strings(columns, &count) : NULL;
  const char **earlier = names ? core_strings(before, &first_count) : NULL;
  int status = BRIM_OK;
  const bool taken = names && !PyErr_Occurred();
  if (taken) {
    status = brim_prompts_find(runtime, folder, first, others, out, &error);
    out->runtime = runtime;
    if (status == BRIM_OK && earlier)
      status = brim_prompts_of_columns(out, folder, given, (int)given_count, earlier, (int)first_count, &error);
    if (status == BRIM_OK)
      status = brim_prompts_of_columns(out, folder, given, (int)given_count, names, (int)count, &error);
  }
  PyMem_Free(earlier);
  PyMem_Free(given);
  PyMem_Free(names);
  if (status != BRIM_OK) {
    brim_prompts_free(out);
    core_fail(state, status, &error);
  }
  return taken && status == BRIM_OK;
}

/* prompts(tokenizer, folder, wanted, columns, max_length): what rows' texts begin with, which what is saved keeps. */
static PyObject *prompts(PyObject *object, PyObject *args) {
  core_model *self = (core_model *)object;
  PyObject *tokenizer, *wanted, *columns;
  const char *folder;
  int max_length;
  brim_prompts found;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OO&OOi", &tokenizer, core_path, &folder, &wanted, &columns, &max_length))
    return NULL;
  core_tokenizer *of = core_cast(self->state, tokenizer, CORE_TOKENIZER);
  if (!of || !find_prompts(self->state, core_use(self->runtime), folder, wanted, Py_None, columns, &found))
    return NULL;
  const int status = brim_prompts_use(&found, of->tokenizer, max_length, self->model, &error);
  brim_prompts_free(&found);
  if (status != BRIM_OK)
    return core_fail(self->state, status, &error);
  Py_RETURN_NONE;
}

/* prompts(runtime, folder, wanted, columns of rows before or None, columns) -> what each text of a row begins with, or None */
PyObject *core_prompts_find(PyObject *module, PyObject *args) {
  PyObject *runtime, *wanted, *before, *columns;
  const char *folder;
  brim_prompts found;
  if (!PyArg_ParseTuple(args, "OO&OOO", &runtime, core_path, &folder, &wanted, &before, &columns))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of || !find_prompts(core_of(module), core_use(of), folder, wanted, before, columns, &found))
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

static PyMethodDef methods[] = {{"save", save, METH_VARARGS, NULL},
                                {"predict", core_model_predict, METH_VARARGS, NULL},
                                {"evaluate", core_model_evaluate, METH_VARARGS, NULL},
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
