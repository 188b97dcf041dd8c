/* texts.c: columns of texts, from lists and from Arrow. */
#include "texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrow.h"

/* A label is a str, which is a name, or (text, forms): a str, or bytes that are several, and a brim_label_form for each. */
static bool take_label(PyObject *item, core_bytes *out) {
  static const char name[] = {BRIM_FORM_NAME, 0};
  PyObject *text = item, *forms = NULL;
  if (PyTuple_Check(item) && !PyArg_ParseTuple(item, "OU", &text, &forms))
    return false;
  if (!core_text(text, out))
    return false;
  Py_ssize_t items = 0, given = 1;
  out->list = PyBytes_Check(text);
  out->forms = forms ? PyUnicode_AsUTF8AndSize(forms, &given) : out->list ? NULL : name;
  for (Py_ssize_t i = 0; out->list && i < out->size; i++)
    items += out->data[i] == 0;
  if (out->forms && given != (out->list ? items : 1))
    PyErr_SetString(PyExc_ValueError, "a label has as many forms as items");
  return !PyErr_Occurred();
}

/* A row of several texts, or second texts: a list of them. */
static bool take_several(core_column *column, Py_ssize_t row, Py_ssize_t rows, PyObject *list) {
  const Py_ssize_t count = PyList_Size(list);
  core_bytes text = {0};
  if (count == 0) {
    PyErr_SetString(PyExc_ValueError, "a row of several texts has at least one");
    return false;
  }
  if (!column->further)
    column->further = calloc((size_t)rows + 1, sizeof *column->further);
  brim_string *further = column->further ? calloc((size_t)count, sizeof *further) : NULL;
  if (!further) {
    PyErr_NoMemory();
    return false;
  }
  column->further[row] = (core_further){further, (size_t)count - 1};
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!core_text(PyList_GetItem(list, i), i == 0 ? &column->rows[row] : &text))
      return false;
    if (i > 0)
      further[i - 1] = (brim_string){text.data, (size_t)text.size};
  }
  return true;
}

static bool take_cell(core_column *column, Py_ssize_t row, Py_ssize_t rows, PyObject *item, bool labels) {
  if (item == Py_None)
    return true;
  if (labels)
    return take_label(item, &column->rows[row]);
  return PyList_Check(item) ? take_several(column, row, rows, item) : core_text(item, &column->rows[row]);
}

static bool fill_list(core_state *state, core_column *column, PyObject *list, Py_ssize_t count, bool labels, Py_ssize_t first) {
  if (list == Py_None)
    return true;
  if (!PyList_Check(list) || PyList_Size(list) != count) {
    PyErr_SetString(PyExc_ValueError, "texts, pairs and labels must be lists of the same length");
    return false;
  }
  column->rows = calloc((size_t)count + 1, sizeof *column->rows);
  if (!column->rows) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PyList_GetItem(list, i);
    if (!take_cell(column, i, count, item, labels)) {
      core_explain_unicode(item);
      return core_fail_at(state, "row", first + i);
    }
  }
  return true;
}

bool core_texts_lists(core_state *state, core_texts *texts, PyObject *text, PyObject *pair, PyObject *label, Py_ssize_t first) {
  if (!PyList_Check(text)) {
    PyErr_SetString(PyExc_TypeError, "texts must be a list");
    return false;
  }
  texts->count = PyList_Size(text);
  return fill_list(state, &texts->text, text, texts->count, false, first) &&
         fill_list(state, &texts->pair, pair, texts->count, false, first) &&
         fill_list(state, &texts->label, label, texts->count, true, first);
}

int core_texts_row(void *context, uint64_t index, brim_text_row *out, brim_error *error) {
  const core_texts *texts = context;
  const core_bytes *text = &texts->text.rows[index];
  out->text = text->data;
  out->text_length = (size_t)text->size;
  if (texts->pair.rows) {
    out->lacks_pair = !texts->pair.rows[index].data && !texts->pairs_may_lack;
    out->pair = texts->pair.rows[index].data;
    out->pair_length = (size_t)texts->pair.rows[index].size;
  }
  const core_further *further = texts->text.further ? &texts->text.further[index] : NULL;
  const core_further *seconds = texts->pair.further ? &texts->pair.further[index] : NULL;
  if (further && further->at && texts->pair.rows)
    return brim_error_set(error, BRIM_E_USAGE, "row %llu has several texts and a pair: of pairs the second texts are a list",
                          (unsigned long long)index);
  const core_further *list = texts->pair.rows ? seconds : further;
  if (list)
    out->further = list->at, out->further_count = list->count;
  if (texts->label.rows) {
    out->label = texts->label.rows[index].data;
    out->label_length = (size_t)texts->label.rows[index].size;
    out->label_is_list = texts->label.rows[index].list;
    out->label_forms = texts->label.rows[index].forms;
  }
  if (texts->blocks)
    core_blocks_row(texts->blocks, index, out->blocks, out->block_numbers);
  return BRIM_OK;
}

/* ---- Arrow ------------------------------------------------------------------------------------------------ */

static bool is_valid(const struct ArrowArray *a, int64_t i) {
  const uint8_t *bits = a->n_buffers > 0 && a->null_count != 0 ? a->buffers[0] : NULL;
  return !bits || (bits[(i + a->offset) >> 3] >> ((i + a->offset) & 7) & 1);
}

/* utf8 "u", large "U", view "vu" (16 bytes: a length, then 12 bytes or a prefix, buffer and offset). */
static core_bytes string_at(const char *format, const struct ArrowArray *a, int64_t i) {
  core_bytes out = {0};
  int64_t at = i + a->offset;
  if (strcmp(format, "u") == 0) {
    const int32_t *o = a->buffers[1];
    out = (core_bytes){.data = (const char *)a->buffers[2] + o[at], .size = o[at + 1] - o[at]};
  } else if (strcmp(format, "U") == 0) {
    const int64_t *o = a->buffers[1];
    out = (core_bytes){.data = (const char *)a->buffers[2] + o[at], .size = (Py_ssize_t)(o[at + 1] - o[at])};
  } else {
    const char *view = (const char *)a->buffers[1] + 16 * at;
    int32_t length, buffer, offset;
    memcpy(&length, view, 4);
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    out = (core_bytes){.data = length <= 12 ? view + 4 : (const char *)a->buffers[2 + buffer] + offset, .size = length};
  }
  if (!out.data)
    out.data = "";
  return out;
}

static bool is_string(const char *format) {
  return strcmp(format, "u") == 0 || strcmp(format, "U") == 0 || strcmp(format, "vu") == 0;
}

static int64_t integer_at(const char *format, const struct ArrowArray *a, int64_t i) {
  const void *values = a->buffers[1];
  int64_t at = i + a->offset;
  switch (*format) {
  case 'c':
    return ((const int8_t *)values)[at];
  case 'C':
    return ((const uint8_t *)values)[at];
  case 's':
    return ((const int16_t *)values)[at];
  case 'S':
    return ((const uint16_t *)values)[at];
  case 'i':
    return ((const int32_t *)values)[at];
  case 'I':
    return ((const uint32_t *)values)[at];
  default:
    return ((const int64_t *)values)[at];
  }
}

static double half_at(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                      : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                     : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

enum { NUMBER = 32 }; /* bytes that a number's text takes at most */

/* As Python writes it, so that a column and a list of its values name the same classes; 0: it is none, or memory is lacking. */
static int write_decimal(double value, char *to) {
  char *text = isnan(value) ? NULL : PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
  const int length = text ? snprintf(to, NUMBER, "%s", text) : 0;
  PyMem_Free(text);
  return length;
}

/* The text of a number, as a file would have it. */
static core_bytes number_at(const char *format, const struct ArrowArray *a, int64_t i, char *to) {
  int64_t at = i + a->offset;
  int length;
  if (*format == 'b')
    length = snprintf(to, NUMBER, "%s", ((const uint8_t *)a->buffers[1])[at >> 3] >> (at & 7) & 1 ? "true" : "false");
  else if (*format == 'e')
    length = write_decimal(half_at(((const uint16_t *)a->buffers[1])[at]), to);
  else if (*format == 'f')
    length = write_decimal((double)((const float *)a->buffers[1])[at], to);
  else if (*format == 'g')
    length = write_decimal(((const double *)a->buffers[1])[at], to);
  else if (*format == 'L')
    length = snprintf(to, NUMBER, "%llu", (unsigned long long)((const uint64_t *)a->buffers[1])[at]);
  else
    length = snprintf(to, NUMBER, "%lld", (long long)integer_at(format, a, i));
  return length > 0 ? (core_bytes){.data = to, .size = length} : (core_bytes){0};
}

/* What a column's labels are. */
static const char *form_of(const struct ArrowSchema *s) {
  static const char name[] = {BRIM_FORM_NAME, 0}, number[] = {BRIM_FORM_NUMBER, 0}, boolean[] = {BRIM_FORM_BOOLEAN, 0};
  if (s->dictionary)
    return form_of(s->dictionary);
  return is_string(s->format) ? name : *s->format == 'b' ? boolean : number;
}

static core_bytes value_at(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i, char *to) {
  if (!is_valid(a, i) || *s->format == 'n') /* a column of nothing but nulls has a type of its own */
    return (core_bytes){0};
  if (s->dictionary)
    return value_at(s->dictionary, a->dictionary, integer_at(s->format, a, i), to);
  return is_string(s->format) ? string_at(s->format, a, i) : number_at(s->format, a, i, to);
}

static const char *read_length(const char *at, int32_t *length) {
  memcpy(length, at, sizeof *length);
  return at + sizeof *length;
}

/* The name of an extension type, whose storage need not be what it means (periods of pandas are stored as integers); of length 0:
 * it is none. Metadata are a count, then keys and values, each after its length. */
static brim_string extension_of(const struct ArrowSchema *s) {
  static const char key[] = "ARROW:extension:name";
  const char *at = s->metadata;
  int32_t entries = 0;
  if (at)
    at = read_length(at, &entries);
  for (; entries > 0; entries--) {
    int32_t of_key, of_value;
    const char *name = read_length(at, &of_key), *value = read_length(name + of_key, &of_value);
    if (of_key == sizeof key - 1 && memcmp(name, key, sizeof key - 1) == 0)
      return (brim_string){value, (size_t)of_value};
    at = value + of_value;
  }
  return (brim_string){"", 0};
}

static bool known_type(const struct ArrowSchema *s, bool numbers) {
  if (!is_string(s->format) && extension_of(s).length > 0)
    return false;
  if (s->dictionary)
    return strlen(s->format) == 1 && strchr("cCsSiIlL", *s->format) && known_type(s->dictionary, numbers);
  return is_string(s->format) || (numbers && strlen(s->format) == 1 && strchr("nbcCsSiIlLefg", *s->format));
}

/* Of Arrow's formats, in words. */
static const char *format_name(const char *format) {
  if (strlen(format) == 1 && strchr("cCsSiIlL", *format))
    return "whole numbers";
  if (strlen(format) == 1 && strchr("efg", *format))
    return "numbers";
  if (*format == 'd')
    return "decimals of fixed point";
  if (strchr("zZw", *format) || strcmp(format, "vz") == 0)
    return "bytes";
  if (*format == 'n')
    return "nothing but nulls";
  return *format == 'b' ? "booleans" : *format == '+' ? "lists or objects" : *format == 't' ? "times" : "something else";
}

static void refuse_type(const struct ArrowSchema *s, const char *name, bool numbers) {
  if (s->dictionary && extension_of(s).length == 0)
    s = s->dictionary;
  const brim_string extension = extension_of(s);
  PyObject *own = PyUnicode_DecodeUTF8(extension.bytes, (Py_ssize_t)extension.length, "replace");
  const char *needed = numbers ? ", a number or a boolean" : "", *type = format_name(s->format);
  if (own && extension.length > 0)
    PyErr_Format(PyExc_TypeError, "column \"%s\" holds %U, stored as %s, where a string%s is needed: cast it", name, own, type,
                 needed);
  else if (own)
    PyErr_Format(PyExc_TypeError, "column \"%s\" holds %s where a string%s is needed", name, type, needed);
  Py_XDECREF(own);
}

static int64_t find_column(const struct ArrowSchema *schema, const char *name, const char *fallback, bool needed, bool numbers) {
  const char *wanted = name ? name : fallback;
  for (int64_t i = 0; i < schema->n_children; i++)
    if (schema->children[i]->name && strcmp(schema->children[i]->name, wanted) == 0) {
      if (known_type(schema->children[i], numbers))
        return i;
      refuse_type(schema->children[i], wanted, numbers);
      return -1;
    }
  if (needed || name)
    PyErr_Format(PyExc_ValueError, "there is no column \"%s\"", wanted);
  return -1;
}

/* ---- a stream's batches ----------------------------------------------------------------------------------- */

static bool stream_failed(struct ArrowArrayStream *stream) {
  const char *message = stream->get_last_error(stream);
  PyErr_Format(PyExc_ValueError, "the Arrow stream failed: %s", message ? message : "it does not say why");
  return false;
}

static bool read_batches(core_texts *texts, struct ArrowArrayStream *stream) {
  struct ArrowArray *all = NULL;
  for (;;) {
    struct ArrowArray *more = realloc(all, (size_t)(texts->kept_count + 1) * sizeof *all);
    if (!more) {
      PyErr_NoMemory();
      return false;
    }
    texts->kept = all = more;
    struct ArrowArray *batch = &all[texts->kept_count];
    *batch = (struct ArrowArray){0};
    if (stream->get_next(stream, batch) != 0)
      return stream_failed(stream);
    if (!batch->release)
      return true;
    texts->kept_count++;
    texts->count += (Py_ssize_t)batch->length;
  }
}

static bool refuse_infinite(Py_ssize_t row, const char *label) {
  PyErr_Format(PyExc_ValueError, "row %zd: a label is %s: a finite number or a name is needed", row, label);
  return false;
}

static bool fill_column(core_texts *texts, core_column *column, const struct ArrowSchema *schema, int64_t index) {
  const struct ArrowArray *all = texts->kept;
  if (index < 0)
    return true;
  column->rows = calloc((size_t)texts->count + 1, sizeof *column->rows);
  bool numbers = column == &texts->label;
  if (numbers)
    texts->made = malloc((size_t)texts->count * NUMBER + 1);
  if (!column->rows || (numbers && !texts->made)) {
    PyErr_NoMemory();
    return false;
  }
  const char *forms = numbers ? form_of(schema->children[index]) : NULL;
  Py_ssize_t row = 0;
  for (Py_ssize_t b = 0; b < texts->kept_count; b++)
    for (int64_t i = 0; i < all[b].length; i++, row++) {
      column->rows[row] = value_at(schema->children[index], all[b].children[index], i + all[b].offset,
                                   numbers ? texts->made + (size_t)row * NUMBER : NULL);
      column->rows[row].forms = forms;
      if (forms && *forms == BRIM_FORM_NUMBER && column->rows[row].size &&
          column->rows[row].data[column->rows[row].size - 1] == 'f')
        return refuse_infinite(row, column->rows[row].data);
    }
  return !PyErr_Occurred();
}

static bool read_stream(core_texts *texts, struct ArrowArrayStream *stream, const struct ArrowSchema *schema, const char *text,
                        const char *pair, const char *label) {
  if (strcmp(schema->format, "+s") != 0) {
    PyErr_SetString(PyExc_TypeError, "the Arrow stream has no columns: give a table");
    return false;
  }
  int64_t columns[3] = {find_column(schema, text, "text", true, false)};
  if (PyErr_Occurred())
    return false;
  columns[1] = find_column(schema, pair, "text_pair", false, false);
  columns[2] = PyErr_Occurred() ? -1 : find_column(schema, label, "label", false, true);
  return !PyErr_Occurred() && read_batches(texts, stream) && fill_column(texts, &texts->text, schema, columns[0]) &&
         fill_column(texts, &texts->pair, schema, columns[1]) && fill_column(texts, &texts->label, schema, columns[2]);
}

bool core_texts_arrow(core_texts *texts, PyObject *capsule, const char *text, const char *pair, const char *label) {
  struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
  struct ArrowSchema schema = {0};
  if (!stream)
    return false;
  if (!stream->release) {
    PyErr_SetString(PyExc_ValueError, "the Arrow stream was read already");
    return false;
  }
  bool fine = stream->get_schema(stream, &schema) == 0 ? read_stream(texts, stream, &schema, text, pair, label)
                                                       : stream_failed(stream);
  if (schema.release)
    schema.release(&schema);
  stream->release(stream);
  return fine;
}

static void free_column(core_column *column, Py_ssize_t rows) {
  for (Py_ssize_t i = 0; column->further && i < rows; i++)
    free(column->further[i].at);
  free(column->further);
  free(column->rows);
}

void core_texts_free(core_texts *texts) {
  struct ArrowArray *all = texts->kept;
  for (Py_ssize_t i = 0; i < texts->kept_count; i++)
    all[i].release(&all[i]);
  free(all);
  free_column(&texts->text, texts->count);
  free_column(&texts->pair, texts->count);
  free_column(&texts->label, texts->count);
  free(texts->made);
  *texts = (core_texts){0};
}
