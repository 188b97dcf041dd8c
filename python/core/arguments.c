/* arguments.c: Python values into options, strings and bytes. */
#include "core.h"

#include <string.h>

void core_explain_unicode(PyObject *item) {
  if (!PyErr_ExceptionMatches(PyExc_UnicodeError))
    return;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError,
               PyBytes_Check(item) ? "%.60R is not UTF-8: decode it first"
                                   : "%.60R holds half a character (a lone surrogate), which no file can have",
               item);
}

static bool set_text(PyObject *value, const char **at) {
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "a str is needed, not %R", value);
    return false;
  }
  Py_ssize_t size;
  *at = PyUnicode_AsUTF8AndSize(value, &size);
  if (!*at)
    core_explain_unicode(value);
  if (*at && (Py_ssize_t)strlen(*at) != size) {
    PyErr_Format(PyExc_ValueError, "%R holds a NUL", value);
    return false;
  }
  return *at != NULL;
}

/* Also bytes, as os.fsencode makes them of names that are not UTF-8. */
static bool set_path(PyObject *value, const char **at) {
  if (!PyBytes_Check(value))
    return set_text(value, at);
  *at = PyBytes_AsString(value);
  if ((Py_ssize_t)strlen(*at) != PyBytes_Size(value))
    PyErr_Format(PyExc_ValueError, "%R holds a NUL", value);
  return !PyErr_Occurred();
}

int core_path(PyObject *value, void *at) {
  return set_path(value, at);
}

/* Python's or NumPy's; -1: an exception is set. */
static int is_bool(PyObject *value) {
  if (PyBool_Check(value) || PyLong_Check(value) || PyFloat_Check(value))
    return PyBool_Check(value);
  PyObject *name = PyType_GetName(Py_TYPE(value));
  const char *type = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  const int is = type ? strcmp(type, "bool") == 0 || strcmp(type, "bool_") == 0 : -1;
  Py_XDECREF(name);
  return is;
}

/* What was wrong with a value is said otherwise; not that memory is lacking. */
static bool refuse_value(const char *needed, PyObject *value) {
  if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_MemoryError)) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s is needed, not %R", needed, value);
  }
  return false;
}

/* True, False, NumPy's, 1 and 0. A word is neither, whatever it says: "no" would be true. */
static bool set_bool(PyObject *value, bool *at) {
  const int is = is_bool(value);
  const long number = is == 0 && PyLong_Check(value) ? PyLong_AsLong(value) : -1;
  if (is < 0 || (is == 0 && number != 0 && number != 1))
    return refuse_value("True or False", value);
  const int truth = PyObject_IsTrue(value);
  *at = truth > 0;
  return truth >= 0;
}

static bool set_enum(const core_field *field, PyObject *value, void *at) {
  const char *name;
  int chosen;
  if (!set_text(value, &name))
    return false;
  if (!field->parse(name, &chosen)) {
    PyErr_Format(PyExc_ValueError, "%s: there is no \"%s\"%s%s", field->name, name, field->names ? "; use " : "",
                 field->names ? field->names : "");
    return false;
  }
  memcpy(at, &chosen, sizeof chosen);
  return true;
}

static void put_integer(const core_field *field, PyObject *number, void *at) {
  if (field->kind == CORE_U64)
    *(uint64_t *)at = PyLong_AsUnsignedLongLong(number);
  else if (field->kind == CORE_I64)
    *(int64_t *)at = PyLong_AsLongLong(number);
  else {
    long long value = PyLong_AsLongLong(number);
    if (!PyErr_Occurred() && (value < INT32_MIN || value > INT32_MAX))
      PyErr_SetNone(PyExc_OverflowError);
    *(int32_t *)at = (int32_t)value;
  }
}

/* Any type that has __index__, NumPy's integers too; True is no number, though Python says that it is 1. */
static bool set_integer(const core_field *field, PyObject *value, void *at) {
  static const char *const ranges[] = {[CORE_I32] = "-2147483648 to 2147483647",
                                       [CORE_I64] = "-9223372036854775808 to 9223372036854775807",
                                       [CORE_U64] = "0 to 18446744073709551615"};
  PyObject *number = is_bool(value) != 0 ? NULL : PyNumber_Index(value);
  if (!number)
    return refuse_value("a whole number", value);
  put_integer(field, number, at);
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s: %S is out of range (%s)", field->name, number, ranges[field->kind]);
  }
  Py_DECREF(number);
  return !PyErr_Occurred();
}

static bool set_real(PyObject *value, double *at) {
  const bool truth = is_bool(value) != 0;
  *at = truth ? 0 : PyFloat_AsDouble(value);
  return !truth && !PyErr_Occurred() ? true : refuse_value("a number", value);
}

static bool set_field(const core_field *field, PyObject *value, void *out) {
  void *at = (char *)out + field->offset;
  switch (field->kind) {
  case CORE_REAL:
    return set_real(value, at);
  case CORE_BOOL:
    return set_bool(value, at);
  case CORE_TEXT: /* borrowed: the caller keeps the options dict's values alive */
    return set_text(value, (const char **)at);
  case CORE_PATH:
    return set_path(value, (const char **)at);
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
    const bool borrowed = field->kind == CORE_TEXT || field->kind == CORE_PATH;
    PyObject *key = PyUnicode_FromString(field->name);
    PyObject *value = key ? PyDict_GetItemWithError(options, key) : NULL;
    bool fine = key && !PyErr_Occurred();
    if (fine && value && value != Py_None && !set_field(field, value, out)) {
      if (PyErr_ExceptionMatches(PyExc_TypeError) || (borrowed && PyErr_ExceptionMatches(PyExc_ValueError)))
        name_field(field);
      fine = false;
    }
    /* A text is borrowed from its value: it stays in the dict under another key. */
    if (fine && value) {
      PyObject *kept = borrowed ? PyTuple_Pack(1, key) : NULL;
      fine = (!borrowed || (kept && PyDict_SetItem(options, kept, value) == 0)) && PyDict_DelItem(options, key) == 0;
      Py_XDECREF(kept);
    }
    Py_XDECREF(key);
    if (!fine)
      return false;
  }
  return true;
}

PyObject *core_option(PyObject *options, const char *name) {
  PyObject *key = PyUnicode_FromString(name);
  PyObject *value = key ? PyDict_GetItemWithError(options, key) : NULL;
  Py_XDECREF(key);
  return value;
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
    PyObject *text = PyUnicode_DecodeUTF8(bytes, out->size, "strict"); /* refused as a file would be */
    if (!text)
      core_explain_unicode(object);
    Py_XDECREF(text);
    return text != NULL;
  }
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a text is str or bytes, not %S", Py_TYPE(object));
    return false;
  }
  out->data = PyUnicode_AsUTF8AndSize(object, &out->size);
  if (!out->data)
    core_explain_unicode(object);
  return out->data != NULL;
}

const char **core_strings(PyObject *sequence, Py_ssize_t *count) {
  *count = 0;
  if (sequence == Py_None)
    return NULL;
  Py_ssize_t n = PyList_Check(sequence) ? PyList_Size(sequence) : -1;
  if (n < 0) {
    PyErr_SetString(PyExc_TypeError, "expected a list of str or bytes");
    return NULL;
  }
  const char **strings = PyMem_Calloc((size_t)n + 1, sizeof *strings);
  if (!strings) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!set_path(PyList_GetItem(sequence, i), &strings[i])) {
      PyMem_Free(strings);
      return NULL;
    }
  }
  *count = n;
  return strings;
}
