/* linear_backward.c: dx = dy w, dw += dy^T x, db += column sums of dy.
 *
 * For dw the rows are walked in chunks of DEPTH (slices.h). Columns of dy are packed as left sides of tiles (and summed for db),
 * columns of x into panels. The narrower of the two is packed by all threads, for all; then each task packs some of the other for
 * itself and adds their products with all of the first. What a task packs stays in the caches of its core. */
#include "ops/cpu/product.h"
#include "ops/cpu/slices.h"
#include "ops/cpu/split.h"

enum {
  MOST_TILES = 7,   /* of a task */
  MOST_PANELS = 4,  /* of a task */
  LEAST_TASKS = 16, /* cut this fine at least, if the shape allows */
  DEPTH = 512,
  TILE_VECTORS = (TILE_ROWS + VEC - 1) / VEC,
  LEFT_STEP = TILE_VECTORS * VEC, /* row of a packed tile of dy^T */
  TILE_SIZE = DEPTH * LEFT_STEP,
  PANEL_SIZE = DEPTH * TILE_COLUMNS
};
enum {
  OWN_TILES = MOST_TILES * TILE_SIZE,
  OWN_PANELS = MOST_PANELS * PANEL_SIZE,
  MOST_OWN = OWN_TILES > OWN_PANELS ? OWN_TILES : OWN_PANELS
};

typedef struct gradient {
  int64_t rows, in, out;
  const float *x, *dy;
  int64_t x_stride, dy_stride;
  float *dw, *db;
  int64_t panels, tiles; /* panels of inputs; tiles of outputs */
  bool share_panels;     /* tasks own tiles; or the other way round */
  int64_t tasks;
  chunk chunk;
  float *shared, *own;   /* all of one side; MOST_OWN values a worker */
  bool cut;              /* there are slices */
  float *sums, *columns; /* of dw and db, that wait for others */
} gradient;

/* Outputs of tile i: `height` from the result on. */
static int64_t tile_start(const gradient *g, int64_t i, int64_t *height) {
  const int64_t o = g->out * i / g->tiles;
  *height = g->out * (i + 1) / g->tiles - o;
  return o;
}

/* Column sums of a stretch. */
static void add_columns(const gradient *g, const stretch *s, int64_t first, int64_t n, vec sum) {
  float values[VEC];
  vstore(values, sum);
  if (!g->cut) {
    vstore_n(g->db + first, vload_n(g->db + first, n) + sum, n);
    return;
  }
  wait_for(s, n, values, g->columns + first, g->out);
  if (g->chunk.ends && s == &g->chunk.list[g->chunk.count - 1])
    vstore_n(g->db + first, vload_n(g->db + first, n) + vload_n(g->columns + first, n), n);
}

/* Columns of dy for some tiles, row by row as they lie in memory; their sums are added to db. */
static void pack_stretch(const gradient *g, const stretch *s, int64_t from, int64_t tiles, float *to) {
  vec sum[MOST_TILES * TILE_VECTORS];
  int64_t start[MOST_TILES], height[MOST_TILES];
  for (int64_t i = 0; i < tiles; i++)
    start[i] = tile_start(g, from + i, &height[i]);
  for (int64_t i = 0; i < tiles * TILE_VECTORS; i++)
    sum[i] = vzero();
  for (int64_t k = 0; k < s->depth; k++) {
    const float *dy = g->dy + (s->row + k) * g->dy_stride;
    for (int64_t i = 0; i < tiles; i++) {
      for (int64_t j = 0; j < TILE_VECTORS && j * VEC < height[i]; j++) {
        const vec x = vload_n(dy + start[i] + j * VEC, height[i] - j * VEC);
        vstore(to + i * TILE_SIZE + (s->at + k) * LEFT_STEP + j * VEC, x);
        sum[i * TILE_VECTORS + j] += x;
      }
    }
  }
  for (int64_t i = 0; g->db && i < tiles; i++)
    for (int64_t j = 0; j < height[i]; j += VEC)
      add_columns(g, s, start[i] + j, least(VEC, height[i] - j), sum[i * TILE_VECTORS + j / VEC]);
}

static void pack_tiles(const gradient *g, int64_t from, int64_t tiles, float *to) {
  for (int32_t k = 0; k < g->chunk.count; k++)
    pack_stretch(g, &g->chunk.list[k], from, tiles, to);
}

static void pack_panel(const gradient *g, int64_t panel, float *to) {
  const int64_t column = panel * TILE_COLUMNS;
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *s = &g->chunk.list[k];
    CPU(pack_rows)(s->depth, least(TILE_COLUMNS, g->in - column), g->x + s->row * g->x_stride + column, g->x_stride,
                   to + s->at * TILE_COLUMNS);
  }
}

static void shared_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  const int64_t from = task * MOST_TILES;
  if (g->share_panels)
    pack_panel(g, task, g->shared + task * PANEL_SIZE);
  else
    pack_tiles(g, from, least(MOST_TILES, g->tiles - from), g->shared + from * TILE_SIZE);
}

/* One tile by one panel, stretch by stretch. */
static void multiply_stretches(const gradient *g, int64_t o, int64_t height, const float *left, int64_t panel,
                               const float *right) {
  float held[BRIM_SLICE_DEPTH * TILE_ROWS * TILE_COLUMNS] __attribute__((aligned(64)));
  const int64_t at = panel * TILE_COLUMNS;
  const tile_sums sums = {.held = held,
                          .size = TILE_ROWS * TILE_COLUMNS,
                          .spill = g->sums + (panel * g->out + o) * TILE_COLUMNS,
                          .apart = g->panels * g->out * TILE_COLUMNS};
  fetch_sums(&sums, &g->chunk, height);
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *s = &g->chunk.list[k];
    const bool ends = g->chunk.ends && k + 1 == g->chunk.count;
    const float *before[BRIM_SLICE_DEPTH];
    const tile one = {.depth = s->depth,
                      .a = left + s->at * LEFT_STEP,
                      .a_row = 1,
                      .a_step = LEFT_STEP,
                      .b = right + s->at * TILE_COLUMNS,
                      .b_step = TILE_COLUMNS,
                      .c = ends ? g->dw + o * g->in + at : sum_goes_to(&sums, s),
                      .c_row = ends ? g->in : TILE_COLUMNS,
                      .add = ends,
                      .sum_count = s->adds,
                      .sums = before};
    list_sums(&sums, s, before);
    CPU(tile_run_partial)(height, ends ? least(TILE_COLUMNS, g->in - at) : TILE_COLUMNS, &one);
  }
}

/* Some tiles by one panel. */
static void multiply(const gradient *g, int64_t first, int64_t tiles, const float *left, int64_t panel, const float *right) {
  for (int64_t i = 0; i < tiles; i++) {
    int64_t height;
    const int64_t o = tile_start(g, first + i, &height);
    multiply_stretches(g, o, height, left + i * TILE_SIZE, panel, right);
  }
}

static void tiles_task(void *context, int64_t task, int worker) {
  const gradient *g = context;
  float *own = g->own + (int64_t)worker * MOST_OWN;
  const int64_t first = g->tiles * task / g->tasks, tiles = g->tiles * (task + 1) / g->tasks - first;
  pack_tiles(g, first, tiles, own);
  for (int64_t panel = 0; g->dw && panel < g->panels; panel++)
    multiply(g, first, tiles, own, panel, g->shared + panel * PANEL_SIZE);
}

static void panels_task(void *context, int64_t task, int worker) {
  const gradient *g = context;
  float *own = g->own + (int64_t)worker * MOST_OWN;
  for (int64_t panel = g->panels * task / g->tasks; panel < g->panels * (task + 1) / g->tasks; panel++) {
    pack_panel(g, panel, own);
    multiply(g, 0, g->tiles, g->shared, panel, own);
  }
}

static void weight_gradient(brim_ops_context *c, const brim_row_slices *slices, gradient *g) {
  g->share_panels = !g->dw || g->panels * TILE_COLUMNS <= g->tiles * LEFT_STEP;
  const int64_t units = g->share_panels ? g->tiles : g->panels, most = g->share_panels ? MOST_TILES : MOST_PANELS;
  const int64_t share = units / LEAST_TASKS;
  g->tasks = divided(units, share < 1 ? 1 : least(share, most));
  g->own = c->workspace;
  g->shared = g->own + (int64_t)brim_runtime_threads(c->runtime) * MOST_OWN;
  g->columns = g->shared + (!g->dw ? 0 : g->share_panels ? g->panels * PANEL_SIZE : g->tiles * TILE_SIZE);
  g->sums = g->columns + most_waiting(slices) * round_up(g->out, 16);
  for (chunk_walk walk = {.of = slices, .rows = g->rows, .depth = DEPTH, .align = 1, .room = DEPTH};
       next_chunk(&walk, &g->chunk);) {
    if (g->dw)
      CPU(run)(c, g->share_panels ? g->panels : divided(g->tiles, MOST_TILES), shared_task, g);
    CPU(run)(c, g->tasks, g->share_panels ? tiles_task : panels_task, g);
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

void CPU(linear_backward)(brim_ops_context *c, const brim_linear_gradient *l) {
  if (l->dx) {
    product p = input_gradient(l->rows, l->in, l->out, l->w, l->dy, l->dy_stride, l->dx, l->dx_stride);
    p.add = l->add;
    CPU(product_run)(c, &p);
  }
  if (!l->dw && !l->db)
    return;
  if (l->dw) {
    if (l->rows > c->stats.gemm_max_rows)
      c->stats.gemm_max_rows = l->rows;
    c->stats.gemm_flops += 2.0 * (double)l->rows * l->in * l->out;
  }
#if SPLITS
  if (l->dw && split_is_worth(l->in, l->out)) {
    CPU(split_weight_gradient)(c, l);
    return;
  }
#endif
  gradient g = {.rows = l->rows,
                .in = l->in,
                .out = l->out,
                .x = l->x,
                .dy = l->dy,
                .x_stride = l->x_stride,
                .dy_stride = l->dy_stride,
                .dw = l->dw,
                .db = l->db,
                .cut = l->slices.count > 0,
                .panels = divided(l->in, TILE_COLUMNS),
                .tiles = divided(l->out, TILE_ROWS)};
  weight_gradient(c, &l->slices, &g);
}

/* The activation's gradient is a separate pass: in pieces of rows between the tiles it was slower. */
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

void CPU(linear_act_backward)(brim_ops_context *c, const brim_linear_act_gradient *l) {
  turn t = {.act = l->act, .count = l->rows * l->in, .pre = l->pre, .dpre = l->dpre};
  product p = input_gradient(l->rows, l->in, l->out, l->w, l->dz, l->out, l->dpre, l->in);
  CPU(product_run)(c, &p);
  CPU(run)(c, divided(t.count, TURN_CHUNK), turn_task, &t);
}

/* One side of any weight has at most H values, but for layers that narrow the feed-forward. */
size_t CPU(linear_backward_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t side = limits->hidden, panels = divided(side, TILE_COLUMNS) * PANEL_SIZE;
  const int64_t tiles = divided(side, TILE_ROWS) * TILE_SIZE;
  return (size_t)((panels > tiles ? panels : tiles) + (int64_t)threads * MOST_OWN + spill_size(limits, DEPTH)) * sizeof(float);
}
