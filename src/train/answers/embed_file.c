/* embed_file.c: vectors of a reader's texts into a file, a window at a time, so that another process can continue for one that
 * was killed.
 *
 *   read a window -> embed -> append, count, sync -> note what is there (PATH.partial.json) -> .. -> rename */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/remove.h"
#include "base/status.h"
#include "train/answers/embed.h"

enum { WINDOW_TEXTS = 8192, WINDOW_BYTES = 16 << 20, STATE_LIMIT = 1 << 20, FACTS = 8 };

/* A hash of bytes that come in pieces of any size. */
typedef struct running_hash {
  char block[4096];
  size_t used;
  uint64_t before; /* of the blocks before */
} running_hash;

/* What vectors depend on besides texts. */
typedef struct fact {
  const char *name;
  char value[64];
} fact;

typedef struct work {
  brim_runtime *runtime;
  brim_embedder *embedder;
  brim_reader *reader;
  const brim_embed_file_options *options;
  brim_embed_file_result *result;
  brim_file *file;
  const char *output;
  char *partial, *state; /* OUTPUT.partial, OUTPUT.partial.json; NULL: the output is no file, and nothing is noted */
  fact facts[FACTS];
  int fact_count;
  bool begun;                  /* by this call */
  brim_text bytes;             /* texts of the window */
  size_t starts[WINDOW_TEXTS]; /* where they begin */
  brim_string texts[WINDOW_TEXTS];
  uint64_t numbers[WINDOW_TEXTS]; /* of their records */
  uint64_t count;
  uint64_t written, input; /* bytes of vectors, and a hash of the texts so far */
  running_hash sum;        /* of the vectors so far, without a header */
  float *vectors;          /* [WINDOW_TEXTS, width] */
  int32_t width;
  brim_text line;
  brim_error *err;
} work;

/* ---- vectors ------------------------------------------------------------------------------------------------- */

enum { HEADER = 128 }; /* of numpy's file */

static void add_to_hash(running_hash *h, const char *bytes, size_t length) {
  for (size_t part; length > 0; bytes += part, length -= part) {
    part = length < sizeof h->block - h->used ? length : sizeof h->block - h->used;
    memcpy(h->block + h->used, bytes, part);
    h->used += part;
    if (h->used < sizeof h->block)
      continue;
    h->before = brim_hash64(h->block, h->used, h->before);
    h->used = 0;
  }
}

static uint64_t hash_of(const running_hash *h) {
  return brim_hash64(h->block, h->used, h->before);
}

static int write_bytes(work *w, const void *bytes, size_t length) {
  w->written += length;
  add_to_hash(&w->sum, bytes, length);
  return brim_file_write(w->file, bytes, length, w->err);
}

static void put_line(work *w, uint64_t i) {
  brim_json_writer json = {.out = &w->line};
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "index", w->numbers[i]);
  brim_json_open_array(&json, "embedding");
  for (int32_t k = 0; k < w->width; k++)
    brim_json_put_printf(&json, NULL, "%.9g", (double)w->vectors[i * (uint64_t)w->width + (uint64_t)k]);
  brim_json_close_array(&json);
  brim_json_close_object(&json);
  brim_text_string(&w->line, "\n");
}

static int write_vectors(work *w) {
  if (w->options->form == BRIM_VECTORS_NUMPY)
    return write_bytes(w, w->vectors, (size_t)w->count * (size_t)w->width * sizeof *w->vectors);
  for (uint64_t i = 0; i < w->count; i++)
    put_line(w, i);
  int status = brim_text_status(&w->line, w->err);
  if (!status)
    status = write_bytes(w, w->line.data, w->line.length);
  brim_text_clear(&w->line);
  return status;
}

/* numpy's format, version 1. The header is as long for any number of rows, and is written again when they are more. */
static int write_header(work *w) {
  enum { BEFORE = 10 };
  char header[HEADER + 1] = "\x93NUMPY\x01\x00\x76\x00", *text = header + BEFORE;
  if (w->options->form != BRIM_VECTORS_NUMPY)
    return BRIM_OK;
  memset(text, ' ', HEADER - BEFORE);
  const int used = snprintf(text, HEADER - BEFORE, "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %d), }",
                            (unsigned long long)w->result->counts.texts, (int)w->width);
  text[used] = ' ';
  header[HEADER - 1] = '\n';
  if (w->written)
    return brim_file_rewrite(w->file, header, HEADER, w->err);
  w->written = HEADER;
  return brim_file_write(w->file, header, HEADER, w->err);
}

/* ---- what was done ------------------------------------------------------------------------------------------- */

static void add_fact(work *w, const char *name, const char *value) {
  fact *f = &w->facts[w->fact_count++];
  f->name = name;
  snprintf(f->value, sizeof f->value, "%s", value);
}

static void add_number(work *w, const char *name, int64_t value) {
  fact *f = &w->facts[w->fact_count++];
  f->name = name;
  snprintf(f->value, sizeof f->value, "%" PRId64, value);
}

static void add_hash(work *w, const char *name, uint64_t value) {
  fact *f = &w->facts[w->fact_count++];
  f->name = name;
  snprintf(f->value, sizeof f->value, "%016" PRIx64, value);
}

static int find_facts(work *w) {
  const brim_embed_options *o = &w->options->embed;
  const char *prompt = o->prompt ? o->prompt : "";
  uint64_t identity;
  BRIM_TRY(brim_embedder_identity(w->embedder, &identity, w->err));
  add_hash(w, "model", identity);
  add_fact(w, "kernels", brim_model_kernels(brim_embedder_model(w->embedder)));
  add_fact(w, "precision", brim_precision_name(o->precision));
  add_number(w, "max_length", o->max_length > 0 ? o->max_length : brim_embedder_max_length(w->embedder));
  add_number(w, "dimensions", w->width);
  add_fact(w, "normalize", o->normalize ? "true" : "false");
  add_hash(w, "prompt", brim_hash64(prompt, strlen(prompt), 0));
  add_fact(w, "form", w->options->form == BRIM_VECTORS_NUMPY ? "npy" : "json");
  return BRIM_OK;
}

static int note_state(work *w) {
  const brim_embed_counts *c = &w->result->counts;
  brim_text text;
  char input[24], output[24];
  brim_text_init(&text, w->runtime);
  brim_json_writer json = {.out = &text};
  snprintf(input, sizeof input, "%016" PRIx64, w->input);
  snprintf(output, sizeof output, "%016" PRIx64, hash_of(&w->sum));
  brim_json_open_object(&json, NULL);
  for (int i = 0; i < w->fact_count; i++)
    brim_json_put_string(&json, w->facts[i].name, w->facts[i].value);
  brim_json_put_string(&json, "texts", input);
  brim_json_put_string(&json, "vectors", output);
  brim_json_put_count(&json, "count", c->texts);
  brim_json_put_count(&json, "bytes", w->written);
  brim_json_put_count(&json, "cut", c->cut);
  brim_json_put_count(&json, "lost", c->lost);
  brim_json_put_count(&json, "unread", c->unread);
  brim_json_close_object(&json);
  brim_text_string(&text, "\n");
  int status = brim_text_status(&text, w->err);
  if (!status)
    status = brim_file_write_own(w->runtime, w->state, text.data, text.length, w->err);
  brim_text_free(&text);
  return status;
}

/* What is there survives from here on. The state says less than the file for a moment, never more. */
static int sync_window(work *w) {
  if (!w->state)
    return BRIM_OK;
  if (w->fact_count == 0)
    BRIM_TRY(find_facts(w));
  BRIM_TRY(write_header(w));
  BRIM_TRY(brim_file_sync(w->file, w->err));
  BRIM_TRY(note_state(w));
  w->result->kept = w->result->counts.texts;
  return BRIM_OK;
}

static int check_facts(work *w, const brim_json_document *d) {
  for (int i = 0; i < w->fact_count; i++) {
    const char *was = "";
    size_t length = 0;
    BRIM_TRY(brim_json_read_string(d, brim_json_root(d), w->facts[i].name, &was, &length, w->err));
    if (length != strlen(w->facts[i].value) || memcmp(was, w->facts[i].value, length) != 0)
      return brim_error_at(w->err, BRIM_E_MISMATCH, w->state, 0, -1,
                           "the vectors that are there were made with another %s (%.*s, now %s): give the same again, or remove "
                           "%s.partial and begin again",
                           w->facts[i].name, (int)length, was, w->facts[i].value, w->output);
  }
  return BRIM_OK;
}

typedef struct done {
  uint64_t count, bytes, input, output;
} done;

static int read_hash(work *w, const brim_json_document *d, const char *name, uint64_t *out) {
  const char *digits = "";
  size_t length = 0;
  BRIM_TRY(brim_json_read_string(d, brim_json_root(d), name, &digits, &length, w->err));
  if (length != 16 || sscanf(digits, "%16" SCNx64, out) != 1)
    return brim_error_at(w->err, BRIM_E_FORMAT, w->state, 0, -1,
                         "\"%s\" is no hash of 16 digits, so this was not written by brim: move it away, or name another output",
                         name);
  return BRIM_OK;
}

static int read_counts(work *w, const brim_json_document *d, done *was) {
  brim_embed_counts *c = &w->result->counts;
  struct {
    const char *name;
    uint64_t *to;
  } numbers[] = {{"count", &was->count}, {"bytes", &was->bytes}, {"cut", &c->cut}, {"lost", &c->lost}, {"unread", &c->unread}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    int64_t value = 0;
    BRIM_TRY(brim_json_read_int(d, brim_json_root(d), numbers[i].name, 0, INT64_MAX, &value, w->err));
    *numbers[i].to = (uint64_t)value;
  }
  BRIM_TRY(read_hash(w, d, "texts", &was->input));
  return read_hash(w, d, "vectors", &was->output);
}

/* What is noted of vectors that are there; of none it says nothing. */
static int read_state(work *w, done *was) {
  brim_json_document *d;
  BRIM_TRY(brim_json_load(w->runtime, w->state, STATE_LIMIT, &d, w->err));
  int status = read_counts(w, d, was);
  if (!status && was->count > 0 && w->options->resume) {
    status = find_facts(w);
    status = status ? status : check_facts(w, d);
  }
  brim_json_free(d);
  return status;
}

/* ---- texts --------------------------------------------------------------------------------------------------- */

static int next_record(work *w, brim_record *record) {
  BRIM_TRY(brim_reader_next(w->reader, record, w->err));
  if (record->pair)
    return brim_error_set(w->err, BRIM_E_USAGE, "row %llu has two texts: embed one column at a time",
                          (unsigned long long)record->row);
  w->input = brim_hash64(record->text, record->text_length, brim_hash_mix(w->input, record->row));
  return BRIM_OK;
}

/* Texts whose vectors are there are read again, and must be the same. */
static int pass_over(work *w, const done *was) {
  brim_record record;
  int status = BRIM_OK;
  uint64_t count = 0;
  for (; count < was->count && !(status = next_record(w, &record)); count++)
    ;
  if (status && status != BRIM_END)
    return status;
  if (count < was->count || w->input != was->input)
    return brim_error_at(w->err, BRIM_E_MISMATCH, w->state, 0, -1,
                         "the vectors that are there are of other texts than the first %llu: give the same again, or remove "
                         "%s.partial and begin again",
                         (unsigned long long)was->count, w->output);
  w->result->counts.texts = w->result->resumed = w->result->kept = was->count;
  w->written = was->bytes;
  return BRIM_OK;
}

static int embed_window(work *w) {
  brim_embed_options options = w->options->embed;
  options.numbers = w->numbers;
  BRIM_TRY(brim_text_status(&w->bytes, w->err));
  for (uint64_t i = 0; i < w->count; i++)
    w->texts[i] = (brim_string){w->bytes.data ? w->bytes.data + w->starts[i] : "",
                                (i + 1 < w->count ? w->starts[i + 1] : w->bytes.length) - w->starts[i]};
  BRIM_TRY(brim_embedder_run(w->embedder, w->texts, w->count, &options, w->vectors, &w->result->counts, w->err));
  BRIM_TRY(write_vectors(w));
  brim_text_clear(&w->bytes);
  w->count = 0;
  return BRIM_OK;
}

static int take_record(work *w, const brim_record *record) {
  w->starts[w->count] = w->bytes.length;
  w->numbers[w->count++] = record->row;
  brim_text_append(&w->bytes, record->text, record->text_length);
  if (w->count < WINDOW_TEXTS && w->bytes.length < WINDOW_BYTES)
    return BRIM_OK;
  BRIM_TRY(embed_window(w));
  return sync_window(w);
}

static int embed_texts(work *w) {
  brim_record record;
  int status;
  while (!(status = next_record(w, &record)))
    BRIM_TRY(take_record(w, &record));
  return status == BRIM_END ? embed_window(w) : status;
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

static bool is_file(const char *path) {
  struct stat info;
  return strcmp(path, "-") != 0 && (stat(path, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
}

/* OUTPUT.partial, or what is noted of it. */
static char *named(const work *w, const char *ending) {
  const size_t room = strlen(w->output) + strlen(ending) + 1;
  char *path = brim_alloc(w->runtime, room);
  if (path)
    snprintf(path, room, "%s%s", w->output, ending);
  return path;
}

/* The vectors that are there must be those that were written. */
static int check_vectors(work *w, const done *was) {
  char bytes[1 << 14];
  uint64_t at = 0;
  const uint64_t skipped = w->options->form == BRIM_VECTORS_NUMPY ? HEADER : 0;
  const int file = open(w->partial, O_RDONLY | O_CLOEXEC);
  for (ssize_t got = 1; file >= 0 && got > 0 && at < was->bytes; at += (uint64_t)got) {
    const uint64_t left = was->bytes - at, most = at < skipped ? skipped - at : sizeof bytes;
    got = read(file, bytes, (size_t)(left < most ? left : most));
    if (got > 0 && at >= skipped)
      add_to_hash(&w->sum, bytes, (size_t)got);
    got = got > 0 ? got : 0;
  }
  if (file >= 0)
    close(file);
  if (file >= 0 && at == was->bytes && hash_of(&w->sum) == was->output)
    return BRIM_OK;
  return brim_error_at(w->err, BRIM_E_FORMAT, w->partial, 0, -1,
                       "these are not the vectors that were written: remove this file, and begin again");
}

/* The partial file, which this process holds now, and what is noted of it are brim's, or one of them is not there. Empty, it is
 * of this call or of one that was killed at its beginning; what is noted alone, of one that was killed at its end. */
static int look_at_partial(work *w, done *was) {
  struct stat info = {0};
  const bool there = stat(w->partial, &info) == 0 && info.st_size > 0, noted = brim_path_exists(w->state);
  if (there && !noted)
    return brim_error_at(
        w->err, BRIM_E_USAGE, w->partial, 0, -1,
        "vectors are written here first, and nothing says that brim wrote this file: move it away, or name another output");
  if (noted)
    BRIM_TRY(read_state(w, was));
  if (!there || was->count == 0)
    *was = (done){0};
  else if (!w->options->resume)
    return brim_error_at(w->err, BRIM_E_USAGE, w->state, 0, -1,
                         "vectors of a call that did not end are there: resume continues with them; or remove this file");
  w->result->counts = was->count > 0 ? w->result->counts : (brim_embed_counts){0};
  return was->count > 0 ? check_vectors(w, was) : BRIM_OK;
}

static int open_continued(work *w) {
  done was = {0};
  w->partial = named(w, ".partial");
  w->state = named(w, ".partial.json");
  if (!w->partial || !w->state)
    return BRIM_NOMEM(w->err);
  BRIM_TRY(brim_file_continue(w->runtime, w->output, BRIM_FILE_ALL, &w->file, w->err));
  BRIM_TRY(look_at_partial(w, &was));
  BRIM_TRY(brim_file_cut(w->file, was.bytes, w->err));
  if (was.bytes > 0)
    return pass_over(w, &was);
  w->begun = true;
  BRIM_TRY(note_state(w)); /* before a byte is there, which would be another's without it */
  return write_header(w);
}

static int open_output(work *w) {
  w->vectors = brim_alloc_array(w->runtime, WINDOW_TEXTS, (size_t)w->width * sizeof *w->vectors);
  if (!w->vectors)
    return BRIM_NOMEM(w->err);
  if (is_file(w->output))
    return open_continued(w);
  if (w->options->resume)
    return brim_error_at(w->err, BRIM_E_USAGE, w->output, 0, -1, "only a file can be resumed: name one as output");
  if (w->options->form == BRIM_VECTORS_NUMPY)
    return brim_error_at(w->err, BRIM_E_USAGE, w->output, 0, -1,
                         "an array's head counts its rows when all are there, which needs a file: name one, or take lines");
  BRIM_TRY(brim_file_create(w->runtime, w->output, &w->file, w->err));
  return write_header(w);
}

/* Without vectors it says nothing. Another call may have begun since: then it is that one's. */
static void forget_state(const work *w) {
  if (w->state && !brim_path_exists(w->partial))
    (void)brim_remove(w->state);
}

static int commit(work *w) {
  BRIM_TRY(write_header(w));
  BRIM_TRY(brim_file_commit(w->file, w->err));
  forget_state(w);
  return BRIM_OK;
}

static int embed_all(work *w) {
  BRIM_TRY(open_output(w));
  BRIM_TRY(embed_texts(w));
  return commit(w);
}

int brim_embed_file(brim_embedder *embedder, brim_reader *reader, const char *output, const brim_embed_file_options *options,
                    brim_embed_file_result *result, brim_error *err) {
  BRIM_OUT(err, result);
  BRIM_GIVEN(err, embedder, reader, output, options);
  brim_runtime *runtime = brim_embedder_runtime(embedder);
  work *w = brim_alloc_zero(runtime, sizeof *w);
  if (!w)
    return BRIM_NOMEM(err);
  w->runtime = runtime, w->embedder = embedder, w->reader = reader, w->output = output;
  w->options = options, w->result = result, w->err = err;
  w->width = brim_embedder_dimensions(embedder, options->embed.dimensions);
  brim_text_init(&w->bytes, runtime);
  brim_text_init(&w->line, runtime);
  const int status = embed_all(w);
  brim_file_free(w->file);
  if (status && w->begun && !result->kept)
    forget_state(w);
  brim_text_free(&w->bytes);
  brim_text_free(&w->line);
  brim_release(runtime, w->vectors);
  brim_release(runtime, w->partial);
  brim_release(runtime, w->state);
  brim_release(runtime, w);
  return status;
}
