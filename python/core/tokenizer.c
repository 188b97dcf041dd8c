/* tokenizer.c: texts to ids and back. */
#include "core.h"

#include <stdlib.h>

#include "texts.h"

static bool parse_truncation(const char *name, int *out) {
  static const char *const names[] = {"tokenizer", "longest_first", "only_first", "only_second", NULL};
  return core_named(names, name, out);
}

static bool parse_side(const char *name, int *out) {
  static const char *const names[] = {"tokenizer", "right", "left", NULL};
  return core_named(names, name, out);
}

static bool parse_numbering(const char *name, int *out) {
  static const char *const names[] = {"nothing", "tokens", "words", NULL};
  return core_named(names, name, out);
}

_Static_assert(BRIM_MOST_PROMPTS == 8, "there is a PROMPT of each, and as many in dataset.py");

bool core_encode_options(PyObject *options, brim_encode_options *out) {
  static const core_field fields[] = {
      CORE_FIELD(brim_encode_options, max_length, CORE_I32),
      CORE_FIELD(brim_encode_options, max_windows, CORE_I32),
      CORE_FIELD(brim_encode_options, window_overlap, CORE_I32),
      CORE_FIELD(brim_encode_options, cut_pairs, CORE_BOOL),
      CORE_FIELD(brim_encode_options, no_special_tokens, CORE_BOOL),
      {"truncation", CORE_ENUM, offsetof(brim_encode_options, truncation), parse_truncation},
      {"truncation_side", CORE_ENUM, offsetof(brim_encode_options, truncation_side), parse_side},
#define PROMPT(i) {"prompt" #i, CORE_TEXT, offsetof(brim_encode_options, prompts[i])}
      PROMPT(0),
      PROMPT(1),
      PROMPT(2),
      PROMPT(3),
      PROMPT(4),
      PROMPT(5),
      PROMPT(6),
      PROMPT(7),
#undef PROMPT
      {"numbering", CORE_ENUM, offsetof(brim_encode_options, numbering), parse_numbering, "tokens or words"},
      {0}};
  return core_fields(options, fields, out);
}

PyObject *core_tokenizer_make(PyObject *module, PyObject *args) {
  PyObject *runtime;
  const char *path;
  brim_error error;
  if (!PyArg_ParseTuple(args, "OO&", &runtime, core_path, &path))
    return NULL;
  core_runtime *of = core_cast(core_of(module), runtime, CORE_RUNTIME);
  core_tokenizer *self = of ? core_new(core_of(module), module, CORE_TOKENIZER, runtime, NULL, NULL) : NULL;
  if (!self)
    return NULL;
  self->runtime = of;
  int status = brim_tokenizer_load(core_use(of), path, &self->tokenizer, &error);
  if (status == BRIM_OK)
    status = brim_scratch_new(of->runtime, self->tokenizer, &self->scratch, &error);
  if (status == BRIM_OK)
    return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return core_fail(core_of(module), status, &error);
}

/* ---- one text --------------------------------------------------------------------------------------------- */

static PyObject *encoding_tuple(core_tokenizer *self, const brim_encoding *e, const brim_offsets *o) {
  Py_ssize_t n = (Py_ssize_t)e->length;
  core_array *ids = core_array_new(self->state, self->module, 'i', n, -1, e->ids, NULL, false);
  core_array *types = core_array_new(self->state, self->module, 'B', n, -1, e->type_ids, NULL, false);
  if (!o)
    return Py_BuildValue("(NNn)", ids, types, (Py_ssize_t)e->lost);
  core_array *spans = CORE_NEW_ARRAY(self, 'i', n, 2), *words = CORE_NEW_ARRAY(self, 'i', n, -1),
             *sources = CORE_NEW_ARRAY(self, 'i', n, -1);
  for (Py_ssize_t i = 0; spans && words && sources && i < n; i++) {
    ((int32_t *)spans->data)[2 * i] = (int32_t)o->from[i];
    ((int32_t *)spans->data)[2 * i + 1] = (int32_t)o->to[i];
    ((int32_t *)words->data)[i] = o->words[i];
    ((int32_t *)sources->data)[i] = o->sources[i];
  }
  return Py_BuildValue("(NNnNNN)", ids, types, (Py_ssize_t)e->lost, spans, words, sources);
}

/* encode(text, pair, options, offsets) -> (ids, type_ids, lost[, spans, words, sources]). Texts are short: the GIL stays. */
static PyObject *encode(PyObject *object, PyObject *args) {
  core_tokenizer *self = (core_tokenizer *)object;
  PyObject *text, *pair, *keywords;
  int with_offsets;
  core_bytes first, second = {0};
  brim_encode_options options = {0};
  if (!PyArg_ParseTuple(args, "OOOp", &text, &pair, &keywords, &with_offsets) || !core_text(text, &first) ||
      (pair != Py_None && !core_text(pair, &second)) || !core_encode_options(keywords, &options) || !core_no_more(keywords))
    return NULL;
  brim_encoding encoding = {0};
  brim_offsets offsets = {0};
  brim_error error;
  core_use(self->runtime);
  int status = with_offsets
                   ? brim_tokenizer_encode_offsets(self->tokenizer, self->scratch, first.data, (size_t)first.size, second.data,
                                                   (size_t)second.size, &options, &encoding, &offsets, &error)
                   : brim_tokenizer_encode(self->tokenizer, self->scratch, first.data, (size_t)first.size, second.data,
                                           (size_t)second.size, &options, &encoding, &error);
  PyObject *result = status == BRIM_OK ? encoding_tuple(self, &encoding, with_offsets ? &offsets : NULL)
                                       : core_fail(self->state, status, &error);
  brim_encoding_free(&encoding);
  brim_offsets_free(&offsets);
  return result;
}

static PyObject *decode(PyObject *object, PyObject *args) {
  core_tokenizer *self = (core_tokenizer *)object;
  PyObject *ids;
  int skip;
  if (!PyArg_ParseTuple(args, "Op", &ids, &skip))
    return NULL;
  core_array *array = core_array_from(self->state, self->module, ids, 'i');
  if (!array)
    return NULL;
  brim_text text;
  brim_error error;
  brim_text_init(&text, core_use(self->runtime));
  int status = brim_tokenizer_decode(self->tokenizer, array->data, (size_t)array->shape[0], skip, &text, &error);
  PyObject *result = status == BRIM_OK ? PyUnicode_DecodeUTF8(text.data ? text.data : "", (Py_ssize_t)text.length, "replace")
                                       : core_fail(self->state, status, &error);
  brim_text_free(&text);
  Py_DECREF((PyObject *)array);
  return result;
}

/* ---- many texts ------------------------------------------------------------------------------------------- */

typedef struct job {
  core_tokenizer *tokenizer;
  brim_batch_encoder *encoder;
  core_texts texts;
  brim_string *strings[2];
  brim_encode_options options;
  brim_encodings *out;
} job;

static int encode_work(void *context, brim_error *error) {
  job *j = context;
  return brim_batch_encoder_run(j->encoder, j->strings[0], j->strings[1], (size_t)j->texts.count, &j->options, j->out, error);
}

static brim_string *strings_of(const core_column *column, Py_ssize_t count) {
  brim_string *strings = malloc((size_t)(count + 1) * sizeof *strings);
  if (!strings)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; strings && i < count; i++) {
    const bool several = column->further && column->further[i].at;
    if (several || !column->rows[i].data) {
      PyErr_Format(PyExc_TypeError,
                   several ? "row %zd has a list of texts: give each by itself" : "row %zd: a text is str or bytes, not None", i);
      free(strings);
      return NULL;
    }
    strings[i] = (brim_string){column->rows[i].data, (size_t)column->rows[i].size};
  }
  return strings;
}

static void free_encodings(PyObject *capsule) {
  brim_encodings *out = PyCapsule_GetPointer(capsule, NULL);
  brim_encodings_free(out);
  free(out);
  Py_DECREF((PyObject *)PyCapsule_GetContext(capsule)); /* the runtime, whose memory it was */
}

/* The arrays are those that the library filled: nothing is copied. */
static PyObject *ragged_tuple(core_tokenizer *self, brim_encodings *out) {
  PyObject *owner = PyCapsule_New(out, NULL, free_encodings);
  if (!owner) {
    brim_encodings_free(out);
    free(out);
    return NULL;
  }
  PyCapsule_SetContext(owner, Py_NewRef((PyObject *)self->runtime));
  Py_ssize_t rows = (Py_ssize_t)out->count, tokens = rows ? (Py_ssize_t)out->starts[rows] : 0;
  size_t lost = 0;
  for (Py_ssize_t i = 0; i < rows; i++)
    lost += out->lost[i];
  int64_t none = 0;
  core_array *ids = core_array_new(self->state, self->module, 'i', tokens, -1, out->ids, owner, false),
             *types = core_array_new(self->state, self->module, 'B', tokens, -1, out->type_ids, owner, false),
             *starts = rows ? core_array_new(self->state, self->module, 'q', rows + 1, -1, out->starts, owner, false)
                            : core_array_new(self->state, self->module, 'q', 1, -1, &none, NULL, false);
  Py_DECREF(owner);
  return Py_BuildValue("(NNNn)", ids, starts, types, (Py_ssize_t)lost);
}

/* The tokenizer's own encoder, or, while another thread has that, one for this call. */
static int run_encoder(core_tokenizer *self, job *j) {
  brim_error error;
  bool own = !self->busy;
  brim_batch_encoder *encoder = own ? self->encoder : NULL;
  int status = encoder ? BRIM_OK : brim_batch_encoder_new(core_use(self->runtime), self->tokenizer, &encoder, &error);
  if (status != BRIM_OK) {
    core_fail(self->state, status, &error);
    return -1;
  }
  j->encoder = encoder;
  if (own) {
    self->encoder = encoder;
    core_enter(self);
  }
  status = core_run(self->state, self->runtime, encode_work, j);
  if (own)
    core_leave(self);
  else
    brim_batch_encoder_free(encoder);
  return status;
}

/* encode_batch(tokenizer, texts, pairs, options) -> (ids, offsets, type_ids, lost) */
PyObject *core_encode_batch(PyObject *module, PyObject *args) {
  PyObject *tokenizer, *texts, *pairs, *options, *result = NULL;
  job j = {0};
  if (!PyArg_ParseTuple(args, "OOOO", &tokenizer, &texts, &pairs, &options))
    return NULL;
  core_tokenizer *self = j.tokenizer = core_cast(core_of(module), tokenizer, CORE_TOKENIZER);
  if (!self || !core_encode_options(options, &j.options) || !core_no_more(options))
    return NULL;
  bool ready = core_texts_lists(self->state, &j.texts, texts, pairs, Py_None, 0);
  ready = ready && (j.strings[0] = strings_of(&j.texts.text, j.texts.count));
  ready = ready && (!j.texts.pair.rows || (j.strings[1] = strings_of(&j.texts.pair, j.texts.count)));
  if (!ready && PyErr_Occurred())
    core_fail_at(self->state, NULL, 0);
  j.out = ready ? calloc(1, sizeof *j.out) : NULL;
  if (ready && !j.out)
    PyErr_NoMemory();
  if (j.out && run_encoder(self, &j) == BRIM_OK) {
    result = ragged_tuple(self, j.out);
  } else if (j.out) {
    brim_encodings_free(j.out);
    free(j.out);
  }
  free(j.strings[0]);
  free(j.strings[1]);
  core_texts_free(&j.texts);
  return result;
}

/* ---- what it knows ---------------------------------------------------------------------------------------- */

static PyObject *token_id(PyObject *object, PyObject *token) {
  core_bytes text;
  if (!core_text(token, &text))
    return NULL;
  int32_t id = brim_tokenizer_token_id(((core_tokenizer *)object)->tokenizer, text.data, (size_t)text.size);
  if (id < 0)
    Py_RETURN_NONE;
  return PyLong_FromLong(id);
}

static PyObject *token(PyObject *object, PyObject *id) {
  size_t length = 0;
  int beyond; /* what a long holds: no token's id */
  long number = PyLong_AsLongAndOverflow(id, &beyond);
  if (PyErr_Occurred())
    return NULL;
  const char *text = number >= 0 && number <= INT32_MAX
                         ? brim_tokenizer_token(((core_tokenizer *)object)->tokenizer, (int32_t)number, &length)
                         : NULL;
  if (!text)
    Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
}

static PyObject *added(PyObject *object, PyObject *pair) {
  const int truth = PyObject_IsTrue(pair);
  return truth < 0 ? NULL : PyLong_FromLong(brim_tokenizer_added(((core_tokenizer *)object)->tokenizer, truth > 0));
}

/* save(folder, words, max_length, overlap, windows, no type ids): as a run has it (brim_tokenizer_saving); all but the folder may
 * be left out. */
static PyObject *save(PyObject *object, PyObject *args) {
  core_tokenizer *self = (core_tokenizer *)object;
  brim_error error;
  const char *path;
  int words = 0, longest = 0, no_types = 0;
  brim_windowing windows = {0};
  if (!PyArg_ParseTuple(args, "O&|piiip", core_path, &path, &words, &longest, &windows.overlap, &windows.most, &no_types))
    return NULL;
  const brim_tokenizer_saving how = {
      .words = words != 0, .max_length = longest, .no_type_ids = no_types != 0, .windows = windows};
  int status = brim_make_folder(core_use(self->runtime), path, &error);
  if (status == BRIM_OK)
    status = brim_tokenizer_save(self->tokenizer, path, &how, &error);
  if (status != BRIM_OK)
    return core_fail(self->state, status, &error);
  Py_RETURN_NONE;
}

static PyObject *get_vocab_size(PyObject *object, void *nothing) {
  (void)nothing;
  return PyLong_FromLong(brim_tokenizer_vocab_size(((core_tokenizer *)object)->tokenizer));
}

static PyObject *get_pad_id(PyObject *object, void *nothing) {
  (void)nothing;
  return PyLong_FromLong(brim_tokenizer_pad_id(((core_tokenizer *)object)->tokenizer));
}

static PyObject *get_truncation(PyObject *object, void *nothing) {
  (void)nothing;
  return PyUnicode_FromString(brim_truncation_name(brim_tokenizer_truncation(((core_tokenizer *)object)->tokenizer)));
}

/* (overlap, most), or None */
static PyObject *get_windows(PyObject *object, void *nothing) {
  const brim_windowing windows = brim_tokenizer_windows(((core_tokenizer *)object)->tokenizer);
  (void)nothing;
  return windows.most > 1 ? Py_BuildValue("(ii)", (int)windows.overlap, (int)windows.most) : Py_NewRef(Py_None);
}

static PyObject *get_max_length(PyObject *object, void *nothing) {
  (void)nothing;
  return PyLong_FromLong(brim_tokenizer_max_length(((core_tokenizer *)object)->tokenizer));
}

static PyObject *get_truncates_left(PyObject *object, void *nothing) {
  (void)nothing;
  return PyBool_FromLong(brim_tokenizer_truncates_left(((core_tokenizer *)object)->tokenizer));
}

static PyObject *get_gives_types(PyObject *object, void *nothing) {
  (void)nothing;
  return PyBool_FromLong(brim_tokenizer_gives_types(((core_tokenizer *)object)->tokenizer));
}

static PyObject *get_family(PyObject *object, void *nothing) {
  (void)nothing;
  return PyUnicode_FromString(brim_tokenizer_family(((core_tokenizer *)object)->tokenizer));
}

static PyObject *get_fingerprint(PyObject *object, void *nothing) {
  (void)nothing;
  return PyLong_FromUnsignedLongLong(brim_tokenizer_fingerprint(((core_tokenizer *)object)->tokenizer));
}

static void destroy(PyObject *object) {
  core_tokenizer *self = (core_tokenizer *)object;
  brim_batch_encoder_free(self->encoder);
  brim_scratch_free(self->scratch);
  brim_tokenizer_free(self->tokenizer);
  core_drop(self);
}

static PyMethodDef methods[] = {{"encode", encode, METH_VARARGS, NULL},
                                {"decode", decode, METH_VARARGS, NULL},
                                {"token_id", token_id, METH_O, NULL},
                                {"token", token, METH_O, NULL},
                                {"added", added, METH_O, NULL},
                                {"save", save, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef members[] = {
    {"vocab_size", get_vocab_size, NULL, NULL, NULL},   {"pad_id", get_pad_id, NULL, NULL, NULL},
    {"max_length", get_max_length, NULL, NULL, NULL},   {"windows", get_windows, NULL, NULL, NULL},
    {"truncation", get_truncation, NULL, NULL, NULL},   {"truncates_left", get_truncates_left, NULL, NULL, NULL},
    {"gives_types", get_gives_types, NULL, NULL, NULL}, {"family", get_family, NULL, NULL, NULL},
    {"fingerprint", get_fingerprint, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, destroy}, {Py_tp_methods, methods}, {Py_tp_getset, members}, {0, NULL}};
PyType_Spec core_tokenizer_spec = {.name = "brim._core.Tokenizer",
                                   .basicsize = sizeof(core_tokenizer),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   .slots = slots};
