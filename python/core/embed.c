/* embed.c: vectors of texts by a model and what its folder puts after it. */
#include "core.h"
#include "texts.h"

#include <stdlib.h>

typedef struct job {
  core_embedder *self;
  brim_string *texts; /* [count] in Python's memory */
  uint64_t *numbers;
  Py_ssize_t count;
  brim_embed_options options;
  brim_embed_counts counts;
  core_array *vectors;
} job;

/* ---- opening ---------------------------------------------------------------------------------------------- */

/* embedder(runtime, model, tokenizer, folder) */
PyObject *core_embedder_make(PyObject *module, PyObject *args) {
  PyObject *runtime, *model, *tokenizer;
  const char *folder;
  brim_embedder *embedder;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OOOO&", &runtime, &model, &tokenizer, core_path, &folder))
    return NULL;
  core_state *state = core_of(module);
  core_runtime *of = core_cast(state, runtime, CORE_RUNTIME);
  core_model *encoder = of ? core_cast(state, model, CORE_MODEL) : NULL;
  core_tokenizer *words = encoder ? core_cast(state, tokenizer, CORE_TOKENIZER) : NULL;
  if (!words)
    return NULL;
  const int status = brim_embedder_over(core_use(of), encoder->model, words->tokenizer, folder, &embedder, &error);
  if (status != BRIM_OK)
    return core_fail(state, status, &error);
  core_embedder *self = core_new(state, module, CORE_EMBEDDER, runtime, model, tokenizer);
  if (!self) {
    brim_embedder_free(embedder);
    return NULL;
  }
  self->runtime = of;
  self->model = encoder;
  self->embedder = embedder;
  return (PyObject *)self;
}

/* encoder_folder(runtime, folder) -> where the encoder of a folder of sentence-transformers is */
PyObject *core_encoder_folder(PyObject *module, PyObject *args) {
  PyObject *runtime;
  const char *folder;
  brim_error error;
  brim_text path;
  if (!PyArg_ParseTuple(args, "OO&", &runtime, core_path, &folder))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of)
    return NULL;
  brim_text_init(&path, core_use(of));
  const int status = brim_encoder_folder(core_use(of), folder, &path, &error);
  PyObject *found = status == BRIM_OK ? PyUnicode_DecodeFSDefaultAndSize(path.data, (Py_ssize_t)path.length)
                                      : core_fail(core_of(module), status, &error);
  brim_text_free(&path);
  return found;
}

static PyObject *facts(PyObject *object, PyObject *nothing) {
  const core_embedder *self = (core_embedder *)object;
  (void)nothing;
  return Py_BuildValue("{sisisisO}", "width", (int)brim_embedder_width(self->embedder), "dimensions",
                       (int)brim_embedder_dimensions(self->embedder, 0), "max_length",
                       (int)brim_embedder_max_length(self->embedder), "listed",
                       brim_embedder_has_modules(self->embedder) ? Py_True : Py_False);
}

/* prompt(name or None) -> its text, or None */
static PyObject *prompt(PyObject *object, PyObject *args) {
  const core_embedder *self = (core_embedder *)object;
  const char *name;
  if (!PyArg_ParseTuple(args, "z", &name))
    return NULL;
  const char *text = brim_embedder_prompt(self->embedder, name);
  return Py_BuildValue("z", text);
}

/* ---- vectors ---------------------------------------------------------------------------------------------- */

static bool fill_options(PyObject *options, brim_embed_options *out) {
  static const core_field fields[] = {
      CORE_FIELD(brim_embed_options, batch_size, CORE_I64),
      CORE_FIELD(brim_embed_options, max_tokens, CORE_I64),
      CORE_FIELD(brim_embed_options, max_length, CORE_I32),
      CORE_FIELD(brim_embed_options, dimensions, CORE_I32),
      CORE_FIELD(brim_embed_options, normalize, CORE_BOOL),
      CORE_FIELD(brim_embed_options, prompt, CORE_TEXT),
      {"precision", CORE_ENUM, offsetof(brim_embed_options, precision), core_parse_precision, "fp32, bf16, fp16 or int8"},
      {0}};
  return core_fields(options, fields, out);
}

/* Pointers into the list's strings, which it keeps. */
static bool take_texts(job *j, const core_texts *texts, unsigned long long first) {
  j->count = texts->count;
  j->texts = calloc((size_t)j->count + 1, sizeof *j->texts);
  j->numbers = calloc((size_t)j->count + 1, sizeof *j->numbers);
  if (!j->texts || !j->numbers)
    return PyErr_NoMemory() != NULL;
  for (Py_ssize_t i = 0; i < j->count; i++) {
    if (!texts->text.rows[i].data)
      return PyErr_Format(PyExc_ValueError, "text %llu is None: fill it in, or leave it out", first + (unsigned long long)i) !=
             NULL;
    j->texts[i] = (brim_string){texts->text.rows[i].data, (size_t)texts->text.rows[i].size};
    j->numbers[i] = first + (uint64_t)i;
  }
  j->options.numbers = j->numbers;
  return true;
}

static int run_work(void *context, brim_error *error) {
  job *j = context;
  return brim_embedder_run(j->self->embedder, j->texts, (uint64_t)j->count, &j->options, j->vectors->data, &j->counts, error);
}

static PyObject *embed(job *j) {
  core_embedder *self = j->self;
  const Py_ssize_t width = brim_embedder_dimensions(self->embedder, j->options.dimensions);
  j->vectors = CORE_NEW_ARRAY(self, 'f', j->count, width);
  if (!j->vectors || !core_enter(self->model)) {
    Py_XDECREF((PyObject *)j->vectors);
    return NULL;
  }
  const int status = core_run(self->state, self->runtime, run_work, j);
  core_leave(self->model);
  PyObject *result = status == BRIM_OK ? Py_BuildValue("O(KKK)", (PyObject *)j->vectors, (unsigned long long)j->counts.cut,
                                                       (unsigned long long)j->counts.lost, (unsigned long long)j->counts.unread)
                                       : NULL;
  Py_DECREF((PyObject *)j->vectors);
  return result;
}

/* run(list of texts, number of the first, options) -> (float32 [texts, numbers], (cut, lost, unread)) */
static PyObject *run(PyObject *object, PyObject *args) {
  PyObject *list, *options, *result = NULL;
  unsigned long long first;
  core_texts texts = {0};
  job j = {.self = (core_embedder *)object};
  if (!PyArg_ParseTuple(args, "OKO", &list, &first, &options) || !fill_options(options, &j.options) || !core_no_more(options))
    return NULL;
  if (core_texts_lists(j.self->state, &texts, list, Py_None, Py_None, (Py_ssize_t)first) && take_texts(&j, &texts, first))
    result = embed(&j);
  core_texts_free(&texts);
  free(j.texts);
  free(j.numbers);
  return result;
}

/* ---- how good they are ------------------------------------------------------------------------------------ */

typedef struct trial {
  core_embedder *self;
  const char *path;
  brim_retrieval_options retrieval;
  brim_retrieval_report found;
  brim_embed_options options;
  brim_similarity_report agreement;
} trial;

static PyObject *counts_of(const brim_embed_counts *c) {
  return Py_BuildValue("(KKKK)", (unsigned long long)c->texts, (unsigned long long)c->cut, (unsigned long long)c->lost,
                       (unsigned long long)c->unread);
}

static bool take_cuts(PyObject *list, uint64_t at[BRIM_MOST_CUTS]) {
  const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;
  if (count > BRIM_MOST_CUTS)
    return PyErr_Format(PyExc_ValueError, "at: no more than %d numbers", BRIM_MOST_CUTS) != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    at[i] = PyLong_AsUnsignedLongLong(PyList_GetItem(list, i));
    if (at[i] == 0 && !PyErr_Occurred())
      PyErr_SetString(PyExc_ValueError, "at: numbers are 1 or more");
    if (PyErr_Occurred())
      return false;
  }
  return true;
}

static int retrieval_work(void *context, brim_error *error) {
  trial *t = context;
  return brim_evaluate_retrieval(t->self->embedder, &t->retrieval, &t->found, error);
}

/* Metrics as (name, k, value). */
static PyObject *metrics_of(const brim_retrieval_report *r) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < r->at_count; i++) {
    const brim_ranking_metrics *m = &r->at[i];
    PyObject *one = Py_BuildValue("(Kdddddd)", (unsigned long long)m->k, m->accuracy, m->precision, m->recall, m->mrr, m->ndcg,
                                  m->map);
    if (!one || PyList_Append(list, one) < 0)
      Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return list;
}

/* retrieval(corpus, queries, relevant, at, options) -> (facts, [(k, accuracy, precision, recall, mrr, ndcg, map)], counts) */
static PyObject *retrieval(PyObject *object, PyObject *args) {
  static const core_field fields[] = {CORE_FIELD(brim_retrieval_options, query_prompt, CORE_TEXT),
                                      CORE_FIELD(brim_retrieval_options, document_prompt, CORE_TEXT),
                                      CORE_FIELD(brim_retrieval_options, similarity, CORE_TEXT),
                                      {0}};
  PyObject *at, *options;
  trial t = {.self = (core_embedder *)object};
  core_embedder *self = t.self;
  brim_retrieval_options *o = &t.retrieval;
  if (!PyArg_ParseTuple(args, "O&O&O&OO", core_path, &o->corpus, core_path, &o->queries, core_path, &o->relevant, &at,
                        &options) ||
      !take_cuts(at, o->at) || !core_fields(options, fields, o) || !fill_options(options, &o->embed) || !core_no_more(options) ||
      !core_enter(self->model))
    return NULL;
  const int status = core_run(self->state, self->runtime, retrieval_work, &t);
  core_leave(self->model);
  if (status != BRIM_OK)
    return NULL;
  const brim_retrieval_report *r = &t.found;
  return Py_BuildValue("({sKsKsKsKsKsssd}NN)", "queries", (unsigned long long)r->queries, "queries_without_relevant",
                       (unsigned long long)r->without, "documents", (unsigned long long)r->documents, "relevant",
                       (unsigned long long)r->relevant, "relevant_missing", (unsigned long long)r->missing, "similarity",
                       r->similarity, "seconds", r->seconds, metrics_of(r), counts_of(&r->counts));
}

static int similarity_work(void *context, brim_error *error) {
  trial *t = context;
  const brim_source_options columns = {
      .text_column = "sentence1", .pair_column = "sentence2", .label_column = "score", .need_label = true};
  brim_reader *reader = NULL;
  int status = brim_reader_open(t->self->runtime->runtime, &t->path, 1, &columns, &reader, error);
  if (!status)
    status = brim_evaluate_similarity(t->self->embedder, reader, &t->options, &t->agreement, error);
  brim_reader_close(reader);
  return status;
}

/* similarity(file, options) -> ({pairs, seconds}, [(name, pearson, spearman)], counts) */
static PyObject *similarity(PyObject *object, PyObject *args) {
  PyObject *options;
  trial t = {.self = (core_embedder *)object};
  core_embedder *self = t.self;
  if (!PyArg_ParseTuple(args, "O&O", core_path, &t.path, &options) || !fill_options(options, &t.options) ||
      !core_no_more(options) || !core_enter(self->model))
    return NULL;
  const int status = core_run(self->state, self->runtime, similarity_work, &t);
  core_leave(self->model);
  if (status != BRIM_OK)
    return NULL;
  const brim_similarity_report *r = &t.agreement;
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < BRIM_SIMILARITY_KINDS; i++) {
    PyObject *one = Py_BuildValue("(sdd)", r->of[i].name, r->of[i].pearson, r->of[i].spearman);
    if (!one || PyList_Append(list, one) < 0)
      Py_CLEAR(list);
    Py_XDECREF(one);
  }
  return Py_BuildValue("({sKsd}NN)", "pairs", (unsigned long long)r->pairs, "seconds", r->seconds, list, counts_of(&r->counts));
}

static void destroy(PyObject *object) {
  brim_embedder_free(((core_embedder *)object)->embedder);
  core_drop(object);
}

static PyMethodDef methods[] = {{"facts", facts, METH_NOARGS, NULL},
                                {"prompt", prompt, METH_VARARGS, NULL},
                                {"run", run, METH_VARARGS, NULL},
                                {"retrieval", retrieval, METH_VARARGS, NULL},
                                {"similarity", similarity, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec core_embedder_spec = {.name = "brim._core.Embedder",
                                  .basicsize = sizeof(core_embedder),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = slots};
