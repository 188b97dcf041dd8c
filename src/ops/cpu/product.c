/* product.c: see product.h. */
#include "ops/cpu/product.h"
#include "ops/cpu/split.h"
#include "ops/cpu/tile.h"

enum {
  ROWS_PER_TASK = 512,
  LEAST_TASKS = 16, /* cut this fine at least, if the shape allows */
  MOST_PANELS = 4,  /* of a task */
  DEPTH = 4096,     /* of a packed panel; deeper products are sums of such */
  PANEL_SIZE = DEPTH * TILE_COLUMNS
};

static void pack(const product *p, int64_t column, int64_t k, int64_t depth, float *panel) {
  const int64_t columns = least(TILE_COLUMNS, p->columns - column);
  if (p->transposed)
    CPU(pack_columns)(depth, columns, p->w + column * p->w_stride + k, p->w_stride, panel);
  else
    CPU(pack_rows)(depth, columns, p->w + k * p->w_stride + column, p->w_stride, panel);
}

/* Asks for one of `shares` equal shares of a panel. */
static void prefetch(const product *p, int64_t column, int64_t which, int64_t shares) {
  enum { LINE = 16 };
  const int64_t columns = least(TILE_COLUMNS, p->columns - column), depth = least(p->depth, DEPTH);
  const int64_t from = depth * which / shares, to = depth * (which + 1) / shares;
  if (p->transposed) {
    for (int64_t j = column; j < column + columns; j++)
      for (int64_t k = from; k < to; k += LINE)
        __builtin_prefetch(p->w + j * p->w_stride + k, 0, 2);
  } else {
    for (int64_t k = from; k < to; k++)
      for (int64_t j = column; j < column + columns; j += LINE)
        __builtin_prefetch(p->w + k * p->w_stride + j, 0, 2);
  }
}

/* One panel of `rows` rows; `next` is the column of the panel that follows, or -1. */
static void run_panel(const product *p, int64_t first, int64_t rows, int64_t column, int64_t next, float *panel) {
  const int64_t tiles = divided(rows, TILE_ROWS);
  for (int64_t k = 0; k < p->depth; k += DEPTH) {
    tile t = {.depth = least(DEPTH, p->depth - k),
              .a_row = p->a_stride,
              .a_step = 1,
              .b = panel,
              .b_step = TILE_COLUMNS,
              .start = p->start && k == 0 ? p->start + column : NULL,
              .c_row = p->c_stride,
              .add = p->add || k > 0};
    pack(p, column, k, t.depth, panel);
    for (int64_t i = 0; i < tiles; i++) {
      const int64_t row = rows * i / tiles, height = rows * (i + 1) / tiles - row;
      t.a = p->a + (first + row) * p->a_stride + k;
      t.c = p->c + (first + row) * p->c_stride + column;
      CPU(tile_run_partial)(height, least(TILE_COLUMNS, p->columns - column), &t);
      if (next >= 0 && k == 0)
        prefetch(p, next, i, tiles);
    }
  }
}

static void product_task(void *context, int64_t task, int worker) {
  const product *p = context;
  const int64_t block = task / p->groups, group = task % p->groups;
  const int64_t first = p->rows * block / p->blocks, rows = p->rows * (block + 1) / p->blocks - first;
  const int64_t from = p->panels * group / p->groups, to = p->panels * (group + 1) / p->groups;
  for (int64_t panel = from; panel < to; panel++) {
    const int64_t column = panel * TILE_COLUMNS;
    run_panel(p, first, rows, column, panel + 1 < to ? column + TILE_COLUMNS : -1, p->scratch + (int64_t)worker * PANEL_SIZE);
  }
  if (p->after)
    p->after(p, first, rows, from * TILE_COLUMNS, least(to * TILE_COLUMNS, p->columns));
}

void CPU(product_run)(brim_ops_context *c, product *p) {
  if (p->rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = p->rows;
  c->stats.gemm_flops += 2.0 * (double)p->rows * (double)p->depth * (double)p->columns;
#if SPLITS
  if (split_is_worth(p->depth, p->columns)) {
    CPU(split_product_run)(c, p);
    return;
  }
#endif
  p->scratch = c->workspace;
  p->panels = divided(p->columns, TILE_COLUMNS);
  p->blocks = divided(p->rows, ROWS_PER_TASK);
  const int64_t share = p->panels * p->blocks / LEAST_TASKS;
  p->groups = divided(p->panels, share < 1 ? 1 : least(share, MOST_PANELS));
  CPU(run)(c, p->blocks * p->groups, product_task, p);
}

size_t CPU(product_workspace)(int threads) {
  return (size_t)threads * PANEL_SIZE * sizeof(float);
}
