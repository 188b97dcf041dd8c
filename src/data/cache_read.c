/* cache_read.c: the file of a cache as a dataset. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/cache_file.h"
#include "data/labels.h"

typedef struct reading {
  brim_runtime *runtime;
  const char *path;
  const brim_cache_origin *origin;
  const unsigned char *bytes;
  uint64_t size;
  brim_cache_header header;
  brim_cache_sections sections;
  const char **strings; /* [sources + classes + files + reasons + words] */
  brim_dataset *dataset;
} reading;

static int damaged(const reading *r, const char *what, brim_error *err) {
  if (!r->path)
    return brim_error_set(err, BRIM_E_FORMAT, "the packed data set is damaged: %s", what);
  return brim_error_at(err, BRIM_E_FORMAT, r->path, 0, -1, "the cache is damaged: %s", what);
}

static const void *section_of(const reading *r, int section) {
  return r->bytes + r->sections.at[section];
}

static int read_header(reading *r, brim_error *err) {
  uint64_t check;
  if (r->size < sizeof r->header)
    return damaged(r, "it is cut off", err);
  memcpy(&r->header, r->bytes, sizeof r->header);
  const brim_cache_header *h = &r->header;
  if (memcmp(h->magic, BRIM_CACHE_MAGIC, sizeof h->magic) != 0)
    return damaged(r, "it does not begin as caches do", err);
  if (h->version != BRIM_CACHE_VERSION || h->byte_order != BRIM_CACHE_ORDER)
    return brim_error_at(err, BRIM_E_MISMATCH, r->path, 0, -1, "another version of brim or another kind of machine wrote the %s",
                         r->path ? "cache" : "packed data set");
  if (!brim_cache_counts_fit(h, r->size))
    return damaged(r, "its size is not what its header says", err);
  if (!brim_cache_check(r->bytes, r->size, &check) || check != h->check)
    return damaged(r, "its checksum does not fit", err);
  r->sections = brim_cache_lay_out(h);
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
    if (h->texts == 0)
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

/* Where rows have several texts: their lengths are those of the rows. */
static int read_texts(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  const uint64_t *firsts = section_of(r, FIRSTS);
  const int32_t *lengths = section_of(r, TEXT_LENGTHS);
  brim_dataset *d = r->dataset;
  if (h->most_texts < 1 || h->most_texts > INT32_MAX)
    return damaged(r, "its rows have an impossible number of texts", err);
  d->most_texts = (int32_t)h->most_texts;
  if (h->texts == 0)
    return BRIM_OK;
  if (firsts[0] != 0 || firsts[h->rows] != h->texts)
    return damaged(r, "its texts are not those of its rows", err);
  for (uint64_t i = 0; i < h->rows; i++) {
    int64_t tokens = 0;
    if (firsts[i + 1] <= firsts[i] || firsts[i + 1] > h->texts || firsts[i + 1] - firsts[i] > h->most_texts)
      return damaged(r, "a row has an impossible number of texts", err);
    for (uint64_t t = firsts[i]; t < firsts[i + 1]; t++) {
      if (lengths[t] < 1)
        return damaged(r, "a text has no tokens", err);
      tokens += lengths[t];
      d->longest = lengths[t] > d->longest ? lengths[t] : d->longest;
    }
    if (tokens != d->lengths[i])
      return damaged(r, "the texts of a row are not its tokens", err);
  }
  d->firsts = (uint64_t *)section_of(r, FIRSTS);
  d->text_lengths = (int32_t *)section_of(r, TEXT_LENGTHS);
  return BRIM_OK;
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

/* Block b as it lies in the file: of so many numbers as its rows, texts or tokens have. */
static int read_block(reading *r, int b, brim_error *err) {
  const brim_cache_block *h = &r->header.blocks[b];
  brim_dataset *d = r->dataset;
  if (h->per > BRIM_PER_TOKEN || h->integers > 1 || h->width < 1 || h->width > BRIM_MAX_CLASSES ||
      !memchr(h->name, 0, sizeof h->name))
    return damaged(r, "it has an impossible block", err);
  brim_block_shape *shape = &d->shapes[b];
  *shape = (brim_block_shape){.per = (brim_per)h->per, .integers = h->integers != 0, .width = (int32_t)h->width};
  memcpy(shape->name, h->name, sizeof shape->name);
  const size_t units = brim_block_units(shape, (size_t)d->rows, (size_t)brim_dataset_texts(d), (size_t)d->token_count);
  if (h->numbers != units * h->width && (h->numbers || b != BRIM_LABEL_BLOCK))
    return damaged(r, b == BRIM_LABEL_BLOCK ? "its labels do not belong to its rows" : "a block does not belong to its rows",
                   err);
  if (h->numbers == 0)
    return BRIM_OK;
  const char *at = section_of(r, BLOCKS + b);
  if (shape->per == BRIM_PER_ROW) {
    d->blocks[b].flat = (void *)at;
    return BRIM_OK;
  }
  d->blocks[b].rows = brim_alloc_array(r->runtime, (size_t)d->rows, sizeof *d->blocks[b].rows);
  if (!d->blocks[b].rows)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < d->rows; i++) {
    d->blocks[b].rows[i] = at;
    at += brim_dataset_units(d, b, i) * brim_block_bytes(shape);
  }
  return BRIM_OK;
}

static int read_blocks(reading *r, brim_error *err) {
  const uint64_t count = r->header.block_count;
  if (count < 1 || count > BRIM_MOST_BLOCKS)
    return damaged(r, "it has an impossible number of blocks", err);
  r->dataset->block_count = (int)count;
  for (int b = 0; b < r->dataset->block_count; b++)
    BRIM_TRY(read_block(r, b, err));
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

/* Labels are numbers that the task's may be. */
static int check_labels(const reading *r, const brim_task_rules *task, brim_error *err) {
  const brim_dataset *d = r->dataset;
  const float *values = brim_dataset_row_labels(d);
  const int32_t *const *of_tokens = brim_dataset_labels_of_tokens(d);
  brim_error ignored;
  bool fit = true;
  for (uint64_t i = 0; values && fit && i < r->header.blocks[BRIM_LABEL_BLOCK].numbers; i++)
    fit = isnan(values[i]) || task->fits(d->labels.count, values[i]); /* NaN: the row has none */
  for (uint64_t i = 0; of_tokens && fit && i < d->rows; i++)
    fit = !brim_token_labels_fit(d->labels.task, d->labels.count, of_tokens[i], d->lengths[i], (brim_row_name){.row = i},
                                 &ignored);
  return fit ? BRIM_OK : damaged(r, "a label is none of its labels", err);
}

static int read_labels(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  brim_dataset *d = r->dataset;
  const brim_block_shape *shape = &d->shapes[BRIM_LABEL_BLOCK];
  const brim_task_rules *task = h->task <= INT32_MAX ? brim_task_rules_of((brim_task)h->task) : NULL;
  const brim_label_type *type = brim_label_type_of(task ? (brim_task)h->task : BRIM_TASK_AUTO);
  const bool labelled = h->blocks[BRIM_LABEL_BLOCK].numbers > 0;
  if (h->mapped > 2 || strcmp(shape->name, "label") != 0 || shape->integers != (shape->per == BRIM_PER_TOKEN) ||
      shape->per == BRIM_PER_TEXT)
    return damaged(r, "its labels do not belong to its rows", err);
  if (!h->mapped)
    return BRIM_OK;
  if (!task || type->named != (h->classes > 0) || h->classes > BRIM_MAX_CLASSES)
    return damaged(r, "its task is unknown", err);
  const int32_t outputs = type->named ? (int32_t)h->classes : type->made ? BRIM_MAX_CLASSES : shape->width;
  int status = brim_labels_make(r->runtime, (brim_task)h->task, r->strings + h->sources, outputs, &d->labels, err);
  if (status != BRIM_OK)
    return status == BRIM_E_MEMORY ? status : damaged(r, "its classes have no names that differ", err);
  brim_labels_set_strings(&d->labels, h->mapped == 2);
  d->mapped = true;
  d->numbered = type->made; /* what is masked already has no file that it was read from */
  const brim_block_shape wanted = brim_labels_shape(&d->labels);
  if (labelled && (wanted.per != shape->per || wanted.width != shape->width))
    return damaged(r, "its labels do not belong to its rows", err);
  return check_labels(r, task, err);
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
  const brim_stored_exclusion *stored = section_of(r, EXCLUSIONS);
  if (h->exclusions == 0)
    return BRIM_OK;
  if (h->reasons > INT32_MAX)
    return damaged(r, "it has too many reasons", err);
  BRIM_TRY(read_exclusion_names(r, err));
  x->items = brim_alloc_array(r->runtime, h->exclusions, sizeof *x->items);
  if (!x->items)
    return BRIM_NOMEM(err);
  for (; x->count < h->exclusions; x->count++) {
    const brim_stored_exclusion *s = &stored[x->count];
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

/* Windows, and how texts were cut. */
static int read_windows(reading *r, brim_error *err) {
  const brim_cache_header *h = &r->header;
  if (h->windows > INT32_MAX || h->window_overlap > INT32_MAX || h->windows_are_rows > 1)
    return damaged(r, "it has impossible windows", err);
  r->dataset->windows = (brim_windowing){.most = (int32_t)h->windows, .overlap = (int32_t)h->window_overlap};
  if (h->truncation > BRIM_ONLY_SECOND || h->truncation_side > BRIM_SIDE_LEFT)
    return damaged(r, "its texts were cut in an impossible way", err);
  r->dataset->windows_are_rows = h->windows_are_rows != 0;
  r->dataset->cutting = (brim_cutting){(brim_truncation)h->truncation, (brim_truncation_side)h->truncation_side};
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
  if (h->losses && h->losses != h->rows)
    return damaged(r, "what was cut off is not known of all its rows", err);
  if (h->queries && h->queries != h->rows)
    return damaged(r, "the query is not known of all its rows", err);
  d->lengths = (int32_t *)section_of(r, LENGTHS);
  d->origins = h->origins ? (uint64_t *)section_of(r, ORIGINS) : NULL;
  d->losses = h->losses ? (uint32_t *)section_of(r, LOSSES) : NULL;
  d->queries = h->queries ? (uint64_t *)section_of(r, QUERIES) : NULL;
  d->truncated = h->truncated;
  d->lost = h->lost;
  d->pairs = h->pairs != 0;
  d->from_texts = h->from_texts != 0;
  d->tokenizer = h->tokenizer;
  d->unlabelled_words = h->unlabelled_words;
  BRIM_TRY(read_windows(r, err));
  BRIM_TRY(read_rows(r, err));
  BRIM_TRY(read_texts(r, err));
  BRIM_TRY(read_types(r, err));
  BRIM_TRY(read_blocks(r, err));
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
  int fd = open(r->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* it may be a pipe, which nobody writes */
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

static int copy_bytes(reading *r, const void *bytes, size_t size, brim_error *err) {
  void *copy = brim_alloc(r->runtime, size);
  if (!copy)
    return BRIM_NOMEM(err);
  if (size > 0)
    memcpy(copy, bytes, size);
  r->bytes = r->dataset->map = copy;
  r->size = r->dataset->map_size = size;
  r->dataset->map_file = -1;
  return BRIM_OK;
}

/* From the file at r->path, or else from bytes. */
static int read_cache(reading *r, const void *bytes, size_t size, brim_dataset **out, brim_error *err) {
  *out = NULL;
  r->dataset = brim_dataset_new(r->runtime, err);
  int status = !r->dataset ? BRIM_E_MEMORY : r->path ? map_file(r, err) : copy_bytes(r, bytes, size, err);
  if (status == BRIM_OK)
    status = read_all(r, err);
  brim_release(r->runtime, r->strings);
  if (status != BRIM_OK) {
    brim_dataset_free(r->dataset);
    return status;
  }
  *out = r->dataset;
  return BRIM_OK;
}

int brim_cache_read(brim_runtime *runtime, const char *path, const brim_cache_origin *origin, brim_dataset **out,
                    brim_error *err) {
  reading r = {.runtime = runtime, .path = path, .origin = origin};
  return read_cache(&r, NULL, 0, out, err);
}

int brim_dataset_unpack(brim_runtime *runtime, const void *bytes, size_t size, brim_dataset **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  BRIM_ARRAY(err, bytes, size);
  reading r = {.runtime = runtime};
  return read_cache(&r, bytes, size, out, err);
}
