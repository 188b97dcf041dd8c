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

/* As the program calls it, with an underscore where that has a dash. */
const char *core_task_word(brim_task task, char name[CORE_TASK_NAME]) {
  snprintf(name, CORE_TASK_NAME, "%s", brim_task_name(task));
  for (char *at = name; *at; at++)
    if (*at == '-')
      *at = '_';
  return name;
}

/* In either way of writing. */
static bool is_task(const char *word, const char *name) {
  while (*word && (*word == *name || (*word == '_' && *name == '-')))
    word++, name++;
  return *word == *name;
}

bool core_parse_task(const char *name, int *out) {
  for (*out = BRIM_TASK_AUTO; *out == BRIM_TASK_AUTO || strcmp(core_task_name((brim_task)*out), "auto") != 0; ++*out)
    if (is_task(core_task_name((brim_task)*out), name))
      return true;
  return false;
}

PyObject *core_no_task(const char *name) {
  return PyErr_Format(PyExc_ValueError, "task: there is no \"%s\"; use " CORE_TASKS, name);
}

/* task_shape(task) -> {"words": .., "metrics": [..]}: brim_shape, and the names of metrics */
PyObject *core_task_shape(PyObject *module, PyObject *args) {
  static const char *const of[] = {"texts", "tokens", "labelled"};
  const char *name;
  int task;
  brim_field fields[BRIM_METRIC_FIELDS];
  if (!PyArg_ParseTuple(args, "s", &name))
    return NULL;
  if (!core_parse_task(name, &task))
    return PyErr_Format(PyExc_ValueError, "task: there is no \"%s\"; use " CORE_ALL_TASKS, name);
  const brim_shape *s = brim_task_shape((brim_task)task);
  const int count = task == BRIM_TASK_AUTO ? 0 : brim_metrics_fields((brim_task)task, &(brim_metrics){0}, fields);
  PyObject *metrics = PyList_New(count);
  for (int i = 0; metrics && i < count; i++) {
    PyObject *metric = PyUnicode_FromString(fields[i].name);
    if (!metric || PyList_SetItem(metrics, i, metric) < 0)
      Py_CLEAR(metrics);
  }
  (void)module;
  return !metrics ? NULL
                  : Py_BuildValue("{sNsNsNsNsNsNsNsNsNsssNsz}", "words", PyBool_FromLong(s->words), "several_texts",
                                  PyBool_FromLong(s->several_texts), "joins_pairs", PyBool_FromLong(s->joins_pairs), "named",
                                  PyBool_FromLong(s->named), "one_class", PyBool_FromLong(s->one_class), "made",
                                  PyBool_FromLong(s->made), "optional", PyBool_FromLong(s->optional), "bare",
                                  PyBool_FromLong(s->bare), "judged", PyBool_FromLong(s->judged), "outputs", of[s->outputs],
                                  "metrics", metrics, "best", brim_task_best_metric((brim_task)task));
}

/* task_description(labels) -> (what, why or None): brim_task_describe */
PyObject *core_task_description(PyObject *module, PyObject *object) {
  char what[400];
  core_labels *self = core_cast(core_of(module), object, CORE_LABELS);
  if (!self)
    return NULL;
  const brim_labels *labels = &self->labels;
  const char *why = brim_task_describe(labels->task, labels->count, (const char *const *)labels->names, what, sizeof what);
  return Py_BuildValue("Nz", PyUnicode_DecodeUTF8(what, (Py_ssize_t)strlen(what), "replace"), why);
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
    core_no_task(task_name);
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

/* label_notes(labels) -> (two names that look alike, or None; whether labels of words are not quite those of entities; a name and
 * what else it looks like, or None) */
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
  const bool meant = brim_entities_meant(labels->task, (const char *const *)labels->names, labels->count);
  const char *meaning;
  const int32_t odd = brim_labels_odd(labels, &meaning);
  PyObject *looks = odd < 0 ? Py_NewRef(Py_None) : Py_BuildValue("(ss)", labels->names[odd], meaning);
  if (alike && looks)
    return Py_BuildValue("(NON)", alike, meant ? Py_True : Py_False, looks);
  Py_XDECREF(alike);
  Py_XDECREF(looks);
  return NULL;
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
