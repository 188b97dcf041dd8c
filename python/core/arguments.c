/* arguments.c: Python values into options, strings and bytes. */
#include "core.h"

#include <string.h>

static bool set_enum(const core_field *field, PyObject *value, void *at) {
  const char *name = PyUnicode_AsUTF8AndSize(value, NULL);
  if (!name)
    return false;
  int chosen;
  if (!field->parse(name, &chosen)) {
    PyErr_Format(PyExc_ValueError, "%s: there is no \"%s\"", field->name, name);
    return false;
  }
  memcpy(at, &chosen, sizeof chosen);
  return true;
}

static bool set_integer(const core_field *field, PyObject *value, void *at) {
  if (field->kind == CORE_U64) {
    unsigned long long number = PyLong_AsUnsignedLongLong(value);
    *(uint64_t *)at = number;
    return !PyErr_Occurred();
  }
  long long number = PyLong_AsLongLong(value);
  if (PyErr_Occurred())
    return false;
  if (field->kind == CORE_I64) {
    *(int64_t *)at = number;
    return true;
  }
  if (number < INT32_MIN || number > INT32_MAX) {
    PyErr_Format(PyExc_OverflowError, "%s: %lld is too large", field->name, number);
    return false;
  }
  *(int32_t *)at = (int32_t)number;
  return true;
}

static bool set_field(const core_field *field, PyObject *value, void *out) {
  void *at = (char *)out + field->offset;
  switch (field->kind) {
  case CORE_REAL:
    *(double *)at = PyFloat_AsDouble(value);
    return !PyErr_Occurred();
  case CORE_BOOL: {
    int truth = PyObject_IsTrue(value);
    *(bool *)at = truth > 0;
    return truth >= 0;
  }
  case CORE_TEXT: /* borrowed: the caller keeps the options dict's values alive */
    *(const char **)at = PyUnicode_AsUTF8AndSize(value, NULL);
    return *(const char **)at != NULL;
  case CORE_ENUM:
    return set_enum(field, value, at);
  default:
    return set_integer(field, value, at);
  }
}

static void name_field(const core_field *field) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyErr_Format(type, "%s: %S", field->name, value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

bool core_fields(PyObject *options, const core_field *fields, void *out) {
  for (const core_field *field = fields; field->name; field++) {
    PyObject *key = PyUnicode_FromString(field->name);
    PyObject *value = key ? PyDict_GetItemWithError(options, key) : NULL;
    bool fine = key && !PyErr_Occurred();
    if (fine && value && value != Py_None && !set_field(field, value, out)) {
      if (field->kind != CORE_ENUM && PyErr_ExceptionMatches(PyExc_TypeError))
        name_field(field);
      fine = false;
    }
    /* A text is borrowed from its value: it stays in the dict under another key. */
    if (fine && value) {
      PyObject *kept = field->kind == CORE_TEXT ? PyTuple_Pack(1, key) : NULL;
      fine = (field->kind != CORE_TEXT || (kept && PyDict_SetItem(options, kept, value) == 0)) &&
             PyDict_DelItem(options, key) == 0;
      Py_XDECREF(kept);
    }
    Py_XDECREF(key);
    if (!fine)
      return false;
  }
  return true;
}

bool core_no_more(PyObject *options) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(options, &at, &key, &value))
    if (PyUnicode_Check(key)) {
      PyErr_Format(PyExc_TypeError, "there is no option \"%U\"", key);
      return false;
    }
  return true;
}

bool core_text(PyObject *object, core_bytes *out) {
  if (PyBytes_Check(object)) {
    char *bytes;
    if (PyBytes_AsStringAndSize(object, &bytes, &out->size) < 0)
      return false;
    out->data = bytes;
    return true;
  }
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a text is str or bytes, not %S", Py_TYPE(object));
    return false;
  }
  out->data = PyUnicode_AsUTF8AndSize(object, &out->size);
  return out->data != NULL;
}

const char **core_strings(PyObject *sequence, Py_ssize_t *count) {
  *count = 0;
  if (sequence == Py_None)
    return NULL;
  Py_ssize_t n = PyList_Check(sequence) ? PyList_Size(sequence) : -1;
  if (n < 0) {
    PyErr_SetString(PyExc_TypeError, "expected a list of str");
    return NULL;
  }
  const char **strings = PyMem_Calloc((size_t)n + 1, sizeof *strings);
  if (!strings) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    strings[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(sequence, i), NULL);
    if (!strings[i]) {
      PyMem_Free(strings);
      return NULL;
    }
  }
  *count = n;
  return strings;
}
