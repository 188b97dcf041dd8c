/* linear_backward.c: dx = dy w, dw += dy^T x, db += column sums of dy.
 *
 * For dw the rows are walked in stretches of DEPTH. Of each the columns of dy are packed as left sides of tiles (and summed for
 * db) and x into panels, once and by all threads; then tasks of some tiles by some panels add the product. */
#include "ops/cpu/product.h"

enum {
  TILES_PER_TASK = 7,
  MOST_PANELS = 12, /* of a task */
  LEAST_TASKS = 24, /* cut this fine at least, if the shape allows */
  DEPTH = 512,
  PARTS = (TILE_ROWS + VEC - 1) / VEC,
  LEFT_STEP = PARTS * VEC, /* row of a packed tile of dy^T */
};

typedef struct gradient {
  int64_t rows, in, out;
  const float *x, *dy;
  int64_t x_stride, dy_stride;
  float *dw, *db;
  int64_t panels, tiles;  /* panels of inputs; tiles of outputs */
  int64_t blocks, groups; /* tasks: blocks of tiles by groups of panels */
  int64_t row, depth;     /* the packed stretch */
  int64_t first, count;   /* the packed tiles */
  float *left, *right;    /* [count][DEPTH, LEFT_STEP], [panels][DEPTH, TILE_COLUMNS] */
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

/* ---- packing */

/* Columns of dy for some tiles, row by row as they lie in memory; their sums are added to db. */
static void pack_left_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  const int64_t from = task * TILES_PER_TASK, tiles = least(TILES_PER_TASK, g->count - from);
  vec sum[TILES_PER_TASK * PARTS];
  int64_t start[TILES_PER_TASK], height[TILES_PER_TASK];
  float *left = g->left + from * DEPTH * LEFT_STEP;
  for (int64_t i = 0; i < tiles; i++)
    start[i] = tile_start(g, g->first + from + i, &height[i]);
  for (int64_t i = 0; i < tiles * PARTS; i++)
    sum[i] = vzero();
  for (int64_t k = 0; k < g->depth; k++) {
    const float *dy = g->dy + (g->row + k) * g->dy_stride;
    for (int64_t i = 0; i < tiles; i++) {
      for (int64_t j = 0; j < PARTS && j * VEC < height[i]; j++) {
        const vec x = vload_n(dy + start[i] + j * VEC, height[i] - j * VEC);
        vstore(left + (i * DEPTH + k) * LEFT_STEP + j * VEC, x);
        sum[i * PARTS + j] += x;
      }
    }
  }
  for (int64_t i = 0; g->db && i < tiles; i++) {
    for (int64_t j = 0; j < height[i]; j += VEC) {
      float *to_add = g->db + start[i] + j;
      vstore_n(to_add, vload_n(to_add, height[i] - j) + sum[i * PARTS + j / VEC], height[i] - j);
    }
  }
}

static void pack_right_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  const int64_t column = task * TILE_COLUMNS;
  CPU(pack_rows)
  (g->depth, least(TILE_COLUMNS, g->in - column), g->x + g->row * g->x_stride + column, g->x_stride, g->right + column * DEPTH);
}

/* Left sides first: they take longer. */
static void pack_task(void *context, int64_t task, int worker) {
  const gradient *g = context;
  const int64_t left = divided(g->count, TILES_PER_TASK);
  if (task < left)
    pack_left_task(context, task, worker);
  else
    pack_right_task(context, task - left, worker);
}

/* ---- product */

static void product_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  const int64_t block = task / g->groups, group = task % g->groups;
  for (int64_t panel = g->panels * group / g->groups; panel < g->panels * (group + 1) / g->groups; panel++) {
    const int64_t at = panel * TILE_COLUMNS;
    for (int64_t i = g->count * block / g->blocks; i < g->count * (block + 1) / g->blocks; i++) {
      int64_t height;
      const int64_t o = tile_start(g, g->first + i, &height);
      const tile t = {.depth = g->depth,
                      .a = g->left + i * DEPTH * LEFT_STEP,
                      .a_row = 1,
                      .a_step = LEFT_STEP,
                      .b = g->right + at * DEPTH,
                      .b_step = TILE_COLUMNS,
                      .c = g->dw + o * g->in + at,
                      .c_row = g->in,
                      .add = true};
      CPU(tile_run_part)(height, least(TILE_COLUMNS, g->in - at), &t);
    }
  }
}

/* One stretch of rows; in several goes when the packed sides are larger than the working memory: a huge classifier. */
static void run_stretch(brim_ops_context *c, gradient *g, int64_t most_tiles) {
  for (g->first = 0; g->first < g->tiles; g->first += g->count) {
    g->count = least(most_tiles, g->tiles - g->first);
    g->blocks = divided(g->count, TILES_PER_TASK);
    const int64_t finer = divided(LEAST_TASKS, g->blocks), coarser = divided(g->panels, MOST_PANELS);
    g->groups = least(g->panels, finer > coarser ? finer : coarser);
    CPU(run)(c, divided(g->count, TILES_PER_TASK) + (g->dw ? g->panels : 0), pack_task, g);
    if (g->dw)
      CPU(run)(c, g->blocks * g->groups, product_task, g);
  }
}

static void weight_gradient(brim_ops_context *c, gradient *g) {
  const int64_t room = (int64_t)(c->workspace_size / sizeof(float)), tile_size = DEPTH * LEFT_STEP;
  const int64_t panels_size = g->dw ? g->panels * DEPTH * TILE_COLUMNS : 0;
  g->right = c->workspace;
  g->left = g->right + panels_size;
  const int64_t stretches = divided(g->rows, DEPTH);
  for (int64_t i = 0; i < stretches; i++) {
    g->row = g->rows * i / stretches;
    g->depth = g->rows * (i + 1) / stretches - g->row;
    run_stretch(c, g, (room - panels_size) / tile_size);
  }
}

static product input_gradient(int64_t rows, int32_t in, int32_t out, const real *w, const real *dy, int64_t dy_stride, real *dx,
                              int64_t dx_stride) {
  return (product){.rows = rows,
                   .depth = out,
                   .columns = in,
                   .a = dy,
                   .a_stride = dy_stride,
                   .w = w,
                   .w_stride = in,
                   .c = dx,
                   .c_stride = dx_stride};
}

void CPU(linear_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                          const real *w, const real *dy, int64_t dy_stride, real *dx, int64_t dx_stride, bool add, real *dw,
                          real *db) {
  if (dx) {
    product p = input_gradient(rows, in, out, w, dy, dy_stride, dx, dx_stride);
    p.add = add;
    CPU(product_run)(c, &p);
  }
  if (!dw && !db)
    return;
  if (dw) {
    if (rows > c->stats.gemm_max_rows)
      c->stats.gemm_max_rows = rows;
    c->stats.gemm_flops += 2.0 * (double)rows * in * out;
  }
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
                .tiles = divided(out, TILE_ROWS)};
  weight_gradient(c, &g);
}

/* The activation's part is a pass of its own: in pieces of rows beside the tiles it was slower. */
typedef struct turn {
  brim_activation act;
  int64_t count;
  float *pre, *dpre;
} turn;

enum { TURN_CHUNK = 1 << 14 };

static void turn_task(void *context, int64_t task, int worker) {
  (void)worker;
  const turn *t = context;
  const int64_t at = task * TURN_CHUNK;
  CPU(activate_turn)(t->act, least(TURN_CHUNK, t->count - at), t->pre + at, t->dpre + at);
}

void CPU(linear_act_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *w, const real *dz,
                              brim_activation act, real *pre, real *dpre) {
  turn t = {.act = act, .count = rows * in, .pre = pre, .dpre = dpre};
  product p = input_gradient(rows, in, out, w, dz, out, dpre, in);
  CPU(product_run)(c, &p);
  CPU(run)(c, divided(t.count, TURN_CHUNK), turn_task, &t);
}

/* The weights of a layer are [3 H, H], [H, H], [F, H] and [H, F]; a tile more, so that any number of outputs gets on. */
size_t CPU(linear_backward_workspace)(const brim_ops_limits *limits) {
  const int64_t h = limits->hidden, f = limits->intermediate, wide = 3 * h > f ? 3 * h : f;
  const int64_t across = round_up(h, TILE_COLUMNS) + divided(wide, TILE_ROWS) * LEFT_STEP;
  const int64_t down = round_up(wide, TILE_COLUMNS) + divided(h, TILE_ROWS) * LEFT_STEP;
  return (size_t)((across > down ? across : down) + TILES_PER_TASK * LEFT_STEP) * DEPTH * sizeof(float);
}
