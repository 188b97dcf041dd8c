/* shared.c: each rank has memory without a name (memfd_create), which the others open by way of /proc, as processes of one user
 * may. What was opened proves by a number in it that it is what was meant: process numbers mean the same only within a
 * namespace. */
#include "dist/shared.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"

#define NAME "brim-rank"

enum { HEAD = 4096 }; /* bytes before what a rank has: the number */

struct brim_shared {
  brim_runtime *runtime;
  int32_t world;
  size_t size;
  char *mapped[]; /* [world] */
};

typedef struct offer {
  int64_t process;
  uint64_t number; /* 0: there is nothing */
  int32_t file;
} offer;

static uint64_t number_of(const brim_shared *s, int file) {
  struct {
    double now;
    const void *at;
    int64_t process, file;
  } words = {brim_seconds_now(), s, (int64_t)getpid(), file};
  return brim_hash64(&words, sizeof words, 1) | 1;
}

static char *map(int file, size_t size) {
  char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? NULL : at;
}

/* The memory is taken now: later it would be too late to do without. */
static offer make(brim_shared *s, int32_t rank) {
  offer own = {.process = (int64_t)getpid(), .file = memfd_create(NAME, MFD_CLOEXEC)};
  if (own.file < 0 || ftruncate(own.file, (off_t)s->size) || posix_fallocate(own.file, 0, (off_t)s->size))
    return own;
  s->mapped[rank] = map(own.file, s->size);
  if (!s->mapped[rank])
    return own;
  own.number = number_of(s, own.file);
  memcpy(s->mapped[rank], &own.number, sizeof own.number);
  return own;
}

/* Opening what is something else may wait or have an effect: its name is looked at first. */
static bool is_memory(const char *path) {
  char target[64];
  const ssize_t length = readlink(path, target, sizeof target - 1);
  target[length > 0 ? length : 0] = 0;
  return strncmp(target, "/memfd:" NAME, strlen("/memfd:" NAME)) == 0;
}

static bool find(brim_shared *s, int32_t rank, const offer *of) {
  char path[64];
  struct stat info;
  snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)of->process, (int)of->file);
  const int file = of->number && is_memory(path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file >= 0 && fstat(file, &info) == 0 && (size_t)info.st_size == s->size)
    s->mapped[rank] = map(file, s->size);
  if (file >= 0)
    close(file);
  return s->mapped[rank] && memcmp(s->mapped[rank], &of->number, sizeof of->number) == 0;
}

static bool find_all(brim_shared *s, int32_t rank, const offer *offers) {
  bool all = offers[rank].number != 0;
  for (int32_t other = 0; other < s->world && all; other++)
    all = other == rank || find(s, other, &offers[other]);
  return all;
}

/* All ranks could, and have found all others. */
static int join(const brim_group *group, brim_shared *s, const offer *own, offer *offers, bool *joined, brim_error *err) {
  BRIM_TRY(brim_group_gather(group, s->runtime, own, sizeof *own, offers, err));
  double failures = !find_all(s, group->rank, offers);
  BRIM_TRY(group->sum_double(group->context, &failures, 1, err));
  *joined = failures == 0;
  return BRIM_OK;
}

int brim_shared_open(const brim_group *group, brim_runtime *runtime, bool able, size_t bytes, brim_shared **out,
                     brim_error *err) {
  const size_t world = (size_t)group->world_size;
  bool joined = false;
  offer own = {.file = -1};
  *out = NULL;
  brim_shared *s = brim_alloc_zero(runtime, sizeof *s + world * sizeof *s->mapped);
  offer *offers = brim_alloc_array_zero(runtime, world, sizeof *offers);
  int status = brim_group_agree(group, s && offers ? BRIM_OK : BRIM_NOMEM(err), err);
  if (!status) {
    *s = (brim_shared){.runtime = runtime, .world = group->world_size, .size = HEAD + (bytes + HEAD - 1) / HEAD * HEAD};
    if (able)
      own = make(s, group->rank);
    status = join(group, s, &own, offers, &joined, err);
  }
  if (own.file >= 0)
    close(own.file);
  brim_release(runtime, offers);
  if (joined && !status)
    *out = s;
  else
    brim_shared_close(s);
  return status;
}

void *brim_shared_of(const brim_shared *s, int32_t rank) {
  return s->mapped[rank] + HEAD;
}

void brim_shared_close(brim_shared *s) {
  if (!s)
    return;
  for (int32_t rank = 0; rank < s->world; rank++)
    if (s->mapped[rank])
      munmap(s->mapped[rank], s->size);
  brim_release(s->runtime, s);
}
