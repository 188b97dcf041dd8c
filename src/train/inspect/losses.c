/* losses.c: losses of numbers in a file, to compare with other programs: brim inspect losses. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "brim/train.h"
#include "target/score_loss.h"
#include "target/vector_loss.h"

enum { LIMIT = 64 << 20, MOST_COLUMNS = 64 };

/* One entry of the file, and what is read from it. */
typedef struct entry {
  brim_runtime *runtime;
  const brim_json_document *document;
  const brim_json_value *object;
  brim_arena arena; /* of everything below */
  brim_error *err;
} entry;

static int wrong(const entry *e, const brim_json_value *at, const char *what) {
  return brim_json_error(e->document, at ? at : e->object, e->err, BRIM_E_FORMAT, "%s", what);
}

static void *take(entry *e, size_t count, size_t size) {
  return brim_arena_alloc(&e->arena, count * size + 1);
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

static size_t count_numbers(const brim_json_value *v) {
  size_t count = 0;
  if (v->kind != BRIM_JSON_ARRAY)
    return v->kind == BRIM_JSON_INT || v->kind == BRIM_JSON_REAL;
  for (const brim_json_value *i = brim_json_first(v); i; i = brim_json_after(v, i))
    count += count_numbers(i);
  return count;
}

static double *copy_numbers(const brim_json_value *v, double *to) {
  if (v->kind != BRIM_JSON_ARRAY) {
    *to = brim_json_number(v);
    return to + 1;
  }
  for (const brim_json_value *i = brim_json_first(v); i; i = brim_json_after(v, i))
    to = copy_numbers(i, to);
  return to;
}

/* All numbers of a member, lists of lists one after the other; NULL where it is absent or empty. */
static int read_numbers(entry *e, const char *name, const double **out, size_t *count) {
  const brim_json_value *v = brim_json_get(e->object, name);
  *out = NULL;
  *count = v ? count_numbers(v) : 0;
  if (*count == 0)
    return BRIM_OK;
  double *to = take(e, *count, sizeof *to);
  if (!to)
    return BRIM_NOMEM(e->err);
  copy_numbers(v, to);
  *out = to;
  return BRIM_OK;
}

/* ---- options ------------------------------------------------------------------------------------------------- */

static bool says(const brim_json_value *v, const char *text) {
  return v && brim_json_is_string(v, text);
}

static int read_directions(entry *e, const brim_json_value *list, unsigned *out) {
  static const char *const names[] = {"query_to_doc", "query_to_query", "doc_to_query", "doc_to_doc"};
  if (!list)
    return BRIM_OK;
  *out = 0;
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v)) {
    unsigned bit = 0;
    for (unsigned k = 0; k < 4; k++)
      bit |= says(v, names[k]) ? 1U << k : 0;
    if (bit == 0)
      return wrong(e, v, "a direction is query_to_doc, query_to_query, doc_to_query or doc_to_doc");
    *out |= bit;
  }
  return BRIM_OK;
}

/* Whichever of `names` a member is, as its number; absent: *out stays. */
static int read_choice(entry *e, const brim_json_value *options, const char *member, const char *const *names, int count,
                       int *out) {
  const brim_json_value *v = brim_json_get(options, member);
  for (int k = 0; v && k < count; k++)
    if (says(v, names[k])) {
      *out = k;
      return BRIM_OK;
    }
  return v && v->kind != BRIM_JSON_NULL
             ? brim_json_error(e->document, v, e->err, BRIM_E_FORMAT, "\"%s\" has another value", member)
             : BRIM_OK;
}

static int read_vector_options(entry *e, const brim_json_value *options, brim_vector_loss *out) {
  static const char *const hardness[] = {"", "in_batch_negatives", "hard_negatives", "all_negatives"};
  static const char *const distances[] = {"cosine", "euclidean", "manhattan"}, *const partitions[] = {"joint", "per_direction"};
  static const char *const similarities[] = {"cos", "dot"};
  int similarity = 0, partition = 0, hard = 0, distance = (int)out->distance;
  BRIM_TRY(brim_json_read_real(e->document, options, "scale", &out->scale, e->err));
  BRIM_TRY(brim_json_read_real(e->document, options, "margin", &out->margin, e->err));
  BRIM_TRY(brim_json_read_real(e->document, options, "temperature", &out->temperature, e->err));
  BRIM_TRY(brim_json_read_real(e->document, options, "hardness_strength", &out->hardness_strength, e->err));
  BRIM_TRY(read_directions(e, brim_json_get(options, "directions"), &out->directions));
  BRIM_TRY(read_choice(e, options, "similarity", similarities, 2, &similarity));
  BRIM_TRY(read_choice(e, options, "partition", partitions, 2, &partition));
  BRIM_TRY(read_choice(e, options, "hardness_mode", hardness, 4, &hard));
  BRIM_TRY(read_choice(e, options, "distance", distances, 3, &distance));
  out->dot = similarity == 1;
  out->per_direction = partition == 1;
  out->hardness = (brim_hardness)hard;
  out->distance = (brim_distance)distance;
  return BRIM_OK;
}

static int read_dimensions(entry *e, const brim_json_value *options, brim_vector_loss *out) {
  const brim_json_value *dims = brim_json_get(options, "dims"), *weights = brim_json_get(options, "weights");
  if (!dims || dims->length == 0 || dims->length > BRIM_MOST_DIMENSIONS || (weights && weights->length != dims->length))
    return wrong(e, options, "\"dims\" lists up to 16 numbers, and \"weights\", if there are any, one for each of them");
  const brim_json_value *w = weights ? brim_json_first(weights) : NULL;
  for (const brim_json_value *v = brim_json_first(dims); v; v = brim_json_after(dims, v)) {
    out->dimensions[out->dimension_count] = (int32_t)brim_json_number(v);
    out->weights[out->dimension_count++] = w ? brim_json_number(w) : 1;
    w = w ? brim_json_after(weights, w) : NULL;
  }
  return BRIM_OK;
}

/* *known: the name is one of brim's. */
static int read_vector_loss(entry *e, brim_vector_loss *out, bool *known) {
  const brim_json_value *name = brim_json_get(e->object, "loss"), *options = brim_json_get(e->object, "options");
  const bool nested = says(name, "matryoshka");
  const brim_json_value *inner = nested ? brim_json_get(options, "inner") : says(name, "mnrl-masked") ? NULL : name;
  const brim_json_value *own = nested ? brim_json_get(options, "inner_options") : options;
  *known = inner && inner->kind == BRIM_JSON_STRING ? brim_vector_loss_named(inner->as.text, inner->length, out)
                                                    : brim_vector_loss_named("in-batch", 8, out);
  if (!*known)
    return BRIM_OK;
  if (own)
    BRIM_TRY(read_vector_options(e, own, out));
  return nested ? read_dimensions(e, options, out) : BRIM_OK;
}

/* ---- vectors ------------------------------------------------------------------------------------------------- */

typedef struct vectors {
  brim_vector_rows rows;
  int32_t columns;
  double *gradient;
} vectors;

/* Where column k of row r is among the texts, which lie row by row. */
static int64_t text_at(const vectors *v, int32_t k, int32_t r) {
  return (int64_t)r * v->columns + k;
}

static int shape_of(entry *e, const brim_json_value *columns, vectors *v) {
  const brim_json_value *column = brim_json_first(columns), *row = column ? brim_json_first(column) : NULL;
  v->columns = (int32_t)columns->length;
  v->rows.rows = column ? (int32_t)column->length : 0;
  v->rows.width = row ? (int32_t)row->length : 0;
  const size_t wanted = (size_t)v->columns * (size_t)v->rows.rows * (size_t)v->rows.width;
  if (wanted == 0 || v->columns > MOST_COLUMNS || count_numbers(columns) != wanted)
    return wrong(e, columns, "\"columns\" are not lists of vectors with one length");
  return BRIM_OK;
}

/* Columns of rows become rows of columns. */
static int read_vectors(entry *e, const brim_json_value *columns, vectors *v) {
  size_t count, labels;
  const double *numbers, *texts;
  BRIM_TRY(shape_of(e, columns, v));
  BRIM_TRY(read_numbers(e, "columns", &numbers, &count));
  const size_t n = (size_t)v->columns * (size_t)v->rows.rows, width = (size_t)v->rows.width;
  double *values = take(e, n * width, sizeof *values);
  int32_t *firsts = take(e, (size_t)v->rows.rows + 1, sizeof *firsts);
  uint64_t *same = take(e, n, sizeof *same);
  v->gradient = take(e, n * width, sizeof *v->gradient);
  if (!values || !firsts || !same || !v->gradient)
    return BRIM_NOMEM(e->err);
  BRIM_TRY(read_numbers(e, "texts", &texts, &count));
  for (int32_t k = 0; k < v->columns; k++)
    for (int32_t r = 0; r < v->rows.rows; r++) {
      const int64_t from = (int64_t)k * v->rows.rows + r, to = text_at(v, k, r);
      memcpy(values + (size_t)to * width, numbers + (size_t)from * width, width * sizeof *values);
      same[to] = count == n ? (uint64_t)texts[from] : 0;
    }
  for (int32_t r = 0; r <= v->rows.rows; r++)
    firsts[r] = r * v->columns;
  BRIM_TRY(read_numbers(e, "labels", &v->rows.labels, &labels));
  v->rows.label_width = (int32_t)(labels / (size_t)v->rows.rows);
  v->rows.values = values;
  v->rows.firsts = firsts;
  v->rows.same = count == n ? same : NULL;
  return BRIM_OK;
}

static void write_vectors(const vectors *v, double loss, brim_json_writer *out) {
  brim_json_put_number(out, "loss", loss);
  brim_json_open_array(out, "grad");
  for (int32_t k = 0; k < v->columns; k++) {
    brim_json_open_array(out, NULL);
    for (int32_t r = 0; r < v->rows.rows; r++) {
      brim_json_open_array(out, NULL);
      for (int32_t i = 0; i < v->rows.width; i++)
        brim_json_put_number(out, NULL, v->gradient[text_at(v, k, r) * v->rows.width + i]);
      brim_json_close_array(out);
    }
    brim_json_close_array(out);
  }
  brim_json_close_array(out);
}

static int vectors_loss(entry *e, const brim_json_value *columns, brim_json_writer *out, bool *known) {
  vectors v = {0};
  brim_vector_loss loss;
  double value;
  BRIM_TRY(read_vector_loss(e, &loss, known));
  if (!*known)
    return BRIM_OK;
  BRIM_TRY(read_vectors(e, columns, &v));
  void *work = take(e, 1, brim_vector_loss_work(&loss, v.rows.rows, v.rows.rows * v.columns, v.rows.width));
  if (!work)
    return BRIM_NOMEM(e->err);
  BRIM_TRY(brim_vector_loss_compute(e->runtime, &loss, &v.rows, work, v.gradient, &value, NULL, e->err));
  write_vectors(&v, value, out);
  return BRIM_OK;
}

/* ---- scores -------------------------------------------------------------------------------------------------- */

static int read_score_loss(entry *e, brim_score_loss *out, bool *known) {
  static const char *const activations[] = {"sigmoid", "identity"};
  const brim_json_value *name = brim_json_get(e->object, "loss"), *options = brim_json_get(e->object, "options");
  int activation = 0;
  *known = name && name->kind == BRIM_JSON_STRING && brim_score_loss_named(name->as.text, name->length, out);
  if (!*known || !options)
    return BRIM_OK;
  BRIM_TRY(brim_json_read_real(e->document, options, "scale", &out->scale, e->err));
  BRIM_TRY(brim_json_read_real(e->document, options, "pos_weight", &out->positive_weight, e->err));
  BRIM_TRY(read_choice(e, options, "activation", activations, 2, &activation));
  out->identity = activation == 1;
  return BRIM_OK;
}

/* Groups as they are given; else each list of scores is one, and scores without lists are one group together. */
static int read_groups(entry *e, const brim_json_value *logits, size_t count, brim_score_rows *rows) {
  const brim_json_value *groups = brim_json_get(e->object, "groups"), *first = brim_json_first(logits);
  const bool given = groups && groups->kind == BRIM_JSON_ARRAY, lists = first && first->kind == BRIM_JSON_ARRAY;
  int32_t at = 0;
  rows->groups = given ? (int32_t)groups->length : lists ? (int32_t)logits->length : 1;
  int32_t *firsts = take(e, (size_t)rows->groups + 1, sizeof *firsts);
  if (!firsts)
    return BRIM_NOMEM(e->err);
  const brim_json_value *list = given ? groups : logits, *v = brim_json_first(list);
  for (int32_t g = 0; g < rows->groups; g++) {
    firsts[g] = at;
    at += given ? (int32_t)brim_json_number(v) : lists ? (int32_t)v->length : (int32_t)count;
    v = brim_json_after(list, v);
  }
  firsts[rows->groups] = at;
  rows->firsts = firsts;
  return at == (int32_t)count ? BRIM_OK : wrong(e, list, "the groups have other numbers of scores than there are");
}

static void write_scores(const brim_score_rows *rows, const double *gradient, bool lists, double loss, brim_json_writer *out) {
  brim_json_put_number(out, "loss", loss);
  brim_json_open_array(out, "grad");
  for (int32_t g = 0; g < rows->groups; g++) {
    if (lists)
      brim_json_open_array(out, NULL);
    for (int32_t i = rows->firsts[g]; i < rows->firsts[g + 1]; i++)
      brim_json_put_number(out, NULL, gradient[i]);
    if (lists)
      brim_json_close_array(out);
  }
  brim_json_close_array(out);
}

static int scores_loss(entry *e, const brim_json_value *logits, brim_json_writer *out, bool *known) {
  brim_score_rows rows = {0};
  brim_score_loss loss;
  size_t count, labels;
  double value;
  BRIM_TRY(read_score_loss(e, &loss, known));
  if (!*known)
    return BRIM_OK;
  BRIM_TRY(read_numbers(e, "logits", &rows.scores, &count));
  if (count == 0)
    return wrong(e, logits, "\"logits\" holds no numbers");
  BRIM_TRY(read_groups(e, logits, count, &rows));
  BRIM_TRY(read_numbers(e, "labels", &rows.labels, &labels));
  rows.label_width = labels == count ? 0 : (int32_t)(labels / (size_t)rows.groups);
  double *gradient = take(e, count, sizeof *gradient);
  if (!gradient)
    return BRIM_NOMEM(e->err);
  BRIM_TRY(brim_score_loss_compute(&loss, &rows, gradient, &value, e->err));
  write_scores(&rows, gradient, brim_json_first(logits)->kind == BRIM_JSON_ARRAY, value, out);
  return BRIM_OK;
}

/* ---- entries ------------------------------------------------------------------------------------------------- */

static int write_entry(entry *e, brim_json_writer *out, uint64_t *unknown) {
  const brim_json_value *columns = brim_json_get(e->object, "columns"), *logits = brim_json_get(e->object, "logits");
  const brim_json_value *name = brim_json_get(e->object, "loss");
  bool known = false;
  if (!name || name->kind != BRIM_JSON_STRING || !(columns ? columns : logits))
    return wrong(e, NULL, "an entry has a \"loss\", and \"columns\" of vectors or \"logits\"");
  BRIM_TRY(columns ? vectors_loss(e, columns, out, &known) : scores_loss(e, logits, out, &known));
  if (!known) {
    brim_json_put_bytes(out, "unknown", name->as.text, name->length);
    ++*unknown;
  }
  return BRIM_OK;
}

static int write_entries(entry *e, const brim_json_value *list, brim_text *out, uint64_t *unknown) {
  for (e->object = brim_json_first(list); e->object; e->object = brim_json_after(list, e->object)) {
    brim_json_writer json = {.out = out};
    const size_t before = out->length;
    brim_arena_init(&e->arena, e->runtime, 0);
    brim_json_open_object(&json, NULL);
    const int status = write_entry(e, &json, unknown);
    brim_json_close_object(&json);
    brim_text_string(out, "\n");
    brim_arena_free(&e->arena);
    out->length = status ? before : out->length;
    BRIM_TRY(status);
  }
  return BRIM_OK;
}

int brim_inspect_losses(brim_runtime *runtime, const char *path, brim_text *out, brim_error *err) {
  BRIM_GIVEN(err, runtime, path, out);
  brim_json_document *document;
  uint64_t unknown = 0;
  BRIM_TRY(brim_json_load_named(runtime, path, LIMIT, &document, err));
  entry e = {.runtime = runtime, .document = document, .err = err};
  int status = brim_json_root(document)->kind == BRIM_JSON_ARRAY
                   ? write_entries(&e, brim_json_root(document), out, &unknown)
                   : brim_json_error(document, brim_json_root(document), err, BRIM_E_FORMAT, "a list of losses is needed");
  if (!status && unknown > 0)
    status = brim_error_set(err, BRIM_E_UNSUPPORTED, "%s: %llu of the losses have names that brim does not know", path,
                            (unsigned long long)unknown);
  brim_json_free(document);
  return status;
}
