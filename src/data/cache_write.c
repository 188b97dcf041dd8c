/* cache_write.c: a dataset into one file. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "data/cache_file.h"

typedef struct writer {
  brim_runtime *runtime;
  const brim_dataset *dataset;
  const brim_cache_origin *origin;
  brim_cache_header header;
  brim_stored_exclusion *exclusions;
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
    w->exclusions[i] = (brim_stored_exclusion){.row = item->row, .line = item->line};
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

static void describe_blocks(writer *w) {
  const brim_dataset *d = w->dataset;
  for (int b = 0; b < d->block_count; b++) {
    const brim_block_shape *shape = &d->shapes[b];
    const size_t units = brim_block_units(shape, (size_t)d->rows, (size_t)brim_dataset_texts(d), (size_t)d->token_count);
    brim_cache_block *to = &w->header.blocks[b];
    memcpy(to->name, shape->name, sizeof to->name);
    to->per = (uint64_t)shape->per, to->integers = shape->integers, to->width = (uint64_t)shape->width;
    to->numbers = d->blocks[b].flat || d->blocks[b].rows ? units * (uint64_t)shape->width : 0;
  }
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
                                  .byte_order = BRIM_CACHE_ORDER,
                                  .key = w->origin->key,
                                  .sources = w->origin->count,
                                  .rows = d->rows,
                                  .tokens = d->token_count,
                                  .origins = d->origins ? d->rows : 0,
                                  .exclusions = x->count,
                                  .classes = d->mapped && d->labels.names ? (uint64_t)d->labels.count : 0,
                                  .files = x->file_count,
                                  .reasons = (uint64_t)x->reason_count,
                                  .words = x->word_count,
                                  .string_bytes = w->strings.length,
                                  .task = d->mapped ? (uint64_t)d->labels.task : 0,
                                  .mapped = d->mapped ? 1 + (uint64_t)d->labels.strings : 0,
                                  .pairs = d->pairs,
                                  .truncated = d->truncated,
                                  .lost = d->lost,
                                  .fingerprint = d->fingerprint,
                                  .tokenizer = d->tokenizer,
                                  .from_texts = d->from_texts,
                                  .texts = d->firsts ? d->firsts[d->rows] : 0,
                                  .most_texts = (uint64_t)d->most_texts,
                                  .unlabelled_words = d->unlabelled_words,
                                  .numbered = d->words ? d->token_count : 0,
                                  .losses = d->losses ? d->rows : 0,
                                  .queries = d->queries ? d->rows : 0,
                                  .block_count = (uint64_t)d->block_count,
                                  .windows = (uint64_t)d->windows.most,
                                  .window_overlap = (uint64_t)d->windows.overlap,
                                  .windows_are_rows = d->windows_are_rows,
                                  .truncation = (uint64_t)d->cutting.truncation,
                                  .truncation_side = (uint64_t)d->cutting.side};
  memcpy(w->header.magic, BRIM_CACHE_MAGIC, sizeof w->header.magic);
  for (uint64_t i = 0; d->type_ids && i < d->rows; i++) {
    w->typed[i] = d->type_ids[i] != NULL;
    w->header.typed_tokens += w->typed[i] ? (uint64_t)d->lengths[i] : 0;
  }
  describe_blocks(w);
  number_exclusions(w);
  return d->words ? gather_words(w, err) : BRIM_OK;
}

/* The sections that lie in memory in one piece, by number; NULL for ids, types and blocks of texts and tokens, which do not. */
static void list_sections(const writer *w, const void *pieces[SECTIONS]) {
  const brim_dataset *d = w->dataset;
  const void *all[SECTIONS] = {[SOURCES] = w->origin->sources, [LENGTHS] = d->lengths,           [TYPED] = w->typed,
                               [ORIGINS] = d->origins,         [EXCLUSIONS] = w->exclusions,     [NUMBERS] = w->numbers,
                               [WORD_SIZES] = w->word_sizes,   [WORD_TEXTS] = w->word_texts,     [STRINGS] = w->strings.data,
                               [FIRSTS] = d->firsts,           [TEXT_LENGTHS] = d->text_lengths, [LOSSES] = d->losses,
                               [QUERIES] = d->queries};
  memcpy(pieces, all, sizeof all);
  for (int b = 0; b < d->block_count; b++)
    pieces[BLOCKS + b] = d->blocks[b].flat;
}

static int write_rows(writer *w, enum brim_cache_section section, brim_error *err) {
  const brim_dataset *d = w->dataset;
  for (uint64_t i = 0; i < d->rows; i++) {
    size_t length = (size_t)d->lengths[i];
    if (section == IDS)
      BRIM_TRY(brim_file_write(w->file, d->ids[i], length * sizeof *d->ids[i], err));
    else if (section == TYPES && d->type_ids && d->type_ids[i])
      BRIM_TRY(brim_file_write(w->file, d->type_ids[i], length, err));
  }
  return BRIM_OK;
}

static int write_block(writer *w, int b, brim_error *err) {
  const brim_dataset *d = w->dataset;
  for (uint64_t i = 0; d->blocks[b].rows && i < d->rows; i++) {
    BRIM_TRY(brim_file_write(w->file, d->blocks[b].rows[i], brim_dataset_units(d, b, i) * brim_block_bytes(&d->shapes[b]), err));
  }
  return BRIM_OK;
}

static int write_sections(writer *w, brim_error *err) {
  static const char zeros[8] = {0};
  const brim_cache_sections s = brim_cache_lay_out(&w->header);
  const void *pieces[SECTIONS];
  list_sections(w, pieces);
  w->header.check = brim_cache_hash_header(&w->header);
  for (int i = 0; i < SECTIONS; i++)
    if (brim_cache_is_checked(i))
      w->header.check = brim_hash64(pieces[i], s.size[i], w->header.check);
  BRIM_TRY(brim_file_write(w->file, &w->header, sizeof w->header, err));
  for (int i = 0; i < SECTIONS; i++) {
    BRIM_TRY(brim_check_cancel(w->runtime, err));
    if (i == IDS || i == TYPES)
      BRIM_TRY(write_rows(w, (enum brim_cache_section)i, err));
    else if (i >= BLOCKS && i < BLOCKS + BRIM_MOST_BLOCKS && !pieces[i])
      BRIM_TRY(write_block(w, i - BLOCKS, err));
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
    status = path ? brim_file_create_own(runtime, path, &w.file, err) : brim_file_over(runtime, descriptor, &w.file, err);
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

/* All of a file in memory as bytes. */
static int take_bytes(brim_runtime *runtime, int descriptor, void **bytes, size_t *size, brim_error *err) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return brim_error_system(err, "memory", "look at", errno);
  const size_t length = (size_t)info.st_size;
  void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, descriptor, 0);
  if (map == MAP_FAILED)
    return brim_error_system(err, "memory", "map", errno);
  *bytes = brim_alloc(runtime, length);
  if (*bytes)
    memcpy(*bytes, map, *size = length);
  munmap(map, length);
  return *bytes ? BRIM_OK : BRIM_NOMEM(err);
}

int brim_dataset_pack(brim_runtime *runtime, const brim_dataset *dataset, void **bytes, size_t *size, brim_error *err) {
  BRIM_OUT(err, bytes);
  BRIM_OUT(err, size);
  BRIM_GIVEN(err, runtime, dataset);
  const brim_cache_origin nothing = {0};
  const int descriptor = memfd_create("brim-rows", MFD_CLOEXEC);
  if (descriptor < 0)
    return brim_error_system(err, "memory", "make a file in", errno);
  int status = brim_cache_write_to(runtime, descriptor, &nothing, dataset, err);
  if (!status)
    status = take_bytes(runtime, descriptor, bytes, size, err);
  close(descriptor);
  return status;
}
