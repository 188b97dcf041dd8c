/* linear_backward.c: dx = dy w, dw += dy^T x, db += column sums of dy.
 *
 * dw is cut into tasks of some outputs by some panels of inputs. A task walks the rows in blocks of DEPTH; of each block it packs
 * its columns of dy as left sides of tiles (summing them for db), then panel after panel of x, and adds the product. */
#include "ops/cpu/product.h"

enum {
  TILES_PER_TASK = 7,
  PANELS_PER_TASK = 12,
  DEPTH = 256,
  PARTS = (TILE_ROWS + VEC - 1) / VEC,
  LEFT_STEP = PARTS * VEC, /* row of a packed tile of dy^T */
  LEFT_SIZE = DEPTH * LEFT_STEP,
  SCRATCH = TILES_PER_TASK * LEFT_SIZE + DEPTH * TILE_COLUMNS /* values a worker */
};

typedef struct gradient {
  int64_t rows, in, out;
  const float *x, *dy;
  int64_t x_stride, dy_stride;
  float *dw, *db;
  int64_t panels, tiles;  /* panels of inputs; tiles of outputs */
  int64_t blocks, groups; /* tasks: blocks of tiles by groups of panels */
  float *scratch;
} gradient;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t divided(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

/* Outputs of tile i: `height` from the result on. */
static int64_t tile_start(const gradient *g, int64_t i, int64_t *height) {
  const int64_t o = g->out * i / g->tiles;
  *height = g->out * (i + 1) / g->tiles - o;
  return o;
}

/* Columns of dy for tiles from .. to - 1, row by row as they lie in memory; their sums are added to db unless it is NULL. */
static void pack_left(const gradient *g, int64_t row, int64_t depth, int64_t from, int64_t to, float *left, float *db) {
  vec sum[TILES_PER_TASK * PARTS];
  int64_t start[TILES_PER_TASK], height[TILES_PER_TASK];
  for (int64_t i = from; i < to; i++)
    start[i - from] = tile_start(g, i, &height[i - from]);
  for (int64_t i = 0; i < (to - from) * PARTS; i++)
    sum[i] = vzero();
  for (int64_t k = 0; k < depth; k++) {
    const float *dy = g->dy + (row + k) * g->dy_stride;
    for (int64_t i = 0; i < to - from; i++) {
      for (int64_t j = 0; j < PARTS && j * VEC < height[i]; j++) {
        const vec x = vload_n(dy + start[i] + j * VEC, height[i] - j * VEC);
        vstore(left + i * LEFT_SIZE + k * LEFT_STEP + j * VEC, x);
        sum[i * PARTS + j] += x;
      }
    }
  }
  for (int64_t i = 0; db && i < to - from; i++) {
    for (int64_t j = 0; j < height[i]; j += VEC) {
      float *to_add = db + start[i] + j;
      vstore_n(to_add, vload_n(to_add, height[i] - j) + sum[i * PARTS + j / VEC], height[i] - j);
    }
  }
}

/* Asks for one of `parts` parts of a panel of x. */
static void prefetch(const gradient *g, int64_t row, int64_t depth, int64_t column, int64_t part, int64_t parts) {
  const int64_t last = least(TILE_COLUMNS, g->in - column) - 1;
  for (int64_t k = depth * part / parts; k < depth * (part + 1) / parts; k++) {
    const float *x = g->x + (row + k) * g->x_stride + column;
    __builtin_prefetch(x, 0, 2);
    __builtin_prefetch(x + last, 0, 2);
  }
}

static void dw_block(const gradient *g, int64_t row, int64_t depth, int64_t tile_from, int64_t tile_to, int64_t panel_from,
                     int64_t panel_to, float *scratch) {
  float *left = scratch, *right = scratch + TILES_PER_TASK * LEFT_SIZE;
  pack_left(g, row, depth, tile_from, tile_to, left, panel_from == 0 ? g->db : NULL);
  for (int64_t panel = panel_from; g->dw && panel < panel_to; panel++) {
    const int64_t at = panel * TILE_COLUMNS, columns = least(TILE_COLUMNS, g->in - at);
    CPU(pack_rows)(depth, columns, g->x + row * g->x_stride + at, g->x_stride, right);
    for (int64_t i = tile_from; i < tile_to; i++) {
      int64_t height;
      const int64_t o = tile_start(g, i, &height);
      const tile t = {.depth = depth,
                      .a = left + (i - tile_from) * LEFT_SIZE,
                      .a_row = 1,
                      .a_step = LEFT_STEP,
                      .b = right,
                      .b_step = TILE_COLUMNS,
                      .c = g->dw + o * g->in + at,
                      .c_row = g->in,
                      .add = true};
      CPU(tile_run_part)(height, columns, &t);
      if (panel + 1 < panel_to)
        prefetch(g, row, depth, at + TILE_COLUMNS, i - tile_from, tile_to - tile_from);
    }
  }
}

static void dw_task(void *context, int64_t task, int worker) {
  const gradient *g = context;
  const int64_t block = task / g->groups, group = task % g->groups;
  for (int64_t row = 0; row < g->rows; row += DEPTH)
    dw_block(g, row, least(DEPTH, g->rows - row), g->tiles * block / g->blocks, g->tiles * (block + 1) / g->blocks,
             g->panels * group / g->groups, g->panels * (group + 1) / g->groups, g->scratch + (int64_t)worker * SCRATCH);
}

void CPU(linear_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                          const real *w, const real *dy, int64_t dy_stride, real *dx, int64_t dx_stride, bool add, real *dw,
                          real *db) {
  if (dx) {
    product p = {.rows = rows,
                 .depth = out,
                 .columns = in,
                 .a = dy,
                 .a_stride = dy_stride,
                 .w = w,
                 .w_stride = in,
                 .c = dx,
                 .c_stride = dx_stride,
                 .add = add};
    CPU(product_run)(c, &p);
  }
  if (!dw && !db)
    return;
  gradient g = {.rows = rows,
                .in = in,
                .out = out,
                .x = x,
                .dy = dy,
                .x_stride = x_stride,
                .dy_stride = dy_stride,
                .dw = dw,
                .db = db,
                .panels = divided(in, TILE_COLUMNS),
                .tiles = divided(out, TILE_ROWS),
                .scratch = c->workspace};
  g.blocks = divided(g.tiles, TILES_PER_TASK);
  g.groups = dw ? divided(g.panels, PANELS_PER_TASK) : 1;
  if (dw) {
    if (rows > c->stats.gemm_max_rows)
      c->stats.gemm_max_rows = rows;
    c->stats.gemm_flops += 2.0 * (double)rows * in * out;
  }
  CPU(run)(c, g.blocks * g.groups, dw_task, &g);
}

size_t CPU(linear_backward_workspace)(int threads) {
  return (size_t)threads * SCRATCH * sizeof(float);
}
