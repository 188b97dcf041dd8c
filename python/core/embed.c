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
  if (!PyArg_ParseTuple(args, "OOOs", &runtime, &model, &tokenizer, &folder))
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
  if (!PyArg_ParseTuple(args, "Os", &runtime, &folder))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  if (!of)
    return NULL;
  brim_text_init(&path, core_use(of));
  const int status = brim_encoder_folder(core_use(of), folder, &path, &error);
  PyObject *found = status == BRIM_OK ? PyUnicode_FromStringAndSize(path.data, (Py_ssize_t)path.length)
                                      : core_fail(core_of(module), status, &error);
  brim_text_free(&path);
  return found;
}

static PyObject *facts(PyObject *object, PyObject *nothing) {
  const core_embedder *self = (core_embedder *)object;
  (void)nothing;
  return Py_BuildValue("{sisisO}", "width", (int)brim_embedder_width(self->embedder), "max_length",
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

static bool parse_precision(const char *name, int *out) {
  brim_precision precision;
  bool known = brim_precision_parse(name, &precision);
  *out = (int)precision;
  return known;
}

static bool embed_options(PyObject *options, brim_embed_options *out) {
  static const core_field fields[] = {
      CORE_FIELD(brim_embed_options, batch_size, CORE_I64),
      CORE_FIELD(brim_embed_options, max_tokens, CORE_I64),
      CORE_FIELD(brim_embed_options, max_length, CORE_I32),
      CORE_FIELD(brim_embed_options, dimensions, CORE_I32),
      CORE_FIELD(brim_embed_options, normalize, CORE_BOOL),
      CORE_FIELD(brim_embed_options, prompt, CORE_TEXT),
      {"precision", CORE_ENUM, offsetof(brim_embed_options, precision), parse_precision, "fp32, bf16, fp16 or int8"},
      {0}};
  return core_fields(options, fields, out) && core_no_more(options);
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
  const Py_ssize_t width = j->options.dimensions > 0 ? j->options.dimensions : brim_embedder_width(self->embedder);
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
  if (!PyArg_ParseTuple(args, "OKO", &list, &first, &options) || !embed_options(options, &j.options))
    return NULL;
  if (core_texts_lists(&texts, list, Py_None, Py_None) && take_texts(&j, &texts, first))
    result = embed(&j);
  core_texts_free(&texts);
  free(j.texts);
  free(j.numbers);
  return result;
}

static void destroy(PyObject *object) {
  brim_embedder_free(((core_embedder *)object)->embedder);
  core_drop(object);
}

static PyMethodDef methods[] = {{"facts", facts, METH_NOARGS, NULL},
                                {"prompt", prompt, METH_VARARGS, NULL},
                                {"run", run, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec core_embedder_spec = {.name = "brim._core.Embedder",
                                  .basicsize = sizeof(core_embedder),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = slots};
