/* Matrix products of given shapes: brim's own, in fp32 and in bf16, next to OpenBLAS's (serial) and oneDNN's in fp32 where they
 * are installed, all on the same threads.
 *
 *   bench_products THREADS ROWS:IN:OUT...
 *
 * Prints one JSON object: what one core multiplies at most ("peaks", in registers), and for each shape and each of forward (y = x
 * w^T), input_gradient (dx = dy w) and weight_gradient (dw = dy^T x) the best GFLOP/s of some repeats, in rounds in which all
 * take turns. The libraries work serially; their rows are cut into as many parts as there are threads (outputs, for
 * weight_gradient), which is what they are fastest with on a few cores.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "brim/brim.h"

enum { FORWARD, INPUT, WEIGHT, KINDS, MOST_THREADS = 64, ROUNDS = 5 };
static const char *const kind_names[KINDS] = {"forward", "input_gradient", "weight_gradient"};

/* c [m, n] = op(a) op(b), row-major, a and b transposed or not. */
typedef struct call {
  int m, n, k, ta, tb, lda, ldb, ldc;
  const float *a, *b;
  float *c;
} call;

typedef void (*cblas_fn)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                         int ldb, float beta, float *c, int ldc);
typedef int (*dnnl_fn)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
static cblas_fn cblas_sgemm_of;
static dnnl_fn dnnl_sgemm_of;

static void multiply_openblas(const call *p) {
  cblas_sgemm_of(101, p->ta ? 112 : 111, p->tb ? 112 : 111, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, 0, p->c, p->ldc);
}

static void multiply_onednn(const call *p) {
  if (dnnl_sgemm_of(p->ta ? 'T' : 'N', p->tb ? 'T' : 'N', p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, 0, p->c, p->ldc))
    abort();
}

/* The first of the named libraries that is there, and its function. */
static void *find(const char *const *libraries, const char *name) {
  for (; *libraries; libraries++) {
    void *library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (function)
      return function;
  }
  return NULL;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- parts on threads */

typedef struct team {
  pthread_barrier_t barrier;
  void (*multiply)(const call *);
  call parts[MOST_THREADS];
  int threads, repeats;
} team;
typedef struct member {
  team *t;
  int number;
} member;

static void *work(void *context) {
  const member *m = context;
  for (int i = 0; i < m->t->repeats; i++) {
    pthread_barrier_wait(&m->t->barrier);
    m->t->multiply(&m->t->parts[m->number]);
    pthread_barrier_wait(&m->t->barrier);
  }
  return NULL;
}

/* Best seconds of a product whose rows of c are cut evenly. */
static double best_of(void (*multiply)(const call *), const call *whole, int threads) {
  const double flops = 2.0 * whole->m * whole->n * whole->k;
  team t = {.multiply = multiply, .threads = threads, .repeats = flops < 1e8 ? 40 : flops < 4e9 ? (int)(4e9 / flops) + 2 : 3};
  member members[MOST_THREADS];
  pthread_t ids[MOST_THREADS];
  double best = 1e30;
  for (int i = 0; i < threads; i++) {
    const int from = whole->m * i / threads;
    t.parts[i] = *whole;
    t.parts[i].m = whole->m * (i + 1) / threads - from;
    t.parts[i].a += (size_t)from * (whole->ta ? 1 : (size_t)whole->lda);
    t.parts[i].c += (size_t)from * (size_t)whole->ldc;
  }
  pthread_barrier_init(&t.barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++)
    members[i] = (member){&t, i};
  for (int i = 1; i < threads; i++)
    if (pthread_create(&ids[i], NULL, work, &members[i]))
      abort();
  for (int i = 0; i < t.repeats; i++) {
    pthread_barrier_wait(&t.barrier);
    const double start = seconds();
    multiply(&t.parts[0]);
    pthread_barrier_wait(&t.barrier);
    const double took = seconds() - start;
    best = took < best ? took : best;
  }
  for (int i = 1; i < threads; i++)
    pthread_join(ids[i], NULL);
  pthread_barrier_destroy(&t.barrier);
  return best;
}

/* ---- shapes */

typedef struct shape {
  int rows, in, out;
} shape;

static call call_of(const shape *s, int kind, float *x, float *w, float *y) {
  if (kind == FORWARD)
    return (call){s->rows, s->out, s->in, 0, 1, s->in, s->in, s->out, x, w, y};
  if (kind == INPUT)
    return (call){s->rows, s->in, s->out, 0, 0, s->out, s->in, s->in, y, w, x};
  return (call){s->out, s->in, s->rows, 1, 0, s->out, s->in, s->in, y, x, w};
}

static float *numbers(size_t count) {
  float *p = aligned_alloc(64, (count * sizeof *p + 63) / 64 * 64);
  if (!p)
    abort();
  for (size_t i = 0; i < count; i++)
    p[i] = (float)((i * 2654435761u) & 0xffff) / 65536.0f - 0.5f;
  return p;
}

enum { BRIM, BRIM_BF16, OPENBLAS, ONEDNN, PRODUCERS };
static const char *const producer_names[PRODUCERS] = {"brim", "brim_bf16", "openblas", "onednn"};

/* What one round adds to the best speeds, in GFLOP/s; false: brim cannot. */
static bool take_turns(brim_runtime *runtime, const shape *s, float *const operands[3], double best[PRODUCERS][KINDS]) {
  void (*const others[PRODUCERS])(const call *) = {NULL, NULL, cblas_sgemm_of ? multiply_openblas : NULL,
                                                   dnnl_sgemm_of ? multiply_onednn : NULL};
  for (int i = BRIM; i <= BRIM_BF16; i++) {
    brim_gemm_speed own;
    const brim_product_kind numbers = i == BRIM ? BRIM_PRODUCT_FP32 : BRIM_PRODUCT_BF16;
    if (brim_device_gemm_speed(runtime, numbers, s->rows, s->in, s->out, &own, NULL))
      return false;
    best[i][FORWARD] = fmax(best[i][FORWARD], own.forward);
    best[i][INPUT] = fmax(best[i][INPUT], own.input_gradient);
    best[i][WEIGHT] = fmax(best[i][WEIGHT], own.weight_gradient);
  }
  for (int kind = 0; kind < KINDS; kind++) {
    for (int i = OPENBLAS; i < PRODUCERS; i++) {
      const call c = call_of(s, kind, operands[0], operands[1], operands[2]);
      const double flops = 2e-9 * s->rows * s->in * s->out;
      if (others[i])
        best[i][kind] = fmax(best[i][kind], flops / best_of(others[i], &c, brim_runtime_threads(runtime)));
    }
  }
  return true;
}

/* ---- what a core multiplies at most: 24 sums in registers, from two registers */

#if defined(__x86_64__)
#define EIGHT(instruction, a)                                                                                                    \
  instruction " %%zmm31, %%zmm30, %%zmm" a "0\n\t" instruction " %%zmm31, %%zmm30, %%zmm" a "1\n\t" instruction                  \
              " %%zmm31, %%zmm30, %%zmm" a "2\n\t" instruction " %%zmm31, %%zmm30, %%zmm" a "3\n\t" instruction                  \
              " %%zmm31, %%zmm30, %%zmm" a "4\n\t" instruction " %%zmm31, %%zmm30, %%zmm" a "5\n\t" instruction                  \
              " %%zmm31, %%zmm30, %%zmm" a "6\n\t" instruction " %%zmm31, %%zmm30, %%zmm" a "7\n\t"
#define PEAK(name, instruction)                                                                                                  \
  __attribute__((target("avx512f"))) static void name(int64_t rounds) {                                                          \
    __asm__ volatile("1:\n\t" EIGHT(instruction, "") EIGHT(instruction, "1") EIGHT(instruction, "2") "dec %0\n\tjnz 1b"          \
                     : "+r"(rounds)                                                                                              \
                     :                                                                                                           \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm10", "xmm11", "xmm12", "xmm13", \
                       "xmm14", "xmm15", "xmm16", "xmm17", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",        \
                       "xmm27");                                                                                                 \
  }
PEAK(multiply_floats, "vfmadd231ps")
PEAK(multiply_pairs, "vdpbf16ps")

static double peak_of(void (*multiply)(int64_t), double flops) {
  enum { TIMES = 2000000 };
  double best = 1e30;
  for (int i = 0; i < ROUNDS; i++) {
    const double start = seconds();
    multiply(TIMES);
    best = fmin(best, seconds() - start);
  }
  return 24 * TIMES * flops * 1e-9 / best;
}

static void print_peaks(void) {
  if (__builtin_cpu_supports("avx512f"))
    printf("\"peaks\":{\"fp32\":%.1f,\"bf16\":%.1f},", peak_of(multiply_floats, 32),
           __builtin_cpu_supports("avx512bf16") ? peak_of(multiply_pairs, 64) : 0);
}
#else
static void print_peaks(void) {}
#endif

static void print_speeds(const char *name, const double speeds[KINDS]) {
  if (speeds[FORWARD] > 0)
    printf(",\"%s\":{\"%s\":%.1f,\"%s\":%.1f,\"%s\":%.1f}", name, kind_names[FORWARD], speeds[FORWARD], kind_names[INPUT],
           speeds[INPUT], kind_names[WEIGHT], speeds[WEIGHT]);
}

static bool print_shape(brim_runtime *runtime, const shape *s, bool first) {
  const size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
  float *const operands[3] = {numbers(rows * in), numbers(in * out), numbers(rows * out)};
  double best[PRODUCERS][KINDS] = {{0}};
  bool good = true;
  for (int round = 0; round < ROUNDS && good; round++)
    good = take_turns(runtime, s, operands, best);
  printf("%s{\"rows\":%d,\"in\":%d,\"out\":%d", first ? "" : ",\n", s->rows, s->in, s->out);
  for (int i = 0; i < PRODUCERS; i++)
    print_speeds(producer_names[i], best[i]);
  printf("}");
  for (int i = 0; i < 3; i++)
    free(operands[i]);
  return good;
}

int main(int argc, char **argv) {
  static const char *const openblas[] = {"/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
                                         "/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0", NULL};
  static const char *const onednn[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
  const brim_runtime_options options = {.threads = argc > 1 ? atoi(argv[1]) : 0};
  brim_runtime *runtime;
  if (argc < 3 || options.threads < 0 || options.threads > MOST_THREADS || brim_runtime_new(&options, &runtime, NULL)) {
    fprintf(stderr, "usage: bench_products THREADS ROWS:IN:OUT...\n");
    return 2;
  }
  setenv("OMP_NUM_THREADS", "1", 1); /* before oneDNN is loaded */
  *(void **)&cblas_sgemm_of = find(openblas, "cblas_sgemm");
  *(void **)&dnnl_sgemm_of = find(onednn, "dnnl_sgemm");
  int failed = 0;
  printf("{\"threads\":%d,\"kernels\":\"%s\",\"bf16\":\"%s\",", brim_runtime_threads(runtime),
         brim_device_describe(runtime).kernels, brim_device_describe(runtime).bf16);
  print_peaks();
  printf("\"shapes\":[\n");
  for (int i = 2; i < argc && !failed; i++) {
    shape s;
    failed = sscanf(argv[i], "%d:%d:%d", &s.rows, &s.in, &s.out) != 3 || !print_shape(runtime, &s, i == 2);
  }
  printf("]}\n");
  brim_runtime_free(runtime);
  return failed;
}
