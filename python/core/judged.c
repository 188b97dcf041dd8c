/* judged.c: what a model made of labelled rows, and what a run keeps of it. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PyObject *core_judged_take(core_state *state, PyObject *module, PyObject *runtime, brim_judged *judged) {
  core_judged *self = core_new(state, module, CORE_JUDGED, runtime, NULL, NULL);
  if (!self)
    return NULL;
  self->runtime = (core_runtime *)runtime;
  self->judged = *judged;
  *judged = (brim_judged){0};
  return (PyObject *)self;
}

static PyObject *text_of(const char *text, size_t length) {
  if (!text)
    Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
}

/* A list of what `item` makes of 0 .. count-1. */
static PyObject *list_of(const brim_judged *j, size_t count, PyObject *(*item)(const brim_judged *, size_t)) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *one = item(j, i);
    if (!one || PyList_SetItem(list, (Py_ssize_t)i, one) < 0)
      Py_CLEAR(list);
  }
  return list;
}

static PyObject *class_of(const brim_judged *j, size_t i) {
  const brim_class_count *c = &j->classes[i];
  return Py_BuildValue("(NKKK)", text_of(j->names[i], strlen(j->names[i])), (unsigned long long)c->rows,
                       (unsigned long long)c->predicted, (unsigned long long)c->both);
}

static PyObject *confused_of(const brim_judged *j, size_t i) {
  const brim_confused *c = &j->confused[i];
  return Py_BuildValue("(iiK)", (int)c->label, (int)c->predicted, (unsigned long long)c->rows);
}

static PyObject *label_of(const brim_judged *j, size_t i) {
  return PyFloat_FromDouble(j->labels[i]);
}

static PyObject *value_of(const brim_judged *j, size_t i) {
  return PyFloat_FromDouble(j->values[i]);
}

static PyObject *wrong_of(const brim_judged *j, size_t i) {
  const brim_wrong_row *w = &j->wrong[i];
  PyObject *const word = w->word >= 0 ? PyLong_FromLong(w->word) : Py_NewRef(Py_None);
  return Py_BuildValue("(KNNdddNNN)", (unsigned long long)w->row, text_of(w->label, strlen(w->label)),
                       text_of(w->predicted, strlen(w->predicted)), w->loss, w->score, w->label_score,
                       text_of(w->text, w->length), word, text_of(w->word_text[0] ? w->word_text : NULL, strlen(w->word_text)));
}

static PyObject *near_of(const brim_judged *j, size_t i) {
  const brim_near_row *n = &j->near[i];
  return Py_BuildValue("(KKdNN)", (unsigned long long)n->row, (unsigned long long)n->other, n->similarity,
                       text_of(n->text, n->length), text_of(n->other_text, n->other_length));
}

/* facts() -> {name, step, rows, task, outputs, metrics, classes, confused, labels, values, wrong, near} */
static PyObject *facts(PyObject *object, PyObject *nothing) {
  (void)nothing;
  const brim_judged *j = &((core_judged *)object)->judged;
  const size_t classes = j->classes ? (size_t)j->outputs : 0, points = j->points * (size_t)j->outputs;
  brim_field fields[BRIM_METRIC_FIELDS];
  PyObject *metrics = PyDict_New();
  for (int i = 0, count = brim_metrics_fields(j->task, &(brim_metrics){0}, fields); metrics && i < count; i++) {
    PyObject *value = PyFloat_FromDouble(j->metrics[i]);
    if (!value || PyDict_SetItemString(metrics, fields[i].name, value) < 0)
      Py_CLEAR(metrics);
    Py_XDECREF(value);
  }
  return Py_BuildValue("{sNsKsKsssisNsNsNsNsNsNsN}", "name", text_of(j->name, strlen(j->name)), "step",
                       (unsigned long long)j->step, "rows", (unsigned long long)j->rows, "task", core_task_name(j->task),
                       "outputs", (int)j->outputs, "metrics", metrics, "classes", list_of(j, classes, class_of), "confused",
                       list_of(j, j->confused_count, confused_of), "labels", list_of(j, points, label_of), "values",
                       list_of(j, points, value_of), "wrong", list_of(j, (size_t)j->wrong_count, wrong_of), "near",
                       list_of(j, (size_t)j->near_count, near_of));
}

/* text(index, text, pair or None): of the wrong row of that number */
static PyObject *set_text(PyObject *object, PyObject *args) {
  core_judged *self = (core_judged *)object;
  PyObject *text, *pair;
  core_bytes first, second = {0};
  brim_error error;
  int index;
  if (!PyArg_ParseTuple(args, "iOO", &index, &text, &pair) || !core_text(text, &first) ||
      (pair != Py_None && !core_text(pair, &second)))
    return NULL;
  int status = brim_judged_set_text(&self->judged, index, first.data, (size_t)first.size, second.data, (size_t)second.size,
                                    &error);
  if (status != BRIM_OK)
    return core_fail(self->state, status, &error);
  Py_RETURN_NONE;
}

/* near_text(index, other, text, pair or None): of the neighbour of that number */
static PyObject *set_near_text(PyObject *object, PyObject *args) {
  core_judged *self = (core_judged *)object;
  PyObject *text, *pair;
  core_bytes first, second = {0};
  brim_error error;
  int index, other;
  if (!PyArg_ParseTuple(args, "ipOO", &index, &other, &text, &pair) || !core_text(text, &first) ||
      (pair != Py_None && !core_text(pair, &second)))
    return NULL;
  const int status = brim_judged_set_near_text(&self->judged, index, other, first.data, (size_t)first.size, second.data,
                                               (size_t)second.size, &error);
  if (status != BRIM_OK)
    return core_fail(self->state, status, &error);
  Py_RETURN_NONE;
}

typedef struct job {
  core_judged *judged;
  brim_source_options source;
  const char **paths;
  int path_count;
} job;

static int read_work(void *context, brim_error *error) {
  job *j = context;
  return brim_judged_read_texts(&j->judged->judged, j->paths, j->path_count, &j->source, error);
}

/* read(paths, options of a source, Dataset): the texts of all wrong rows of the files that the data set is from */
static PyObject *read_texts(PyObject *object, PyObject *args) {
  core_judged *self = (core_judged *)object;
  PyObject *paths, *options, *rows, *columns = NULL;
  Py_ssize_t count;
  job j = {.judged = self};
  if (!PyArg_ParseTuple(args, "OOO", &paths, &options, &rows))
    return NULL;
  const core_dataset *dataset = core_cast(self->state, rows, CORE_DATASET);
  const bool taken = dataset && core_text_columns(options, &j.source, &columns) && core_source_options(options, &j.source) &&
                     core_no_more(options);
  j.paths = taken ? core_strings(paths, &count) : NULL;
  if (!j.paths || !core_enter(self)) {
    PyMem_Free(j.paths);
    Py_XDECREF(columns);
    return NULL;
  }
  j.path_count = (int)count;
  self->judged.stamp = brim_dataset_stamp(dataset->dataset);
  const int status = core_run(self->state, self->runtime, read_work, &j);
  core_leave(self);
  PyMem_Free(j.paths);
  Py_XDECREF(columns);
  if (status != BRIM_OK)
    return NULL;
  Py_RETURN_NONE;
}

static void destroy(PyObject *object) {
  brim_judged_free(&((core_judged *)object)->judged);
  core_drop(object);
}

static PyMethodDef methods[] = {{"facts", facts, METH_NOARGS, NULL},
                                {"text", set_text, METH_VARARGS, NULL},
                                {"near_text", set_near_text, METH_VARARGS, NULL},
                                {"read", read_texts, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec core_judged_spec = {.name = "brim._core.Judged",
                                .basicsize = sizeof(core_judged),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = slots};

/* ---- of a run that goes on -------------------------------------------------------------------------------- */

static void on_failure(void *context, const char *what, const brim_error *error) {
  core_viewer *v = context;
  char text[1200];
  const size_t used = strlen(v->said);
  brim_error_text(error, text, sizeof text);
  snprintf(v->said + used, sizeof v->said - used, "%s: %s\n", what, text);
}

int core_viewer_open(core_viewer *v, brim_runtime *runtime, const char *folder, brim_error *error) {
  v->runtime = runtime;
  v->keeps = folder != NULL;
  int status = brim_views_new(runtime, folder, on_failure, v, &v->views, error);
  return status || !v->quiet ? status : brim_views_without_tensorboard(v->views, error);
}

void core_viewer_close(core_viewer *v, bool ran) {
  int count = 0;
  brim_judged *sets = v->views && !v->keeps ? brim_views_judged(v->views, &count) : NULL;
  v->sets = count ? calloc((size_t)count, sizeof *v->sets) : NULL;
  for (int i = 0; v->sets && i < count; i++) {
    v->sets[v->count++] = sets[i];
    sets[i] = (brim_judged){0};
  }
  brim_views_close(v->views, ran);
  v->views = NULL;
}

/* ---- folders of runs -------------------------------------------------------------------------------------- */

PyObject *core_judged_list(core_state *state, PyObject *module, PyObject *runtime, brim_judged *sets, int count) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++) {
    PyObject *one = core_judged_take(state, module, runtime, &sets[i]);
    if (!one || PyList_Append(list, one) < 0)
      Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}

/* kept(runtime, folder) -> [Judged] of the run's last evaluations */
PyObject *core_kept(PyObject *module, PyObject *args) {
  PyObject *runtime;
  const char *folder;
  brim_judged *sets;
  brim_error error;
  int count;
  core_state *state = core_of(module);
  if (!PyArg_ParseTuple(args, "OO&", &runtime, core_path, &folder) || !core_cast(state, runtime, CORE_RUNTIME))
    return NULL;
  brim_runtime *of = core_use((core_runtime *)runtime);
  int status = brim_judged_read(of, folder, &sets, &count, &error);
  PyObject *list = status == BRIM_OK ? core_judged_list(state, module, runtime, sets, count) : core_fail(state, status, &error);
  brim_judged_free_all(of, sets, count);
  return list;
}

/* keep(runtime, folder, [Judged]): writes them again */
PyObject *core_keep(PyObject *module, PyObject *args) {
  PyObject *runtime, *list;
  const char *folder;
  brim_error error;
  core_state *state = core_of(module);
  if (!PyArg_ParseTuple(args, "OO&O!", &runtime, core_path, &folder, &PyList_Type, &list) ||
      !core_cast(state, runtime, CORE_RUNTIME))
    return NULL;
  brim_runtime *of = core_use((core_runtime *)runtime);
  const Py_ssize_t count = PyList_Size(list);
  brim_judged *sets = PyMem_Calloc((size_t)count + 1, sizeof *sets);
  bool fine = sets != NULL;
  for (Py_ssize_t i = 0; fine && i < count; i++) {
    core_judged *one = core_cast(state, PyList_GetItem(list, i), CORE_JUDGED);
    fine = one != NULL;
    if (fine)
      sets[i] = one->judged; /* borrowed */
  }
  int status = fine ? brim_judged_write(of, folder, sets, (int)count, &error) : BRIM_OK;
  PyMem_Free(sets);
  if (fine && status != BRIM_OK)
    return core_fail(state, status, &error);
  if (!fine)
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  Py_RETURN_NONE;
}

/* report(runtime, [folders], folder): the page of several runs side by side */
PyObject *core_report(PyObject *module, PyObject *args) {
  PyObject *runtime, *list;
  const char *folder;
  brim_error error;
  Py_ssize_t count;
  core_state *state = core_of(module);
  if (!PyArg_ParseTuple(args, "OOO&", &runtime, &list, core_path, &folder) || !core_cast(state, runtime, CORE_RUNTIME))
    return NULL;
  const char **folders = core_strings(list, &count);
  if (!folders)
    return NULL;
  int status = brim_report_write(core_use((core_runtime *)runtime), folders, (int)count, folder, &error);
  PyMem_Free(folders);
  if (status != BRIM_OK)
    return core_fail(state, status, &error);
  Py_RETURN_NONE;
}
