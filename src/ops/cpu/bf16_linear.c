/* bf16_linear.c: y = x w^T + b in 16 bits, alone or with what follows it; and dx = dy w, which is made the same way. */
#include "ops/cpu/bf16_product.h"

/* ---- what is done with a tile */

typedef struct target {
  brim_typed y;
  int64_t stride;
  bool add;
} target;

static void store_tile(const bf16_product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, float *c) {
  const target t = *(const target *)p->context;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t at = (row + i) * t.stride + column;
    for (int64_t j = 0; j < columns; j += VEC) {
      vec x = vload(c + i * TILE_COLUMNS + j);
      if (t.add)
        x = tload_n(t.y, at + j, columns - j) + x;
      tstore_n(t.y, at + j, x, columns - j);
    }
  }
}

static void run_into(brim_ops_context *c, bf16_product *p, brim_typed y, int64_t stride, bool add) {
  const target t = {y, stride, add};
  p->done = store_tile;
  p->context = &t;
  p->out = y;
  p->out_stride = stride;
  CPU(bf16_product_run)(c, p);
}

static bf16_product linear_product(int64_t rows, int64_t in, int64_t out, const brim_bfloat *x, int64_t x_stride,
                                   const brim_bfloat *w, const float *b) {
  return (bf16_product){.rows = rows,
                        .depth = in,
                        .columns = out,
                        .a = x,
                        .a_stride = x_stride,
                        .w = w,
                        .w_stride = in,
                        .transposed = true,
                        .start = b};
}

void CPU(bf16_forward)(brim_ops_context *c, const brim_bf16_linear *l) {
  bf16_product p = linear_product(l->rows, l->in, l->out, l->x, l->x_stride, l->w, l->b);
  run_into(c, &p, l->y, l->y_stride, l->add);
}

/* ---- activation */

static void activate_tile(const bf16_product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, float *c) {
  const brim_bf16_linear_act *l = p->context;
  const int64_t count = rows * TILE_COLUMNS, at = row * l->out + column;
  for (int64_t i = 0; i < count; i += VEC)
    vstore(c + i, (vec)(round_upper(vload(c + i)) & 0xffff0000u));
  for (int64_t i = 0; l->pre && i < rows; i++)
    for (int64_t j = 0; j < columns; j += VEC)
      hstore_n(l->pre + at + i * l->out + j, vload(c + i * TILE_COLUMNS + j), columns - j);
  CPU(activate)(l->act, count, c, c);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j += VEC)
      hstore_n(l->y + at + i * l->out + j, vload(c + i * TILE_COLUMNS + j), columns - j);
}

void CPU(bf16_act_forward)(brim_ops_context *c, const brim_bf16_linear_act *l) {
  bf16_product p = linear_product(l->rows, l->in, l->out, l->x, l->in, l->w, l->b);
  p.done = activate_tile;
  p.context = l;
  p.out = (brim_typed){BRIM_TYPE_BF16, l->y};
  p.out_stride = l->out;
  CPU(bf16_product_run)(c, &p);
}

/* ---- residual and norm: the branch goes to y; then whole rows */

enum { ROWS_PER_TASK = 16 };

typedef struct norm_rows {
  const brim_bf16_linear_norm *l;
  float *lines; /* two rows a worker */
} norm_rows;

static void norm_task(void *context, int64_t task, int worker) {
  const norm_rows *n = context;
  const brim_bf16_linear_norm *l = n->l;
  const int64_t width = l->out, end = (task + 1) * ROWS_PER_TASK < l->at.count ? (task + 1) * ROWS_PER_TASK : l->at.count;
  float *branch = n->lines + 2 * worker * round_up(width, VEC), *sum = branch + round_up(width, VEC);
  for (int64_t r = task * ROWS_PER_TASK; r < end; r++) {
    const int64_t at = r * width;
    load_row(l->y, at, width, branch);
    if (l->dropout.on)
      CPU(dropout_slot)(&l->dropout, &l->layout, &l->at, r, width, branch, branch);
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(sum + i, tload_n(l->residual, at + i, width - i) + vload_n(branch + i, width - i), width - i);
    store_row(l->sum, at, width, sum);
    load_row(l->sum, at, width, sum);
    CPU(norm_row)(width, sum, l->gamma, l->beta, l->eps, &l->mean[r], &l->rstd[r], branch);
    store_row(l->y, at, width, branch);
    if (l->rounded_y)
      store_row((brim_typed){BRIM_TYPE_BF16, l->rounded_y}, at, width, branch);
  }
}

void CPU(bf16_norm_forward)(brim_ops_context *c, const brim_bf16_linear_norm *l) {
  bf16_product p = linear_product(l->at.count, l->in, l->out, l->x, l->in, l->w, l->b);
  norm_rows n = {.l = l, .lines = c->workspace};
  run_into(c, &p, l->y, l->out, false);
  CPU(run)(c, (l->at.count + ROWS_PER_TASK - 1) / ROWS_PER_TASK, norm_task, &n);
}

/* ---- gradient of the input */

static bf16_product input_gradient(int64_t rows, int64_t in, int64_t out, const brim_bfloat *w, const brim_bfloat *dy,
                                   int64_t dy_stride) {
  return (bf16_product){.rows = rows, .depth = out, .columns = in, .a = dy, .a_stride = dy_stride, .w = w, .w_stride = in};
}

void CPU(bf16_backward)(brim_ops_context *c, const brim_bf16_linear_gradient *g) {
  if (g->dx.at) {
    bf16_product p = input_gradient(g->rows, g->in, g->out, g->w, g->dy, g->dy_stride);
    run_into(c, &p, g->dx, g->dx_stride, g->add);
  }
  CPU(bf16_weight_gradient)(c, g);
}

static void turn_tile(const bf16_product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, float *c) {
  const brim_bf16_linear_act_gradient *g = p->context;
  const int64_t at = row * g->in + column;
  float values[BF16_ROWS * TILE_COLUMNS];
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < TILE_COLUMNS; j += VEC)
      vstore(values + i * TILE_COLUMNS + j, j < columns ? hload_n(g->pre + at + i * g->in + j, columns - j) : vzero());
  CPU(activate_turn)(g->act, rows * TILE_COLUMNS, values, c);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j += VEC) {
      hstore_n(g->pre + at + i * g->in + j, vload(values + i * TILE_COLUMNS + j), columns - j);
      hstore_n(g->dpre + at + i * g->in + j, vload(c + i * TILE_COLUMNS + j), columns - j);
    }
}

void CPU(bf16_act_backward)(brim_ops_context *c, const brim_bf16_linear_act_gradient *g) {
  bf16_product p = input_gradient(g->rows, g->in, g->out, g->w, g->dz, g->out);
  p.done = turn_tile;
  p.context = g;
  p.out = (brim_typed){BRIM_TYPE_BF16, g->pre};
  p.out_stride = g->in;
  CPU(bf16_product_run)(c, &p);
}

size_t CPU(bf16_workspace)(const brim_ops_context *c, const brim_ops_limits *limits) {
  if (!limits->bf16)
    return 0;
  const int threads = brim_runtime_threads(c->runtime);
  const size_t lines = (size_t)threads * 2 * (size_t)round_up(limits->hidden, VEC) * sizeof(float);
  size_t most = CPU(bf16_product_workspace)(threads);
  const size_t gradient = CPU(bf16_weight_gradient_workspace)(c, limits);
  most = gradient > most ? gradient : most;
  return lines > most ? lines : most;
}
