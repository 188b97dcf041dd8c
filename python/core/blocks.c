#include "blocks.h"

#include <string.h>

static bool read_one(core_state *state, PyObject *module, PyObject *item, int index, brim_block_column *column,
                     core_blocks *out) {
  const char *name;
  int per, integers, width;
  PyObject *values, *begins;
  if (!PyArg_ParseTuple(item, "szipiOO", &name, &column->column, &per, &integers, &width, &values, &begins))
    return false;
  if (strlen(name) >= BRIM_BLOCK_NAME) {
    PyErr_Format(PyExc_ValueError, "blocks: the name %s has more than %d bytes", name, BRIM_BLOCK_NAME - 1);
    return false;
  }
  column->shape = (brim_block_shape){.per = (brim_per)per, .integers = integers != 0, .width = width};
  memcpy(column->shape.name, name, strlen(name));
  if (values == Py_None)
    return true;
  out->values[index] = core_array_from(state, module, values, integers ? 'i' : 'f');
  out->begins[index] = out->values[index] ? core_array_from(state, module, begins, 'q') : NULL;
  return out->begins[index] != NULL;
}

bool core_blocks_read(core_state *state, PyObject *module, PyObject *list, core_blocks *out) {
  brim_block_column columns[BRIM_MOST_BLOCKS];
  const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
  memset(columns, 0, sizeof columns);
  if (count < 0 || count >= BRIM_MOST_BLOCKS) {
    PyErr_Format(PyExc_ValueError, "blocks: at most %d", BRIM_MOST_BLOCKS - 1);
    return false;
  }
  for (int b = 0; b < count; b++)
    if (!read_one(state, module, PyList_GetItem(list, b), b, &columns[b], out))
      return false;
  PyObject *bytes = PyBytes_FromStringAndSize((const char *)columns, (Py_ssize_t)sizeof columns);
  out->held = bytes ? PyTuple_Pack(2, list, bytes) : NULL; /* the names of columns are the list's */
  Py_XDECREF(bytes);
  if (!out->held)
    return false;
  out->columns = (const brim_block_column *)(const void *)PyBytes_AsString(PyTuple_GetItem(out->held, 1));
  out->count = (int)count;
  return true;
}

bool core_blocks_take(core_state *state, PyObject *module, PyObject *options, core_blocks *out) {
  PyObject *list = core_option(options, "blocks");
  if (!list)
    return !PyErr_Occurred();
  if (list != Py_None && !core_blocks_read(state, module, list, out))
    return false;
  return PyDict_DelItemString(options, "blocks") == 0;
}

void core_blocks_free(core_blocks *blocks) {
  for (int b = 0; b < BRIM_MOST_BLOCKS; b++) {
    Py_XDECREF((PyObject *)blocks->values[b]);
    Py_XDECREF((PyObject *)blocks->begins[b]);
  }
  Py_XDECREF(blocks->held);
  *blocks = (core_blocks){0};
}

void core_blocks_row(const core_blocks *blocks, uint64_t row, const void **values, size_t *numbers) {
  for (int b = 0; b < blocks->count; b++) {
    const int64_t *begins = blocks->begins[b]->data;
    values[b + 1] = (const char *)blocks->values[b]->data + begins[row] * 4;
    numbers[b + 1] = (size_t)(begins[row + 1] - begins[row]);
  }
}

bool core_blocks_fit(const core_blocks *blocks, Py_ssize_t rows) {
  bool fit = true;
  for (int b = 0; b < blocks->count && fit; b++) {
    const core_array *values = blocks->values[b], *begins = blocks->begins[b];
    const int64_t *at = begins ? begins->data : NULL;
    fit = values && begins->shape[0] == rows + 1 && at[0] == 0 && at[rows] == values->shape[0];
    for (Py_ssize_t i = 0; fit && i < rows; i++)
      fit = at[i] <= at[i + 1];
    if (!fit)
      PyErr_Format(PyExc_ValueError, "blocks: %s has no numbers for each of the %zd rows", blocks->columns[b].shape.name, rows);
  }
  return fit;
}
