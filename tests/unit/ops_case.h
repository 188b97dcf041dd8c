/* ops_case.h: runs an operation on every table and thread count and compares.
 *
 * A case is a function that makes its inputs from a seed, calls operations and records every output. check_case runs it on the
 * reference, then on each level that this machine has with 1, 2, 3 and 8 threads: near the reference, and the same bits for any
 * number of threads. */
#ifndef BRIM_TESTS_OPS_CASE_H
#define BRIM_TESTS_OPS_CASE_H
#include "base/runtime.h"
#include "ops/ops.h"
#include "tap.h"

#ifdef BRIM_CASE_CUDA /* the same cases on another device, whose memory is not malloc's */
#include "cuda_memory.h"
#else
#define case_take malloc
#define case_give free
enum { CASE_ON_HOST = 1 };
#endif

/* ---- inputs */

typedef struct inputs {
  uint64_t state;
} inputs;

static inline double next_unit(inputs *in) {
  in->state = in->state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(in->state >> 11) / 9007199254740992.0;
}

/* Memory of exactly n values (so that a sanitizer sees the end), uniform in [-scale, scale]. Freed by case_free. */
enum { CASE_BLOCKS = 64 };
typedef struct case_memory {
  void *block[CASE_BLOCKS];
  int count;
} case_memory;

static inline void *case_alloc(case_memory *m, size_t bytes) {
  void *p = case_take(bytes ? bytes : 1);
  if (!p || m->count == CASE_BLOCKS)
    abort();
  return m->block[m->count++] = p;
}
static inline void case_free(case_memory *m) {
  while (m->count)
    case_give(m->block[--m->count]);
}
static inline real *case_values(case_memory *m, inputs *in, int64_t n, double scale) {
  real *x = case_alloc(m, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = (real)((2 * next_unit(in) - 1) * scale);
  return x;
}
static inline real *case_fill(case_memory *m, int64_t n, real value) {
  real *x = case_alloc(m, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = value;
  return x;
}

/* A layout of these lengths; width 0: ragged, else padded. */
static inline brim_layout case_layout(case_memory *m, int n, const int *lengths, int width) {
  int32_t *offsets = case_alloc(m, (size_t)(n + 1) * sizeof *offsets), *own = case_alloc(m, (size_t)n * sizeof *own);
  uint32_t *places = case_alloc(m, (size_t)n * sizeof *places);
  brim_layout l = {.n = n, .offsets = offsets, .lengths = own, .places = places};
  offsets[0] = 0;
  for (int s = 0; s < n; s++) {
    own[s] = lengths[s];
    places[s] = (uint32_t)(7 * s + 3);
    offsets[s + 1] = offsets[s] + (width ? width : lengths[s]);
    l.tokens += lengths[s];
    if (lengths[s] > l.max_length)
      l.max_length = lengths[s];
  }
  l.slots = offsets[n];
  int32_t *sequence = case_alloc(m, (size_t)l.slots * sizeof *sequence);
  for (int s = 0; s < n; s++)
    for (int32_t r = offsets[s]; r < offsets[s + 1]; r++)
      sequence[r] = s;
  l.sequence = sequence;
  return l;
}

/* ---- outputs */

enum { RECORD_PARTS = 24 };
typedef struct record {
  double *value;
  size_t count, room;
  size_t end[RECORD_PARTS];
  const char *name[RECORD_PARTS];
  int parts;
} record;

static inline void emit(record *r, const char *name, const real *x, int64_t n) {
  if (r->parts == RECORD_PARTS)
    abort();
  if (r->count + (size_t)n > r->room) {
    r->room = 2 * (r->count + (size_t)n);
    r->value = realloc(r->value, r->room * sizeof *r->value);
    if (!r->value)
      abort();
  }
  for (int64_t i = 0; i < n; i++)
    r->value[r->count++] = (double)x[i];
  r->name[r->parts] = name;
  r->end[r->parts++] = r->count;
}
static inline void record_free(record *r) {
  free(r->value);
}

/* Largest difference over the parts, each relative to its largest value. */
static inline double record_difference(const record *got, const record *want, const char **where) {
  double worst = 0;
  size_t i = 0;
  for (int part = 0; part < want->parts; part++) {
    double top = 1e-30, difference = 0;
    for (; i < want->end[part]; i++) {
      const double d = fabs(got->value[i] - want->value[i]);
      top = fmax(top, fabs(want->value[i]));
      difference = d <= difference || isnan(difference) ? difference : d; /* NaN stays */
    }
    if (!(difference / top <= worst)) {
      worst = difference / top;
      *where = want->name[part];
    }
  }
  return worst;
}

/* ---- the harness */

typedef void (*case_fn)(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out);

#ifdef BRIM_CASE_CUDA
#include "cuda_case.h"
#elif !defined(BRIM_REAL_DOUBLE)
static inline record run_case(const brim_ops *ops, int threads, const brim_ops_limits *limits, case_fn fn,
                              const void *parameters) {
  brim_ops_context c = {0};
  const brim_runtime_options options = {.threads = threads};
  record out = {0};
  if (brim_runtime_new(&options, &c.runtime, NULL))
    abort();
  c.workspace_size = ops->workspace(&c, limits);
  c.workspace = aligned_alloc(64, (c.workspace_size + 63) / 64 * 64);
  if (!c.workspace)
    abort();
  memset(c.workspace, 0xff, c.workspace_size); /* NaN: nothing may be read before it is written */
  fn(ops, &c, parameters, &out);
  free(c.workspace);
  brim_runtime_free(c.runtime);
  return out;
}

static inline void check_case(const char *name, const brim_ops_limits *limits, case_fn fn, const void *parameters,
                              double tolerance) {
  static const int threads[] = {1, 2, 3, 8};
  record want = run_case(brim_ops_ref(), 1, limits, fn, parameters);
  for (int level = BRIM_CPU_PLAIN; level <= (int)brim_cpu_detect(); level++) {
    const brim_ops *ops = brim_ops_cpu((brim_cpu_level)level);
    record first = run_case(ops, 1, limits, fn, parameters);
    const char *where = "";
    const double difference = record_difference(&first, &want, &where);
    bool same = first.count == want.count;
    for (size_t t = 1; t < sizeof threads / sizeof *threads; t++) {
      record other = run_case(ops, threads[t], limits, fn, parameters);
      same = same && other.count == first.count && memcmp(other.value, first.value, first.count * sizeof *first.value) == 0;
      record_free(&other);
    }
    ok(difference <= tolerance && same, "%s: %s within %.1e of the reference (%.1e in %s), same bits for 1, 2, 3, 8 threads%s",
       name, ops->name, tolerance, difference, where, same ? "" : ": NOT the same");
    record_free(&first);
  }
  record_free(&want);
}
#endif
#endif
