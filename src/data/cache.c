/* cache.c: when rows come from a cache, and when they are encoded again.
 *
 * A cache never stops a run: one that is stale, damaged or cannot be written costs the time to encode and a line that says
 * why. */
#include "data/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/event.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/runtime.h"
#include "base/status.h"
#include "data/describe.h"
#include "data/source.h"

enum {
  PIECE = 1 << 20,
  NAMES = 5 /* the first version whose files have these names: one of an older kind is found, and replaced */
};

typedef struct caching {
  brim_runtime *runtime;
  const brim_dataset_options *options;
  brim_source source;
  brim_cache_origin origin;
  char *buffer; /* [PIECE] */
  char *path;
  char reason[1200]; /* why the rows did not come from the cache, or did not get there; "" when there is nothing to say */
} caching;

/* ---- what the rows come from ------------------------------------------------------------------------------ */

static int hash_file(caching *c, const char *path, brim_cache_source *out, brim_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC), status = BRIM_OK;
  if (fd < 0)
    return brim_error_system(err, path, "open", errno);
  size_t filled = 0;
  *out = (brim_cache_source){0};
  for (ssize_t n = 1; n != 0 && status == BRIM_OK;) { /* whole pieces, so that the hash is the same however reads end */
    n = read(fd, c->buffer + filled, PIECE - filled);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      status = brim_error_system(err, path, "read", errno);
      break;
    }
    filled += (size_t)n;
    if (filled < PIECE && n != 0)
      continue;
    out->hash = brim_hash64(c->buffer, filled, out->hash);
    out->size += filled;
    filled = 0;
    status = brim_check_cancel(c->runtime, err);
  }
  close(fd);
  return status;
}

static int find_sources(caching *c, brim_error *err) {
  size_t count = c->source.count;
  c->origin.paths = brim_alloc_array(c->runtime, count, sizeof *c->origin.paths);
  c->origin.sources = brim_alloc_array(c->runtime, count, sizeof *c->origin.sources);
  c->buffer = brim_alloc(c->runtime, PIECE);
  if (!c->origin.paths || !c->origin.sources || !c->buffer)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < count; i++) {
    c->origin.paths[i] = c->source.files[i].path;
    BRIM_TRY(hash_file(c, c->origin.paths[i], &c->origin.sources[i], err));
  }
  c->origin.count = count;
  return BRIM_OK;
}

/* The key, and the file's name, which is a hash of the key and the paths: a cache of changed files is replaced. */
static int name_cache(caching *c, const brim_tokenizer *tokenizer, brim_error *err) {
  const brim_dataset_options *o = c->options;
  brim_text text;
  brim_text_init(&text, c->runtime);
  brim_describe_encoding(&text, tokenizer, &o->encode);
  if (o->encode.numbering && o->encode.max_windows > 1 && !o->encode.cut_pairs)
    brim_text_string(&text, "whole pairs ");
  brim_describe_source(&text, &o->source);
  brim_text_printf(&text, "task %d %d ", o->source.need_label ? (int)o->task : 0, o->source.empty_label);
  brim_describe_labels(&text, o->source.need_label ? o->labels : NULL);
  int status = brim_text_status(&text, err);
  if (status == BRIM_OK)
    c->origin.key = brim_hash64(text.data, text.length, NAMES);
  for (size_t i = 0; i < c->origin.count; i++)
    brim_describe_string(&text, c->origin.paths[i]);
  if (status == BRIM_OK)
    status = brim_text_status(&text, err);
  if (status == BRIM_OK) {
    uint64_t hash = brim_hash64(text.data, text.length, c->origin.key);
    brim_text_clear(&text);
    brim_text_printf(&text, "%016llx.rows", (unsigned long long)hash);
    status = brim_text_status(&text, err);
  }
  if (status == BRIM_OK && !(c->path = brim_path_join(c->runtime, o->cache, text.data)))
    status = BRIM_NOMEM(err);
  brim_text_free(&text);
  return status;
}

/* ---- loading ---------------------------------------------------------------------------------------------- */

static int tell(const caching *c, const brim_dataset *dataset, bool used, brim_error *err) {
  if (!c->options->progress)
    return BRIM_OK;
  const brim_field fields[] = {{.name = "path", .kind = BRIM_VALUE_TEXT, .text = c->path ? c->path : ""},
                               {.name = "used", .kind = BRIM_VALUE_BOOL, .integer = used},
                               {.name = "rows", .kind = BRIM_VALUE_INT, .integer = (int64_t)brim_dataset_rows(dataset)},
                               {.name = "reason", .kind = BRIM_VALUE_TEXT, .text = c->reason}};
  const brim_event event = {.kind = "cache", .fields = fields, .field_count = sizeof fields / sizeof *fields};
  return brim_tell(c->options->progress, c->options->progress_context, &event, err);
}

/* Failures that are the cache's own matter become a reason; others reach the caller. */
static int excuse(caching *c, int status, const brim_error *failure, brim_error *err) {
  if (status == BRIM_E_MEMORY || status == BRIM_E_CANCELLED) {
    if (err)
      *err = *failure;
    return status;
  }
  brim_error_text(failure, c->reason, sizeof c->reason);
  return BRIM_OK;
}

static int read_cache(caching *c, brim_dataset **out, brim_error *err) {
  brim_error failure = {0};
  if (!brim_path_exists(c->path))
    return BRIM_OK;
  int status = brim_cache_read(c->runtime, c->path, &c->origin, out, &failure);
  return status == BRIM_OK ? BRIM_OK : excuse(c, status, &failure, err);
}

static int write_cache(caching *c, const brim_dataset *dataset, brim_error *err) {
  brim_error failure = {0};
  int status;
  if (brim_source_stayed(&c->source)) {
    status = brim_make_folder(c->runtime, c->options->cache, &failure);
    if (status == BRIM_OK)
      status = brim_cache_write(c->runtime, c->path, &c->origin, dataset, &failure);
  } else {
    status = brim_error_set(&failure, BRIM_E_MISMATCH, "the data changed while they were read: they are not kept");
  }
  return status == BRIM_OK ? BRIM_OK : excuse(c, status, &failure, err);
}

static int load(caching *c, const char *const *paths, int path_count, const brim_tokenizer *tokenizer, brim_dataset **out,
                brim_error *err) {
  bool files = true;
  BRIM_TRY(brim_source_find(c->runtime, paths, path_count, &c->options->source, &c->source, err));
  for (size_t i = 0; i < c->source.count; i++)
    files = files && c->source.files[i].size >= 0 && strcmp(c->source.files[i].path, "-") != 0;
  if (files) {
    BRIM_TRY(find_sources(c, err));
    BRIM_TRY(name_cache(c, tokenizer, err));
    BRIM_TRY(read_cache(c, out, err));
  } else {
    brim_number_format(c->reason, sizeof c->reason, "only files are kept in a cache");
  }
  if (*out) {
    (*out)->stamp = brim_source_stamp(&c->source);
    return tell(c, *out, true, err);
  }
  BRIM_TRY(brim_dataset_encode(c->runtime, paths, path_count, tokenizer, c->options, out, err));
  if (files)
    BRIM_TRY(write_cache(c, *out, err));
  return tell(c, *out, false, err);
}

int brim_cache_load(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                    const brim_dataset_options *options, brim_dataset **out, brim_error *err) {
  caching c = {.runtime = runtime, .options = options};
  *out = NULL;
  int status = load(&c, paths, path_count, tokenizer, out, err);
  brim_release(runtime, c.path);
  brim_release(runtime, c.buffer);
  brim_release(runtime, c.origin.paths);
  brim_release(runtime, c.origin.sources);
  brim_source_free(&c.source);
  if (status != BRIM_OK) {
    brim_dataset_free(*out);
    *out = NULL;
  }
  return status;
}
