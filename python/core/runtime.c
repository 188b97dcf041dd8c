/* runtime.c: threads and CPU level. */
#include "core.h"

#include <string.h>
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
  if (!PyArg_ParseTuple(args, "OO&zp", &runtime, core_path, &name, &revision, &tokenizer))
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

/* [(use, name, path)] into `paths`, whose strings the tuples and `kept`, a list of bytes, hold. */
static bool read_paths(PyObject *list, brim_path *paths, PyObject *kept) {
  static const char *const uses[] = {"none", "file", "data", "model", "keeps", "writes", "resumable", "run"};
  enum { USES = sizeof uses / sizeof *uses };
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    const char *use;
    PyObject *path = NULL;
    int at = 1;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "ssO&", &use, &paths[i].name, PyUnicode_FSConverter, &path))
      return false;
    const bool held = PyList_Append(kept, path) == 0;
    Py_DECREF(path);
    while (at < USES && strcmp(uses[at], use) != 0)
      at++;
    if (at == USES)
      PyErr_Format(PyExc_ValueError, "no path is for \"%s\"", use);
    paths[i].use = (brim_path_use)at;
    paths[i].path = PyBytes_AsString(path);
    if (!held || at == USES)
      return false;
  }
  return true;
}

/* check_outputs(runtime, [(use, name, path)], resume): brim_check_outputs. */
PyObject *core_check_outputs(PyObject *module, PyObject *args) {
  PyObject *runtime, *list;
  int resume;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OOp", &runtime, &list, &resume))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of || !PyList_Check(list))
    return of ? PyErr_Format(PyExc_TypeError, "a list is needed") : NULL;
  const size_t count = (size_t)PyList_Size(list);
  PyObject *kept = PyList_New(0);
  brim_path *paths = kept ? PyMem_Calloc(count + 1, sizeof *paths) : NULL;
  PyObject *result = NULL;
  if (kept && !paths)
    PyErr_NoMemory();
  if (paths && read_paths(list, paths, kept)) {
    const int status = brim_check_outputs(core_use(of), paths, count, resume, &error);
    result = status ? core_fail(core_of(module), status, &error) : Py_NewRef(Py_None);
  }
  PyMem_Free(paths);
  Py_XDECREF(kept);
  return result;
}

/* check_numbered(runtime, folder, names of its files, glob of names): brim_source_check_numbered. */
PyObject *core_check_numbered(PyObject *module, PyObject *args) {
  PyObject *runtime, *list;
  const char *folder, *pattern;
  Py_ssize_t count;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OO&OO&", &runtime, core_path, &folder, &list, core_path, &pattern))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  const char **names = of ? core_strings(list, &count) : NULL;
  if (!names)
    return NULL;
  const int status = brim_source_check_numbered(core_use(of), folder, names, (size_t)count, pattern, &error);
  PyMem_Free(names);
  return status ? core_fail(core_of(module), status, &error) : Py_NewRef(Py_None);
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
