/* linear_backward.c: dx = dy w, dw += dy^T x, db += column sums of dy.
 *
 * dx runs over w as it lies in memory; only a last, narrow panel is packed. dw is cut into blocks of outputs; each walks the rows
 * in blocks of DEPTH, packs its columns of dy (summing them for db) and adds the block's product. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/tile.h"

enum {
  ROWS_PER_TASK = 4 * TILE_ROWS,
  PANELS_PER_TASK = 12,
  DEPTH = 512,
  LEFT_STEP = (TILE_ROWS + VEC - 1) / VEC * VEC, /* row of a packed tile of dy^T */
  TILES_PER_TASK = 4
};

typedef struct gradient {
  int64_t rows, in, out;
  const float *x, *w, *dy;
  int64_t x_stride, dy_stride, dx_stride;
  float *dx, *dw, *db;
  bool add;
  float *narrow;              /* dx: the packed last panel of w */
  float *scratch;             /* dw: SCRATCH values a worker */
  int64_t row_blocks, groups; /* dx: tasks */
  int64_t out_blocks;         /* dw: tasks out_blocks * groups */
} gradient;

enum { LEFT_SIZE = TILES_PER_TASK * DEPTH * LEFT_STEP, SCRATCH = LEFT_SIZE + DEPTH * TILE_COLUMNS };

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ---- dx */

static void dx_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  const int64_t block = task / g->groups, group = task % g->groups;
  const int64_t first = g->rows * block / g->row_blocks, rows = g->rows * (block + 1) / g->row_blocks - first;
  const int64_t panels = (g->in + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const int64_t from = panels * group / g->groups, to = panels * (group + 1) / g->groups;
  for (int64_t panel = from; panel < to; panel++) {
    const int64_t i = panel * TILE_COLUMNS, columns = least(TILE_COLUMNS, g->in - i);
    const bool whole = columns == TILE_COLUMNS;
    const tile t = {.depth = g->out,
                    .a = g->dy + first * g->dy_stride,
                    .a_row = g->dy_stride,
                    .a_step = 1,
                    .b = whole ? g->w + i : g->narrow,
                    .b_step = whole ? g->in : TILE_COLUMNS,
                    .c = g->dx + first * g->dx_stride + i,
                    .c_row = g->dx_stride,
                    .add = g->add};
    CPU(tile_rows)(rows, columns, &t);
  }
}

static void run_dx(brim_ops_context *c, gradient *g) {
  const int64_t narrow = g->in % TILE_COLUMNS, panels = (g->in + TILE_COLUMNS - 1) / TILE_COLUMNS;
  g->narrow = c->workspace;
  if (narrow)
    CPU(pack_rows)(g->out, narrow, g->w + g->in - narrow, g->in, g->narrow);
  g->row_blocks = (g->rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
  g->groups = (panels + PANELS_PER_TASK - 1) / PANELS_PER_TASK;
  brim_pool_run(c->runtime, g->row_blocks * g->groups, dx_task, g);
}

/* ---- dw, db */

/* Columns o .. o + height - 1 of dy for `depth` rows, as a tile's left side; their sums are added to db unless it is NULL. */
static void pack_left(const gradient *g, int64_t row, int64_t depth, int64_t o, int64_t height, float *left, float *db) {
  const float *dy = g->dy + row * g->dy_stride + o;
  for (int64_t j = 0; j < height; j += VEC) {
    vec sum = vzero();
    for (int64_t k = 0; k < depth; k++) {
      const vec x = vload_n(dy + k * g->dy_stride + j, height - j);
      vstore(left + k * LEFT_STEP + j, x);
      sum += x;
    }
    if (db)
      vstore_n(db + o + j, vload_n(db + o + j, height - j) + sum, height - j);
  }
}

static void dw_task(void *context, int64_t task, int worker) {
  const gradient *g = context;
  const int64_t block = task / g->groups, group = task % g->groups;
  const int64_t tiles = (g->out + TILE_ROWS - 1) / TILE_ROWS, panels = (g->in + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const int64_t first = tiles * block / g->out_blocks, end = tiles * (block + 1) / g->out_blocks;
  float *left = g->scratch + (int64_t)worker * SCRATCH, *right = left + LEFT_SIZE;
  for (int64_t row = 0; row < g->rows; row += DEPTH) {
    const int64_t depth = least(DEPTH, g->rows - row);
    for (int64_t i = first; i < end; i++) {
      const int64_t o = g->out * i / tiles, height = g->out * (i + 1) / tiles - o;
      pack_left(g, row, depth, o, height, left + (i - first) * DEPTH * LEFT_STEP, group == 0 ? g->db : NULL);
    }
    for (int64_t panel = panels * group / g->groups; g->dw && panel < panels * (group + 1) / g->groups; panel++) {
      const int64_t at = panel * TILE_COLUMNS, columns = least(TILE_COLUMNS, g->in - at);
      const bool whole = columns == TILE_COLUMNS;
      if (!whole)
        CPU(pack_rows)(depth, columns, g->x + row * g->x_stride + at, g->x_stride, right);
      for (int64_t i = first; i < end; i++) {
        const int64_t o = g->out * i / tiles, height = g->out * (i + 1) / tiles - o;
        const tile t = {.depth = depth,
                        .a = left + (i - first) * DEPTH * LEFT_STEP,
                        .a_row = 1,
                        .a_step = LEFT_STEP,
                        .b = whole ? g->x + row * g->x_stride + at : right,
                        .b_step = whole ? g->x_stride : TILE_COLUMNS,
                        .c = g->dw + o * g->in + at,
                        .c_row = g->in,
                        .add = true};
        CPU(tile_run_part)(height, columns, &t);
      }
    }
  }
}

static void run_dw(brim_ops_context *c, gradient *g) {
  const int64_t tiles = (g->out + TILE_ROWS - 1) / TILE_ROWS, panels = (g->in + TILE_COLUMNS - 1) / TILE_COLUMNS;
  g->scratch = c->workspace;
  g->out_blocks = (tiles + TILES_PER_TASK - 1) / TILES_PER_TASK;
  g->groups = g->dw ? (panels + PANELS_PER_TASK - 1) / PANELS_PER_TASK : 1;
  brim_pool_run(c->runtime, g->out_blocks * g->groups, dw_task, g);
}

void CPU(linear_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                          const real *w, const real *dy, int64_t dy_stride, real *dx, int64_t dx_stride, bool add, real *dw,
                          real *db) {
  gradient g = {.rows = rows,
                .in = in,
                .out = out,
                .x = x,
                .w = w,
                .dy = dy,
                .x_stride = x_stride,
                .dy_stride = dy_stride,
                .dx_stride = dx_stride,
                .dx = dx,
                .dw = dw,
                .db = db,
                .add = add};
  if (rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = rows;
  c->stats.gemm_flops += 2.0 * (double)rows * in * out * ((dx != NULL) + (dw != NULL));
  if (dx)
    run_dx(c, &g);
  if (dw || db)
    run_dw(c, &g);
}

size_t CPU(linear_backward_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t h = limits->hidden, f = limits->intermediate, narrow = (3 * h > f ? 3 * h : f) * TILE_COLUMNS;
  const int64_t scratch = (int64_t)threads * SCRATCH;
  return (size_t)(narrow > scratch ? narrow : scratch) * sizeof(float);
}
