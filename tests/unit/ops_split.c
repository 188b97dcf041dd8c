/* ops_split.c: products of fp32 on AMX, each value as three of 16 bits (ops/cpu/split.h). Where there is AVX-512 but no AMX, its
 * emulation stands for it. */
#include "ops_case.h"

typedef struct shape {
  int rows, in, out;
} shape;

typedef enum numbers {
  ORDINARY, /* in [-1, 1] */
  ALIKE,    /* in [0.5, 1]: errors of one sign would add up */
  WIDE,     /* magnitudes from 2^-30 to 2^30 */
} numbers;

typedef struct operands {
  case_memory memory;
  float *x, *w, *dy, *y, *dx, *dw, *db;
  int spare; /* values between rows of x, and of dy */
} operands;

static float *values(case_memory *m, inputs *in, int64_t n, numbers which) {
  float *x = case_alloc(m, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) {
    const double unit = 2 * next_unit(in) - 1;
    x[i] = (float)(which == ALIKE ? 0.75 + unit / 4 : which == WIDE ? ldexp(unit, (int)(60 * next_unit(in)) - 30) : unit);
  }
  return x;
}

static operands make(const shape *s, numbers which) {
  operands o = {0};
  inputs in = {71 + (uint64_t)which};
  o.x = values(&o.memory, &in, (int64_t)s->rows * s->in, which);
  o.w = values(&o.memory, &in, (int64_t)s->out * s->in, which);
  o.dy = values(&o.memory, &in, (int64_t)s->rows * s->out, which);
  o.y = values(&o.memory, &in, (int64_t)s->rows * s->out, ORDINARY);
  o.dx = values(&o.memory, &in, (int64_t)s->rows * s->in, ORDINARY);
  o.dw = case_alloc(&o.memory, (size_t)s->out * (size_t)s->in * sizeof *o.dw);
  o.db = case_alloc(&o.memory, (size_t)s->out * sizeof *o.db);
  memset(o.dw, 0, (size_t)s->out * (size_t)s->in * sizeof *o.dw);
  memset(o.db, 0, (size_t)s->out * sizeof *o.db);
  return o;
}

/* y, dx, dw and db. */
static void compute(const brim_ops *ops, brim_bf16_way way, int threads, const shape *s, operands *o) {
  const brim_ops_limits limits = {.max_slots = s->rows,
                                  .max_sequences = 1,
                                  .max_length = 64,
                                  .hidden = s->in < s->out ? s->in : s->out,
                                  .intermediate = s->in < s->out ? s->out : s->in,
                                  .heads = 1};
  brim_ops_context c = {.runtime = case_runtime_of(threads)};
  c.runtime->bf16 = way;
  c.workspace_size = ops->workspace(&c, &limits);
  c.workspace = aligned_alloc(64, (c.workspace_size + 64) / 64 * 64);
  if (!c.workspace)
    abort();
  memset(c.workspace, 0xff, c.workspace_size); /* NaN: nothing may be read before it is written */
  ops->linear_forward(&c, &(brim_linear){.rows = s->rows,
                                         .in = s->in,
                                         .out = s->out,
                                         .x = o->x,
                                         .x_stride = s->in + o->spare,
                                         .w = o->w,
                                         .y = o->y,
                                         .y_stride = s->out});
  ops->linear_backward(&c, &(brim_linear_gradient){.rows = s->rows,
                                                   .in = s->in,
                                                   .out = s->out,
                                                   .x = o->x,
                                                   .x_stride = s->in + o->spare,
                                                   .w = o->w,
                                                   .dy = o->dy,
                                                   .dy_stride = s->out + o->spare,
                                                   .dx = o->dx,
                                                   .dx_stride = s->in,
                                                   .dw = o->dw,
                                                   .db = o->db});
  free(c.workspace);
  brim_runtime_free(c.runtime);
}

/* What stands for AMX here. */
static brim_bf16_way tiles(void) {
  return brim_cpu_detect() == BRIM_CPU_AMX ? BRIM_BF16_TILES : BRIM_BF16_TILES_EMULATED;
}

static operands computed(brim_cpu_level level, brim_bf16_way way, int threads, const shape *s, numbers which) {
  operands o = make(s, which);
  compute(brim_ops_cpu(level), way, threads, s, &o);
  return o;
}

/* ---- how exact */

/* Root mean square of the errors of a b, where each is a share of the sum of its terms' magnitudes, and their mean. The product
 * is [rows, columns]; element (i, k) of a is at i * a_row + k * a_step, (k, j) of b at j * b_row + k * b_step. */
typedef struct errors {
  double square, mean;
} errors;
typedef struct side {
  const float *at;
  int64_t row, step;
} side;

static errors errors_of(const float *c, int64_t rows, int64_t columns, int64_t depth, side a, side b) {
  errors e = {0, 0};
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < depth; k++) {
        const double term = (double)a.at[i * a.row + k * a.step] * (double)b.at[j * b.row + k * b.step];
        sum += term, size += fabs(term);
      }
      const double error = ((double)c[i * columns + j] - sum) / size;
      e.square += error * error, e.mean += error * (sum < 0 ? -1 : 1);
    }
  const double n = (double)rows * (double)columns;
  return (errors){sqrt(e.square / n), e.mean / n};
}

/* Forward, gradient of the input, gradient of the weight. */
static void measure(const shape *s, const operands *o, errors e[3]) {
  e[0] = errors_of(o->y, s->rows, s->out, s->in, (side){o->x, s->in, 1}, (side){o->w, s->in, 1});
  e[1] = errors_of(o->dx, s->rows, s->in, s->out, (side){o->dy, s->out, 1}, (side){o->w, 1, s->in});
  e[2] = errors_of(o->dw, s->out, s->in, s->rows, (side){o->dy, 1, s->out}, (side){o->x, 1, s->in});
}

/* Fused multiply-adds in fp32 have the same numbers: three parts may not be less exact, nor lean to one side. */
static void check_exactness(const shape *s, numbers which, const char *name) {
  static const char *const products[] = {"forward", "input", "weight"};
  operands amx = computed(BRIM_CPU_AMX, tiles(), 2, s, which), fused = computed(BRIM_CPU_AVX512, BRIM_BF16_WIDENED, 2, s, which);
  errors of_amx[3], of_fused[3];
  measure(s, &amx, of_amx);
  measure(s, &fused, of_fused);
  for (int i = 0; i < 3; i++) {
    ok(of_amx[i].square < 1.05 * of_fused[i].square + 1e-8, "%s, %d x %d -> %d, %s: error %.1e, of fp32 by AVX-512 %.1e", name,
       s->rows, s->in, s->out, products[i], of_amx[i].square, of_fused[i].square);
    ok(fabs(of_amx[i].mean) < fmax(2e-8, 0.1 * of_amx[i].square), "%s, %s: no side is preferred: %.1e (%.1e)", name, products[i],
       of_amx[i].mean, of_fused[i].mean);
  }
  case_free(&amx.memory), case_free(&fused.memory);
}

/* A value times 1 is itself: all 24 bits of it are in its parts. Both sides are the value's once. */
static void check_values(void) {
  enum { ROWS = 70, SIZE = 65 };
  const shape s = {ROWS, SIZE, SIZE};
  operands o = make(&s, WIDE);
  memset(o.w, 0, SIZE * SIZE * sizeof *o.w);
  for (int i = 0; i < SIZE; i++)
    o.w[i * SIZE + i] = 1;
  compute(brim_ops_cpu(BRIM_CPU_AMX), tiles(), 1, &s, &o);
  ok(memcmp(o.y, o.x, ROWS * SIZE * sizeof *o.y) == 0, "a row times one is the row, to the bit");
  ok(memcmp(o.dx, o.dy, ROWS * SIZE * sizeof *o.dx) == 0, "so is its gradient");
  case_free(&o.memory);
  const shape t = {SIZE, ROWS, SIZE};
  o = make(&t, WIDE);
  memset(o.x, 0, SIZE * ROWS * sizeof *o.x);
  memset(o.dy, 0, SIZE * SIZE * sizeof *o.dy);
  for (int i = 0; i < SIZE; i++)
    o.x[i * ROWS + i] = o.dy[i * SIZE + i] = 1;
  compute(brim_ops_cpu(BRIM_CPU_AMX), tiles(), 1, &t, &o);
  bool same = true;
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++)
      same = same && memcmp(&o.y[i * SIZE + j], &o.w[j * ROWS + i], sizeof *o.y) == 0;
  ok(same, "one times a weight is the weight, to the bit");
  for (int i = 0; i < SIZE; i++)
    same = same && memcmp(&o.dx[i * ROWS], &o.w[i * ROWS], ROWS * sizeof *o.dx) == 0;
  ok(same, "in backward too");
  case_free(&o.memory);
}

/* ---- bits */

static bool same_bits(const shape *s, const operands *a, const operands *b) {
  const size_t few = (size_t)s->rows * (size_t)s->out, many = (size_t)s->rows * (size_t)s->in;
  return memcmp(a->y, b->y, few * sizeof *a->y) == 0 && memcmp(a->dx, b->dx, many * sizeof *a->dx) == 0 &&
         memcmp(a->dw, b->dw, (size_t)s->in * (size_t)s->out * sizeof *a->dw) == 0 &&
         memcmp(a->db, b->db, (size_t)s->out * sizeof *a->db) == 0;
}

static void check_bits(const shape *s) {
  operands one = computed(BRIM_CPU_AMX, tiles(), 1, s, WIDE),
           emulated = computed(BRIM_CPU_AMX, BRIM_BF16_TILES_EMULATED, 3, s, WIDE);
  operands many = computed(BRIM_CPU_AMX, tiles(), 7, s, WIDE);
  ok(same_bits(s, &one, &emulated), "%d x %d -> %d: AMX has the bits of its emulation", s->rows, s->in, s->out);
  ok(same_bits(s, &one, &many), "%d x %d -> %d: the same bits for 1 and 7 threads", s->rows, s->in, s->out);
  case_free(&one.memory), case_free(&emulated.memory), case_free(&many.memory);
}

/* A row's outputs and gradient do not hang on the rows beside it, nor on who packs it. */
static void check_rows(int in, int out) {
  const int most = tap_takes_all() ? 2300 : 600;
  static const int counts[] = {1, 16, 33, 257, 1000, 2049};
  const shape all = {most, in, out};
  operands whole = computed(BRIM_CPU_AMX, tiles(), 2, &all, ORDINARY);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    if (counts[i] > most || !tap_takes("rows", i))
      continue;
    const shape s = {counts[i], in, out};
    const int64_t first = most - counts[i];
    operands part = make(&s, ORDINARY);
    memcpy(part.x, whole.x + first * in, (size_t)counts[i] * (size_t)in * sizeof *part.x);
    memcpy(part.dy, whole.dy + first * out, (size_t)counts[i] * (size_t)out * sizeof *part.dy);
    memcpy(part.w, whole.w, (size_t)in * (size_t)out * sizeof *part.w);
    compute(brim_ops_cpu(BRIM_CPU_AMX), tiles(), 1, &s, &part);
    ok(memcmp(part.y, whole.y + first * out, (size_t)counts[i] * (size_t)out * sizeof *part.y) == 0 &&
           memcmp(part.dx, whole.dx + first * in, (size_t)counts[i] * (size_t)in * sizeof *part.dx) == 0,
       "the last %d of %d rows, %d -> %d, have the bits that they have alone", counts[i], most, in, out);
    case_free(&part.memory);
  }
  case_free(&whole.memory);
}

static float *spread(case_memory *m, int64_t rows, int64_t width, int64_t spare, const float *x) {
  const size_t size = (size_t)(rows * (width + spare)) * sizeof *x;
  float *y = memset(case_alloc(m, size), 0xff, size); /* NaN */
  for (int64_t i = 0; i < rows; i++)
    memcpy(y + i * (width + spare), x + i * width, (size_t)width * sizeof *x);
  return y;
}

/* Rows of gradients may lie apart, as those of one of several products in a tensor do. 45 rows end in a step of half the k. */
static void check_apart(void) {
  const shape s = {45, 40, 33};
  operands close = make(&s, WIDE), apart = make(&s, WIDE);
  apart.spare = 19;
  apart.x = spread(&apart.memory, s.rows, s.in, apart.spare, close.x);
  apart.dy = spread(&apart.memory, s.rows, s.out, apart.spare, close.dy);
  compute(brim_ops_cpu(BRIM_CPU_AMX), tiles(), 2, &s, &close);
  compute(brim_ops_cpu(BRIM_CPU_AMX), tiles(), 2, &s, &apart);
  ok(same_bits(&s, &close, &apart), "rows that lie apart have the bits of those that do not");
  case_free(&close.memory), case_free(&apart.memory);
}

/* ---- the ends of the range */

static float product_of(float x, float w) {
  enum { SIZE = 16 };
  const shape s = {1, SIZE, SIZE};
  operands o = make(&s, ORDINARY);
  memset(o.x, 0, SIZE * sizeof *o.x);
  memset(o.w, 0, SIZE * SIZE * sizeof *o.w);
  o.x[3] = x;
  o.w[5 * SIZE + 3] = w;
  compute(brim_ops_cpu(BRIM_CPU_AMX), tiles(), 1, &s, &o);
  const float result = o.y[5];
  case_free(&o.memory);
  return result;
}

static void check_range(void) {
  const float infinite = INFINITY, largest = 3.389e38f, smallest = 1.1754944e-38f;
  ok(!isfinite(product_of(infinite, 1)) && !isfinite(product_of(2, -infinite)) && isnan(product_of(NAN, 1)) &&
         isnan(product_of(1, -NAN)),
     "what is not finite stays so");
  ok(product_of(largest, 1) == largest && product_of(-0.5f, largest) == -0.5f * largest, "large values are exact");
  ok(!isfinite(product_of(largest, 2)), "a product that is too large is not finite");
  ok(fabsf(product_of(smallest * 3, 1) / (smallest * 3) - 1) < 0x1p-7f, "of the smallest values some bits are left");
  ok(product_of(smallest / 4, 1) == 0, "denormal values count as 0");
}

CASES(split) {
  static const shape exact[] = {{64, 768, 48}, {40, 48, 3072}, {4000, 32, 40}, {33, 4301, 17}, {40, 801, 131}};
  static const shape shapes[] = {{1, 16, 16},   {17, 37, 45},    {32, 64, 32},   {33, 63, 65}, {70, 129, 97},  {1040, 31, 47},
                                 {5, 4301, 40}, {600, 48, 2800}, {2090, 40, 33}, {9, 15, 40},  {40, 801, 131}, {0, 40, 33}};
  if (!level_is_emulated() || ops_only_calls())
    return;
  for (size_t i = 0; tap_takes_all() && i < sizeof exact / sizeof *exact; i++) { /* numbers hang on no sanitizer */
    check_exactness(&exact[i], ORDINARY, "in [-1, 1]");
    check_exactness(&exact[i], ALIKE, "in [0.5, 1]");
    check_exactness(&exact[i], WIDE, "of all magnitudes");
  }
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (tap_takes("bits", i) && (tap_takes_all() || shapes[i].out < 1000)) /* one is too slow */
      check_bits(&shapes[i]);
  check_values();
  check_rows(40, 33);
  check_rows(530, 20);
  check_apart();
  check_range();
}
