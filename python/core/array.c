/* array.c: numbers that NumPy, torch and others read where they are. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- DLPack (dlpack.h of the DLPack project, version 0.8: the layout that every consumer takes) ------------- */

typedef struct dl_device {
  int32_t type, id;
} dl_device; /* 1: CPU, 2: CUDA */
typedef struct dl_type {
  uint8_t code, bits;
  uint16_t lanes;
} dl_type; /* code 0: int, 1: unsigned, 2: float */
typedef struct dl_tensor {
  void *data;
  dl_device device;
  int32_t ndim;
  dl_type dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed {
  dl_tensor tensor;
  void *context;
  void (*deleter)(struct dl_managed *self);
} dl_managed;
typedef struct dl_export {
  dl_managed managed;
  int64_t shape[2];
} dl_export;

static void delete_export(dl_managed *managed) {
  PyGILState_STATE gil = PyGILState_Ensure(); /* consumers may drop a tensor from any thread */
  Py_DECREF((PyObject *)managed->context);
  PyMem_Free(managed);
  PyGILState_Release(gil);
}

static void drop_capsule(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) /* taken: the consumer calls the deleter */
    return;
  dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
  managed->deleter(managed);
}

static dl_type dl_type_of(const core_array *a) {
  char f = a->format[0];
  return (dl_type){.code = f == 'f' ? 2 : f == 'B' || f == 'I' ? 1 : 0, .bits = (uint8_t)(a->item * 8), .lanes = 1};
}

static dl_device device_of(const core_array *a) {
  return a->gpu ? (dl_device){2, brim_gpu_memory_card(a->gpu)} : (dl_device){1, 0};
}

/* The same numbers, copied into host memory. */
static core_array *on_host(core_state *state, PyObject *module, const core_array *from);

static PyObject *dlpack(PyObject *object, PyObject *args, PyObject *keywords) {
  /* stream, max_version, dl_device: what is there is there for every stream, and the old layout is always allowed */
  (void)args;
  core_array *self = (core_array *)object;
  PyObject *copy = keywords ? core_option(keywords, "copy") : NULL;
  if (!copy && PyErr_Occurred())
    return NULL;
  if (copy == Py_True && !self->gpu) {
    PyObject *own = (PyObject *)on_host(self->state, self->module, self);
    PyObject *capsule = own ? dlpack(own, NULL, NULL) : NULL;
    Py_XDECREF(own);
    return capsule;
  }
  if (self->readonly) {
    PyErr_SetString(PyExc_BufferError, "this array is read-only: copy it first");
    return NULL;
  }
  dl_export *out = PyMem_Calloc(1, sizeof *out);
  if (!out)
    return PyErr_NoMemory();
  out->shape[0] = self->shape[0];
  out->shape[1] = self->shape[1];
  out->managed = (dl_managed){.tensor = {.data = self->data,
                                         .device = device_of(self),
                                         .ndim = self->dimensions,
                                         .dtype = dl_type_of(self),
                                         .shape = out->shape},
                              .context = Py_NewRef(object),
                              .deleter = delete_export};
  PyObject *capsule = PyCapsule_New(&out->managed, "dltensor", drop_capsule);
  if (!capsule)
    delete_export(&out->managed);
  return capsule;
}

static PyObject *dlpack_device(PyObject *object, PyObject *nothing) {
  (void)nothing;
  const dl_device device = device_of((core_array *)object);
  return Py_BuildValue("(ii)", (int)device.type, (int)device.id);
}

/* ---- buffer protocol -------------------------------------------------------------------------------------- */

static int get_buffer(PyObject *object, Py_buffer *view, int flags) {
  core_array *self = (core_array *)object;
  if (self->gpu) {
    PyErr_SetString(PyExc_BufferError,
                    "this array is on a GPU: brim.to(array, \"cpu\") copies it, and torch.from_dlpack takes it as it is");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) && self->readonly) {
    PyErr_SetString(PyExc_BufferError, "this array is read-only");
    return -1;
  }
  Py_ssize_t items = self->shape[0] * (self->dimensions == 2 ? self->shape[1] : 1);
  view->buf = self->data;
  view->obj = Py_NewRef(object);
  view->len = items * self->item;
  view->itemsize = self->item;
  view->readonly = self->readonly;
  view->ndim = self->dimensions;
  view->format = flags & PyBUF_FORMAT ? self->format : NULL;
  view->shape = flags & PyBUF_ND ? self->shape : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
  view->suboffsets = NULL;
  view->internal = NULL;
  return 0;
}

/* ---- as an object ----------------------------------------------------------------------------------------- */

static Py_ssize_t length(PyObject *object) {
  return ((core_array *)object)->shape[0];
}

static PyObject *get_shape(PyObject *object, void *nothing) {
  (void)nothing;
  core_array *self = (core_array *)object;
  return self->dimensions == 2 ? Py_BuildValue("(nn)", self->shape[0], self->shape[1]) : Py_BuildValue("(n)", self->shape[0]);
}

static PyObject *get_format(PyObject *object, void *nothing) {
  (void)nothing;
  return PyUnicode_FromString(((core_array *)object)->format);
}

/* A list, or a list of lists. */
static PyObject *to_list(PyObject *object, PyObject *nothing) {
  (void)nothing;
  PyObject *view = PyMemoryView_FromObject(object);
  PyObject *list = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;
  Py_XDECREF(view);
  return list;
}

/* Rows `first` and on of an array of two dimensions, whose memory they share; columns only: one row, as an array of one. */
static PyObject *rows_of(core_array *self, Py_ssize_t first, Py_ssize_t count, bool one) {
  void *data = self->data ? (char *)self->data + first * self->strides[0] : NULL;
  return (PyObject *)core_array_new(self->state, self->module, *self->format, one ? self->shape[1] : count,
                                    one ? -1 : self->shape[1], data, (PyObject *)self, self->readonly);
}

static PyObject *item(PyObject *object, PyObject *key) {
  core_array *self = (core_array *)object;
  if (self->dimensions == 2 && !self->gpu && PyIndex_Check(key)) {
    Py_ssize_t row = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (row == -1 && PyErr_Occurred())
      return NULL;
    if (row < -self->shape[0] || row >= self->shape[0])
      return PyErr_Format(PyExc_IndexError, "row %zd of %zd", row, self->shape[0]);
    return rows_of(self, row < 0 ? row + self->shape[0] : row, 1, true);
  }
  Py_ssize_t start, stop, step;
  if (self->dimensions == 2 && !self->gpu && PySlice_Check(key)) {
    if (PySlice_Unpack(key, &start, &stop, &step) < 0)
      return NULL;
    const Py_ssize_t count = PySlice_AdjustIndices(self->shape[0], &start, &stop, step);
    if (step == 1)
      return rows_of(self, start, count, false);
  }
  PyObject *view = PyMemoryView_FromObject(object);
  PyObject *value = view ? PyObject_GetItem(view, key) : NULL;
  Py_XDECREF(view);
  return value;
}

static PyObject *iterate(PyObject *object) {
  PyObject *list = to_list(object, NULL);
  PyObject *iterator = list ? PyObject_GetIter(list) : NULL;
  Py_XDECREF(list);
  return iterator;
}

enum { SHOWN = 40 }; /* numbers; of more, their shape */

static PyObject *represent(PyObject *object) {
  const core_array *self = (core_array *)object;
  if (self->gpu)
    return PyUnicode_FromFormat("Array('%s', on cuda:%d)", self->format, brim_gpu_memory_card(self->gpu));
  const Py_ssize_t columns = self->dimensions == 2 ? self->shape[1] : 1;
  if (self->shape[0] * columns > SHOWN)
    return self->dimensions == 2 ? PyUnicode_FromFormat("Array([%zd, %zd], '%s')", self->shape[0], columns, self->format)
                                 : PyUnicode_FromFormat("Array([%zd], '%s')", self->shape[0], self->format);
  PyObject *list = to_list(object, NULL);
  PyObject *text = list ? PyUnicode_FromFormat("Array(%R, '%s')", list, self->format) : NULL;
  Py_XDECREF(list);
  return text;
}

/* Whether two have the same shape, kind and numbers, as lists; of one and an array of NumPy, NumPy says it item by item. */
static PyObject *compare(PyObject *object, PyObject *other, int how) {
  if ((how != Py_EQ && how != Py_NE) || Py_TYPE(object) != Py_TYPE(other))
    return Py_NewRef(Py_NotImplemented);
  PyObject *one = PyMemoryView_FromObject(object), *two = one ? PyMemoryView_FromObject(other) : NULL;
  PyObject *result = two ? PyObject_RichCompare(one, two, how) : NULL;
  Py_XDECREF(one);
  Py_XDECREF(two);
  return result;
}

/* (brim._core.array, (format, bytes, rows, columns)): for pickle. */
static PyObject *reduce(PyObject *object, PyObject *nothing) {
  (void)nothing;
  core_array *self = (core_array *)object;
  if (self->gpu)
    return PyErr_Format(PyExc_TypeError, "an array on a GPU cannot be pickled: brim.to(array, \"cpu\") copies it");
  const Py_ssize_t columns = self->dimensions == 2 ? self->shape[1] : -1;
  const Py_ssize_t size = self->shape[0] * (columns < 0 ? 1 : columns) * self->item;
  PyObject *make = PyObject_GetAttrString(self->module, "array");
  const void *data = self->data ? self->data : ""; /* of a batch without rows */
  PyObject *result = make ? Py_BuildValue("O(sy#nn)", make, self->format, data, size, self->shape[0], columns) : NULL;
  Py_XDECREF(make);
  return result;
}

static void destroy(PyObject *object) {
  core_array *self = (core_array *)object;
  brim_gpu_memory_free(self->gpu);
  if (self->owned)
    free(self->data);
  core_drop(self);
}

static core_array *on_host(core_state *state, PyObject *module, const core_array *from) {
  brim_error err;
  core_array *out = core_array_new(state, module, from->format[0], from->shape[0], from->dimensions == 2 ? from->shape[1] : -1,
                                   from->gpu ? NULL : from->data, NULL, false);
  const int status = out && from->gpu ? brim_gpu_memory_read(from->gpu, out->data, &err) : BRIM_OK;
  if (!status)
    return out;
  Py_DECREF((PyObject *)out);
  core_fail(state, status, &err);
  return NULL;
}

core_array *core_array_on_gpu(core_state *state, PyObject *module, char format, Py_ssize_t rows, Py_ssize_t columns,
                              brim_gpu_memory *gpu, PyObject *runtime) {
  core_array *out = core_array_new(state, module, format, rows, columns, brim_gpu_memory_at(gpu), runtime, false);
  if (out)
    out->gpu = gpu;
  else
    brim_gpu_memory_free(gpu);
  return out;
}

/* copied(runtime, array, card): a copy on a card (from 1 on; 0: the process's own), or, with -1, in host memory. */
PyObject *core_array_copied(PyObject *module, PyObject *args) {
  PyObject *given, *object;
  int card;
  brim_error err;
  if (!PyArg_ParseTuple(args, "OOi", &given, &object, &card))
    return NULL;
  core_state *state = core_of(module);
  core_runtime *runtime = core_cast(state, given, CORE_RUNTIME);
  const core_array *from = runtime ? core_cast(state, object, CORE_ARRAY) : NULL;
  core_array *host = from ? on_host(state, module, from) : NULL;
  if (!host || card < 0)
    return (PyObject *)host;
  const size_t size = (size_t)host->shape[0] * (size_t)host->strides[0];
  brim_gpu_memory *gpu;
  const int status = brim_gpu_memory_new(core_use(runtime), card, host->data, size, &gpu, &err);
  Py_DECREF((PyObject *)host);
  if (status)
    return core_fail(state, status, &err);
  return (PyObject *)core_array_on_gpu(state, module, from->format[0], from->shape[0],
                                       from->dimensions == 2 ? from->shape[1] : -1, gpu, given);
}

static PyMethodDef methods[] = {{"tolist", to_list, METH_NOARGS, "The numbers as a list (of rows)."},
                                {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
                                {"__dlpack_device__", dlpack_device, METH_NOARGS, NULL},
                                {"__reduce__", reduce, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef members[] = {{"shape", get_shape, NULL, "Lengths of the dimensions.", NULL},
                                {"format", get_format, NULL, "Item type, as in the struct module.", NULL},
                                {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, destroy},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_tp_repr, represent},
    {Py_tp_iter, iterate},
    {Py_tp_richcompare, compare},
    {Py_bf_getbuffer, get_buffer},
    {Py_mp_length, length},
    {Py_mp_subscript, item},
    {Py_tp_doc, "Numbers in memory: numpy.asarray(a) and torch.from_dlpack(a) do not copy. Two are equal (==) as lists are; "
                "numpy.asarray(a) == b compares item by item."},
    {0, NULL}};
PyType_Spec core_array_spec = {.name = "brim._core.Array",
                               .basicsize = sizeof(core_array),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};

/* ---- making them ------------------------------------------------------------------------------------------ */

static Py_ssize_t item_size(char format) {
  return format == 'q' ? 8 : format == 'B' ? 1 : 4;
}

core_array *core_array_new(core_state *state, PyObject *module, char format, Py_ssize_t rows, Py_ssize_t columns, void *data,
                           PyObject *owner, bool readonly) {
  core_array *self = core_new(state, module, CORE_ARRAY, owner, NULL, NULL);
  if (!self)
    return NULL;
  self->item = item_size(format);
  self->format[0] = format;
  self->dimensions = columns < 0 ? 1 : 2;
  self->shape[0] = rows;
  self->shape[1] = columns < 0 ? 0 : columns;
  self->strides[0] = self->item * (columns < 0 ? 1 : columns);
  self->strides[1] = columns < 0 ? 0 : self->item;
  self->readonly = readonly;
  self->data = data;
  if (owner)
    return self;
  size_t bytes = (size_t)rows * (size_t)self->strides[0];
  self->data = malloc(bytes ? bytes : 1);
  self->owned = true;
  if (!self->data) {
    Py_DECREF((PyObject *)self);
    PyErr_NoMemory();
    return NULL;
  }
  if (data && bytes)
    memcpy(self->data, data, bytes);
  return self;
}

/* array(format, bytes, rows, columns): a copy. */
PyObject *core_array_load(PyObject *module, PyObject *args) {
  const char *format, *bytes;
  Py_ssize_t size, rows, columns;
  if (!PyArg_ParseTuple(args, "sy#nn", &format, &bytes, &size, &rows, &columns))
    return NULL;
  const Py_ssize_t items = strlen(format) == 1 && strchr("iqBfI", *format) ? size / item_size(*format) : -1;
  const bool fits = rows >= 0 && columns >= -1 && items >= 0 &&
                    (columns < 0    ? items == rows
                     : columns == 0 ? items == 0
                                    : items % columns == 0 && items / columns == rows);
  if (!fits)
    return PyErr_Format(PyExc_ValueError, "expected a buffer of numbers, such as an array of int32 or float32");
  return (PyObject *)core_array_new(core_of(module), module, *format, rows, columns, (void *)bytes, NULL, false);
}

/* Items of any integer or float buffer, as 64-bit values. */
static bool copy_items(const Py_buffer *view, core_array *out) {
  char from = view->format ? view->format[0] : 'B';
  bool real = from == 'f' || from == 'd';
  if (!strchr("bBhHiIlLqQfd", from) || (view->format && view->format[1]) || (real && out->format[0] != 'f')) {
    PyErr_Format(PyExc_TypeError, "items of format %s do not fit here", view->format ? view->format : "B");
    return false;
  }
  for (Py_ssize_t i = 0; i < view->len / view->itemsize; i++) {
    const char *at = (const char *)view->buf + i * view->itemsize;
    int64_t integer = 0;
    double number = 0;
    switch (from) {
    case 'b':
      integer = *(const signed char *)at;
      break;
    case 'B':
      integer = *(const unsigned char *)at;
      break;
    case 'h':
      integer = *(const short *)(const void *)at;
      break;
    case 'H':
      integer = *(const unsigned short *)(const void *)at;
      break;
    case 'i':
      integer = *(const int *)(const void *)at;
      break;
    case 'I':
      integer = *(const unsigned *)(const void *)at;
      break;
    case 'f':
      number = (double)*(const float *)(const void *)at;
      break;
    case 'd':
      number = *(const double *)(const void *)at;
      break;
    default:
      integer = *(const int64_t *)(const void *)at;
    }
    if (out->format[0] == 'f') {
      ((float *)out->data)[i] = (float)(real ? number : (double)integer);
    } else if (out->format[0] == 'q') {
      ((int64_t *)out->data)[i] = integer;
    } else if (out->format[0] == 'B' ? integer < 0 || integer > 255 : integer < INT32_MIN || integer > INT32_MAX) {
      PyErr_Format(PyExc_OverflowError, "item %zd is out of range", i);
      return false;
    } else if (out->format[0] == 'B') {
      ((uint8_t *)out->data)[i] = (uint8_t)integer;
    } else {
      ((int32_t *)out->data)[i] = (int32_t)integer;
    }
  }
  return true;
}

/* What is no number here, in words. */
static void explain_item(PyObject *value, char format) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
      !PyErr_ExceptionMatches(PyExc_OverflowError))
    return;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "a %s is needed, not %.60R", format == 'f' ? "number" : "whole number of 64 bits", value);
}

static core_array *from_sequence(core_state *state, PyObject *module, PyObject *object, char format) {
  PyObject *list = PySequence_List(object);
  Py_ssize_t n = list ? PyList_Size(list) : 0;
  core_array *out = list ? core_array_new(state, module, format == 'f' ? 'f' : 'q', n, -1, NULL, NULL, false) : NULL;
  for (Py_ssize_t i = 0; out && i < n; i++) {
    PyObject *value = PyList_GetItem(list, i);
    if (format == 'f')
      ((float *)out->data)[i] = (float)PyFloat_AsDouble(value);
    else
      ((int64_t *)out->data)[i] = PyLong_AsLongLong(value);
    if (PyErr_Occurred()) {
      explain_item(value, format);
      core_fail_at(state, "item", i);
      Py_CLEAR(out);
    }
  }
  Py_XDECREF(list);
  if (!out || out->format[0] == format)
    return out;
  core_array *half = core_array_from(state, module, (PyObject *)out, format);
  Py_DECREF((PyObject *)out);
  return half;
}

core_array *core_array_from(core_state *state, PyObject *module, PyObject *object, char format) {
  if (!PyObject_CheckBuffer(object))
    return from_sequence(state, module, object, format);
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0)
    return NULL;
  core_array *out = NULL;
  bool same = view.format && view.format[0] == format && !view.format[1];
  same = same || (format == 'q' && view.format && view.format[0] == 'l' && !view.format[1]);
  if (view.ndim != 1) {
    PyErr_SetString(PyExc_ValueError, "an array of one dimension is needed");
  } else if (same) { /* in place; the view keeps the memory where it is */
    PyObject *keep = PyMemoryView_FromObject(object);
    out = keep ? core_array_new(state, module, format, view.shape[0], -1, view.buf, keep, true) : NULL;
    Py_XDECREF(keep);
  } else
    out = core_array_new(state, module, format, view.shape[0], -1, NULL, NULL, false);
  if (out && !same && !copy_items(&view, out))
    Py_CLEAR(out);
  PyBuffer_Release(&view);
  return out;
}
