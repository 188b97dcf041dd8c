/* runtime.c: threads and CPU level. */
#include "core.h"

#include <unistd.h>

brim_runtime *core_use(core_runtime *self) {
  long pid = (long)getpid();
  if (self->pid != pid) {
    brim_runtime_forked(self->runtime);
    self->pid = pid;
  }
  return self->runtime;
}

PyObject *core_runtime_make(PyObject *module, PyObject *args) {
  int threads;
  const char *cpu;
  brim_error error;
  if (!PyArg_ParseTuple(args, "iz", &threads, &cpu))
    return NULL;
  core_runtime *self = core_new(core_of(module), module, CORE_RUNTIME, NULL, NULL, NULL);
  if (!self)
    return NULL;
  self->pid = (long)getpid();
  int status = brim_runtime_new(&(brim_runtime_options){.threads = threads, .cpu = cpu}, &self->runtime, &error);
  if (status == BRIM_OK)
    return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return core_fail(core_of(module), status, &error);
}

/* hub_find(runtime, name, revision or None, of a tokenizer) -> folder */
PyObject *core_hub_find(PyObject *module, PyObject *args) {
  PyObject *runtime;
  const char *name, *revision;
  int tokenizer;
  char *folder;
  brim_error error;
  if (!PyArg_ParseTuple(args, "Oszp", &runtime, &name, &revision, &tokenizer))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of)
    return NULL;
  int status = brim_hub_find(core_use(of), name, revision, tokenizer ? BRIM_HUB_TOKENIZER : BRIM_HUB_MODEL, &folder, &error);
  if (status != BRIM_OK)
    return core_fail(core_of(module), status, &error);
  PyObject *result = PyUnicode_DecodeFSDefault(folder);
  brim_runtime_release(of->runtime, folder);
  return result;
}

static PyObject *get_threads(PyObject *object, void *nothing) {
  (void)nothing;
  return PyLong_FromLong(brim_runtime_threads(core_use((core_runtime *)object)));
}

static PyObject *get_cpu(PyObject *object, void *nothing) {
  (void)nothing;
  return PyUnicode_FromString(brim_cpu_name(brim_runtime_cpu(((core_runtime *)object)->runtime)));
}

static void destroy(PyObject *object) {
  core_runtime *self = (core_runtime *)object;
  if (self->runtime)
    brim_runtime_free(core_use(self));
  core_drop(self);
}

static PyGetSetDef members[] = {{"threads", get_threads, NULL, "Threads that compute.", NULL},
                                {"cpu", get_cpu, NULL, "plain, avx2, avx512 or amx.", NULL},
                                {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_getset, members}, {0, NULL}};
PyType_Spec core_runtime_spec = {.name = "brim._core.Runtime",
                                 .basicsize = sizeof(core_runtime),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = slots};
