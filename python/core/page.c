/* page.c: pages with pictures, as the program's reports have them. */
#include "core.h"

typedef struct words {
  const char **strings;
  Py_ssize_t count;
} words;

static bool read_words(PyObject *list, words *out) {
  out->strings = core_strings(list, &out->count);
  return out->strings != NULL;
}

/* (names, values) */
static bool put_figures(brim_page *page, PyObject *item) {
  PyObject *names, *values;
  words n = {0}, v = {0};
  bool fine = PyArg_ParseTuple(item, "sOO", &(const char *){0}, &names, &values) && read_words(names, &n) &&
              read_words(values, &v);
  if (fine)
    brim_page_figures(page, n.strings, v.strings, (int)(n.count < v.count ? n.count : v.count));
  PyMem_Free(n.strings);
  PyMem_Free(v.strings);
  return fine;
}

/* (caption, titles, cells: all in one list): the first column is of words, the others of numbers */
static bool put_table(brim_page *page, PyObject *item) {
  enum { MOST = 32 };
  PyObject *titles, *cells;
  const char *caption;
  words t = {0}, c = {0};
  brim_column columns[MOST];
  bool fine = PyArg_ParseTuple(item, "szOO", &(const char *){0}, &caption, &titles, &cells) && read_words(titles, &t) &&
              read_words(cells, &c);
  if (fine && (t.count < 1 || t.count > MOST || c.count % t.count != 0)) {
    PyErr_SetString(PyExc_ValueError, "a table needs one cell for each column of each row");
    fine = false;
  }
  for (Py_ssize_t i = 0; fine && i < t.count; i++)
    columns[i] = (brim_column){t.strings[i], i > 0};
  if (fine)
    brim_page_table(page, caption, columns, (int)t.count, c.strings, (int)(c.count / t.count));
  PyMem_Free(t.strings);
  PyMem_Free(c.strings);
  return fine;
}

/* Doubles of a list, in memory to be freed. */
static double *read_numbers(PyObject *list, Py_ssize_t *count) {
  *count = PyList_Check(list) ? PyList_Size(list) : 0;
  double *out = PyMem_Calloc((size_t)*count + 1, sizeof *out);
  if (!out)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; out && i < *count; i++)
    out[i] = PyFloat_AsDouble(PyList_GetItem(list, i));
  return out;
}

/* (title, description, x title, y title, [(name, xs, ys)]): lines */
static bool put_chart(brim_page *page, PyObject *item) {
  enum { MOST = 16 };
  PyObject *list;
  brim_caption caption;
  brim_chart chart = {.smooth = true};
  brim_series series[MOST] = {0};
  if (!PyArg_ParseTuple(item, "sszssO", &(const char *){0}, &caption.title, &caption.description, &chart.x.title, &chart.y.title,
                        &list))
    return false;
  for (Py_ssize_t i = 0; i < PyList_Size(list) && i < MOST && !PyErr_Occurred(); i++) {
    PyObject *xs, *ys;
    Py_ssize_t count = 0, others = 0;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sOO", &series[i].name, &xs, &ys))
      break;
    series[i].x = read_numbers(xs, &count);
    series[i].y = read_numbers(ys, &others);
    series[i].count = (size_t)(count < others ? count : others);
    chart.series_count = (int)i + 1;
  }
  chart.series = series;
  if (!PyErr_Occurred())
    brim_page_chart(page, caption, &chart);
  for (int i = 0; i < chart.series_count; i++) {
    PyMem_Free((void *)series[i].x);
    PyMem_Free((void *)series[i].y);
  }
  return !PyErr_Occurred();
}

/* (title, description, names, labels, values) */
static bool put_bars(brim_page *page, PyObject *item) {
  PyObject *names, *labels, *values;
  brim_caption caption;
  words n = {0}, l = {0};
  Py_ssize_t count = 0;
  bool fine = PyArg_ParseTuple(item, "sszOOO", &(const char *){0}, &caption.title, &caption.description, &names, &labels,
                               &values) &&
              read_words(names, &n) && read_words(labels, &l);
  double *numbers = fine ? read_numbers(values, &count) : NULL;
  fine = fine && numbers && !PyErr_Occurred();
  if (fine && n.count == l.count && n.count == count)
    brim_page_bars(page, caption,
                   &(brim_bars){.names = n.strings, .labels = l.strings, .values = numbers, .count = (int)count, .parts = 1});
  PyMem_Free(numbers);
  PyMem_Free(n.strings);
  PyMem_Free(l.strings);
  return fine;
}

/* (title, description, what the values are, what is counted, counts as int64): of whole numbers from 0 */
static bool put_histogram(brim_page *page, PyObject *item, core_state *state, PyObject *module) {
  PyObject *counts;
  brim_caption caption;
  brim_bins bins = {.width = 1, .whole = true};
  if (!PyArg_ParseTuple(item, "sszssO", &(const char *){0}, &caption.title, &caption.description, &bins.title, &bins.counted,
                        &counts))
    return false;
  core_array *array = core_array_from(state, module, counts, 'q');
  if (!array)
    return false;
  bins.counts = (const uint64_t *)array->data;
  bins.count = array->shape[0];
  brim_page_histogram(page, caption, &bins);
  Py_DECREF((PyObject *)array);
  return true;
}

/* (Judged, of what, with the most wrong) */
static bool put_judged(brim_page *page, PyObject *item, core_state *state) {
  PyObject *handle;
  const char *of;
  brim_error error;
  int texts;
  if (!PyArg_ParseTuple(item, "sOsp", &(const char *){0}, &handle, &of, &texts))
    return false;
  core_judged *judged = core_cast(state, handle, CORE_JUDGED);
  int status = judged ? brim_page_judged(page, &judged->judged, of, texts, &error) : BRIM_OK;
  return judged && (status == BRIM_OK || core_fail(state, status, &error));
}

/* (folder, name): what a run's own page has */
static bool put_run(brim_page *page, PyObject *item, core_state *state, brim_runtime *runtime) {
  const char *folder, *name;
  brim_runs runs = {0};
  brim_error error;
  if (!PyArg_ParseTuple(item, "sO&s", &(const char *){0}, core_path, &folder, &name))
    return false;
  int status = brim_runs_open(runtime, &folder, 1, &runs, &error);
  runs.names[0] = name;
  if (status == BRIM_OK)
    status = brim_page_runs(page, &runs, &error);
  runs.names[0] = folder;
  if (status == BRIM_OK)
    status = brim_page_kept(page, &runs, &error);
  if (status == BRIM_OK)
    status = brim_page_settings(page, &runs, &error);
  brim_runs_close(&runs);
  return status == BRIM_OK || core_fail(state, status, &error);
}

static bool put_item(brim_page *page, PyObject *item, core_state *state, PyObject *module, brim_runtime *runtime) {
  const char *kind = PyTuple_Check(item) && PyTuple_Size(item) ? PyUnicode_AsUTF8AndSize(PyTuple_GetItem(item, 0), NULL) : NULL;
  const char *text;
  static const char *const kinds[] = {"section",   "text",   "figures", "table",      "chart",    "bars",
                                      "histogram", "judged", "run",     "comparison", "analysis", NULL};
  int which = -1;
  if (!kind || !core_named(kinds, kind, &which)) {
    PyErr_SetString(PyExc_ValueError, "there is no such part of a page");
    return false;
  }
  switch (which) {
  case 0:
  case 1:
    if (!PyArg_ParseTuple(item, "ss", &kind, &text))
      return false;
    (which == 0 ? brim_page_section : brim_page_text)(page, text);
    return true;
  case 2:
    return put_figures(page, item);
  case 3:
    return put_table(page, item);
  case 4:
    return put_chart(page, item);
  case 5:
    return put_bars(page, item);
  case 7:
    return put_judged(page, item, state);
  case 8:
    return put_run(page, item, state, runtime);
  case 9:
    return core_put_comparison(page, item, state);
  case 10:
    return core_put_analysis(page, item, state, module);
  default:
    return put_histogram(page, item, state, module);
  }
}

/* page(runtime, title, parts, path): writes it */
PyObject *core_page(PyObject *module, PyObject *args) {
  PyObject *runtime, *parts;
  const char *title, *path;
  brim_page *page = NULL;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OsOO&", &runtime, &title, &parts, core_path, &path))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of)
    return NULL;
  int status = brim_page_new(core_use(of), title, &page, &error);
  bool fine = true;
  for (Py_ssize_t i = 0; status == BRIM_OK && fine && i < PyList_Size(parts); i++)
    fine = put_item(page, PyList_GetItem(parts, i), core_of(module), module, core_use(of));
  if (status == BRIM_OK && fine)
    status = brim_page_write(page, path, &error);
  brim_page_free(page);
  if (!fine)
    return NULL;
  if (status != BRIM_OK)
    return core_fail(core_of(module), status, &error);
  Py_RETURN_NONE;
}
