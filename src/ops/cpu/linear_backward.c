/* linear_backward.c: dx = dy w, dw += dy^T x, db += column sums of dy.
 *
 * For dw the rows are walked in blocks of DEPTH; of each block dy is packed as left sides of tiles (and summed for db) and x into
 * panels, then tasks of some outputs by some panels add the block's product. */
#include "ops/cpu/product.h"

enum {
  PANELS_PER_TASK = 12,
  TILES_PER_TASK = 4,
  DEPTH = 256,
  LEFT_STEP = (TILE_ROWS + VEC - 1) / VEC * VEC /* row of a packed tile of dy^T */
};

typedef struct gradient {
  int64_t rows, in, out;
  const float *x, *dy;
  int64_t x_stride, dy_stride;
  float *dw, *db;
  int64_t first, depth;   /* the packed rows */
  int64_t panels, tiles;  /* panels of inputs; tiles of outputs */
  float *right, *left;    /* panels of [depth, TILE_COLUMNS]; tiles of [DEPTH, LEFT_STEP] */
  int64_t blocks, groups; /* tasks */
} gradient;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t divided(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

/* Outputs of tile i: `height` from o on. */
static int64_t tile_start(const gradient *g, int64_t i, int64_t *height) {
  const int64_t o = g->out * i / g->tiles;
  *height = g->out * (i + 1) / g->tiles - o;
  return o;
}

/* One tile's columns of dy; their sums are added to db. */
static void pack_left(const gradient *g, int64_t i) {
  int64_t height;
  const int64_t o = tile_start(g, i, &height);
  const float *dy = g->dy + g->first * g->dy_stride + o;
  float *left = g->left + i * DEPTH * LEFT_STEP;
  for (int64_t j = 0; j < height; j += VEC) {
    vec sum = vzero();
    for (int64_t k = 0; k < g->depth; k++) {
      const vec x = vload_n(dy + k * g->dy_stride + j, height - j);
      if (g->dw)
        vstore(left + k * LEFT_STEP + j, x);
      sum += x;
    }
    if (g->db)
      vstore_n(g->db + o + j, vload_n(g->db + o + j, height - j) + sum, height - j);
  }
}

/* Tasks 0 .. groups-1 pack panels of x, the others tiles of dy. */
static void pack_block_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  if (task >= g->groups) {
    const int64_t first = (task - g->groups) * TILES_PER_TASK;
    for (int64_t i = first; i < least(first + TILES_PER_TASK, g->tiles); i++)
      pack_left(g, i);
    return;
  }
  for (int64_t panel = g->panels * task / g->groups; panel < g->panels * (task + 1) / g->groups; panel++) {
    const int64_t at = panel * TILE_COLUMNS;
    CPU(pack_rows)
    (g->depth, least(TILE_COLUMNS, g->in - at), g->x + g->first * g->x_stride + at, g->x_stride, g->right + at * g->depth);
  }
}

static void dw_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  const int64_t block = task / g->groups, group = task % g->groups;
  for (int64_t panel = g->panels * group / g->groups; panel < g->panels * (group + 1) / g->groups; panel++) {
    for (int64_t i = g->tiles * block / g->blocks; i < g->tiles * (block + 1) / g->blocks; i++) {
      int64_t height;
      const int64_t o = tile_start(g, i, &height), at = panel * TILE_COLUMNS;
      const tile t = {.depth = g->depth,
                      .a = g->left + i * DEPTH * LEFT_STEP,
                      .a_row = 1,
                      .a_step = LEFT_STEP,
                      .b = g->right + at * g->depth,
                      .b_step = TILE_COLUMNS,
                      .c = g->dw + o * g->in + at,
                      .c_row = g->in,
                      .add = true};
      CPU(tile_run_part)(height, least(TILE_COLUMNS, g->in - at), &t);
    }
  }
}

static void run_dw(brim_ops_context *c, gradient *g) {
  g->tiles = divided(g->out, TILE_ROWS);
  g->panels = divided(g->in, TILE_COLUMNS);
  g->groups = g->dw ? divided(g->panels, PANELS_PER_TASK) : 0;
  g->blocks = divided(g->tiles, TILES_PER_TASK);
  for (g->first = 0; g->first < g->rows; g->first += DEPTH) {
    g->depth = least(DEPTH, g->rows - g->first);
    CPU(run)(c, g->groups + g->blocks, pack_block_task, g);
    CPU(run)(c, g->groups * g->blocks, dw_task, g);
  }
}

/* Values of working memory: panels of x, and a tile of dy. */
static int64_t right_size(int64_t in) {
  return round_up(in, TILE_COLUMNS) * DEPTH;
}
enum { LEFT_SIZE = DEPTH * LEFT_STEP };

/* In chunks of outputs whose tiles fit into the working memory. */
static void run_dw_chunks(brim_ops_context *c, const gradient *whole) {
  const int64_t room = (int64_t)(c->workspace_size / sizeof(float)) - right_size(whole->in);
  const int64_t chunk = room / LEFT_SIZE * TILE_ROWS;
  for (int64_t o = 0; o < whole->out; o += chunk) {
    gradient g = *whole;
    g.out = least(chunk, whole->out - o);
    g.dy += o;
    g.db = whole->db ? whole->db + o : NULL;
    g.dw = whole->dw ? whole->dw + o * whole->in : NULL;
    g.right = c->workspace;
    g.left = g.right + right_size(g.in);
    run_dw(c, &g);
  }
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
  if (dw) {
    if (rows > c->stats.gemm_max_rows)
      c->stats.gemm_max_rows = rows;
    c->stats.gemm_flops += 2.0 * (double)rows * in * out;
  }
  const gradient g = {
      .rows = rows, .in = in, .out = out, .x = x, .dy = dy, .x_stride = x_stride, .dy_stride = dy_stride, .dw = dw, .db = db};
  if (dw || db)
    run_dw_chunks(c, &g);
}

/* The weights of a layer are [3 H, H], [H, H], [F, H] and [H, F]. */
size_t CPU(linear_backward_workspace)(const brim_ops_limits *limits) {
  const int64_t h = limits->hidden, f = limits->intermediate, widest = 3 * h > f ? 3 * h : f, deepest = h > f ? h : f;
  return (size_t)(right_size(deepest) + divided(widest, TILE_ROWS) * LEFT_SIZE) * sizeof(float);
}
