/* split_gradient.c: dw += dy^T x, db += column sums of dy.
 *
 * As in linear_backward.c: rows are walked in chunks (slices.h); the narrower side of a chunk is packed by all threads, for all,
 * and each task packs some of the other for itself and adds their products with all of the first. Tasks are cut by the number of
 * threads as well, which no result sees: a sum is a tile's. */
#include "ops/cpu/slices.h"
#include "ops/cpu/split.h"

enum {
  MOST_OWN = 128, /* steps of tiles, or panels, that a task packs */
  MOST_TASKS = 2, /* a thread: more would read the shared side more often */
  CUT_CHUNK = 24  /* steps of a chunk where there are slices and it is the only one: nothing waits for another */
};

/* Where a stretch is in packed sides. */
typedef struct packed_stretch {
  int64_t at, steps; /* at: bytes */
  int64_t whole;     /* rows of its whole steps */
  bool half_k;       /* its last step has half the k */
} packed_stretch;

typedef struct gradient {
  const brim_linear_gradient *l;
  split_kernel kernel;
  int64_t panels, tiles; /* of 32 inputs; of 32 outputs */
  bool share_panels;     /* tasks own tiles; or the other way round */
  int64_t tasks;
  int64_t size; /* bytes of a packed tile's side */
  int64_t most_own;
  chunk chunk;
  packed_stretch stretches[BRIM_MOST_SLICES];
  int64_t prefetch_per_step; /* rows a step */
  char *shared, *own;
  float *sums, *columns; /* of dw and db, that wait for others */
} gradient;

/* Of all rows, stretch by stretch: each begins a step. */
static int64_t cut_steps(const brim_row_slices *s) {
  int64_t steps = 0;
  for (int32_t k = 0; k < s->count; k++) {
    const int64_t rows = s->ends[k] - brim_slice_first(s, k), stretches = divided(rows, SPLIT_CHUNK * SPLIT_K);
    for (int64_t n = 0; n < stretches; n++)
      steps += split_steps(rows * (n + 1) / stretches - rows * n / stretches);
  }
  return steps;
}

/* Of a packed chunk. */
static int64_t chunk_steps(const brim_linear_gradient *l) {
  const int64_t all = l->slices.count > 0 ? cut_steps(&l->slices) : split_steps(l->rows);
  return l->slices.count > 0 && all <= CUT_CHUNK ? all : least(SPLIT_CHUNK, all);
}

/* The most of all calls within limits: no slice adds more than a step. */
static int64_t most_chunk_steps(int64_t rows, int32_t slices) {
  return least(slices > 0 ? CUT_CHUNK : SPLIT_CHUNK, split_steps(rows) + slices);
}

/* That a worker packs, of those of the wider side. */
static int64_t own_tiles(int64_t panels, int64_t tiles, int64_t steps) {
  return least(MOST_OWN / steps, panels > tiles ? panels : tiles);
}

static bool is_cut(const gradient *g) {
  return g->l->slices.count > 0;
}

static char *last_step(const packed_stretch *p, char *packed) {
  return packed + p->at + (p->steps - 1) * SPLIT_STEP;
}

/* Column sums of a stretch. */
static void add_columns(const gradient *g, const stretch *s, int64_t first, int64_t n, const float *values) {
  float *db = g->l->db + first;
  if (!is_cut(g)) {
    vstore_n(db, vload_n(db, n) + vload(values), n);
    return;
  }
  wait_for(s, n, values, g->columns + first, g->l->out);
  if (g->chunk.ends && s == &g->chunk.list[g->chunk.count - 1])
    vstore_n(db, vload_n(db, n) + vload_n(g->columns + first, n), n);
}

static void pack_tile(const gradient *g, int64_t number, char *to) {
  const brim_linear_gradient *l = g->l;
  const int64_t o = number * SPLIT_SIDE, height = least(SPLIT_SIDE, l->out - o);
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *s = &g->chunk.list[k];
    float sums[SPLIT_SIDE] = {0};
    const packed_stretch *p = &g->stretches[k];
    const float *dy = l->dy + s->row * l->dy_stride + o;
    CPU(split_left_turned)(height, p->whole, dy, l->dy_stride, to + p->at, sums);
    if (p->half_k)
      CPU(split_left_turned_half)(height, s->depth - p->whole, dy + p->whole * l->dy_stride, l->dy_stride, last_step(p, to),
                                  sums);
    for (int64_t j = 0; l->db && j < height; j += VEC)
      add_columns(g, s, o + j, least(VEC, height - j), sums + j);
  }
}

static void pack_panel(const gradient *g, int64_t number, char *to) {
  const brim_linear_gradient *l = g->l;
  const int64_t column = number * SPLIT_SIDE, columns = least(SPLIT_SIDE, l->in - column);
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *s = &g->chunk.list[k];
    const packed_stretch *p = &g->stretches[k];
    const float *x = l->x + s->row * l->x_stride + column;
    split_right(&(split_panel){.columns = columns, .depth = p->whole, .x = x, .stride = l->x_stride, .to = to + p->at});
    if (p->half_k)
      CPU(split_right_half)(columns, s->depth - p->whole, x + p->whole * l->x_stride, l->x_stride, last_step(p, to));
  }
}

static void shared_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *g = context;
  (g->share_panels ? pack_panel : pack_tile)(g, task, g->shared + task * g->size);
}

/* A tile by a panel. */
typedef struct pair {
  int64_t o, column;
  char *left, *right;
  const char *fetch; /* of the shared side's next one, some lines a step; or NULL */
} pair;

/* Of a task: sums that wait for others of a tile, and what is left to be added of the tile before. */
typedef struct task_sums {
  float *held, *sum;
  split_rest rest;
  bool begun;
} task_sums;

static void add_rest(task_sums *w) {
  for (int half = 0; w->rest.sum && half < 2; half++)
    split_add_rest(&w->rest, half);
  w->rest.sum = NULL;
}

/* Once a chunk. */
static void plan_chunk(gradient *g) {
  const chunk *c = &g->chunk;
  for (int32_t k = 0; k < c->count; k++) {
    const stretch *s = &c->list[k];
    packed_stretch *p = &g->stretches[k];
    *p = (packed_stretch){.at = s->at / SPLIT_K * SPLIT_STEP, .steps = split_steps(s->depth)};
    p->half_k = (s->depth - 1) % SPLIT_K < SPLIT_K / 2; /* its rows are few enough for half the products */
    p->whole = p->half_k ? (p->steps - 1) * SPLIT_K : s->depth;
  }
  const packed_stretch *last = &g->stretches[c->count - 1];
  g->prefetch_per_step = divided(SPLIT_SIDE, last->at / SPLIT_STEP + last->steps);
}

static split_rows rows_at(const gradient *g, const float *values, const pair *at, int64_t stride) {
  const float *first = values + at->o * stride + at->column;
  return (split_rows){first, first + least(SPLIT_SIDE, g->l->out - at->o) * stride, stride};
}

/* What a tile is added to, where its sums are spilled, and where those of the next one are. */
static int64_t rows_to_prefetch(const gradient *g, const pair *at, const pair *next, split_rows sets[2 * BRIM_SLICE_DEPTH]) {
  const chunk *c = &g->chunk;
  const int64_t row = g->panels * SPLIT_SIDE, apart = g->l->out * row;
  int64_t n = 0;
  if (c->ends)
    sets[n++] = rows_at(g, g->l->dw, at, g->l->in);
  for (int32_t which = c->lowest; !c->ends && which < c->left; which++)
    sets[n++] = rows_at(g, g->sums + which * apart, at, row);
  for (int32_t which = c->lowest; next && which < c->before; which++)
    sets[n++] = rows_at(g, g->sums + which * apart, next, row);
  return n;
}

/* What is still to be done for a stretch's sum. */
static split_rest rest_of(const gradient *g, const task_sums *w, const stretch *s, const pair *at) {
  const brim_linear_gradient *l = g->l;
  const int64_t row = g->panels * SPLIT_SIDE, apart = l->out * row;
  float *spill = g->sums + at->o * row + at->column;
  split_rest r = {.sum = w->sum,
                  .held = w->held + (s->index + s->adds - 1) * SPLIT_SIZE,
                  .held_count = s->fresh,
                  .spill = spill + (s->index + s->adds - s->fresh - 1) * apart,
                  .spill_count = s->adds - s->fresh,
                  .spill_row = row,
                  .apart = apart,
                  .rows = least(SPLIT_SIDE, l->out - at->o),
                  .columns = SPLIT_SIDE};
  if (g->chunk.ends && s == &g->chunk.list[g->chunk.count - 1]) {
    r.to = l->dw + at->o * l->in + at->column;
    r.stride = l->in;
    r.columns = least(SPLIT_SIDE, l->in - at->column);
    r.add = true;
  } else {
    r.is_tile = s->stays;
    r.to = s->stays ? w->held + s->index * SPLIT_SIZE : spill + s->index * apart;
    r.stride = s->stays ? SPLIT_SIDE : row;
  }
  return r;
}

/* Stretch by stretch: what is added to one's sum is added while the next one is multiplied. */
static void multiply(const gradient *g, task_sums *w, const pair *at, const pair *next, int64_t fetch_lines) {
  split_rows prefetch[2 * BRIM_SLICE_DEPTH];
  split_stretch s = {.rest = &w->rest,
                     .fetch = at->fetch,
                     .fetch_lines = fetch_lines,
                     .prefetch = prefetch,
                     .prefetch_count = rows_to_prefetch(g, at, next, prefetch),
                     .prefetch_per_step = g->prefetch_per_step};
  for (int32_t k = 0; k < g->chunk.count; k++) {
    const stretch *one = &g->chunk.list[k];
    const packed_stretch *p = &g->stretches[k];
    const bool last = k + 1 == g->chunk.count;
    s.steps = p->steps;
    s.half_k = p->half_k;
    s.begun = w->begun;
    s.a = at->left + p->at;
    s.b = at->right + p->at;
    s.waits = one->stays && one->adds == 0;
    s.c = s.waits ? w->held + one->index * SPLIT_SIZE : w->sum;
    s.next_a = !last ? at->left + p[1].at : next ? next->left : NULL;
    s.next_b = !last ? at->right + p[1].at : next ? next->right : NULL;
    g->kernel.stretch(&s);
    w->begun = s.next_a != NULL;
    w->rest = s.waits ? (split_rest){0} : rest_of(g, w, one, at);
  }
}

/* The n-th of a task: each of the other side by all of this one. */
static pair pair_of(const gradient *g, int64_t n, int64_t first, int64_t mine, char *own) {
  const int64_t other = n / mine, i = n % mine, others = g->share_panels ? g->panels : g->tiles;
  char *packed = own + i * g->size, *shared = g->shared + other * g->size;
  pair p = {.left = g->share_panels ? packed : shared, .right = g->share_panels ? shared : packed};
  p.o = (g->share_panels ? first + i : other) * SPLIT_SIDE;
  p.column = (g->share_panels ? other : first + i) * SPLIT_SIDE;
  if (other + 1 < others && !is_cut(g)) /* with slices that takes longer than it saves */
    p.fetch = shared + g->size + g->size / mine / 64 * 64 * i;
  return p;
}

static void own_task(void *context, int64_t task, int worker) {
  const gradient *g = context;
  const int64_t count = g->share_panels ? g->tiles : g->panels, others = g->share_panels ? g->panels : g->tiles;
  const int64_t first = count * task / g->tasks, mine = count * (task + 1) / g->tasks - first;
  char *own = g->own + (int64_t)worker * g->most_own * g->size;
  for (int64_t i = 0; i < mine; i++)
    (g->share_panels ? pack_tile : pack_panel)(g, first + i, own + i * g->size);
  if (g->kernel.begin)
    g->kernel.begin();
  float held[BRIM_SLICE_DEPTH * SPLIT_SIZE] __attribute__((aligned(64))), sum[SPLIT_SIZE] __attribute__((aligned(64)));
  task_sums w = {.held = held, .sum = sum};
  pair at = pair_of(g, 0, first, mine, own);
  for (int64_t n = 0; n < others * mine; n++) {
    const bool last = n + 1 == others * mine;
    const pair next = last ? at : pair_of(g, n + 1, first, mine, own);
    multiply(g, &w, &at, last ? NULL : &next, divided(SPLIT_STEP / 64, mine));
    at = next;
  }
  add_rest(&w);
  if (g->kernel.end)
    g->kernel.end();
}

void CPU(split_weight_gradient)(brim_ops_context *c, const brim_linear_gradient *l) {
  gradient g = {.l = l, .kernel = split_kernel_of(c), .panels = divided(l->in, SPLIT_SIDE), .tiles = divided(l->out, SPLIT_SIDE)};
  if (l->rows < 1)
    return;
  g.share_panels = g.panels <= g.tiles;
  const int64_t count = g.share_panels ? g.tiles : g.panels, others = g.share_panels ? g.panels : g.tiles;
  const int threads = brim_runtime_threads(c->runtime);
  const int64_t steps = chunk_steps(l);
  g.most_own = own_tiles(g.panels, g.tiles, steps);
  const int64_t fewest = divided(count, g.most_own), wanted = least(count, (int64_t)threads * MOST_TASKS);
  g.tasks = fewest > wanted ? divided(fewest, threads) * threads : wanted;
  g.tasks = least(g.tasks, count);
  g.own = c->workspace;
  g.size = steps * SPLIT_STEP;
  g.shared = g.own + threads * g.most_own * g.size;
  g.columns = (float *)(void *)(g.shared + others * g.size);
  g.sums = g.columns + most_waiting(&l->slices) * round_up(l->out, 16);
  for (chunk_walk walk =
           {.of = &l->slices, .rows = l->rows, .depth = SPLIT_CHUNK * SPLIT_K, .align = SPLIT_K, .room = steps * SPLIT_K};
       next_chunk(&walk, &g.chunk);) {
    plan_chunk(&g);
    CPU(run)(c, others, shared_task, &g);
    CPU(run)(c, g.tasks, own_task, &g);
  }
}

/* Rows are slots, or rows of a distance embedding: no operation has more. */
size_t CPU(split_weight_gradient_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t narrow = split_steps(limits->hidden), wide = split_steps(split_longest(limits));
  const int64_t rows = limits->max_slots > limits->distances ? limits->max_slots : limits->distances;
  const int64_t steps = most_chunk_steps(rows, limits->slices), packed = narrow * steps + threads * least(MOST_OWN, wide * steps);
  return (size_t)(packed * SPLIT_STEP +
                  spill_size(limits, (CUT_CHUNK - (int64_t)limits->slices) * SPLIT_K) * (int64_t)sizeof(float));
}
