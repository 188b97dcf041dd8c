/* labels.c: what the numbers of a head mean. */
#include "core.h"

#include <string.h>

bool core_named(const char *const *names, const char *name, int *out) {
  for (int i = 0; names[i]; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = i;
      return true;
    }
  return false;
}

bool core_known_labels(core_state *state, PyObject *object, const brim_labels **out) {
  if (object == Py_None)
    return true;
  if (Py_IS_TYPE(object, state->types[CORE_DATASET])) {
    *out = brim_dataset_labels(((core_dataset *)object)->dataset);
    return true;
  }
  core_labels *known = core_cast(state, object, CORE_LABELS);
  if (known)
    *out = &known->labels;
  return known != NULL;
}

bool core_parse_task(const char *name, int *out) {
  static const char *const names[] = {"auto", "classification", "regression", "multi_label", "tokens",
                                      "mlm",  "embedding",      "rerank",     NULL};
  return core_named(names, name, out);
}

const char *core_task_name(brim_task task) {
  if (brim_task_has_tokens(task) || brim_task_has_masks(task) || brim_task_has_vectors(task) || brim_task_has_scores(task))
    return brim_task_name(task);
  return brim_task_has_values(task) ? "regression" : brim_task_has_lists(task) ? "multi_label" : "classification";
}

/* [names] of a mapping; empty for regression. */
PyObject *core_label_names(const brim_labels *labels) {
  PyObject *names = PyList_New(0);
  for (int32_t i = 0; names && labels && labels->names && i < labels->count; i++) {
    PyObject *name = PyUnicode_DecodeUTF8(labels->names[i], (Py_ssize_t)strlen(labels->names[i]), "replace");
    if (!name || PyList_Append(names, name) < 0)
      Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

/* labels(runtime, task, names or None, outputs, names are strings) */
PyObject *core_labels_make(PyObject *module, PyObject *args) {
  PyObject *runtime, *names;
  const char *task_name;
  int task, outputs, given_as_strings;
  brim_error error;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OsOip", &runtime, &task_name, &names, &outputs, &given_as_strings))
    return NULL;
  if (!core_parse_task(task_name, &task) || task == BRIM_TASK_AUTO) {
    PyErr_Format(PyExc_ValueError, "there is no task \"%s\"", task_name);
    return NULL;
  }
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  const char **strings = of ? core_strings(names, &count) : NULL;
  if (PyErr_Occurred())
    return NULL;
  core_labels *self = core_new(core_of(module), module, CORE_LABELS, runtime, NULL, NULL);
  if (!self) {
    PyMem_Free(strings);
    return NULL;
  }
  int status = brim_labels_make(core_use(of), (brim_task)task, strings, strings ? (int32_t)count : outputs, &self->labels,
                                &error);
  PyMem_Free(strings);
  if (status == BRIM_OK)
    brim_labels_set_strings(&self->labels, given_as_strings);
  if (status == BRIM_OK)
    return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return core_fail(core_of(module), status, &error);
}

/* label_notes(labels) -> (two names that look alike, or None; whether labels of words are not quite those of entities) */
PyObject *core_label_notes(PyObject *module, PyObject *object) {
  core_state *state = core_of(module);
  core_labels *self = core_cast(state, object, CORE_LABELS);
  int32_t one, other;
  brim_error error;
  if (!self)
    return NULL;
  const brim_labels *labels = &self->labels;
  int status = brim_labels_alike(labels->runtime, labels, &one, &other, &error);
  if (status != BRIM_OK)
    return core_fail(state, status, &error);
  PyObject *alike = one < 0 ? Py_NewRef(Py_None) : Py_BuildValue("(ss)", labels->names[one], labels->names[other]);
  const bool meant = brim_task_has_tokens(labels->task) && brim_entities_meant((const char *const *)labels->names, labels->count);
  return alike ? Py_BuildValue("(NO)", alike, meant ? Py_True : Py_False) : NULL;
}

static void destroy(PyObject *object) {
  core_labels *self = (core_labels *)object;
  if (self->labels.runtime)
    brim_labels_free(&self->labels);
  core_drop(self);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {0, NULL}};
PyType_Spec core_labels_spec = {.name = "brim._core.Labels",
                                .basicsize = sizeof(core_labels),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = slots};
