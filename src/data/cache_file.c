/* cache_file.c: a dataset as one file. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "data/cache.h"
#include "data/labels.h"

static const char magic[8] = "brimrows";
#define BYTE_ORDER_MARK 0x01020304u

enum section {
  SOURCES,
  LENGTHS,
  IDS,
  TYPED,
  TYPES,
  TOKEN_LABELS,
  NUMBERS,
  WORD_SIZES,
  VALUES,
  ORIGINS,
  EXCLUSIONS,
  STRINGS,
  WORD_TEXTS,
  SECTIONS
};

/* An excluded row; file and reason are numbers of strings. A damaged row's reason is its own and counts on after the shared
 * ones. */
typedef struct stored_exclusion {
  uint64_t row;
  int64_t line;
  uint32_t file, reason;
} stored_exclusion;

/* Where each section begins, and after the last one the end of the file. */
typedef struct sections {
  uint64_t at[SECTIONS + 1], size[SECTIONS];
} sections;

static sections lay_out(const brim_cache_header *h) {
  const bool typed = h->typed_tokens > 0;
  const uint64_t sizes[SECTIONS] = {[SOURCES] = h->sources * sizeof(brim_cache_source),
                                    [LENGTHS] = h->rows * sizeof(int32_t),
                                    [IDS] = h->tokens * sizeof(int32_t),
                                    [TYPED] = typed ? h->rows : 0,
                                    [TYPES] = h->typed_tokens,
                                    [TOKEN_LABELS] = h->token_labels * sizeof(int32_t),
                                    [NUMBERS] = h->numbered * sizeof(int32_t),
                                    [WORD_SIZES] = h->numbered > 0 ? h->rows * sizeof(uint64_t) : 0,
                                    [VALUES] = h->values * sizeof(float),
                                    [ORIGINS] = h->origins * sizeof(uint64_t),
                                    [EXCLUSIONS] = h->exclusions * sizeof(stored_exclusion),
                                    [STRINGS] = h->string_bytes,
                                    [WORD_TEXTS] = h->word_bytes};
  sections s = {.at[0] = sizeof *h};
  for (int i = 0; i < SECTIONS; i++) {
    s.size[i] = sizes[i];
    s.at[i + 1] = s.at[i] + (sizes[i] + 7) / 8 * 8;
  }
  return s;
}

/* Counts that a file of this size can have, so that no sum of theirs overflows. */
static bool counts_fit(const brim_cache_header *h, uint64_t size) {
  const uint64_t counts[] = {h->sources, h->rows,         h->tokens,       h->typed_tokens, h->values,
                             h->origins, h->exclusions,   h->classes,      h->files,        h->reasons,
                             h->words,   h->string_bytes, h->token_labels, h->numbered,     h->word_bytes};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (counts[i] > size)
      return false;
  return size < (uint64_t)1 << 56 && lay_out(h).at[SECTIONS] == size;
}

/* The header after `check`, and the sections that the fingerprint does not cover, one after another. */
static uint64_t hash_header(const brim_cache_header *h) {
  const size_t covered = offsetof(brim_cache_header, key);
  return brim_hash64((const char *)h + covered, sizeof *h - covered, 0);
}

static bool is_checked(int section) {
  return section != IDS && section != TYPES && section != TOKEN_LABELS && section != VALUES;
}

bool brim_cache_check(const void *bytes, size_t size, uint64_t *check) {
  brim_cache_header h;
  if (size < sizeof h)
    return false;
  memcpy(&h, bytes, sizeof h);
  if (!counts_fit(&h, size))
    return false;
  const sections s = lay_out(&h);
  *check = hash_header(&h);
  for (int i = 0; i < SECTIONS; i++)
    if (is_checked(i))
      *check = brim_hash64((const char *)bytes + s.at[i], s.size[i], *check);
  return true;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

typedef struct writer {
  brim_runtime *runtime;
  const brim_dataset *dataset;
  const brim_cache_origin *origin;
  brim_cache_header header;
  stored_exclusion *exclusions;
  uint8_t *typed;       /* [rows] whether a row has types */
  uint64_t *word_sizes; /* [rows] bytes of its words; these three where there are words */
  int32_t *numbers;     /* [tokens] */
  char *word_texts;
  brim_text strings;
  brim_file *file;
} writer;

/* The number of a string; searches from `*from` on, where the last one was found. */
static uint32_t number_of(const char *string, char *const *strings, size_t count, size_t *from) {
  for (size_t i = 0; i < count; i++, *from = *from + 1 < count ? *from + 1 : 0)
    if (strings[*from] == string)
      break;
  return (uint32_t)*from;
}

static void put_string(writer *w, const char *string) {
  brim_text_append(&w->strings, string, strlen(string) + 1);
}

/* Source names, classes, names of files with excluded rows, reasons, reasons of damaged rows. */
static void put_strings(writer *w) {
  const brim_dataset *d = w->dataset;
  for (size_t i = 0; i < w->origin->count; i++)
    put_string(w, w->origin->paths[i]);
  for (int32_t i = 0; d->mapped && d->labels.names && i < d->labels.count; i++)
    put_string(w, d->labels.names[i]);
  for (size_t i = 0; i < d->excluded.file_count; i++)
    put_string(w, d->excluded.files[i]);
  for (int i = 0; i < d->excluded.reason_count; i++)
    put_string(w, d->excluded.reasons[i]);
  for (size_t i = 0; i < d->excluded.word_count; i++)
    put_string(w, d->excluded.words[i]);
}

static void number_exclusions(writer *w) {
  const brim_exclusions *x = &w->dataset->excluded;
  size_t file = 0, reason = 0, word = 0;
  for (size_t i = 0; i < x->count; i++) {
    const brim_exclusion *item = &x->items[i];
    w->exclusions[i] = (stored_exclusion){.row = item->row, .line = item->line};
    w->exclusions[i].file = number_of(item->file, x->files, x->file_count, &file);
    if (item->damaged)
      w->exclusions[i].reason = (uint32_t)x->reason_count + number_of(item->reason, x->words, x->word_count, &word);
    else
      w->exclusions[i].reason = number_of(item->reason, x->reasons, (size_t)x->reason_count, &reason);
  }
}

/* Words, and the numbers of their tokens, one row after another: for the check they are hashed in one piece. */
static int gather_words(writer *w, brim_error *err) {
  const brim_dataset *d = w->dataset;
  size_t token = 0, byte = 0;
  for (uint64_t i = 0; i < d->rows; i++)
    w->header.word_bytes += d->words[i].length;
  w->word_sizes = brim_alloc_array(w->runtime, (size_t)d->rows, sizeof *w->word_sizes);
  w->numbers = brim_alloc_array(w->runtime, (size_t)d->token_count, sizeof *w->numbers);
  w->word_texts = brim_alloc_array(w->runtime, (size_t)w->header.word_bytes, 1);
  if (!w->word_sizes || !w->numbers || !w->word_texts)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < d->rows; i++) {
    const size_t length = (size_t)d->lengths[i];
    w->word_sizes[i] = d->words[i].length;
    memcpy(w->numbers + token, d->words[i].numbers, length * sizeof *w->numbers);
    memcpy(w->word_texts + byte, d->words[i].text, d->words[i].length);
    token += length, byte += d->words[i].length;
  }
  return BRIM_OK;
}

static int prepare(writer *w, brim_error *err) {
  const brim_dataset *d = w->dataset;
  const brim_exclusions *x = &d->excluded;
  w->exclusions = brim_alloc_array_zero(w->runtime, x->count, sizeof *w->exclusions);
  w->typed = brim_alloc_array_zero(w->runtime, d->type_ids ? (size_t)d->rows : 0, sizeof *w->typed);
  if (!w->exclusions || !w->typed)
    return BRIM_NOMEM(err);
  put_strings(w);
  BRIM_TRY(brim_text_status(&w->strings, err));
  w->header = (brim_cache_header){.version = BRIM_CACHE_VERSION,
                                  .byte_order = BYTE_ORDER_MARK,
                                  .key = w->origin->key,
                                  .sources = w->origin->count,
                                  .rows = d->rows,
                                  .tokens = d->token_count,
                                  .values = d->values ? d->rows * (uint64_t)d->label_width : 0,
                                  .origins = d->origins ? d->rows : 0,
                                  .exclusions = x->count,
                                  .classes = d->mapped && d->labels.names ? (uint64_t)d->labels.count : 0,
                                  .files = x->file_count,
                                  .reasons = (uint64_t)x->reason_count,
                                  .words = x->word_count,
                                  .string_bytes = w->strings.length,
                                  .task = d->mapped ? (uint64_t)d->labels.task : 0,
                                  .mapped = d->mapped,
                                  .pairs = d->pairs,
                                  .truncated = d->truncated,
                                  .lost = d->lost,
                                  .fingerprint = d->fingerprint,
                                  .tokenizer = d->tokenizer,
                                  .texts = d->texts,
                                  .unlabelled_words = d->unlabelled_words,
                                  .token_labels = d->token_labels ? d->token_count : 0,
                                  .numbered = d->words ? d->token_count : 0};
  memcpy(w->header.magic, magic, sizeof magic);
  for (uint64_t i = 0; d->type_ids && i < d->rows; i++) {
    w->typed[i] = d->type_ids[i] != NULL;
    w->header.typed_tokens += w->typed[i] ? (uint64_t)d->lengths[i] : 0;
  }
  number_exclusions(w);
  return d->words ? gather_words(w, err) : BRIM_OK;
}

/* The sections that lie in memory in one piece, by number; NULL for ids, types and labels of tokens, which do not. */
static void list_sections(const writer *w, const void *pieces[SECTIONS]) {
  const brim_dataset *d = w->dataset;
  const void *all[SECTIONS] = {[SOURCES] = w->origin->sources, [LENGTHS] = d->lengths,       [TYPED] = w->typed,
                               [VALUES] = d->values,           [ORIGINS] = d->origins,       [EXCLUSIONS] = w->exclusions,
                               [NUMBERS] = w->numbers,         [WORD_SIZES] = w->word_sizes, [WORD_TEXTS] = w->word_texts,
                               [STRINGS] = w->strings.data};
  memcpy(pieces, all, sizeof all);
}

static int write_rows(writer *w, enum section section, brim_error *err) {
  const brim_dataset *d = w->dataset;
  for (uint64_t i = 0; i < d->rows; i++) {
    size_t length = (size_t)d->lengths[i];
    if (section == IDS)
      BRIM_TRY(brim_file_write(w->file, d->ids[i], length * sizeof *d->ids[i], err));
    else if (section == TOKEN_LABELS && d->token_labels)
      BRIM_TRY(brim_file_write(w->file, d->token_labels[i], length * sizeof *d->token_labels[i], err));
    else if (section == TYPES && d->type_ids && d->type_ids[i])
      BRIM_TRY(brim_file_write(w->file, d->type_ids[i], length, err));
  }
  return BRIM_OK;
}

static int write_sections(writer *w, brim_error *err) {
  static const char zeros[8] = {0};
  const sections s = lay_out(&w->header);
  const void *pieces[SECTIONS];
  list_sections(w, pieces);
  w->header.check = hash_header(&w->header);
  for (int i = 0; i < SECTIONS; i++)
    if (is_checked(i))
      w->header.check = brim_hash64(pieces[i], s.size[i], w->header.check);
  BRIM_TRY(brim_file_write(w->file, &w->header, sizeof w->header, err));
  for (int i = 0; i < SECTIONS; i++) {
    BRIM_TRY(brim_check_cancel(w->runtime, err));
    if (i == IDS || i == TYPES || i == TOKEN_LABELS)
      BRIM_TRY(write_rows(w, (enum section)i, err));
    else
      BRIM_TRY(brim_file_write(w->file, pieces[i], s.size[i], err));
    BRIM_TRY(brim_file_write(w->file, zeros, s.at[i + 1] - s.at[i] - s.size[i], err));
  }
  return brim_file_commit(w->file, err);
}

/* Into the file at `path`, or else into that of the descriptor. */
static int write_file(brim_runtime *runtime, const char *path, int descriptor, const brim_cache_origin *origin,
                      const brim_dataset *dataset, brim_error *err) {
  writer w = {.runtime = runtime, .dataset = dataset, .origin = origin};
  brim_text_init(&w.strings, runtime);
  int status = prepare(&w, err);
  if (status == BRIM_OK)
    status = path ? brim_file_create(runtime, path, &w.file, err) : brim_file_over(runtime, descriptor, &w.file, err);
  if (status == BRIM_OK)
    status = write_sections(&w, err);
  brim_file_free(w.file);
  brim_text_free(&w.strings);
  brim_release(runtime, w.exclusions);
  brim_release(runtime, w.typed);
  brim_release(runtime, w.word_sizes);
  brim_release(runtime, w.numbers);
  brim_release(runtime, w.word_texts);
  return status;
}

int brim_cache_write(brim_runtime *runtime, const char *path, const brim_cache_origin *origin, const brim_dataset *dataset,
                     brim_error *err) {
  return write_file(runtime, path, -1, origin, dataset, err);
}

int brim_cache_write_to(brim_runtime *runtime, int descriptor, const brim_cache_origin *origin, const brim_dataset *dataset,
                        brim_error *err) {
  return write_file(runtime, NULL, descriptor, origin, dataset, err);
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

typedef struct reading {
  brim_runtime *runtime;
  const char *path;
  const brim_cache_origin *origin;
  const unsigned char *bytes;
  uint64_t size;
  brim_cache_header header;
  sections sections;
  const char **strings; /* [sources + classes + files + reasons + words] */
  brim_dataset *dataset;
} reading;

static int damaged(const reading *r, const char *what, brim_error *err) {
  return brim_error_at(err, BRIM_E_FORMAT, r->path, 0, -1, "the cache is damaged: %s", what);
}

static const void *section_of(const reading *r, enum section section) {
  return r->bytes + r->sections.at[section];
}

static int read_header(reading *r, brim_error *err) {
  uint64_t check;
  if (r->size < sizeof r->header)
    return damaged(r, "it is cut off", err);
  memcpy(&r->header, r->bytes, sizeof r->header);
  const brim_cache_header *h = &r->header;
  if (memcmp(h->magic, magic, sizeof magic) != 0)
    return damaged(r, "it does not begin as caches do", err);
  if (h->version != BRIM_CACHE_VERSION || h->byte_order != BYTE_ORDER_MARK)
    return brim_error_at(err, BRIM_E_MISMATCH, r->path, 0, -1,
                         "another version of brim or another kind of machine wrote the cache");
  if (!counts_fit(h, r->size))
    return damaged(r, "its size is not what its header says", err);
  if (!brim_cache_check(r->bytes, r->size, &check) || check != h->check)
    return damaged(r, "its checksum does not fit", err);
  r->sections = lay_out(h);
  for (int i = 0; i < SECTIONS; i++)
    for (uint64_t at = r->sections.at[i] + r->sections.size[i]; at < r->sections.at[i + 1]; at++)
      if (r->bytes[at])
        return damaged(r, "it has something between its parts", err);
  return BRIM_OK;
}

static int read_strings(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  const char *at = section_of(r, STRINGS), *end = at + h->string_bytes;
  uint64_t count = h->sources + h->classes + h->files + h->reasons + h->words;
  if (count > h->string_bytes)
    return damaged(r, "strings are missing", err);
  r->strings = brim_alloc_array(r->runtime, count, sizeof *r->strings);
  if (!r->strings)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < count; i++) {
    const char *stop = memchr(at, 0, (size_t)(end - at));
    if (!stop)
      return damaged(r, "a string has no end", err);
    r->strings[i] = at;
    at = stop + 1;
  }
  return BRIM_OK;
}

/* Whether it was made from what is there now. */
static int compare_origin(const reading *r, brim_error *err) {
  const brim_cache_origin *o = r->origin;
  const brim_cache_source *made = section_of(r, SOURCES);
  if (!o)
    return BRIM_OK;
  if (r->header.key != o->key)
    return brim_error_at(err, BRIM_E_MISMATCH, r->path, 0, -1, "the cache was made with another tokenizer or other options");
  if (r->header.sources != o->count)
    return brim_error_at(err, BRIM_E_MISMATCH, r->path, 0, -1, "the cache was made from %llu files, not from %zu",
                         (unsigned long long)r->header.sources, o->count);
  for (size_t i = 0; i < o->count; i++) {
    if (strcmp(r->strings[i], o->paths[i]) != 0)
      return brim_error_at(err, BRIM_E_MISMATCH, r->path, 0, -1, "the cache was made from %.300s, not from %.300s", r->strings[i],
                           o->paths[i]);
    if (made[i].size != o->sources[i].size || made[i].hash != o->sources[i].hash)
      return brim_error_at(err, BRIM_E_MISMATCH, o->paths[i], 0, -1, "has changed since the cache was made");
  }
  return BRIM_OK;
}

/* The rows' pointers into the file; lengths and ids are what a dataset may hold. */
static int read_rows(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  brim_dataset *d = r->dataset;
  const int32_t *lengths = section_of(r, LENGTHS), *ids = section_of(r, IDS);
  d->ids = brim_alloc_array(r->runtime, h->rows, sizeof *d->ids);
  if (!d->ids)
    return BRIM_NOMEM(err);
  d->rows = h->rows;
  for (uint64_t i = 0; i < h->rows; i++) {
    if (lengths[i] < 1 || (uint64_t)lengths[i] > h->tokens - d->token_count)
      return damaged(r, "a row's length is impossible", err);
    d->ids[i] = ids + d->token_count;
    d->token_count += (uint64_t)lengths[i];
    d->longest = lengths[i] > d->longest ? lengths[i] : d->longest;
  }
  if (h->rows == 0 || d->token_count != h->tokens)
    return damaged(r, "the lengths of its rows are not its tokens", err);
  int32_t lowest = 0;
  for (uint64_t i = 0; i < h->tokens; i++) {
    d->highest_id = ids[i] > d->highest_id ? ids[i] : d->highest_id;
    lowest = ids[i] < lowest ? ids[i] : lowest;
  }
  return lowest < 0 ? damaged(r, "an id is negative", err) : BRIM_OK;
}

static int read_types(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  brim_dataset *d = r->dataset;
  const uint8_t *typed = section_of(r, TYPED), *types = section_of(r, TYPES);
  uint64_t used = 0;
  if (h->typed_tokens == 0)
    return BRIM_OK;
  d->type_ids = brim_alloc_array(r->runtime, h->rows, sizeof *d->type_ids);
  if (!d->type_ids)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < h->rows; i++) {
    d->type_ids[i] = typed[i] ? types + used : NULL;
    used += typed[i] ? (uint64_t)d->lengths[i] : 0;
  }
  for (uint64_t i = 0; i < h->typed_tokens; i++)
    d->highest_type = types[i] > d->highest_type ? types[i] : d->highest_type;
  return used == h->typed_tokens ? BRIM_OK : damaged(r, "its type ids are not those of its rows", err);
}

static int read_token_labels(reading *r, brim_error *err) {
  brim_dataset *d = r->dataset;
  const int32_t *labels = section_of(r, TOKEN_LABELS);
  if (r->header.token_labels != d->token_count)
    return damaged(r, "its labels do not belong to its tokens", err);
  d->token_labels = brim_alloc_array(r->runtime, (size_t)d->rows, sizeof *d->token_labels);
  if (!d->token_labels)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < d->rows; labels += d->lengths[i++]) {
    brim_error ignored;
    d->token_labels[i] = labels;
    if (brim_token_labels_fit(d->labels.task, d->labels.count, labels, d->lengths[i], (brim_row_name){.row = i}, &ignored))
      return damaged(r, "a label is none of its labels", err);
  }
  return BRIM_OK;
}

static int read_words(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  brim_dataset *d = r->dataset;
  const int32_t *numbers = section_of(r, NUMBERS);
  const uint64_t *sizes = section_of(r, WORD_SIZES);
  const char *text = section_of(r, WORD_TEXTS);
  uint64_t left = h->word_bytes;
  if (h->numbered == 0)
    return h->word_bytes ? damaged(r, "its words belong to no row", err) : BRIM_OK;
  if (h->numbered != d->token_count)
    return damaged(r, "its words do not belong to its tokens", err);
  d->words = brim_alloc_array(r->runtime, (size_t)d->rows, sizeof *d->words);
  if (!d->words)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < d->rows; i++) {
    if (sizes[i] > left)
      return damaged(r, "its words are cut off", err);
    d->words[i] = (struct brim_row_words){numbers, text, (size_t)sizes[i]};
    if (!brim_words_fit(numbers, d->lengths[i], text, (size_t)sizes[i]))
      return damaged(r, "a token is of no word", err);
    numbers += d->lengths[i], text += sizes[i], left -= sizes[i];
  }
  return left == 0 ? BRIM_OK : damaged(r, "it has more words than its rows", err);
}

static int read_labels(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  brim_dataset *d = r->dataset;
  const brim_task_rules *task = h->task <= INT32_MAX ? brim_task_rules_of((brim_task)h->task) : NULL;
  const uint64_t width = h->rows ? h->values / h->rows : 0;
  const bool labelled = width != 0 || h->token_labels > 0;
  if (h->mapped > 1 || (h->rows && h->values % h->rows) || (h->mapped != 0) != labelled || width > BRIM_MAX_CLASSES ||
      (task && h->mapped && (task->tokens || task->masks) != (width == 0)))
    return damaged(r, "its labels do not belong to its rows", err);
  if (!h->mapped)
    return BRIM_OK;
  if (!task || task->named != (h->classes > 0) || h->classes > BRIM_MAX_CLASSES)
    return damaged(r, "its task is unknown", err);
  int status = brim_labels_make(r->runtime, (brim_task)h->task, r->strings + h->sources,
                                task->masks ? BRIM_MAX_CLASSES : (int32_t)(task->named ? h->classes : width), &d->labels, err);
  if (status != BRIM_OK)
    return status == BRIM_E_MEMORY ? status : damaged(r, "its classes have no names of their own", err);
  d->mapped = true;
  d->label_width = brim_labels_width(&d->labels);
  if (task->tokens || task->masks)
    return read_token_labels(r, err);
  if (width != (uint64_t)d->label_width)
    return damaged(r, "its labels do not belong to its rows", err);
  for (uint64_t i = 0; i < h->values; i++)
    if (!task->fits(d->labels.count, d->values[i]))
      return damaged(r, "a label is none of its labels", err);
  return BRIM_OK;
}

static int copy_names(brim_runtime *runtime, const char *const *names, size_t count, char ***out, size_t *made, brim_error *err) {
  *out = brim_alloc_array_zero(runtime, count, sizeof **out);
  if (!*out)
    return BRIM_NOMEM(err);
  for (; *made < count; ++*made) {
    (*out)[*made] = brim_copy_string(runtime, names[*made], strlen(names[*made]));
    if (!(*out)[*made])
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

static int read_exclusion_names(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  brim_exclusions *x = &r->dataset->excluded;
  const char *const *names = r->strings + h->sources + h->classes;
  size_t reasons = 0;
  BRIM_TRY(copy_names(r->runtime, names, h->files, &x->files, &x->file_count, err));
  int status = copy_names(r->runtime, names + h->files, h->reasons, &x->reasons, &reasons, err);
  x->reason_count = (int)reasons;
  if (status == BRIM_OK)
    status = copy_names(r->runtime, names + h->files + h->reasons, h->words, &x->words, &x->word_count, err);
  return status;
}

static int read_exclusions(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  brim_exclusions *x = &r->dataset->excluded;
  const stored_exclusion *stored = section_of(r, EXCLUSIONS);
  if (h->exclusions == 0)
    return BRIM_OK;
  if (h->reasons > INT32_MAX)
    return damaged(r, "it has too many reasons", err);
  BRIM_TRY(read_exclusion_names(r, err));
  x->items = brim_alloc_array(r->runtime, h->exclusions, sizeof *x->items);
  if (!x->items)
    return BRIM_NOMEM(err);
  for (; x->count < h->exclusions; x->count++) {
    const stored_exclusion *s = &stored[x->count];
    const bool own = s->reason >= h->reasons;
    if (s->file >= h->files || s->reason >= h->reasons + h->words)
      return damaged(r, "an excluded row has no file or no reason", err);
    x->items[x->count] = (brim_exclusion){.row = s->row,
                                          .line = s->line,
                                          .file = x->files[s->file],
                                          .reason = own ? x->words[s->reason - h->reasons] : x->reasons[s->reason],
                                          .damaged = own};
  }
  return BRIM_OK;
}

static int read_all(reading *r, brim_error *err) {
  BRIM_TRY(read_header(r, err));
  BRIM_TRY(read_strings(r, err));
  BRIM_TRY(compare_origin(r, err));
  const brim_cache_header *h = &r->header;
  brim_dataset *d = r->dataset;
  if (h->origins && h->origins != h->rows)
    return damaged(r, "its rows have lost their numbers", err);
  d->lengths = (int32_t *)section_of(r, LENGTHS);
  d->values = h->values ? (float *)section_of(r, VALUES) : NULL;
  d->origins = h->origins ? (uint64_t *)section_of(r, ORIGINS) : NULL;
  d->truncated = h->truncated;
  d->lost = h->lost;
  d->pairs = h->pairs != 0;
  d->texts = h->texts != 0;
  d->tokenizer = h->tokenizer;
  d->unlabelled_words = h->unlabelled_words;
  BRIM_TRY(read_rows(r, err));
  BRIM_TRY(read_types(r, err));
  BRIM_TRY(read_labels(r, err));
  BRIM_TRY(read_words(r, err));
  BRIM_TRY(read_exclusions(r, err));
  BRIM_TRY(brim_dataset_count_labels(d, err));
  brim_dataset_finish(d);
  return d->fingerprint == h->fingerprint ? BRIM_OK : damaged(r, "its rows are not those that were written", err);
}

/* The whole file, mapped into the dataset, which gives it back. */
static int map_file(reading *r, brim_error *err) {
  struct stat info;
  int fd = open(r->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return brim_error_system(err, r->path, "open the cache", errno);
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return brim_error_at(err, BRIM_E_IO, r->path, 0, -1, "is not a file");
  }
  r->size = (uint64_t)info.st_size;
  void *bytes = r->size ? mmap(NULL, r->size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
  int number = errno;
  if (!bytes || bytes == MAP_FAILED)
    close(fd);
  if (bytes == MAP_FAILED)
    return brim_error_system(err, r->path, "map the cache", number);
  r->bytes = r->dataset->map = bytes;
  r->dataset->map_size = r->size;
  r->dataset->map_file = fd;
  return BRIM_OK;
}

int brim_cache_read(brim_runtime *runtime, const char *path, const brim_cache_origin *origin, brim_dataset **out,
                    brim_error *err) {
  reading r = {.runtime = runtime, .path = path, .origin = origin};
  *out = NULL;
  r.dataset = brim_dataset_new(runtime, err);
  int status = r.dataset ? map_file(&r, err) : BRIM_E_MEMORY;
  if (status == BRIM_OK)
    status = read_all(&r, err);
  brim_release(runtime, r.strings);
  if (status != BRIM_OK) {
    brim_dataset_free(r.dataset);
    return status;
  }
  *out = r.dataset;
  return BRIM_OK;
}
