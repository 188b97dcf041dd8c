/* labels.c: what the numbers of a head mean. */
#include "core.h"

/* labels(names) or labels(None): regression. */
PyObject *core_labels_make(PyObject *module, PyObject *args) {
  PyObject *runtime, *names;
  brim_error error;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OO", &runtime, &names))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  const char **strings = of ? core_strings(names, &count) : NULL;
  if (PyErr_Occurred())
    return NULL;
  core_labels *self = core_new(core_of(module), module, CORE_LABELS, runtime, NULL, NULL);
  if (!self) {
    PyMem_Free(strings);
    return NULL;
  }
  int status = brim_labels_make(core_use(of), strings ? BRIM_TASK_CLASSIFICATION : BRIM_TASK_REGRESSION, strings,
                                strings ? (int32_t)count : 1, &self->labels, &error);
  PyMem_Free(strings);
  if (status == BRIM_OK)
    return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return core_fail(core_of(module), status, &error);
}

static void destroy(PyObject *object) {
  core_labels *self = (core_labels *)object;
  if (self->labels.runtime)
    brim_labels_free(&self->labels);
  core_drop(self);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {0, NULL}};
PyType_Spec core_labels_spec = {.name = "brim._core.Labels", .basicsize = sizeof(core_labels),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, .slots = slots};
