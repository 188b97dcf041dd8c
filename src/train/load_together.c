/* load_together.c: rows that one rank of a machine reads, and the others map.
 *
 * The reader writes them as a cache into memory that has no name, which the others open through /proc. Whoever cannot have them
 * so reads for itself: that is slower, and nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "brim/train.h"
#include "data/cache.h"
#include "data/dataset.h"
#include "data/describe.h"
#include "data/source.h"
#include "dist/group.h"
#include "dist/machine.h"

/* What a rank is about to read. */
typedef struct offer {
  uint64_t machine, key; /* key 0: nobody else has it */
  int64_t process;
} offer;

/* Where its rows are. */
typedef struct location {
  int64_t descriptor; /* of the reader; -1: nowhere */
  uint64_t fingerprint;
} location;

typedef struct sharing {
  brim_runtime *runtime;
  const char *const *paths;
  int path_count;
  const brim_tokenizer *tokenizer;
  const brim_dataset_options *options;
  const brim_group *group;
  offer *offers;       /* [world] */
  location *locations; /* [world] */
  location own;
  uint64_t stamp; /* of the files it reads, which are those of all with its key */
  int32_t reader, followers;
} sharing;

static int read_alone(const sharing *s, brim_dataset **out, brim_error *err) {
  return brim_dataset_load(s->runtime, s->paths, s->path_count, s->tokenizer, s->options, out, err);
}

/* ---- who reads what --------------------------------------------------------------------------------------- */

static bool describe_files(sharing *s, brim_text *text) {
  brim_source source;
  brim_error ignored;
  if (brim_source_find(s->runtime, s->paths, s->path_count, &s->options->source, &source, &ignored))
    return false;
  s->stamp = brim_source_stamp(&source);
  brim_text_printf(text, "%llx ", (unsigned long long)s->stamp);
  for (size_t i = 0; i < source.count; i++)
    brim_describe_string(text, source.files[i].path);
  brim_source_free(&source);
  return s->stamp != 0;
}

/* Equal where the same files give the same rows; 0 where they are no files, or cannot be looked at: reading says why. */
static uint64_t key_of(sharing *s) {
  const brim_dataset_options *o = s->options;
  const char *chosen = getenv("BRIM_SHARE_ROWS");
  brim_text text;
  brim_error ignored;
  if (chosen && strcmp(chosen, "none") == 0)
    return 0;
  brim_text_init(&text, s->runtime);
  brim_describe_encoding(&text, s->tokenizer, &o->encode);
  brim_describe_source(&text, &o->source);
  brim_text_printf(&text, "task %d %d ", (int)o->task, o->source.empty_label);
  brim_describe_labels(&text, o->labels);
  brim_describe_string(&text, o->cache);
  uint64_t key = 0;
  if (describe_files(s, &text) && brim_text_status(&text, &ignored) == BRIM_OK)
    key = brim_hash64(text.data, text.length, 0) | 1;
  brim_text_free(&text);
  return key;
}

/* The first rank of the machine that has the same to read. */
static void find_reader(sharing *s) {
  const brim_group *group = s->group;
  const offer *own = &s->offers[group->rank];
  s->reader = group->rank;
  for (int32_t r = group->world_size; r-- > 0 && own->key;)
    if (s->offers[r].key == own->key && s->offers[r].machine == own->machine) {
      s->followers += s->reader != r;
      s->reader = r;
    }
}

/* ---- the reader ------------------------------------------------------------------------------------------- */

/* A file in memory that nobody can change any more; -1: there is none. */
static int write_memory(const sharing *s, const brim_dataset *dataset) {
  brim_error ignored;
  const brim_cache_origin nothing = {0};
  const int descriptor = memfd_create("brim-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor >= 0 && brim_cache_write_to(s->runtime, descriptor, &nothing, dataset, &ignored) == BRIM_OK &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
    return descriptor;
  if (descriptor >= 0)
    close(descriptor);
  return -1;
}

static int map_rows(const sharing *s, int64_t process, const location *where, brim_dataset **out, brim_error *err) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)process, (long long)where->descriptor);
  BRIM_TRY(brim_cache_read(s->runtime, path, NULL, out, err));
  (*out)->stamp = s->stamp;
  if (brim_dataset_fingerprint(*out) == where->fingerprint)
    return BRIM_OK;
  brim_dataset_free(*out);
  *out = NULL;
  return brim_error_set(err, BRIM_E_MISMATCH, "the rows are others");
}

/* Rows that were encoded go into memory for all, and the reader's own are given up. With a cache the others find it. */
static void share(sharing *s, brim_dataset **dataset) {
  brim_dataset *mapped;
  brim_error ignored;
  if (s->options->cache || s->followers == 0)
    return;
  s->own = (location){.descriptor = write_memory(s, *dataset), .fingerprint = brim_dataset_fingerprint(*dataset)};
  if (s->own.descriptor >= 0 && map_rows(s, getpid(), &s->own, &mapped, &ignored) == BRIM_OK) {
    brim_dataset_free(*dataset);
    *dataset = mapped;
  }
}

/* ---- all -------------------------------------------------------------------------------------------------- */

static int follow(const sharing *s, brim_dataset **out, brim_error *err) {
  brim_error ignored;
  const location *where = &s->locations[s->reader];
  if (where->descriptor >= 0 && map_rows(s, s->offers[s->reader].process, where, out, &ignored) == BRIM_OK)
    return BRIM_OK;
  return read_alone(s, out, err);
}

static int load(sharing *s, brim_dataset **out, brim_error *err) {
  const brim_group *group = s->group;
  const offer own = {.machine = brim_machine_id(), .key = key_of(s), .process = (int64_t)getpid()};
  s->offers = brim_alloc_array(s->runtime, (size_t)group->world_size, sizeof *s->offers);
  s->locations = brim_alloc_array(s->runtime, (size_t)group->world_size, sizeof *s->locations);
  BRIM_TRY(brim_group_agree(group, s->offers && s->locations ? BRIM_OK : BRIM_NOMEM(err), err));
  BRIM_TRY(brim_group_gather(group, s->runtime, &own, sizeof own, s->offers, err));
  find_reader(s);
  const bool reads = s->reader == group->rank;
  int status = reads ? read_alone(s, out, err) : BRIM_OK;
  if (reads && !status)
    share(s, out);
  BRIM_TRY(brim_group_agree(group, status, err));
  BRIM_TRY(brim_group_gather(group, s->runtime, &s->own, sizeof s->own, s->locations, err));
  status = reads ? BRIM_OK : follow(s, out, err);
  return brim_group_agree(group, status, err); /* until then the reader keeps the memory open */
}

int brim_dataset_load_together(const brim_group *group, brim_runtime *runtime, const char *const *paths, int path_count,
                               const brim_tokenizer *tokenizer, const brim_dataset_options *options, brim_dataset **out,
                               brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, group, runtime, tokenizer, options);
  BRIM_STRINGS(err, paths, path_count);
  BRIM_TRY(brim_group_check(group, err));
  sharing s = {runtime, paths, path_count, tokenizer, options, group, .own.descriptor = -1};
  if (group->world_size <= 1)
    return read_alone(&s, out, err);
  int status = load(&s, out, err);
  if (!status) /* which the mapped file does not say */
    status = brim_dataset_expect(*out, &options->source, &options->encode, tokenizer, err);
  if (s.own.descriptor >= 0)
    close((int)s.own.descriptor);
  brim_release(runtime, s.offers);
  brim_release(runtime, s.locations);
  if (status) {
    brim_dataset_free(*out);
    *out = NULL;
    return status;
  }
  return BRIM_OK;
}
