/* linear.c: y = x w^T + b, alone or with what follows it while the rows are still in the cache.
 *
 * The weight is packed once into panels of TILE_COLUMNS outputs (it is transposed on the way); then tasks of some rows by some
 * panels run over it. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/tile.h"

enum { ROWS_PER_TASK = 4 * TILE_ROWS, PANELS_PER_TASK = 12 };

typedef struct product {
  int64_t rows, in, out;
  const float *x, *w, *b;
  int64_t x_stride, y_stride;
  float *y;
  float *panels; /* packed weight of outputs first_out .. first_out + chunk - 1 */
  int64_t first_out, chunk;
  int64_t row_blocks, groups; /* tasks: row_blocks * groups */
  brim_activation act;        /* NONE: y is the product; else pre (may be NULL) is kept and y = act(pre) */
  float *pre;
  const brim_layout *layout; /* what follows a projection */
  const brim_rows *at;
  const brim_dropout *dropout;
  const float *residual, *gamma, *beta;
  float eps, *sum, *mean, *rstd;
} product;

static void count_product(brim_ops_context *c, const product *p) {
  if (p->rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = p->rows;
  c->stats.gemm_flops += 2.0 * (double)p->rows * (double)p->in * (double)p->out;
}

static void pack_task(void *context, int64_t task, int worker) {
  (void)worker;
  const product *p = context;
  const int64_t first = task * TILE_COLUMNS, left = p->chunk - first;
  CPU(pack_columns)
  (p->in, left < TILE_COLUMNS ? left : TILE_COLUMNS, p->w + (p->first_out + first) * p->in, p->in, p->panels + first * p->in);
}

/* Rows first .. first + rows - 1 by outputs from .. to - 1 of the packed chunk, into y. */
static void multiply(const product *p, int64_t first, int64_t rows, int64_t from, int64_t to, float *y) {
  for (int64_t o = from; o < to; o += TILE_COLUMNS) {
    const tile t = {.depth = p->in,
                    .a = p->x + first * p->x_stride,
                    .a_row = p->x_stride,
                    .a_step = 1,
                    .b = p->panels + o * p->in,
                    .b_step = TILE_COLUMNS,
                    .start = p->b ? p->b + p->first_out + o : NULL,
                    .c = y + first * p->y_stride + p->first_out + o,
                    .c_row = p->y_stride};
    CPU(tile_rows)(rows, to - o < TILE_COLUMNS ? to - o : TILE_COLUMNS, &t);
  }
}

static void linear_task(void *context, int64_t task, int worker) {
  (void)worker;
  const product *p = context;
  const int64_t block = task / p->groups, group = task % p->groups;
  const int64_t first = p->rows * block / p->row_blocks, rows = p->rows * (block + 1) / p->row_blocks - first;
  const int64_t panels = (p->chunk + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const int64_t from = panels * group / p->groups * TILE_COLUMNS, end = panels * (group + 1) / p->groups * TILE_COLUMNS;
  const int64_t to = end < p->chunk ? end : p->chunk;
  float *product_out = p->act != BRIM_ACT_NONE && p->pre ? p->pre : p->y;
  multiply(p, first, rows, from, to, product_out);
  for (int64_t r = first; p->act != BRIM_ACT_NONE && r < first + rows; r++) {
    const int64_t at = r * p->y_stride + p->first_out + from;
    CPU(activate)(p->act, to - from, product_out + at, p->y + at);
  }
}

/* Runs the product in chunks of outputs whose panels fit into the working memory: one, but for a huge classifier. */
static void run_chunks(brim_ops_context *c, product *p, brim_task_fn task) {
  const int64_t room = (int64_t)(c->workspace_size / sizeof(float)) / (p->in * TILE_COLUMNS) * TILE_COLUMNS;
  count_product(c, p);
  p->panels = c->workspace;
  p->row_blocks = (p->rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
  for (p->first_out = 0; p->first_out < p->out; p->first_out += p->chunk) {
    p->chunk = p->out - p->first_out < room ? p->out - p->first_out : room;
    const int64_t panels = (p->chunk + TILE_COLUMNS - 1) / TILE_COLUMNS;
    p->groups = (panels + PANELS_PER_TASK - 1) / PANELS_PER_TASK;
    CPU(run)(c, panels, pack_task, p);
    CPU(run)(c, p->row_blocks * p->groups, task, p);
  }
}

void CPU(linear_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                         const real *w, const real *b, real *y, int64_t y_stride) {
  product p = {.rows = rows, .in = in, .out = out, .x = x, .x_stride = x_stride, .w = w, .b = b, .y = y, .y_stride = y_stride};
  run_chunks(c, &p, linear_task);
}

void CPU(linear_act_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, const real *w,
                             const real *b, brim_activation act, real *pre, real *y) {
  product p = {.rows = rows,
               .in = in,
               .out = out,
               .x = x,
               .x_stride = in,
               .w = w,
               .b = b,
               .y = y,
               .y_stride = out,
               .act = act,
               .pre = pre};
  run_chunks(c, &p, linear_task);
  if (act == BRIM_ACT_NONE && pre && pre != y)
    memcpy(pre, y, (size_t)(rows * out) * sizeof *y);
}

/* Whole rows: the branch goes to y, then the residual, the sum and the norm. */
static void residual_norm_task(void *context, int64_t task, int worker) {
  (void)worker;
  const product *p = context;
  const int64_t first = p->rows * task / p->row_blocks, end = p->rows * (task + 1) / p->row_blocks, width = p->out;
  multiply(p, first, end - first, 0, width, p->y);
  for (int64_t r = first; r < end; r++) {
    const float *residual = p->residual + r * width;
    float *sum = p->sum + r * width, *y = p->y + r * width;
    if (p->dropout->on)
      CPU(dropout_slot)(p->dropout, p->layout, p->at, r, width, y, y);
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(sum + i, vload_n(residual + i, width - i) + vload_n(y + i, width - i), width - i);
    CPU(norm_row)(width, sum, p->gamma, p->beta, p->eps, &p->mean[r], &p->rstd[r], y);
  }
}

void CPU(linear_residual_norm_forward)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t in,
                                       int32_t out, const real *x, const real *w, const real *b, const brim_dropout *dropout,
                                       const real *residual, const real *gamma, const real *beta, real eps, real *sum, real *mean,
                                       real *rstd, real *y) {
  product p = {.rows = at->count,
               .in = in,
               .out = out,
               .x = x,
               .x_stride = in,
               .w = w,
               .b = b,
               .y = y,
               .y_stride = out,
               .chunk = out,
               .groups = 1,
               .layout = layout,
               .at = at,
               .dropout = dropout,
               .residual = residual,
               .gamma = gamma,
               .beta = beta,
               .eps = eps,
               .sum = sum,
               .mean = mean,
               .rstd = rstd};
  p.panels = c->workspace;
  p.row_blocks = (p.rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
  count_product(c, &p);
  CPU(run)(c, (p.out + TILE_COLUMNS - 1) / TILE_COLUMNS, pack_task, &p);
  CPU(run)(c, p.row_blocks, residual_norm_task, &p);
}

/* The largest packed weight of a layer: [3 H, H], [F, H] or [H, F]. */
size_t CPU(linear_workspace)(const brim_ops_limits *limits) {
  const int64_t h = limits->hidden, f = limits->intermediate;
  const int64_t qkv = h * round_up(3 * h, TILE_COLUMNS), up = h * round_up(f, TILE_COLUMNS), down = f * round_up(h, TILE_COLUMNS);
  const int64_t most = qkv > up ? qkv : up;
  return (size_t)(most > down ? most : down) * sizeof(float);
}
