/* split_gradient.c: dw += dy^T x, db += column sums of dy.
 *
 * As in linear_backward.c: rows are walked in chunks (slices.h); the narrower side of a chunk is packed by all threads, for all,
 * and each task packs some of the other for itself and adds their products with all of the first. Tasks are cut by the number of
 * threads as well, which no result sees: a sum is a tile's. */
#include "ops/cpu/slices.h"
#include "ops/cpu/split.h"

enum {
  MOST_OWN = 8,  /* tiles, or panels, that a task packs */
  MOST_TASKS = 2 /* a thread: more would read the shared side more often */
};
enum { DEPTH = SPLIT_CHUNK * SPLIT_K };

typedef struct gradient {
  const brim_linear_gradient *l;
  split_kernel kernel;
  int64_t panels, tiles; /* of 32 inputs; of 32 outputs */
  bool share_panels;     /* tasks own tiles; or the other way round */
  int64_t tasks;
  int64_t size; /* bytes of a packed tile's side */
  chunk chunk;
  char *shared, *own;
  float *sums, *columns; /* of dw and db, that wait for others */
} gradient;

/* Of a packed chunk: each slice begins a step. */
static int64_t chunk_steps(int64_t rows, int32_t slices) {
  return least(SPLIT_CHUNK, split_steps(rows) + slices);
}

/* That a worker packs, of those of the wider side. */
static int64_t own_tiles(int64_t panels, int64_t tiles) {
  return least(MOST_OWN, panels > tiles ? panels : tiles);
}

static bool is_cut(const gradient *g) {
  return g->l->slices.count > 0;
}

static char *place(char *packed, const stretch *s) {
  return packed + s->at / SPLIT_K * SPLIT_STEP;
}

/* Column sums of a stretch. */
static void add_columns(const gradient *g, const stretch *s, int64_t first, int64_t n, const float *values) {
  float *db = g->l->db + first;
  if (!is_cut(g)) {
    vstore_n(db, vload_n(db, n) + vload(values), n);
    return;
  }
  wait_for(s, n, values, g->columns + first, g->l->out);
  if (g->chunk.last && s == &g->chunk.list[g->chunk.count - 1])
    vstore_n(db, vload_n(db, n) + vload_n(g->columns + first, n), n);
}

static void pack_tile(const gradient *g, int64_t number, char *to) {
  const brim_linear_gradient *l = g->l;
  const int64_t o = number * SPLIT_SIDE, height = least(SPLIT_SIDE, l->out - o);
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *s = &g->chunk.list[k];
    float sums[SPLIT_SIDE] = {0};
    CPU(split_left_turned)(height, s->depth, l->dy + s->row * l->dy_stride + o, l->dy_stride, place(to, s), sums);
    for (int64_t j = 0; l->db && j < height; j += VEC)
      add_columns(g, s, o + j, least(VEC, height - j), sums + j);
  }
}

static void pack_panel(const gradient *g, int64_t number, char *to) {
  const brim_linear_gradient *l = g->l;
  const int64_t column = number * SPLIT_SIDE, columns = least(SPLIT_SIDE, l->in - column);
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *s = &g->chunk.list[k];
    const float *x = l->x + s->row * l->x_stride + column;
    split_right(&(split_panel){.columns = columns, .depth = s->depth, .x = x, .stride = l->x_stride, .to = place(to, s)});
  }
}

static void shared_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  (g->share_panels ? pack_panel : pack_tile)(g, task, g->shared + task * g->size);
}

/* A stretch of a tile by one of a panel. */
static split_tile tile_of(const stretch *s, char *left, char *right) {
  return (split_tile){.steps = split_steps(s->depth), .a = place(left, s), .b = place(right, s), .c_row = SPLIT_SIDE};
}

/* Stretch by stretch. */
static void multiply_cut(const gradient *g, int64_t o, int64_t height, char *left, int64_t column, char *right) {
  enum { SIZE = SPLIT_SIDE * SPLIT_SIDE };
  float held[BRIM_SLICE_DEPTH * SIZE], sum[SIZE];
  const int64_t row = g->panels * SPLIT_SIDE, columns = least(SPLIT_SIDE, g->l->in - column);
  tile_sums t = {.held = held,
                 .size = SIZE,
                 .rows = height,
                 .aside = g->sums + o * row + column,
                 .row = row,
                 .apart = g->l->out * row,
                 .count = g->chunk.before,
                 .inside = g->chunk.before};
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *s = &g->chunk.list[k];
    int32_t joins;
    bool add;
    split_tile part = tile_of(s, left, right);
    float *to = begin_stretch(&t, s, &add, &joins);
    part.c = add ? sum : to;
    g->kernel.run(&part);
    for (int64_t i = 0; add && i < SIZE; i += VEC)
      vstore(to + i, vload(to + i) + vload(sum + i));
    end_stretch(&t, joins);
  }
  end_chunk(&t, g->chunk.last, columns, g->l->dw + o * g->l->in + column, g->l->in);
}

/* One tile by one panel. */
static void multiply(const gradient *g, int64_t tile_number, char *left, int64_t panel, char *right) {
  const brim_linear_gradient *l = g->l;
  const int64_t o = tile_number * SPLIT_SIDE, height = least(SPLIT_SIDE, l->out - o), column = panel * SPLIT_SIDE;
  if (is_cut(g)) {
    multiply_cut(g, o, height, left, column, right);
    return;
  }
  float sum[SPLIT_SIDE * SPLIT_SIDE];
  split_tile t = tile_of(&g->chunk.list[0], left, right);
  t.c = sum;
  float *dw = l->dw + o * l->in + column;
  for (int64_t i = 0; i < height; i++) {
    __builtin_prefetch(dw + i * l->in, 1);
    __builtin_prefetch(dw + i * l->in + VEC, 1);
  }
  g->kernel.run(&t);
  for (int64_t i = 0; i < height; i++, dw += l->in)
    for (int64_t j = 0; j < SPLIT_SIDE && column + j < l->in; j += VEC) {
      const int64_t n = l->in - column - j;
      vstore_n(dw + j, vload_n(dw + j, n) + vload(sum + i * SPLIT_SIDE + j), n);
    }
}

static void own_task(void *context, int64_t task, int worker) {
  const gradient *g = context;
  const int64_t count = g->share_panels ? g->tiles : g->panels, others = g->share_panels ? g->panels : g->tiles;
  const int64_t first = count * task / g->tasks, end = count * (task + 1) / g->tasks;
  char *own = g->own + (int64_t)worker * own_tiles(g->panels, g->tiles) * g->size;
  for (int64_t i = first; i < end; i++)
    (g->share_panels ? pack_tile : pack_panel)(g, i, own + (i - first) * g->size);
  if (g->kernel.begin)
    g->kernel.begin();
  for (int64_t other = 0; other < others; other++)
    for (int64_t i = first; i < end; i++) {
      char *mine = own + (i - first) * g->size, *shared = g->shared + other * g->size;
      if (g->share_panels)
        multiply(g, i, mine, other, shared);
      else
        multiply(g, other, shared, i, mine);
    }
  if (g->kernel.end)
    g->kernel.end();
}

void CPU(split_weight_gradient)(brim_ops_context *c, const brim_linear_gradient *l) {
  gradient g = {.l = l, .kernel = split_kernel_of(c), .panels = divided(l->in, SPLIT_SIDE), .tiles = divided(l->out, SPLIT_SIDE)};
  g.share_panels = g.panels <= g.tiles;
  const int64_t count = g.share_panels ? g.tiles : g.panels, others = g.share_panels ? g.panels : g.tiles;
  const int threads = brim_runtime_threads(c->runtime);
  const int64_t fewest = divided(count, MOST_OWN), wanted = least(count, (int64_t)threads * MOST_TASKS);
  g.tasks = fewest > wanted ? divided(fewest, threads) * threads : wanted;
  g.tasks = least(g.tasks, count);
  g.own = c->workspace;
  g.size = chunk_steps(l->rows, l->slices.count) * SPLIT_STEP;
  g.shared = g.own + threads * own_tiles(g.panels, g.tiles) * g.size;
  g.columns = (float *)(void *)(g.shared + others * g.size);
  g.sums = g.columns + brim_slices_depth(l->slices.count) * round_up(l->out, 16);
  for (chunk_walk walk = {.of = &l->slices, .rows = l->rows, .depth = DEPTH, .align = SPLIT_K}; next_chunk(&walk, &g.chunk);) {
    CPU(run)(c, others, shared_task, &g);
    CPU(run)(c, g.tasks, own_task, &g);
  }
}

/* Rows are slots, or places of a table of distances: no operation has more. */
size_t CPU(split_weight_gradient_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t narrow = split_steps(limits->hidden), wide = split_steps(split_longest(limits));
  const int64_t rows = limits->max_slots > limits->distances ? limits->max_slots : limits->distances;
  const int64_t packed = (narrow + threads * own_tiles(narrow, wide)) * chunk_steps(rows, limits->slices) * SPLIT_STEP;
  return (size_t)(packed + aside_size(limits, DEPTH - (int64_t)limits->slices * SPLIT_K) * (int64_t)sizeof(float));
}
