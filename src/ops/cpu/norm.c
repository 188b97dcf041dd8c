/* norm.c: layer norm, and RMS norm. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/half.h"
#include "ops/cpu/philox.h"
#include "ops/slices.h"

static void apply_row(int64_t width, const real *x, real mean, real rstd, const real *gamma, const real *beta, real *y) {
  const vec center = vset(mean), factor = vset(rstd);
  for (int64_t i = 0; i < width; i += VEC) {
    const vec n = (vload_n(x + i, width - i) - center) * factor;
    vstore_n(y + i, vmadd(n, vload_n(gamma + i, width - i), beta ? vload_n(beta + i, width - i) : vzero()), width - i);
  }
}

void CPU(norm_row)(int64_t width, const real *x, const real *gamma, const real *beta, real eps, real *mean, real *rstd, real *y) {
  const float scale = 1.0f / (float)width;
  vec total = vzero(), squares = vzero();
  for (int64_t i = 0; i < width; i += VEC)
    total += vload_n(x + i, width - i);
  const float m = vsum(total) * scale;
  const vec center = vset(m);
  for (int64_t i = 0; i < width; i += VEC) { /* lanes beyond the row hold the mean, so that they add 0 */
    const vec d = vfirst_n(vload_n(x + i, width - i), width - i, center) - center;
    squares = vmadd(d, d, squares);
  }
  *mean = m;
  *rstd = 1.0f / sqrtf(vsum(squares) * scale + eps);
  apply_row(width, x, *mean, *rstd, gamma, beta, y);
}

enum { ROWS_PER_TASK = 16 };

/* Rows of 16 bits as floats: one of the input and one of the output, or of two inputs, for each worker. */
enum { LINES = 2 };
static int64_t line_size(int64_t width) {
  return divided(width, VEC) * VEC;
}

typedef struct norm_rows {
  const brim_norm *of;
  float *lines;
} norm_rows;

static void forward_task(void *context, int64_t task, int worker) {
  const norm_rows *rows = context;
  const brim_norm *n = rows->of;
  const int64_t width = n->width, first = task * ROWS_PER_TASK, last = first + ROWS_PER_TASK;
  float *line = rows->lines + worker * LINES * line_size(width);
  for (int64_t r = first; r < last && r < n->rows; r++) {
    float *y = row_address(n->y, r * width, line);
    apply_row(width, row_of(n->sum, r * width, width, line), n->mean[r], n->rstd[r], n->gamma, n->beta, y);
    finish_row(n->y, r * width, width, y);
  }
}

void CPU(norm_forward)(brim_ops_context *c, const brim_norm *n) {
  norm_rows rows = {n, c->workspace};
  CPU(run)(c, divided(n->rows, ROWS_PER_TASK), forward_task, &rows);
}

/* With n = (x - mean) * rstd and g = dy * gamma: dx = rstd * (g - mean(g) - n * mean(g * n)); of an RMS norm without mean(g). */
BRIM_INLINE void row_backward(const bool rms, const bool add, int64_t width, const real *x, real mean, real rstd,
                              const real *gamma, const real *dy, real *dx, real *dgamma, real *dbeta) {
  const vec center = vset(mean), factor = vset(rstd);
  vec g_total = vzero(), gn_total = vzero();
  for (int64_t i = 0; i < width; i += VEC) { /* beyond the row gamma and dy are 0 */
    const vec n = (vload_n(x + i, width - i) - center) * factor, d = vload_n(dy + i, width - i);
    const vec g = d * vload_n(gamma + i, width - i);
    g_total += g;
    gn_total = vmadd(g, n, gn_total);
    if (dgamma) {
      vstore_n(dgamma + i, vmadd(d, n, vload_n(dgamma + i, width - i)), width - i);
      vstore_n(dbeta + i, vload_n(dbeta + i, width - i) + d, width - i);
    }
  }
  const vec g_mean = vset(rms ? 0 : vsum(g_total) / (float)width), gn_mean = vset(vsum(gn_total) / (float)width);
  for (int64_t i = 0; i < width; i += VEC) {
    const vec n = (vload_n(x + i, width - i) - center) * factor, g = vload_n(dy + i, width - i) * vload_n(gamma + i, width - i);
    vec d = factor * (g - vmadd(n, gn_mean, g_mean));
    if (add)
      d += vload_n(dx + i, width - i);
    vstore_n(dx + i, d, width - i);
  }
}

void CPU(norm_row_backward)(int64_t width, const real *x, real mean, real rstd, const real *gamma, const real *dy, real *dx,
                            real *dgamma, real *dbeta) {
  row_backward(false, false, width, x, mean, rstd, gamma, dy, dx, dgamma, dbeta);
}

/* ---- column sums */

static int64_t blocks_of(int64_t rows) {
  return least((rows + 15) / 16, NORM_BLOCK_LIMIT);
}

static int64_t slice_rows(const brim_row_slices *s, int32_t k) {
  return s->ends[k] - brim_slice_first(s, k);
}

int64_t CPU(norm_blocks)(const brim_row_slices *slices, int64_t rows) {
  int64_t blocks = 0;
  for (int32_t k = 0; k < slices->count; k++)
    blocks += blocks_of(slice_rows(slices, k));
  return slices->count > 0 ? blocks : blocks_of(rows);
}

void CPU(norm_block)(const brim_row_slices *slices, int64_t rows, int64_t block, int64_t *first, int64_t *end) {
  int64_t blocks = blocks_of(rows), begin = 0;
  for (int32_t k = 0; k < slices->count; k++, block -= blocks) {
    begin = brim_slice_first(slices, k);
    rows = slice_rows(slices, k);
    blocks = blocks_of(rows);
    if (block < blocks)
      break;
  }
  *first = begin + rows * block / blocks;
  *end = begin + rows * (block + 1) / blocks;
}

typedef struct line_sums {
  const brim_row_slices *slices;
  int64_t blocks, width;
  const float *lines;
  float *dgamma, *dbeta;
} line_sums;

enum { COLUMNS_PER_TASK = 256 };

/* Of VEC columns or fewer, of lines 2 * width apart. */
BRIM_INLINE vec sum_lines(int64_t blocks, int64_t width, const float *lines, int64_t n) {
  vec sum = vzero();
  for (int64_t b = 0; b < blocks; b++)
    sum += vload_n(lines + 2 * b * width, n);
  return sum;
}

BRIM_INLINE vec sum_slices(const line_sums *s, const float *lines, int64_t n) {
  vec waiting[BRIM_SLICE_DEPTH];
  int32_t count = 0;
  for (int32_t k = 0; k < s->slices->count; k++) {
    const int64_t blocks = blocks_of(slice_rows(s->slices, k));
    waiting[count++] = sum_lines(blocks, s->width, lines, n);
    for (int32_t joins = s->slices->joins[k]; joins > 0; joins--, count--)
      waiting[count - 2] += waiting[count - 1];
    lines += 2 * blocks * s->width;
  }
  return count > 0 ? waiting[0] : sum_lines(s->blocks, s->width, lines, n);
}

static void line_task(void *context, int64_t task, int worker) {
  (void)worker;
  const line_sums *s = context;
  const int64_t from = task * COLUMNS_PER_TASK, end = from + COLUMNS_PER_TASK < s->width ? from + COLUMNS_PER_TASK : s->width;
  for (int64_t i = from; i < end; i += VEC) {
    if (s->dgamma)
      vstore_n(s->dgamma + i, vload_n(s->dgamma + i, end - i) + sum_slices(s, s->lines + i, end - i), end - i);
    if (s->dbeta)
      vstore_n(s->dbeta + i, vload_n(s->dbeta + i, end - i) + sum_slices(s, s->lines + s->width + i, end - i), end - i);
  }
}

void CPU(norm_sum_blocks)(brim_ops_context *c, const brim_row_slices *slices, int64_t rows, int64_t width, const real *lines,
                          real *dgamma, real *dbeta) {
  line_sums s = {slices, CPU(norm_blocks)(slices, rows), width, lines, dgamma, dbeta};
  CPU(run)(c, (width + COLUMNS_PER_TASK - 1) / COLUMNS_PER_TASK, line_task, &s);
}

/* A slice has a block for every 16 of its rows, and one for the rest. */
size_t CPU(norm_workspace)(int threads, const brim_ops_limits *limits) {
  const size_t lines = LINES * (size_t)threads * (size_t)line_size(limits->hidden) * sizeof(float);
  const size_t of_rows = (size_t)limits->max_slots / 16 + (size_t)limits->slices;
  const size_t of_slices = (size_t)NORM_BLOCK_LIMIT * (size_t)limits->slices, cut = of_rows < of_slices ? of_rows : of_slices;
  return lines + 2 * (cut > NORM_BLOCK_LIMIT ? cut : NORM_BLOCK_LIMIT) * (size_t)limits->hidden * sizeof(float);
}

/* ---- backward */

typedef struct norm_gradient {
  const brim_norm_gradient *of;
  int64_t blocks;
  float *lines; /* of sums; NULL: dgamma and dbeta are not wanted */
  float *rows;  /* LINES a worker */
} norm_gradient;

static float *sums_after_rows(brim_ops_context *c, int64_t width) {
  return (float *)c->workspace + brim_runtime_threads(c->runtime) * LINES * line_size(width);
}

static void norm_task(void *context, int64_t task, int worker) {
  const norm_gradient *g = context;
  const brim_norm_gradient *n = g->of;
  const int64_t width = n->width;
  int64_t first, end;
  CPU(norm_block)(&n->slices, n->at.count, task, &first, &end);
  float *line = g->lines ? g->lines + 2 * task * width : NULL;
  if (line)
    memset(line, 0, 2 * (size_t)width * sizeof *line);
  float *row = g->rows + worker * LINES * line_size(width);
  for (int64_t r = first; r < end; r++) {
    const int64_t i = r * width;
    CPU(norm_row_backward)(width, row_of(n->sum, i, width, row), n->mean[r], n->rstd[r], n->gamma, n->dy + i, n->dsum + i, line,
                           line ? line + width : NULL);
    if (!n->dbranch.at)
      continue;
    float *dbranch = row_address(n->dbranch, i, row);
    CPU(dropout_slot)(&n->dropout, &n->layout, &n->at, r, width, n->dsum + i, dbranch);
    finish_row(n->dbranch, i, width, dbranch);
  }
}

void CPU(norm_backward)(brim_ops_context *c, const brim_norm_gradient *n) {
  const bool wanted = n->dgamma || n->dbeta;
  norm_gradient g = {.of = n, .blocks = CPU(norm_blocks)(&n->slices, n->at.count), .rows = c->workspace};
  g.lines = wanted ? sums_after_rows(c, n->width) : NULL;
  CPU(run)(c, g.blocks, norm_task, &g);
  if (wanted)
    CPU(norm_sum_blocks)(c, &n->slices, n->at.count, n->width, g.lines, n->dgamma, n->dbeta);
}

/* ---- a norm alone */

static void rms_row(const brim_prenorm *n, int64_t r, const float *x, float *y) {
  const int64_t width = n->width;
  vec squares = vzero();
  for (int64_t i = 0; i < width; i += VEC) {
    const vec v = vload_n(x + i, width - i);
    squares = vmadd(v, v, squares);
  }
  n->mean[r] = 0;
  n->rstd[r] = 1.0f / sqrtf(vsum(squares) / (float)width + n->eps);
  apply_row(width, x, 0, n->rstd[r], n->gamma, n->beta, y);
}

typedef struct prenorm_rows {
  const brim_prenorm *of;
  float *lines;
} prenorm_rows;

static void prenorm_task(void *context, int64_t task, int worker) {
  const prenorm_rows *rows = context;
  const brim_prenorm *n = rows->of;
  const int64_t width = n->width, first = task * ROWS_PER_TASK, last = first + ROWS_PER_TASK;
  float *line = rows->lines + worker * LINES * line_size(width);
  for (int64_t r = first; r < last && r < n->rows; r++) {
    const float *x = row_of(n->x, r * width, width, line);
    float *y = row_address(n->y, r * width, line);
    if (n->rms)
      rms_row(n, r, x, y);
    else
      CPU(norm_row)(width, x, n->gamma, n->beta, n->eps, &n->mean[r], &n->rstd[r], y);
    finish_row(n->y, r * width, width, y);
  }
}

void CPU(prenorm_forward)(brim_ops_context *c, const brim_prenorm *n) {
  prenorm_rows rows = {n, c->workspace};
  CPU(run)(c, divided(n->rows, ROWS_PER_TASK), prenorm_task, &rows);
}

typedef struct prenorm_gradient {
  const brim_prenorm_gradient *of;
  int64_t blocks;
  float *lines, *rows; /* as in norm_gradient */
} prenorm_gradient;

static void prenorm_backward_task(void *context, int64_t task, int worker) {
  const prenorm_gradient *g = context;
  const brim_prenorm_gradient *n = g->of;
  const int64_t width = n->width;
  int64_t first, end;
  CPU(norm_block)(&n->slices, n->rows, task, &first, &end);
  float *line = g->lines ? g->lines + 2 * task * width : NULL, *beta = line ? line + width : NULL;
  float *of_x = g->rows + worker * LINES * line_size(width);
  if (line)
    memset(line, 0, 2 * (size_t)width * sizeof *line);
  for (int64_t r = first; r < end; r++) {
    const float *x = row_of(n->x, r * width, width, of_x), *dy = row_of(n->dy, r * width, width, of_x + line_size(width));
    float *dx = n->dx + r * width;
    if (n->rms && n->add)
      row_backward(true, true, width, x, n->mean[r], n->rstd[r], n->gamma, dy, dx, line, beta);
    else if (n->rms)
      row_backward(true, false, width, x, n->mean[r], n->rstd[r], n->gamma, dy, dx, line, beta);
    else if (n->add)
      row_backward(false, true, width, x, n->mean[r], n->rstd[r], n->gamma, dy, dx, line, beta);
    else
      row_backward(false, false, width, x, n->mean[r], n->rstd[r], n->gamma, dy, dx, line, beta);
  }
}

void CPU(prenorm_backward)(brim_ops_context *c, const brim_prenorm_gradient *n) {
  const bool wanted = n->dgamma || n->dbeta;
  prenorm_gradient g = {.of = n, .blocks = CPU(norm_blocks)(&n->slices, n->rows), .rows = c->workspace};
  g.lines = wanted ? sums_after_rows(c, n->width) : NULL;
  CPU(run)(c, g.blocks, prenorm_backward_task, &g);
  if (wanted)
    CPU(norm_sum_blocks)(c, &n->slices, n->rows, n->width, g.lines, n->dgamma, n->dbeta);
}
