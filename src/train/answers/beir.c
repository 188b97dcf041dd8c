#include "train/answers/beir.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/sort.h"
#include "base/status.h"
#include "brim/data.h"

enum { LINE_LIMIT = 1 << 30 };

/* ---- texts --------------------------------------------------------------------------------------------------- */

int brim_beir_open(brim_runtime *runtime, const char *path, brim_beir_file *f, brim_error *err) {
  *f = (brim_beir_file){.runtime = runtime, .path = path};
  brim_json_reader_init(&f->json, runtime, path);
  brim_hashmap_init(&f->ids, runtime);
  brim_text_init(&f->id, runtime);
  brim_text_init(&f->title, runtime);
  brim_text_init(&f->text, runtime);
  return brim_stream_open(runtime, path, &f->stream, err);
}

void brim_beir_close(brim_beir_file *f) {
  brim_json_reader_free(&f->json);
  brim_hashmap_free(&f->ids);
  brim_text_free(&f->id);
  brim_text_free(&f->title);
  brim_text_free(&f->text);
  brim_stream_free(f->stream);
}

static bool is_key(const brim_json_token *key, const char *name) {
  return key->length == strlen(name) && memcmp(key->text, name, key->length) == 0;
}

/* A member's value, of which an id may be a number; null is as if it was not there. */
static int take_value(brim_beir_file *f, brim_text *to, bool number, bool *there, brim_error *err) {
  brim_json_token value;
  BRIM_TRY(brim_json_next(&f->json, &value, err));
  if (value.kind == BRIM_JSON_NULL)
    return BRIM_OK;
  if (value.kind != BRIM_JSON_STRING && !(number && value.kind == BRIM_JSON_INT))
    return brim_json_reader_error(&f->json, value.byte, err, BRIM_E_FORMAT, "a string is expected, not %s",
                                  brim_json_kind_name(value.kind));
  brim_text_clear(to);
  brim_text_append(to, value.text, value.length);
  *there = true;
  return brim_text_status(to, err);
}

/* Members that mean nothing here are passed over. */
static int take_member(brim_beir_file *f, const brim_json_token *key, bool there[3], brim_error *err) {
  if (is_key(key, "_id"))
    return take_value(f, &f->id, true, &there[0], err);
  if (is_key(key, "title"))
    return take_value(f, &f->title, false, &there[1], err);
  if (is_key(key, "text"))
    return take_value(f, &f->text, false, &there[2], err);
  return brim_json_skip(&f->json, err);
}

static int take_line(brim_beir_file *f, brim_error *err) {
  brim_json_token token;
  bool there[3] = {false};
  BRIM_TRY(brim_json_next(&f->json, &token, err));
  if (token.kind != BRIM_JSON_OBJECT)
    return brim_json_reader_error(&f->json, token.byte, err, BRIM_E_FORMAT, "an object is expected, with \"_id\" and \"text\"");
  for (;;) {
    BRIM_TRY(brim_json_next(&f->json, &token, err));
    if (token.kind != BRIM_JSON_KEY)
      break;
    BRIM_TRY(take_member(f, &token, there, err));
  }
  BRIM_TRY(brim_json_next(&f->json, &token, err)); /* nothing else is in the line */
  if (!there[0] || !there[2])
    return brim_json_reader_error(&f->json, 0, err, BRIM_E_FORMAT, "there is no \"%s\" in this line", there[0] ? "text" : "_id");
  if (!there[1])
    brim_text_clear(&f->title);
  return BRIM_OK;
}

/* "title text", as BEIR's own loaders and sentence-transformers join them. */
static int join(brim_beir_file *f, brim_error *err) {
  if (f->title.length == 0)
    return BRIM_OK;
  brim_text_string(&f->title, " ");
  brim_text_append(&f->title, f->text.data, f->text.length);
  const brim_text swap = f->text;
  f->text = f->title;
  f->title = swap;
  return brim_text_status(&f->text, err);
}

int brim_beir_next(brim_beir_file *f, brim_error *err) {
  const char *line;
  size_t length = 0;
  bool twice;
  int32_t old;
  while (length == 0) { /* empty lines are none */
    const bool first = brim_stream_offset(f->stream) == 0;
    BRIM_TRY(brim_stream_line(f->stream, LINE_LIMIT, &line, &length, err));
    if (first && length >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) /* a byte order mark */
      line += 3, length -= 3;
    length -= length > 0 && line[length - 1] == '\r';
  }
  const int64_t number = brim_stream_line_number(f->stream);
  brim_json_reader_start(&f->json, line, length, 0, number);
  brim_text_clear(&f->text);
  BRIM_TRY(take_line(f, err));
  if (f->count == INT32_MAX)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, f->path, number, -1, "more than %d texts", INT32_MAX);
  BRIM_TRY(brim_hashmap_put(&f->ids, f->id.data ? f->id.data : "", f->id.length, (int32_t)f->count, &twice, &old, err));
  if (twice)
    return brim_error_at(err, BRIM_E_FORMAT, f->path, number, -1, "the id \"%.*s\" was there already",
                         (int)(f->id.length < 80 ? f->id.length : 80), f->id.data ? f->id.data : "");
  f->count++;
  return join(f, err);
}

/* ---- what is relevant ---------------------------------------------------------------------------------------- */

static int shown(size_t length) {
  return (int)(length < 80 ? length : 80);
}

static int number_of(brim_relevant *r, const brim_record *record, int32_t *document, brim_error *err) {
  *document = brim_hashmap_get(&r->documents, record->pair, record->pair_length, -1);
  if (*document >= 0)
    return BRIM_OK;
  *document = (int32_t)r->documents.count;
  return brim_hashmap_put(&r->documents, record->pair, record->pair_length, *document, NULL, NULL, err);
}

/* A pair may come again with the same verdict, and counts once. Which of two verdicts is meant would be a guess. */
static int add_pair(brim_relevant *r, int32_t query, bool relevant, const brim_record *record, brim_error *err) {
  int32_t document, before;
  bool again;
  BRIM_TRY(number_of(r, record, &document, err));
  const uint64_t pair = (uint64_t)query << 32 | (uint32_t)document;
  BRIM_TRY(brim_hashmap_put(&r->judged, (const char *)&pair, sizeof pair, relevant, &again, &before, err));
  if (again && before != relevant)
    return brim_error_at(err, BRIM_E_FORMAT, record->file, record->line, -1,
                         "the document \"%.*s\" is %s to the query \"%.*s\" here, and an earlier line says that it is %s: leave "
                         "one of both out",
                         shown(record->pair_length), record->pair, relevant ? "relevant" : "not relevant",
                         shown(record->text_length), record->text, relevant ? "not" : "relevant");
  if (again || !relevant)
    return BRIM_OK;
  BRIM_TRY(brim_grow(r->runtime, (void **)&r->pairs, &r->capacity, r->count + 1, sizeof *r->pairs, err));
  r->pairs[r->count++] = pair;
  return BRIM_OK;
}

static int take_pair(brim_relevant *r, const brim_hashmap *queries, const brim_record *record, brim_error *err) {
  const int32_t query = brim_hashmap_get(queries, record->text, record->text_length, -1);
  double score;
  if (query < 0)
    return brim_error_at(err, BRIM_E_FORMAT, record->file, record->line, -1, "there is no query \"%.*s\"",
                         shown(record->text_length), record->text);
  if (!brim_number_real(record->label, record->label_length, &score))
    return brim_error_at(err, BRIM_E_FORMAT, record->file, record->line, -1, "a score is a number, not \"%.*s\"",
                         shown(record->label_length), record->label);
  return add_pair(r, query, score > 0, record, err);
}

static bool is_after(const void *a, const void *b, const void *context) {
  (void)context;
  return *(const uint64_t *)a > *(const uint64_t *)b;
}

int brim_relevant_load(brim_runtime *runtime, const char *path, const brim_hashmap *queries, brim_relevant *r, brim_error *err) {
  const brim_source_options columns = {
      .text_column = "query-id", .pair_column = "corpus-id", .label_column = "score", .need_label = true};
  brim_reader *reader;
  brim_record record;
  *r = (brim_relevant){.runtime = runtime};
  brim_hashmap_init(&r->documents, runtime);
  brim_hashmap_init(&r->judged, runtime);
  BRIM_TRY(brim_reader_open(runtime, &path, 1, &columns, &reader, err));
  int status;
  while (!(status = brim_reader_next(reader, &record, err)))
    if ((status = take_pair(r, queries, &record, err)))
      break;
  brim_reader_close(reader);
  if (status != BRIM_END)
    return status;
  brim_sort(r->pairs, r->count, sizeof *r->pairs, is_after, NULL);
  return r->count > 0 ? BRIM_OK : brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "no document is relevant to any query");
}

void brim_relevant_free(brim_relevant *r) {
  brim_hashmap_free(&r->documents);
  brim_hashmap_free(&r->judged);
  brim_release(r->runtime, r->pairs);
}

/* The first pair that is not below. */
static size_t lower_bound(const brim_relevant *r, uint64_t pair) {
  size_t low = 0, high = r->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (r->pairs[middle] < pair)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void brim_relevant_of(const brim_relevant *r, uint64_t query, size_t *first, size_t *end) {
  *first = lower_bound(r, query << 32);
  *end = lower_bound(r, (query + 1) << 32);
}
