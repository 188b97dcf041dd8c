/* columns.c: which columns of a file are the texts of a row, and which its label, as data sets of sentence-transformers name
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/stream.h"
#include "data/blocks.h"
#include "data/csv_scan.h"
#include "data/source.h"
#include "task/task.h"

enum { HEAD = 1 << 20, NEXT_HEAD = 1 << 16, LONGEST_KEY = 100, MOST_SEARCHED = 1 << 30, MOST_NAMES = 1024 };

/* ---- the names of a file's columns --------------------------------------------------------------------------- */

typedef struct names {
  brim_arena *arena;
  const char *of[MOST_NAMES];
  bool lists[MOST_NAMES]; /* JSON: a row has a list in the column */
  int count;
  bool all;          /* no row has another */
  bool of_head;      /* rows of JSON after the head may have another, but for negatives */
  bool unsearched;   /* they may have negatives, too: they can be read once */
  uint64_t searched; /* bytes of all files in which negatives were looked for */
} names;

/* -1: there is no such name. */
static int find_name(const names *n, const char *text, size_t length) {
  for (int i = 0; i < n->count; i++)
    if (strlen(n->of[i]) == length && memcmp(n->of[i], text, length) == 0)
      return i;
  return -1;
}

/* *at: where the name is now; -1: nobody looks at so many. */
static int add_name(names *n, const char *text, size_t length, int *at, brim_error *err) {
  *at = find_name(n, text, length);
  if (*at >= 0 || n->count == MOST_NAMES)
    return BRIM_OK;
  *at = n->count;
  n->of[*at] = brim_arena_copy_string(n->arena, text, length);
  return n->of[n->count++] ? BRIM_OK : BRIM_NOMEM(err);
}

/* What does not end within the head has no names here: who reads the rows says why. */
static int read_table(brim_runtime *runtime, const brim_source_file *file, const char *bytes, size_t length, names *n,
                      brim_error *err) {
  brim_csv_scan scan = {.runtime = runtime, .backslash = file->backslash};
  int at;
  char *decoded = brim_alloc(runtime, length + 1);
  int status = decoded ? BRIM_OK : BRIM_NOMEM(err);
  const brim_csv_status scanned = (file->quoted ? brim_csv_scan_quoted : brim_csv_scan_plain)(&scan, bytes, length, n->all,
                                                                                              file->delimiter);
  for (size_t i = 0; scanned == BRIM_CSV_DONE && i < scan.count && !status; i++) {
    const size_t used = brim_field_span_decode(&scan.spans[i], bytes, decoded);
    status = add_name(n, decoded, used, &at, err);
  }
  n->all = n->all || (scanned == BRIM_CSV_DONE && scan.count > 0); /* they are those of every row */
  brim_csv_scan_free(&scan);
  brim_release(runtime, decoded);
  return status;
}

/* Of the value after the key that was read. */
static bool is_list(const brim_json_reader *json) {
  size_t at = json->at;
  while (at < json->length && (json->bytes[at] == ':' || brim_json_is_space(json->bytes[at])))
    at++;
  return at < json->length && json->bytes[at] == '[';
}

/* The keys of an object that no one before it has. *whole: it was read to its end. */
static int add_keys(brim_json_reader *json, names *n, bool *whole, brim_error *err) {
  brim_json_token token;
  brim_error ignored;
  int at;
  for (;;) {
    const bool read = !brim_json_next(json, &token, &ignored);
    *whole = read && token.kind == BRIM_JSON_OBJECT_END;
    if (!read || token.kind != BRIM_JSON_KEY)
      return BRIM_OK;
    BRIM_TRY(add_name(n, token.text, token.length, &at, err));
    if (at >= 0)
      n->lists[at] |= is_list(json);
    if (brim_json_skip(json, &ignored))
      return BRIM_OK;
  }
}

/* The keys of objects: those of an array, or one a line. A row may lack what others have, such as a negative. */
static int read_keys(brim_runtime *runtime, const char *bytes, size_t length, names *n, brim_error *err) {
  brim_json_reader json;
  brim_json_token token;
  brim_error ignored;
  int status = BRIM_OK;
  bool array = false, more = true;
  brim_json_reader_init(&json, runtime, NULL);
  while (more && !status && length > 0) {
    const char *end = array ? NULL : memchr(bytes, '\n', length);
    if (!array)
      brim_json_reader_start(&json, bytes, length, 0, 0);
    more = !brim_json_next(&json, &token, &ignored);
    if (more && !array && token.kind == BRIM_JSON_ARRAY)
      array = !brim_json_next(&json, &token, &ignored);
    more = more && token.kind == BRIM_JSON_OBJECT;
    const bool object = more;
    if (object)
      status = add_keys(&json, n, &more, err);
    n->all = n->all && (more || !object); /* what cannot be read may have another */
    if (!array) {
      length -= end ? (size_t)(end + 1 - bytes) : length;
      bytes = end ? end + 1 : bytes;
      more = true; /* an empty line, or one that who reads the rows refuses */
    }
  }
  brim_json_reader_free(&json);
  return status;
}

/* negative, negative_1, negatives, .. */
static bool is_negative(const char *name) {
  return strncmp(name, "negative", 8) == 0 && strcmp(name, "negative_score") != 0;
}

static bool has_negatives(const names *n) {
  for (int i = 0; i < n->count; i++)
    if (is_negative(n->of[i]))
      return true;
  return false;
}

/* "negative..": */
static int add_negatives(names *n, const char *bytes, size_t length, brim_error *err) {
  static const char begin[] = "\"negative";
  const char *end = bytes + length, *at = bytes;
  int place;
  for (; (at = memmem(at, (size_t)(end - at), begin, strlen(begin))); at++) {
    const char *key = at + 1, *quote = memchr(key, '"', (size_t)(end - key)), *colon = quote ? quote + 1 : end;
    while (colon < end && *colon == ' ')
      colon++;
    const bool is_key = colon < end && *colon == ':' && at > bytes && at[-1] != '\\';
    if (is_key && quote - key < LONGEST_KEY / 2)
      BRIM_TRY(add_name(n, key, (size_t)(quote - key), &place, err));
  }
  return BRIM_OK;
}

/* It can be read once: its beginning alone is known before. */
static bool is_read_once(const brim_source_file *file) {
  return strcmp(file->path, "-") == 0 || file->size < 0;
}

/* Rows may have negatives long after the first that have none. What cannot be read, who reads the rows says. */
static int search_negatives(brim_runtime *runtime, const brim_source_file *file, names *n, brim_error *err) {
  brim_stream *stream = NULL;
  brim_error ignored;
  const char *bytes;
  size_t length = HEAD;
  if (file->format != BRIM_FORMAT_JSONL || is_read_once(file) || brim_stream_open(runtime, file->path, &stream, &ignored))
    return BRIM_OK;
  int status = BRIM_OK;
  while (!status && length >= HEAD && n->searched < MOST_SEARCHED && !brim_stream_peek(stream, HEAD, &bytes, &length, &ignored)) {
    status = add_negatives(n, bytes, length, err);
    brim_stream_consume(stream, length < HEAD ? length : length - LONGEST_KEY);
    n->searched += length;
  }
  brim_stream_free(stream);
  return status;
}

/* Of a pipe whose rows have no label more than the first line is not waited for: answers may be. A label is part of what is
 * trained, and known as a file's is. */
static int peek_head(brim_stream *stream, bool patient, size_t head, const char **bytes, size_t *length, bool *all,
                     brim_error *err) {
  *length = 0;
  *all = false;
  while (!patient && !*all && *length < head) {
    BRIM_TRY(brim_stream_peek_arrived(stream, *length + 1, bytes, length, all, err));
    const char *end = *length ? memchr(*bytes, '\n', *length) : NULL;
    if (end && **bytes != '[') {
      *length = (size_t)(end + 1 - *bytes);
      return BRIM_OK;
    }
  }
  BRIM_TRY(brim_stream_peek(stream, head, bytes, length, err));
  *all = *length < head;
  return BRIM_OK;
}

static int add_names(brim_runtime *runtime, const brim_source_file *file, const char *bytes, size_t length, names *n,
                     brim_error *err) {
  if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
    bytes += 3, length -= 3;
  if (length == 0)
    return BRIM_OK;
  return file->format == BRIM_FORMAT_JSONL ? read_keys(runtime, bytes, length, n, err)
                                           : read_table(runtime, file, bytes, length, n, err);
}

static int read_names(brim_runtime *runtime, const brim_source_file *file, bool labelled, size_t head, names *n,
                      brim_error *err) {
  const bool once = is_read_once(file), table = file->format == BRIM_FORMAT_CSV || file->format == BRIM_FORMAT_TSV;
  brim_stream *stream = NULL;
  const char *bytes;
  size_t length;
  if (!table && file->format != BRIM_FORMAT_JSONL)
    return BRIM_OK;
  BRIM_TRY(brim_stream_open(runtime, file->path, &stream, err));
  int status = peek_head(stream, labelled || !once, head, &bytes, &length, &n->all, err);
  n->of_head |= !status && !n->all && !table;
  n->unsearched |= !status && !n->all && !table && once && labelled;
  if (!status)
    status = add_names(runtime, file, bytes, length, n, err);
  if (once && !status)
    brim_stream_keep(stream, n->arena);
  else
    brim_stream_free(stream);
  return status;
}

/* ---- which of them ------------------------------------------------------------------------------------------- */

static const char *const firsts[] = {"anchor", "query", "question",  "sentence1",  "premise",
                                     "text1",  "text",  "question1", "sentence_A", NULL};
static const char *const seconds[] = {"positive",  "document",   "documents", "passage",    "answer",
                                      "sentence2", "hypothesis", "text2",     "text",       "text_pair",
                                      "response",  "context",    "question2", "sentence_B", NULL};
static const char *const labels[] = {
    "score",      "label", "scores", "labels", "similarity", "similarity_score", "is_duplicate", "relevance", "relatedness_score",
    "gold_label", NULL};
static const char *const others[] = {"id", "_id", "idx", "index", "split", "source", "genre", "Unnamed: 0", "", NULL};

static int place_of(const char *name, const char *const *list) {
  for (int i = 0; list[i]; i++)
    if (strcmp(name, list[i]) == 0)
      return i;
  return -1;
}

/* The column whose name comes first in the list; -1: there is none. */
static int best_of(const names *n, const char *const *list, int but) {
  int best = -1;
  for (int i = 0; i < n->count; i++) {
    const int place = i == but ? -1 : place_of(n->of[i], list);
    if (place >= 0 && (best < 0 || place < place_of(n->of[best], list)))
      best = i;
  }
  return best;
}

/* More than there is room for are counted, and refused when all are taken. */
static void take(brim_text_columns *c, const char *name) {
  if (c->count < BRIM_MOST_TEXT_COLUMNS)
    c->names[c->count] = name;
  c->count++;
}

static void take_negatives(const names *n, brim_text_columns *c) {
  for (int i = 0; i < n->count; i++)
    if (is_negative(n->of[i]))
      take(c, n->of[i]);
}

/* A column of numbers besides the label. */
static bool is_block(const brim_source_options *given, const char *name) {
  for (int i = 0; i < given->block_count; i++)
    if (strcmp(given->blocks[i].column, name) == 0)
      return true;
  return false;
}

/* Where no names are known: all but the label and what is no text by its name, in order. */
static void take_in_order(const names *n, const brim_source_options *given, brim_text_columns *c) {
  for (int i = 0; i < n->count; i++)
    if (!is_block(given, n->of[i]) && place_of(n->of[i], labels) < 0 && place_of(n->of[i], others) < 0 &&
        (!c->label || strcmp(n->of[i], c->label) != 0))
      take(c, n->of[i]);
}

/* False: what is a text is not known by its name. */
static bool choose(const names *n, const brim_source_options *given, brim_text_columns *c) {
  const int first = best_of(n, firsts, -1), second = first >= 0 ? best_of(n, seconds, first) : -1;
  if (second >= 0) {
    take(c, n->of[first]);
    take(c, n->of[second]);
    take_negatives(n, c);
  } else {
    take_in_order(n, given, c);
  }
  return second >= 0;
}

/* Rows are chosen by it. */
static bool is_where(const brim_source_options *given, const char *name) {
  for (int i = 0; i < given->where_count; i++)
    if (strcmp(given->where[i].column, name) == 0)
      return true;
  return false;
}

/* Columns that nobody reads, but for such as "id". */
static void find_unread(const names *n, const brim_source_options *given, brim_text_columns *c) {
  for (int i = 0; i < n->count; i++) {
    const char *name = n->of[i];
    bool read = is_block(given, name) || is_where(given, name) || place_of(name, others) >= 0 ||
                (c->label && strcmp(name, c->label) == 0);
    for (int k = 0; k < c->count && k < BRIM_MOST_TEXT_COLUMNS && !read; k++)
      read = strcmp(name, c->names[k]) == 0;
    if (!read && c->unread_count++ == 0)
      c->unread = name;
  }
}

/* "a", "b"; or "". */
static const char *listed(const names *n, char list[300]) {
  size_t used = 0;
  list[0] = 0;
  for (int i = 0; i < n->count && used < 240; i++)
    used += (size_t)snprintf(list + used, 300 - used, "%s\"%.40s\"", i ? ", " : "", n->of[i]);
  return list;
}

static int no_column(const names *n, const char *file, const char *name, brim_error *err) {
  char list[300];
  return brim_error_at(err, BRIM_E_USAGE, file, 0, -1, "there is no column \"%.60s\"; the columns are %s", name, listed(n, list));
}

static int refuse(const char *file, const names *n, brim_task task, brim_error *err) {
  char list[300];
  return brim_error_at(
      err, BRIM_E_USAGE, file, 0, -1,
      "the task %s needs columns with two texts or more, such as anchor and positive, or sentence1, sentence2 and "
      "score; the columns are %s: name them (--columns)",
      brim_task_name(task), n->count > 0 ? listed(n, list) : "not known before they are read");
}

/* An id or a label would be a text: two columns are a pair, and more must be known. */
static int check_known(const brim_text_columns *c, const char *file, const names *n, brim_task task, brim_error *err) {
  char list[300];
  int texts = 0;
  for (int i = 0; i < c->count && i < BRIM_MOST_TEXT_COLUMNS; i++) /* of more it is said that they are too many */
    texts += !is_negative(c->names[i]);
  if (texts <= 2)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_USAGE, file, 0, -1,
                       "the columns are %s: their names do not say which are the texts of a row for the task %s: name them in "
                       "order (--columns), and its score (--label-column)",
                       listed(n, list), brim_task_name(task));
}

/* Classes as numbers are no scores: entailment, the first, would be least alike. */
static int check_scored(const brim_text_columns *c, const char *file, const brim_source_options *given, brim_error *err) {
  const bool entails = c->count >= 2 && strcmp(c->names[0], "premise") == 0 && strcmp(c->names[1], "hypothesis") == 0;
  const bool classes = c->label && !given->label_column &&
                       place_of(c->label, (const char *const[]){"label", "labels", NULL}) >= 0;
  if (!entails || !classes || !given->need_label)
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_USAGE, file, 0, -1,
      "the \"%s\" of a premise and a hypothesis is a class, such as entailment, and no score: train a classifier "
      "of pairs (--task classification), or say that it is a score (--label-column %s)",
      c->label, c->label);
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

/* A text is not its own partner, nor the answer. A label that was not asked for gives way. */
static int check_apart(const brim_source_options *given, brim_text_columns *out, brim_error *err) {
  for (int i = 0; i < out->count; i++) {
    for (int k = 0; k < i; k++)
      if (strcmp(out->names[i], out->names[k]) == 0)
        return brim_error_set(err, BRIM_E_USAGE, "the column \"%.60s\" is named twice: name each text's own", out->names[i]);
    if (out->label && strcmp(out->names[i], out->label) == 0) {
      if (given->label_column)
        return brim_error_set(err, BRIM_E_USAGE, "the column \"%.60s\" is named as a text and as the label: name each one's own",
                              out->label);
      out->label = NULL;
    }
  }
  return BRIM_OK;
}

/* Columns that the caller named are there. A line of JSON may lack the last ones; that all lines do is seen where the head is the
 * whole file. */
static int check_given(const names *n, const char *file, const brim_source_options *given, brim_error *err) {
  const char *const *columns = given->text_columns;
  for (int i = 0; i < given->text_column_count; i++) {
    const bool known = n->all && n->count > 0 && n->count < MOST_NAMES;
    if (known && find_name(n, columns[i], strlen(columns[i])) < 0)
      return no_column(n, file, columns[i], err);
  }
  return BRIM_OK;
}

static int choose_among(const names *n, const char *file, const brim_source_options *given, brim_task task,
                        brim_text_columns *out, brim_error *err) {
  BRIM_TRY(brim_block_columns_check(given, true, err));
  const int label = best_of(n, labels, -1);
  out->label = given->label_column ? given->label_column : label >= 0 && !is_block(given, n->of[label]) ? n->of[label] : NULL;
  BRIM_TRY(check_given(n, file, given, err));
  for (int i = 0; i < given->text_column_count; i++)
    take(out, given->text_columns[i]);
  if (given->text_column_count == 0 && (given->text_column || given->pair_column)) {
    take(out, given->text_column ? given->text_column : "text");
    take(out, given->pair_column ? given->pair_column : "text_pair");
  }
  const bool found = out->count == 0;
  if (found) {
    if (!choose(n, given, out))
      BRIM_TRY(check_known(out, file, n, task, err));
    out->beginning = n->of_head;
  }
  if (out->count > BRIM_MOST_TEXT_COLUMNS)
    return brim_error_at(err, BRIM_E_USAGE, file, 0, -1, "%d columns have texts, and a row has at most %d: name fewer",
                         out->count, BRIM_MOST_TEXT_COLUMNS);
  BRIM_TRY(check_apart(given, out, err));
  BRIM_TRY(found ? check_scored(out, file, given, err) : BRIM_OK);
  find_unread(n, given, out);
  out->paired = brim_task_shape(task)->joins_pairs;
  out->one_pair = out->paired && out->count == 2;
  if (out->one_pair) {
    const int second = find_name(n, out->names[1], strlen(out->names[1]));
    out->one_pair = second < 0 || !n->lists[second];
  }
  out->least = out->count < 2 ? out->count : 2;
  const bool taught = given->block_count > 0 && !out->paired; /* a text has something to be compared with */
  return out->count >= (taught ? 1 : 2) ? BRIM_OK : refuse(file, n, task, err);
}

static int find(brim_source *source, brim_arena *arena, const brim_source_options *given, brim_task task, brim_text_columns *out,
                brim_error *err) {
  names n = {.arena = arena};
  bool known = !given->no_header;
  for (size_t i = 0; i < source->count && !given->no_header; i++) {
    n.all = false;
    BRIM_TRY(read_names(source->runtime, &source->files[i], given->need_label, i == 0 ? HEAD : NEXT_HEAD, &n, err));
    known = known && n.all;
  }
  n.all = known;
  const bool found = given->no_header || given->text_column_count > 0 || given->text_column || given->pair_column;
  for (size_t i = 0; i < source->count && !found && !known && !has_negatives(&n); i++)
    BRIM_TRY(search_negatives(source->runtime, &source->files[i], &n, err));
  if (!found && n.unsearched && !has_negatives(&n))
    return brim_error_set(err, BRIM_E_USAGE,
                          "what can be read once has more than a megabyte of rows, and later ones may have negatives: name "
                          "the columns of the texts (--columns), or write the rows to a file first");
  return choose_among(&n, brim_source_name(&source->files[0]), given, task, out, err);
}

int brim_text_columns_among(brim_runtime *runtime, const char *const *columns, int column_count, const brim_source_options *given,
                            brim_task task, brim_text_columns *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, given);
  BRIM_STRINGS(err, columns, column_count);
  BRIM_TRY(brim_task_check(task, err));
  BRIM_TRY(brim_source_options_check(given, err));
  names n = {0};
  *out = (brim_text_columns){.runtime = runtime};
  for (int i = 0; i < column_count && n.count < MOST_NAMES; i++)
    n.of[n.count++] = columns[i];
  n.all = n.count > 0;
  return choose_among(&n, NULL, given, task, out, err);
}

int brim_text_columns_find(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *given,
                           brim_task task, brim_text_columns *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, given);
  BRIM_STRINGS(err, paths, path_count);
  BRIM_TRY(brim_task_check(task, err));
  brim_source source;
  *out = (brim_text_columns){.runtime = runtime};
  BRIM_TRY(brim_source_find(runtime, paths, path_count, given, &source, err));
  out->memory = brim_alloc_zero(runtime, sizeof(brim_arena));
  int status = out->memory ? BRIM_OK : BRIM_NOMEM(err);
  if (!status) {
    brim_arena_init(out->memory, runtime, 0);
    status = find(&source, out->memory, given, task, out, err);
  }
  brim_source_free(&source);
  if (status)
    brim_text_columns_free(out);
  return status;
}

void brim_text_columns_free(brim_text_columns *columns) {
  if (!columns)
    return;
  if (columns->memory) {
    brim_streams_give_up(columns->runtime, columns->memory);
    brim_arena_free(columns->memory);
  }
  if (columns->runtime)
    brim_release(columns->runtime, columns->memory);
  *columns = (brim_text_columns){0};
}
