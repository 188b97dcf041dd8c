/* study_page.c: the pictures of comparisons and analyses: the library's, from the numbers that Python holds of them. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- comparisons ------------------------------------------------------------------------------------------ */

/* The numbers of a list; NULL with an exception. */
static double *numbers_of(PyObject *list, size_t *count) {
  const Py_ssize_t n = PyList_Check(list) ? PyList_Size(list) : 0;
  double *values = PyMem_Calloc((size_t)n + 1, sizeof *values);
  if (!values)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; values && i < n; i++)
    values[i] = PyFloat_AsDouble(PyList_GetItem(list, i));
  *count = (size_t)n;
  return values;
}

/* (name, rows, tokens, slots, seconds, tokens_per_second, padding_share, loss, score or None, memory, samples, seconds, losses,
 * speed, its low and high, rounds) */
static bool read_mode(PyObject *item, brim_mode_result *r, brim_mode_curve *c, double *score_of) {
  PyObject *score, *lists[3];
  unsigned long long rows, tokens, slots;
  double **const columns[] = {&c->samples, &c->seconds, &c->loss};
  size_t counts[3] = {0};
  if (!PyArg_ParseTuple(item, "sKKKddddOdOOOdddi", &r->mode.name, &rows, &tokens, &slots, &r->seconds, &r->tokens_per_second,
                        &r->padding_share, &r->loss, &score, &c->memory, &lists[0], &lists[1], &lists[2], &r->speed,
                        &r->speed_low, &r->speed_high, &r->round_count))
    return false;
  r->rows = rows, r->tokens = tokens, r->slots = slots;
  r->evaluated = score != Py_None;
  if (r->evaluated)
    *score_of = PyFloat_AsDouble(score);
  for (int i = 0; i < 3; i++)
    if (!(*columns[i] = numbers_of(lists[i], &counts[i])))
      return false;
  c->count = counts[0] < counts[1] ? counts[0] : counts[1];
  c->count = c->count < counts[2] ? c->count : counts[2];
  return !PyErr_Occurred();
}

/* ("comparison", modes, metric) */
bool core_put_comparison(brim_page *page, PyObject *item, core_state *state) {
  PyObject *modes;
  brim_error error;
  int status = BRIM_OK;
  const char *metric;
  double scores[BRIM_MOST_MODES] = {0};
  brim_mode_result results[BRIM_MOST_MODES] = {0};
  brim_mode_curve curves[BRIM_MOST_MODES] = {0};
  if (!PyArg_ParseTuple(item, "sOs", &(const char *){0}, &modes, &metric))
    return false;
  const Py_ssize_t count = PyList_Check(modes) ? PyList_Size(modes) : 0;
  bool fine = count >= 1 && count <= BRIM_MOST_MODES;
  if (!fine)
    PyErr_SetString(PyExc_ValueError, "a comparison has from 1 to 16 ways");
  for (Py_ssize_t i = 0; fine && i < count; i++)
    fine = read_mode(PyList_GetItem(modes, i), &results[i], &curves[i], &scores[i]);
  if (fine)
    status = brim_page_comparison(page, &(brim_comparison){results, curves, (int)count, metric, scores}, &error);
  for (int i = 0; i < BRIM_MOST_MODES; i++) {
    PyMem_Free(curves[i].samples);
    PyMem_Free(curves[i].seconds);
    PyMem_Free(curves[i].loss);
  }
  return fine && (status == BRIM_OK || core_fail(state, status, &error));
}

/* ---- analyses --------------------------------------------------------------------------------------------- */

/* [(row of its source, caption)] of the texts that an analysis shows */
PyObject *core_picked(PyObject *module, PyObject *args) {
  PyObject *dataset;
  unsigned long long seed;
  int samples;
  brim_shown_texts texts;
  if (!PyArg_ParseTuple(args, "OKi", &dataset, &seed, &samples))
    return NULL;
  core_dataset *rows = core_cast(core_of(module), dataset, CORE_DATASET);
  if (!rows)
    return NULL;
  brim_shown_texts_pick(rows->dataset, seed, samples, &texts);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < texts.count; i++) {
    PyObject *item = Py_BuildValue("(Ks)", (unsigned long long)texts.passages[i].row, texts.captions[i]);
    if (!item || PyList_Append(list, item) < 0)
      Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

typedef struct analysis {
  core_state *state;
  core_dataset *dataset;
  core_tokenizer *tokenizer;
  brim_plan_options how;
  brim_study study;
  brim_survey survey;
  brim_shown_texts texts;
  brim_page *page;
  /* Files, or */
  const char **paths;
  Py_ssize_t path_count;
  brim_source_options source;
  brim_encode_options encode;
} analysis;

static int work(void *context, brim_error *error) {
  analysis *a = context;
  brim_runtime *runtime = a->dataset->runtime->runtime;
  const brim_analysis shown = {a->dataset->dataset, &a->study, &a->how, NULL, &a->survey, &a->texts};
  int status = brim_study_dataset(runtime, a->dataset->dataset, &a->how, &a->study, error);
  if (!status && a->paths)
    status = brim_survey_read(&a->survey, a->paths, (int)a->path_count, &a->source, a->tokenizer->tokenizer, &a->encode, error);
  if (!status && a->paths)
    status = brim_passages_read(runtime, a->paths, (int)a->path_count, &a->source, brim_dataset_stamp(a->dataset->dataset),
                                a->texts.passages, a->texts.count, error);
  return status ? status : brim_page_analysis(a->page, &shown, error);
}

/* Rows in memory: their lengths before truncation as int32, their labels as str or None (a list, or None), and the texts that
 * core_picked names: [(text, pair or None)], or None. */
static bool read_rows(analysis *a, PyObject *module, PyObject *lengths, PyObject *labels, PyObject *texts) {
  brim_error error;
  int status = BRIM_OK;
  core_array *array = core_array_from(a->state, module, lengths, 'i');
  for (Py_ssize_t i = 0; array && status == BRIM_OK && i < array->shape[0] && !PyErr_Occurred(); i++) {
    core_bytes label = {0};
    PyObject *item = labels == Py_None ? Py_None : PyList_GetItem(labels, i);
    if (item && item != Py_None && !core_text(item, &label))
      break;
    status = brim_survey_add(&a->survey, (size_t)((const int32_t *)array->data)[i], label.data, (size_t)label.size, &error);
  }
  Py_XDECREF((PyObject *)array);
  for (Py_ssize_t i = 0;
       status == BRIM_OK && texts != Py_None && i < PyList_Size(texts) && i < a->texts.count && !PyErr_Occurred(); i++) {
    core_bytes text = {0}, pair = {0};
    PyObject *one, *other;
    if (PyArg_ParseTuple(PyList_GetItem(texts, i), "OO", &one, &other) && core_text(one, &text) &&
        (other == Py_None || core_text(other, &pair)))
      status = brim_passage_set(a->dataset->runtime->runtime, &a->texts.passages[i], text.data, (size_t)text.size, pair.data,
                                (size_t)pair.size, &error);
  }
  if (status != BRIM_OK)
    core_fail(a->state, status, &error);
  return status == BRIM_OK && !PyErr_Occurred();
}

static bool read_files(analysis *a, PyObject *tokenizer, PyObject *paths, PyObject *source, PyObject *encode) {
  a->tokenizer = core_cast(a->state, tokenizer, CORE_TOKENIZER);
  if (!a->tokenizer || !core_source_options(source, &a->source) || !core_no_more(source) ||
      !core_encode_options(encode, &a->encode) || !core_no_more(encode))
    return false;
  a->paths = core_strings(paths, &a->path_count);
  return a->paths != NULL;
}

/* ("analysis", Dataset, plan options, seed, samples, "files", (Tokenizer, paths, source options, encode options)) or
 * (.., "rows", (lengths, labels, texts)) */
bool core_put_analysis(brim_page *page, PyObject *item, core_state *state, PyObject *module) {
  PyObject *dataset, *plan, *rest[4];
  const char *kind;
  unsigned long long seed;
  int samples;
  analysis a = {.state = state, .page = page};
  if (!PyArg_ParseTuple(item, "sOOKisO", &kind, &dataset, &plan, &seed, &samples, &kind, &rest[0]))
    return false;
  const bool files = strcmp(kind, "files") == 0;
  PyObject *tuple = rest[0];
  a.dataset = core_cast(state, dataset, CORE_DATASET);
  if (!a.dataset || !core_plan_options(plan, &a.how) || !core_no_more(plan))
    return false;
  a.survey.runtime = a.dataset->runtime->runtime;
  brim_shown_texts_pick(a.dataset->dataset, seed, samples, &a.texts);
  bool fine = files ? PyArg_ParseTuple(tuple, "OOOO", &rest[0], &rest[1], &rest[2], &rest[3]) &&
                          read_files(&a, rest[0], rest[1], rest[2], rest[3])
                    : PyArg_ParseTuple(tuple, "OOO", &rest[0], &rest[1], &rest[2]) &&
                          read_rows(&a, module, rest[0], rest[1], rest[2]);
  fine = fine && core_run(state, a.dataset->runtime, work, &a) == BRIM_OK;
  PyMem_Free(a.paths);
  brim_study_free(&a.study);
  brim_survey_free(&a.survey);
  brim_passages_free(a.dataset->runtime->runtime, a.texts.passages, a.texts.count);
  return fine;
}
