/* strict_device.c: see strict_device.h. Its calls stand in a queue as bytes: what to do, and a copy of what it needs. */
#include "strict_device.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/status.h"

const brim_ops *brim_inner_ops_cpu(brim_cpu_level level); /* find.c, under other names */
const brim_ops *brim_inner_ops_find(const brim_runtime *runtime, const char *name);

typedef struct block {
  char *base;
  size_t size;
  struct block *next;
} block;

typedef enum work { OPERATION, WRITE, READ, COPY, CLEAR } work;

typedef struct entry {
  struct entry *next;
  work work;
  void (*run)(const brim_ops *inner, brim_ops_context *c, const void *operands);
  void *operands; /* or the ends of a transfer */
  void *to;
  const void *from;
  size_t size;
  uint64_t sum; /* of what a write is to send */
  void *workspace;
  size_t workspace_size;
  brim_update_range *ranges; /* copies that an update's operands point to */
  brim_update_step *past;
} entry;

typedef struct device {
  const brim_ops *inner;
  block *blocks;
  entry *first, **last;
} device;

static atomic_long fails_at = -1, done, syncs;

void strict_fail(long n) {
  atomic_store(&fails_at, n < 0 ? -1 : atomic_load(&done) + n);
}
long strict_done(void) {
  return atomic_load(&done);
}
long strict_syncs(void) {
  return atomic_load(&syncs);
}

/* ---- the queue */

static uint64_t sum_of(const void *bytes, size_t size) {
  uint64_t sum = 1469598103934665603u;
  for (size_t i = 0; i < size; i++)
    sum = (sum ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
  return sum;
}

static void *copy_of(const void *bytes, size_t size) {
  void *copy = malloc(size ? size : 1);
  if (!copy)
    abort();
  return size ? memcpy(copy, bytes, size) : copy;
}

static entry *enqueue(brim_ops_context *c, work what) {
  device *d = c->device;
  entry *e = calloc(1, sizeof *e);
  if (!e)
    abort();
  e->work = what;
  e->workspace = c->workspace;
  e->workspace_size = c->workspace_size;
  *d->last = e;
  d->last = &e->next;
  return e;
}

static void protect(const device *d, int how) {
  for (const block *b = d->blocks; b; b = b->next)
    if (mprotect(b->base, b->size, how))
      abort();
}

/* False: a host buffer is not what it was when it was to be sent. */
static bool run_entry(const device *d, brim_ops_context *c, const entry *e) {
  void *workspace = c->workspace;
  const size_t size = c->workspace_size;
  switch (e->work) {
  case OPERATION:
    c->workspace = e->workspace;
    c->workspace_size = e->workspace_size;
    e->run(d->inner, c, e->operands);
    c->workspace = workspace;
    c->workspace_size = size;
    return true;
  case WRITE:
    memcpy(e->to, e->from, e->size);
    return sum_of(e->from, e->size) == e->sum;
  case READ:
  case COPY:
    memcpy(e->to, e->from, e->size);
    return true;
  case CLEAR:
    memset(e->to, 0, e->size);
    return true;
  }
  return true;
}

static int sync(brim_ops_context *c, brim_error *err) {
  device *d = c->device;
  atomic_fetch_add(&syncs, 1);
  int status = BRIM_OK;
  protect(d, PROT_READ | PROT_WRITE);
  while (d->first) {
    entry *e = d->first;
    if (!status && atomic_fetch_add(&done, 1) == atomic_load(&fails_at))
      status = brim_error_set(err, BRIM_E_UNSUPPORTED, "the device failed");
    if (!status && !run_entry(d, c, e))
      status = brim_error_set(err, BRIM_E_USAGE, "strict device: a host buffer changed before it was sent");
    d->first = e->next;
    free(e->operands);
    free(e->ranges);
    free(e->past);
    free(e);
  }
  d->last = &d->first;
  protect(d, PROT_NONE);
  return status;
}

/* ---- memory */

static void *take(brim_ops_context *c, size_t size, bool zeroed) {
  enum { PAGE = 4096 };
  device *d = c->device;
  const size_t room = (size + 2 * PAGE - 1) / PAGE * PAGE;
  /* through the runtime's hook as well, so that tests that let it fail or count find it */
  void *asked = brim_alloc(c->runtime, size);
  block *b = asked ? malloc(sizeof *b) : NULL;
  brim_release(c->runtime, asked);
  if (!b)
    return NULL;
  char *base = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    abort();
  if (!zeroed)
    memset(base, 0xff, room);
  if (mprotect(base, room, PROT_NONE))
    abort();
  *b = (block){base, room, d->blocks};
  d->blocks = b;
  return base;
}

static void release(brim_ops_context *c, void *memory) {
  device *d = c->device;
  brim_error ignored;
  if (!memory)
    return;
  if (sync(c, &ignored))
    ignored.message[0] = 0;
  block **at = &d->blocks;
  while ((*at)->base != memory)
    at = &(*at)->next;
  block *b = *at;
  *at = b->next;
  munmap(b->base, b->size);
  free(b);
}

static void write_to(brim_ops_context *c, void *to, const void *from, size_t size) {
  entry *e = enqueue(c, WRITE);
  e->to = to, e->from = from, e->size = size, e->sum = sum_of(from, size);
}

static void read_from(brim_ops_context *c, void *to, const void *from, size_t size) {
  entry *e = enqueue(c, READ);
  e->to = to, e->from = from, e->size = size;
  memset(to, 0xff, size);
}

static void copy(brim_ops_context *c, void *to, const void *from, size_t size) {
  entry *e = enqueue(c, COPY);
  e->to = to, e->from = from, e->size = size;
}

static void clear(brim_ops_context *c, void *memory, size_t size) {
  entry *e = enqueue(c, CLEAR);
  e->to = memory, e->size = size;
}

/* ---- operations */

/* What an update points to that is no tensor may be forgotten as soon as it is queued. */
static void keep_update(entry *e, brim_update *u) {
  u->ranges = e->ranges = copy_of(u->ranges, (size_t)u->range_count * sizeof *u->ranges);
  u->past = e->past = copy_of(u->past, (size_t)u->past_count * sizeof *u->past);
}

static void keep_mixout(entry *e, brim_mixout *op) {
  op->ranges = e->ranges = copy_of(op->ranges, (size_t)op->range_count * sizeof *op->ranges);
}

static void keep_nothing(entry *e, void *operands) {
  (void)e, (void)operands;
}

#define QUEUED(name, type, ...)                                                                                                  \
  static void run_##name(const brim_ops *inner, brim_ops_context *c, const void *operands) {                                     \
    inner->name(c, operands);                                                                                                    \
  }                                                                                                                              \
  static void name(brim_ops_context *c, const type *op) {                                                                        \
    entry *e = enqueue(c, OPERATION);                                                                                            \
    type *own = e->operands = copy_of(op, sizeof *op);                                                                           \
    e->run = run_##name;                                                                                                         \
    _Generic(own, brim_update *: keep_update, brim_mixout *: keep_mixout, default: keep_nothing)(e, own);                        \
  }
BRIM_OPS_LIST(QUEUED)

/* ---- tables */

static int open_level(brim_ops_context *c, brim_cpu_level level) {
  device *d = calloc(1, sizeof *d);
  if (!d)
    abort();
  *d = (device){.inner = brim_inner_ops_cpu(level), .last = &d->first};
  c->device = d;
  return BRIM_OK;
}

static void close_level(brim_ops_context *c) {
  device *d = c->device;
  brim_error ignored;
  if (d && d->first && sync(c, &ignored))
    ignored.message[0] = 0;
  if (d && d->blocks)
    abort(); /* memory that nobody gave back */
  free(d);
  c->device = NULL;
}

#define ENTRY(name, ...) .name = name,
#define LEVEL(number, table_name)                                                                                                \
  static size_t workspace_##number(const brim_ops_context *c, const brim_ops_limits *limits) {                                   \
    return brim_inner_ops_cpu((brim_cpu_level)number)->workspace(c, limits);                                                     \
  }                                                                                                                              \
  static size_t int8_size_##number(int32_t in, int32_t out) {                                                                    \
    return brim_inner_ops_cpu((brim_cpu_level)number)->int8_size(in, out);                                                       \
  }                                                                                                                              \
  static int open_##number(brim_ops_context *c, brim_error *err) {                                                               \
    (void)err;                                                                                                                   \
    return open_level(c, (brim_cpu_level)number);                                                                                \
  }                                                                                                                              \
  static const brim_ops table_##number = {.name = table_name,                                                                    \
                                          .features = BRIM_FEATURE_INT8 | BRIM_FEATURE_LATE_ROWS | BRIM_FEATURE_BF16 |           \
                                                      BRIM_FEATURE_DISTANCES | BRIM_FEATURE_RULES | BRIM_FEATURE_VOCABULARY |    \
                                                      BRIM_FEATURE_POOLING | BRIM_FEATURE_LAYERS,                                \
                                          .workspace = workspace_##number,                                                       \
                                          .int8_size = int8_size_##number,                                                       \
                                          .open = open_##number,                                                                 \
                                          .close = close_level,                                                                  \
                                          .alloc = take,                                                                         \
                                          .release = release,                                                                    \
                                          .write = write_to,                                                                     \
                                          .read = read_from,                                                                     \
                                          .copy = copy,                                                                          \
                                          .clear = clear,                                                                        \
                                          .sync = sync,                                                                          \
                                          BRIM_OPS_LIST(ENTRY)};
LEVEL(0, "cpu-plain")
LEVEL(1, "cpu-avx2")
LEVEL(2, "cpu-avx512")
LEVEL(3, "cpu-amx")

const brim_ops *brim_ops_cpu(brim_cpu_level level) {
  static const brim_ops *const all_ops[] = {&table_0, &table_1, &table_2, &table_3};
  return all_ops[level];
}

const brim_ops *brim_ops_find(const brim_runtime *runtime, const char *name) {
  for (int level = BRIM_CPU_PLAIN; level <= (int)brim_runtime_cpu(runtime); level++)
    if (strcmp(brim_ops_cpu((brim_cpu_level)level)->name, name) == 0)
      return brim_ops_cpu((brim_cpu_level)level);
  return brim_inner_ops_find(runtime, name);
}
