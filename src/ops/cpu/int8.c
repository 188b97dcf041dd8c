/* int8.c: products of bytes, for predictions. Semantics: ops.h.
 *
 * A task has some rows and does all that is to be done to them: it quantizes them, multiplies them by all panels, and continues
 * with what is still in its cache. So a feed-forward's wide rows never leave it. Weights were packed before:
 *
 *   scales [panels * TILE_COLUMNS] | biases, as many | panels of [steps, TILE_COLUMNS] times four bytes */
#include "base/runtime.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/int8_tile.h"
#include "ops/cpu/vecmath.h"

enum {
  MOST_ROWS = 56, /* of a task: four tiles, so that a panel that is read from the second cache is used four times */
  LEAST_ROWS = 4,
  LEAST_TASKS = 16, /* cut this fine at least, if there are rows for it */
  LINE = 64         /* rows of bytes, and packed weights, begin at multiples of it */
};

/* ---- quantizing */

#if BRIM_LEVEL >= 2
BRIM_INLINE uvec umax(uvec a, uvec b) {
  return (uvec)_mm512_max_epu32((__m512i)a, (__m512i)b);
}
BRIM_INLINE void store_bytes(int8_t *p, uvec x) {
  _mm_storeu_si128((__m128i_u *)p, _mm512_cvtepi32_epi8((__m512i)x));
}
#elif BRIM_LEVEL == 1
BRIM_INLINE uvec umax(uvec a, uvec b) {
  return (uvec)_mm256_max_epu32((__m256i)a, (__m256i)b);
}
BRIM_INLINE void store_bytes(int8_t *p, uvec x) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)x), _mm256_extracti128_si256((__m256i)x, 1));
  _mm_storeu_si64(p, _mm_packs_epi16(words, words));
}
#else
BRIM_INLINE uvec umax(uvec a, uvec b) {
  const uvec above = (uvec)(a > b);
  return (a & above) | (b & ~above);
}
BRIM_INLINE void store_bytes(int8_t *p, uvec x) {
  for (int i = 0; i < VEC; i++)
    p[i] = (int8_t)x[i];
}
#endif

/* The largest magnitude by its bits, where infinity and NaN are above all numbers. */
static float largest(int64_t n, const float *x) {
  uvec top = {0};
  uint32_t lanes[VEC], most = 0;
  float result;
  for (int64_t i = 0; i < n; i += VEC)
    top = umax(top, (uvec)vload_n(x + i, n - i) & 0x7fffffffu);
  memcpy(lanes, &top, sizeof lanes);
  for (int i = 0; i < VEC; i++)
    most = lanes[i] > most ? lanes[i] : most;
  memcpy(&result, &most, sizeof result);
  return result;
}

/* The value of a byte, and its inverse. */
static float scale_of(float top, float *inverse) {
  *inverse = 0;
  if (!(top < INFINITY))
    return NAN;
  if (top < 0x1p-100f)
    return 0;
  *inverse = 127 / top;
  return top / 127;
}

/* Writes whole vectors of bytes, zeros after the n; returns their sum. */
static int32_t round_row(int64_t n, const float *x, float inverse, int8_t *q) {
  const vec factor = vset(inverse), shift = vset(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer, in the low bits */
  uvec total = {0};
  uint32_t lanes[VEC], sum = 0;
  for (int64_t i = 0; i < n; i += VEC) {
    const vec scaled = vload_n(x + i, n - i) * factor;
    const uvec whole = (uvec)(scaled + shift) - 0x4b400000u;
    total += whole;
    store_bytes(q + i, whole);
  }
  memcpy(lanes, &total, sizeof lanes);
  for (int i = 0; i < VEC; i++)
    sum += lanes[i];
  return (int32_t)sum;
}

/* ---- weights */

typedef struct weight {
  int64_t in, out, steps, panels;
  float *scale, *bias;
  int32_t *bytes;
} weight;

static weight open_weight(int32_t in, int32_t out, const void *packed) {
  weight w = {.in = in, .out = out, .steps = divided(in, 4), .panels = divided(out, TILE_COLUMNS)};
  w.scale = (float *)(uintptr_t)packed;
  w.bias = w.scale + w.panels * TILE_COLUMNS;
  w.bytes = (int32_t *)(w.bias + w.panels * TILE_COLUMNS);
  return w;
}

static weight open_packed(const brim_int8 *w) {
  return open_weight(w->in, w->out, w->packed);
}

size_t CPU(int8_size)(int32_t in, int32_t out) {
  const weight w = open_weight(in, out, NULL);
  const size_t bytes = (size_t)(w.panels * TILE_COLUMNS) * (2 * sizeof(float) + (size_t)w.steps * sizeof(int32_t));
  return (bytes + LINE - 1) / LINE * LINE;
}

typedef struct packing {
  weight to;
  const float *w, *b;
} packing;

/* One output: column `column` of a panel. 128 is added by turning a bit. */
static void pack_column(const packing *p, const float *row, float inverse, int32_t *panel, int64_t column) {
  enum { CHUNK = 256 };
  int8_t q[CHUNK];
  for (int64_t k = 0; k < p->to.in; k += CHUNK) {
    const int64_t n = least(CHUNK, p->to.in - k);
    memset(q, 0, sizeof q);
    round_row(n, row + k, inverse, q);
    for (int64_t i = 0; i < divided(n, 4); i++) {
      uint32_t four;
      memcpy(&four, q + 4 * i, sizeof four);
      panel[(k / 4 + i) * TILE_COLUMNS + column] = (int32_t)(four ^ 0x80808080u);
    }
  }
}

static void pack_task(void *context, int64_t task, int worker) {
  (void)worker;
  const packing *p = context;
  const weight *to = &p->to;
  int32_t *panel = to->bytes + task * to->steps * TILE_COLUMNS;
  memset(panel, 0, (size_t)(to->steps * TILE_COLUMNS) * sizeof *panel);
  for (int64_t j = task * TILE_COLUMNS; j < (task + 1) * TILE_COLUMNS; j++) {
    float inverse;
    to->scale[j] = to->bias[j] = 0;
    if (j >= to->out)
      continue;
    const float *row = p->w + j * to->in;
    to->scale[j] = scale_of(largest(to->in, row), &inverse);
    to->bias[j] = p->b ? p->b[j] : 0;
    pack_column(p, row, inverse, panel, j - task * TILE_COLUMNS);
  }
}

void CPU(int8_pack)(brim_ops_context *c, const brim_int8_pack *of) {
  packing p = {.to = open_packed(&of->to), .w = of->w, .b = of->b};
  CPU(run)(c, p.to.panels, pack_task, &p);
}

/* ---- rows of a task, in a worker's scratch */

typedef struct scratch {
  int8_t *bytes; /* [MOST_ROWS, stride] */
  float *scale;  /* [MOST_ROWS] */
  int32_t *start;
  float *wide; /* [MOST_ROWS, intermediate] */
} scratch;

static int64_t line_of(int64_t width) {
  return round_up(width, LINE);
}

static size_t scratch_size(int64_t width, int64_t wide) {
  return (size_t)MOST_ROWS * ((size_t)line_of(width) + sizeof(float) + sizeof(int32_t) + (size_t)line_of(wide) * sizeof(float));
}

static scratch open_scratch(char *block, int64_t width) {
  scratch s = {.bytes = (int8_t *)block};
  s.scale = (float *)(block + MOST_ROWS * line_of(width));
  s.start = (int32_t *)(s.scale + MOST_ROWS);
  s.wide = (float *)(s.start + MOST_ROWS);
  return s;
}

size_t CPU(int8_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t wide = limits->intermediate, most = wide > limits->hidden ? wide : limits->hidden;
  return limits->int8 ? (size_t)threads * scratch_size(most, wide) : 0;
}

static void quantize(const scratch *s, int64_t row, int64_t n, const float *x) {
  float inverse;
  s->scale[row] = scale_of(largest(n, x), &inverse);
  s->start[row] = (int32_t)(-128u * (uint32_t)round_row(n, x, inverse, s->bytes + row * line_of(n)));
}

/* y = rows of the scratch times a weight. */
static void multiply(int8_kernel kernel, const scratch *s, int64_t rows, const weight *w, float *y, int64_t y_stride) {
  const int64_t tiles = divided(rows, kernel.rows), x_row = line_of(w->in) / 4;
  for (int64_t panel = 0; panel < w->panels; panel++) {
    const int64_t column = panel * TILE_COLUMNS;
    int8_tile t = {.steps = w->steps,
                   .x_row = x_row,
                   .w = w->bytes + panel * w->steps * TILE_COLUMNS,
                   .w_scale = w->scale + column,
                   .bias = w->bias + column,
                   .y_row = y_stride};
    for (int64_t i = 0; i < tiles; i++) {
      const int64_t row = rows * i / tiles, height = rows * (i + 1) / tiles - row;
      t.x = (const int32_t *)(const void *)s->bytes + row * x_row;
      t.start = s->start + row;
      t.x_scale = s->scale + row;
      t.y = y + row * y_stride + column;
      kernel.run(height, least(TILE_COLUMNS, w->out - column), &t);
    }
  }
}

/* ---- operations */

typedef struct job {
  int64_t rows, blocks;
  const float *x;
  int64_t x_stride;
  weight first, second; /* second.in 0: there is none */
  brim_activation act;  /* between them */
  const brim_residual *residual;
  float *y;
  int64_t y_stride;
  char *scratch;
  size_t scratch_size;
  int8_kernel kernel;
} job;

/* y = norm(residual + dropout(y)) */
static void add_and_norm(const brim_residual *r, int64_t row, int64_t width, float *y) {
  const float *residual = r->residual + row * width;
  float mean, rstd;
  if (r->dropout.on)
    CPU(dropout_slot)(&r->dropout, &r->layout, &r->at, row, width, y, y);
  for (int64_t i = 0; i < width; i += VEC)
    vstore_n(y + i, vload_n(residual + i, width - i) + vload_n(y + i, width - i), width - i);
  CPU(norm_row)(width, y, r->gamma, r->beta, r->eps, &mean, &rstd, y);
}

static void task(void *context, int64_t block, int worker) {
  const job *j = context;
  const int64_t from = j->rows * block / j->blocks, rows = j->rows * (block + 1) / j->blocks - from;
  const weight *last = j->second.in ? &j->second : &j->first;
  const scratch s = open_scratch(j->scratch + (size_t)worker * j->scratch_size,
                                 j->second.in > j->first.in ? j->second.in : j->first.in);
  float *y = j->y + from * j->y_stride;
  for (int64_t r = 0; r < rows; r++)
    quantize(&s, r, j->first.in, j->x + (from + r) * j->x_stride);
  if (j->second.in) {
    const int64_t wide = j->first.out;
    multiply(j->kernel, &s, rows, &j->first, s.wide, wide);
    for (int64_t r = 0; r < rows; r++) {
      CPU(activate)(j->act, wide, s.wide + r * wide, s.wide + r * wide);
      quantize(&s, r, wide, s.wide + r * wide);
    }
  }
  multiply(j->kernel, &s, rows, last, y, j->y_stride);
  for (int64_t r = 0; j->residual && r < rows; r++)
    add_and_norm(j->residual, from + r, last->out, y + r * j->y_stride);
}

static void run(brim_ops_context *c, job *j) {
  const int64_t widest = j->second.in > j->first.in ? j->second.in : j->first.in;
  const int64_t share = divided(j->rows, LEAST_TASKS), height = share < LEAST_ROWS ? LEAST_ROWS : least(share, MOST_ROWS);
  if (j->rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = j->rows;
  c->stats.gemm_flops += 2.0 * (double)j->rows * (double)(j->first.in * j->first.out + j->second.in * j->second.out);
  j->blocks = divided(j->rows, height);
  j->scratch = c->workspace;
  j->scratch_size = scratch_size(widest, j->second.in);
#if BRIM_LEVEL > 0 && defined(BRIM_HAS_VNNI)
  j->kernel = c->runtime->dot_bytes[BRIM_LEVEL] ? CPU(int8_kernel_vnni)() : CPU(int8_kernel)();
#else
  j->kernel = CPU(int8_kernel)();
#endif
  CPU(run)(c, j->blocks, task, j);
}

void CPU(int8_forward)(brim_ops_context *c, const brim_int8_linear *l) {
  job j = {.rows = l->rows, .x = l->x, .x_stride = l->x_stride, .first = open_packed(&l->w), .y = l->y, .y_stride = l->y_stride};
  run(c, &j);
}

void CPU(int8_norm_forward)(brim_ops_context *c, const brim_int8_norm *n) {
  job j = {.rows = n->residual.at.count,
           .x = n->x,
           .x_stride = n->w.in,
           .first = open_packed(&n->w),
           .residual = &n->residual,
           .y = n->y,
           .y_stride = n->w.out};
  run(c, &j);
}

void CPU(int8_feed_forward)(brim_ops_context *c, const brim_int8_feed *f) {
  job j = {.rows = f->residual.at.count,
           .x = f->x,
           .x_stride = f->up.in,
           .first = open_packed(&f->up),
           .second = open_packed(&f->down),
           .act = f->act,
           .residual = &f->residual,
           .y = f->y,
           .y_stride = f->down.out};
  run(c, &j);
}
