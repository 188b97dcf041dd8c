/* ops_case.h: runs operations on every table and thread count and compares.
 *
 * A case is a function that makes its inputs from a seed, calls operations and records every output. A file of cases is compiled
 * twice (ops_groups.h). With `real` as double, check_case runs a case on the reference and compares the gradients that it records
 * with central differences of the outputs that it records. With `real` as float it runs it on the reference, near what double
 * gave where that is part of the program, then on each level of levels.h with 1, 2, 3 and 8 threads: near the reference, and the
 * same bits for any number of threads. Under a sanitizer some of the cases run, with one count of threads.
 *
 *   CASES(linear) { ... check_case(...); }        the file's only function that is not static
 */
#ifndef BRIM_TESTS_OPS_CASE_H
#define BRIM_TESTS_OPS_CASE_H
#include "../levels.h"
#include "ops/ops.h"
#include "ops_groups.h"
#include "tap.h"

#ifdef BRIM_CASE_CUDA /* the same cases on another device, whose memory is not malloc's */
#include "cuda_memory.h"
#else
#define case_take malloc
#define case_give free
enum { CASE_ON_HOST = 1 };
static inline int case_length(int length) {
  return length;
}
#endif

#ifdef BRIM_CASE_CUDA /* a program of its own */
#define CASES(group)                                                                                                             \
  static void case_all(void);                                                                                                    \
  int main(void) {                                                                                                               \
    case_all();                                                                                                                  \
    return tap_done();                                                                                                           \
  }                                                                                                                              \
  static void case_all(void)
#define ops_only_calls()   false
#define ops_compared(half) ((void)(half))
#define case_counted(ops)  (ops)
#elif !defined(BRIM_CASE_ALONE)
#define tap_ok ops_ok
#ifdef BRIM_REAL_DOUBLE
#define CASES(group) void ops_cases64_##group(void)
#else
#define CASES(group) void ops_cases_##group(void)
#endif
#endif

/* ---- inputs */

typedef struct inputs {
  uint64_t state;
} inputs;

static inline double next_unit(inputs *in) {
  in->state = in->state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(in->state >> 11) / 9007199254740992.0;
}

/* The inputs of a run, in the order in which they were made, and what was in them at first. One of them may be moved: element i
 * by step times a sign. In double only. */
enum { CASE_BLOCKS = 64 };
#ifdef BRIM_REAL_DOUBLE
static struct {
  const real *at[CASE_BLOCKS];
  real *before[CASE_BLOCKS];
  int count;
  int moved; /* -1: none */
  int64_t moved_count;
  double step;
} case_made = {.moved = -1};

static inline double case_sign(inputs *in) {
  return next_unit(in) < 0.5 ? -1 : 1;
}
static inline void case_made_add(real *x, int64_t n) {
  inputs signs = {977};
  if (case_made.count == CASE_BLOCKS)
    abort();
  for (int64_t i = 0; case_made.moved == case_made.count && i < n && i < case_made.moved_count; i++)
    x[i] += case_made.step * case_sign(&signs);
  real *before = malloc((size_t)(n > 0 ? n : 1) * sizeof *before);
  if (!before)
    abort();
  memcpy(before, x, (size_t)n * sizeof *x);
  case_made.before[case_made.count] = before;
  case_made.at[case_made.count++] = x;
}
static inline int case_made_find(const real *x) {
  int i = case_made.count - 1;
  while (i >= 0 && case_made.at[i] != x)
    i--;
  return i < 0 ? (abort(), 0) : i;
}
static inline void case_made_forget(void) {
  while (case_made.count > 0)
    free(case_made.before[--case_made.count]);
}
#else
static inline void case_made_add(const real *x, int64_t n) {
  (void)x, (void)n;
}
#endif

/* Memory of exactly n values (so that a sanitizer sees the end), uniform in [-scale, scale] and the same numbers in either
 * precision. Freed by case_free. */
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
    x[i] = (real)(float)((2 * next_unit(in) - 1) * scale);
  case_made_add(x, n);
  return x;
}
static inline real *case_fill(case_memory *m, int64_t n, real value) {
  real *x = case_alloc(m, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = value;
  case_made_add(x, n);
  return x;
}

/* A value of 16 bits as a float, and the nearest to a float, of two the even one. */
static inline float wide_of(brim_bfloat x) {
  const uint32_t bits = (uint32_t)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline brim_bfloat half_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return isnan(x) ? (brim_bfloat)0x7fc0 : (brim_bfloat)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A tensor of either type. */
static inline brim_typed case_real(const real *x) {
  return (brim_typed){BRIM_TYPE_REAL, (void *)(uintptr_t)x};
}
static inline brim_typed case_half(const brim_bfloat *x) {
  return (brim_typed){BRIM_TYPE_BF16, (void *)(uintptr_t)x};
}
static inline brim_bfloat *rounded(case_memory *m, const real *x, int64_t n) {
  brim_bfloat *y = case_alloc(m, (size_t)n * sizeof *y);
  for (int64_t i = 0; i < n; i++)
    y[i] = half_of((float)x[i]);
  return y;
}
static inline real *widened(case_memory *m, const brim_bfloat *x, int64_t n) {
  real *y = case_alloc(m, (size_t)n * sizeof *y);
  for (int64_t i = 0; i < n; i++)
    y[i] = wide_of(x[i]);
  return y;
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

/* A result of which the loss takes the sum of weight * value. */
static inline void emit_output(record *r, const char *name, const real *y, int64_t n, const real *weight) {
  emit(r, name, y, n);
  for (int64_t i = 0; i < n; i++)
    r->loss += (double)weight[i] * (double)y[i];
}

/* The loss's gradient of the first n elements of an input, made by case_values or case_fill; it was written, or `added` to what
 * its memory held. */
static inline void check_gradient(record *r, const real *dx, int64_t n, const real *input, bool added) {
#ifdef BRIM_REAL_DOUBLE
  const real *before = added ? case_made.before[case_made_find(dx)] : NULL;
  double *gradient = malloc((size_t)(n > 0 ? n : 1) * sizeof *gradient);
  if (!gradient)
    abort();
  for (int64_t i = 0; i < n; i++)
    gradient[i] = dx[i] - (before ? before[i] : 0);
  r->gradient[r->gradients] = gradient;
  r->gradient_count[r->gradients] = n;
  r->gradient_of[r->gradients++] = case_made_find(input);
#else
  (void)r, (void)dx, (void)n, (void)input, (void)added;
#endif
}
static inline void emit_gradient(record *r, const char *name, const real *dx, int64_t n, const real *input, bool added) {
  emit(r, name, dx, n);
  check_gradient(r, dx, n, input, added);
}

/* Records a result in 16 bits; NaN where one is not what `want` is when it is rounded. */
static inline void emit_rounded(record *out, const char *name, const brim_bfloat *got, const real *want, int64_t n) {
  case_memory m = {0};
  real *wide = widened(&m, got, n);
  for (int64_t i = 0; i < n; i++)
    if (got[i] != half_of((float)want[i]))
      wide[i] = (real)NAN;
  emit(out, name, wide, n);
  ops_compared(true);
  case_free(&m);
}

static inline void emit_same(record *out, const char *name, real *got, const real *want, int64_t n) {
  if (memcmp(got, want, (size_t)n * sizeof *got) != 0)
    got[0] = (real)NAN;
  emit(out, name, got, n);
}

static inline void record_free(record *r) {
  while (r->gradients > 0)
    free(r->gradient[--r->gradients]);
  free(r->value);
}

/* Largest difference over the parts, each relative to its largest value; no number where one is none. */
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
    if (!isnan(worst) && !(difference / top <= worst)) {
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
#else

/* ---- a table that counts what is called */

#define CASE_INDEX(name, ...) CASE_AT_##name,
enum { BRIM_OPS_LIST(CASE_INDEX) CASE_OPERATIONS };
static const brim_ops *case_inner;
static const char *case_inner_name;
#define CASE_COUNTED(name, operands, ...)                                                                                        \
  static void counted_##name(brim_ops_context *c, const operands *op) {                                                          \
    ops_called(case_inner_name, CASE_AT_##name);                                                                                 \
    case_inner->name(c, op);                                                                                                     \
  }
BRIM_OPS_LIST(CASE_COUNTED)
#define CASE_SET(name, ...) counted.name = ops->name ? counted_##name : NULL;

/* Until the next one is asked for. */
static inline const brim_ops *case_counted(const brim_ops *ops) {
  static brim_ops counted;
  counted = *ops;
  BRIM_OPS_LIST(CASE_SET)
  case_inner = ops;
  case_inner_name = sizeof(real) == 8 ? "ref64" : ops->name;
  return &counted;
}

#ifndef BRIM_REAL_DOUBLE
static inline brim_runtime *case_runtime_of(int threads) {
  const brim_runtime_options options = {.threads = threads};
  brim_runtime *runtime;
  if (brim_runtime_new(&options, &runtime, NULL))
    abort();
  return runtime;
}
#endif

enum { BEYOND = 4096 }; /* bytes after a workspace that stay as they are: sanitizers do not see what tiles store */

static inline void case_check_beyond(const brim_ops *ops, const brim_ops_context *c) {
  const unsigned char *beyond = (const unsigned char *)c->workspace + c->workspace_size;
  for (size_t i = 0; i < BEYOND; i++)
    if (beyond[i] != 0xff) {
      printf("Bail out! %s wrote beyond its workspace of %zu bytes\n", ops->name, c->workspace_size);
      exit(1);
    }
}

static inline record run_case(const brim_ops *ops, brim_runtime *runtime, const brim_ops_limits *limits, case_fn fn,
                              const void *parameters) {
  brim_ops_context c = {.runtime = runtime};
  record out = {0};
  c.workspace_size = ops->workspace(&c, limits);
  c.workspace = aligned_alloc(64, (c.workspace_size + BEYOND + 64) / 64 * 64);
  if (!c.workspace)
    abort();
  memset(c.workspace, 0xff, c.workspace_size + BEYOND); /* NaN: nothing may be read before it is written */
  fn(case_counted(ops), &c, parameters, &out);
  case_check_beyond(ops, &c);
  free(c.workspace);
  return out;
}

/* The same in float and in double. */
static inline bool case_taken(const char *name) {
  return ops_only_calls() || tap_takes_named(name);
}

#ifdef BRIM_REAL_DOUBLE
/* The loss where one input is moved. */
static inline double moved_loss(const record *r, int gradient, double step, const brim_ops_limits *limits, case_fn fn,
                                const void *parameters) {
  case_made.moved = r->gradient_of[gradient];
  case_made.moved_count = r->gradient_count[gradient];
  case_made.step = step;
  record moved = run_case(brim_ops_ref(), NULL, limits, fn, parameters);
  const double loss = moved.loss;
  case_made_forget();
  case_made.moved = -1;
  record_free(&moved);
  return loss;
}

/* How far a gradient is from the difference along a line on which each element moves as much as any other. */
static inline double gradient_error(const record *r, int g, const brim_ops_limits *limits, case_fn fn, const void *parameters) {
  const double step = 1e-5;
  const double up = moved_loss(r, g, step, limits, fn, parameters), down = moved_loss(r, g, -step, limits, fn, parameters);
  inputs signs = {977};
  double want = 0, square = 0;
  for (int64_t i = 0; i < r->gradient_count[g]; i++) {
    want += r->gradient[g][i] * case_sign(&signs);
    square += r->gradient[g][i] * r->gradient[g][i];
  }
  return fabs((up - down) / (2 * step) - want) / (sqrt(square) + 1e-3 * (1 + fabs(r->loss)));
}

static inline void check_case(const char *name, const brim_ops_limits *limits, case_fn fn, const void *parameters,
                              double tolerance) {
  (void)tolerance;
  if (!case_taken(name))
    return;
  ops_begin_case();
  record r = run_case(brim_ops_ref(), NULL, limits, fn, parameters);
  case_made_forget();
  double worst = 0;
  for (int g = 0; g < r.gradients && !ops_only_calls(); g++)
    worst = fmax(worst, gradient_error(&r, g, limits, fn, parameters));
  if (r.gradients > 0) {
    ok(worst < 1e-7, "%s: %d gradients and differences agree to %.1e", name, r.gradients, worst);
    ops_compared(false);
  }
  ops_keep(name, &r);
}
#else
static inline void check_level(const char *name, brim_cpu_level level, const brim_ops_limits *limits, case_fn fn,
                               const void *parameters, const record *want, double tolerance) {
  static brim_runtime *runtimes[4];
  static const int threads[] = {1, 2, 3, 8};
  const brim_ops *ops = brim_ops_cpu(level);
  const char *where = "";
  record first = {0};
  bool same = true;
  int runs = 0;
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    if (ops_only_calls() ? runs > 0 : !threads_taken((int)level, threads[t]))
      continue;
    runtimes[t] = runtimes[t] ? runtimes[t] : case_runtime_of(threads[t]);
    record other = run_case(ops, runtimes[t], limits, fn, parameters);
    same = same && other.count == want->count &&
           (runs == 0 || first.count == 0 || memcmp(other.value, first.value, first.count * sizeof *first.value) == 0);
    if (runs++ == 0)
      first = other;
    else
      record_free(&other);
  }
  const double difference = record_difference(&first, want, &where);
  ok(difference <= tolerance && same, "%s: %s within %.1e of the reference (%.1e in %s), same bits for %d counts of threads%s",
     name, ops->name, tolerance, difference, where, runs, same ? "" : ": NOT the same");
  record_free(&first);
}

/* AMX's instructions in C: there on any processor with AVX-512, and sanitizers see what they read and write. */
static inline void check_emulated(const char *name, const brim_ops_limits *limits, case_fn fn, const void *parameters,
                                  const record *want, double tolerance) {
  static brim_runtime *runtime;
  const char *where = "";
  runtime = runtime ? runtime : case_runtime_of(2);
  runtime->bf16 = BRIM_BF16_TILES_EMULATED;
  record got = run_case(brim_ops_cpu(BRIM_CPU_AMX), runtime, limits, fn, parameters);
  const double difference = record_difference(&got, want, &where);
  ok(got.count == want->count && difference <= tolerance, "%s: AMX's emulation within %.1e of the reference (%.1e in %s)", name,
     tolerance, difference, where);
  if (brim_cpu_detect() == BRIM_CPU_AMX) {
    runtime->bf16 = BRIM_BF16_TILES;
    record own = run_case(brim_ops_cpu(BRIM_CPU_AMX), runtime, limits, fn, parameters);
    ok(own.count == got.count && (own.count == 0 || memcmp(own.value, got.value, own.count * sizeof *own.value) == 0),
       "%s: AMX has the bits of its emulation", name);
    record_free(&own);
  }
  record_free(&got);
}

static inline void check_case(const char *name, const brim_ops_limits *limits, case_fn fn, const void *parameters,
                              double tolerance) {
  if (!case_taken(name))
    return;
  ops_begin_case();
  const record *exact = ops_kept(name);
  const char *where = "";
  record want = run_case(brim_ops_ref(), NULL, limits, fn, parameters);
  const double difference = exact ? record_difference(&want, exact, &where) : 0;
  if (ops_has_double())
    ok(exact && exact->count == want.count && difference <= 4 * tolerance,
       "%s: the reference within %.1e of itself in double precision (%.1e in %s)", name, 4 * tolerance, difference, where);
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
    check_level(name, (brim_cpu_level)level, limits, fn, parameters, &want, tolerance);
  if (level_is_emulated() && !ops_only_calls())
    check_emulated(name, limits, fn, parameters, &want, tolerance);
  record_free(&want);
}
#endif
#endif
#endif
