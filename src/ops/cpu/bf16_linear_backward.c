/* bf16_linear_backward.c: dw += dy^T x and db += column sums of dy, of 16-bit values.
 *
 * As in linear_backward.c: the rows are walked in chunks; columns of dy are packed as left sides of tiles (and summed for db),
 * columns of x into panels, two rows side by side. The narrower of the two is packed by all threads, for all; then each task
 * packs some of the other for itself and adds their products with all of the first. An odd stretch ends with a row of zeros. */
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/slices.h"
#include "ops/cpu/transpose.h"

enum {
  MOST_TILES = 7,         /* of a task */
  MOST_PANELS = 4,        /* of a task */
  LEAST_TASKS = 16,       /* cut this fine at least, if the shape allows */
  AHEAD = 16,             /* rows */
  DEPTH = 1024,           /* rows of a stretch: part of what the bits depend on */
  MOST_ALIGNED = 2 * VEC, /* rows: where stretches begin that are turned, and may end in zeros */
  TILE_VECTORS = (TILE_ROWS + VEC - 1) / VEC,
  LEFT_STEP = TILE_VECTORS * VEC, /* units of a packed tile of dy^T at each step */
  TURNED_ROW = DEPTH / 2 + 16, /* units from one row to the next where it is turned: not a multiple of a page's half, since then
                                  rows would drive each other out of the first cache */
  MOST_TILE_VECTORS = BRIM_LEVEL >= 2 ? BF16_ROWS / VEC : TILE_VECTORS
};

typedef struct gradient {
  const brim_bf16_linear_gradient *g;
  bf16_kernel kernel;
  int64_t tile_size, panel_size, own_size; /* bytes */
  int64_t panels, tiles;                   /* panels of inputs; tiles of outputs */
  bool share_panels;                       /* tasks own tiles; or the other way round */
  int64_t tasks;
  chunk chunk;
  char *shared, *own;    /* all of one side; own_size bytes a worker */
  bool cut;              /* there are slices */
  float *sums, *columns; /* of dw and db, that wait for others */
} gradient;

/* Outputs of tile i: `height` from the result on. */
static int64_t tile_start(const gradient *s, int64_t i, int64_t *height) {
  const int64_t out = s->g->out, high = s->kernel.rows, o = s->kernel.whole ? high * i : out * i / s->tiles;
  *height = s->kernel.whole ? least(high, out - o) : out * (i + 1) / s->tiles - o;
  return o;
}

/* Two rows of dy from an output on, VEC values (loads with a mask take longer) or what there is; adds them to the sum. */
BRIM_INLINE void take_pair(const gradient *s, const stretch *of, int64_t k, int64_t o, vec *even, vec *odd, vec *sum) {
  const int64_t n = s->g->out - o;
  const brim_bfloat *dy = s->g->dy + (of->row + k) * s->g->dy_stride + o;
  *even = hload_n(dy, n);
  *odd = vzero();
  *sum += *even;
  if (k + 1 < of->depth) {
    *odd = hload_n(dy + s->g->dy_stride, n);
    *sum += *odd;
  }
}

BRIM_INLINE vec join_pair(vec even, vec odd) {
  return (vec)((uvec)odd | (uvec)even >> 16);
}

/* Asks for two rows of dy that will be packed soon: rows are too far from each other for the caches to foresee. */
static void fetch_rows(const gradient *s, const stretch *of, int64_t k, int64_t from, int64_t to) {
  enum { LINE = 32 };
  const brim_bfloat *dy = s->g->dy + (of->row + k) * s->g->dy_stride;
  for (int64_t o = from; k + 1 < of->depth && o < to; o += LINE) {
    __builtin_prefetch(dy + o);
    __builtin_prefetch(dy + s->g->dy_stride + o);
  }
}

/* Columns of dy for some tiles, step by step, in the order of memory. `sum`: MOST_PARTS a tile. */
static void pack_steps(const gradient *s, const stretch *of, int64_t from, int64_t tiles, char *to, vec *sum) {
  int64_t start[MOST_TILES], height[MOST_TILES];
  for (int64_t i = 0; i < tiles; i++)
    start[i] = tile_start(s, from + i, &height[i]);
  for (int64_t k = 0; k < of->depth; k += 2) {
    float *line = (float *)(void *)to + (s->kernel.widens ? of->at + k : (of->at + k) / 2) * LEFT_STEP;
    fetch_rows(s, of, k + AHEAD, start[0], start[tiles - 1] + height[tiles - 1]);
    for (int64_t i = 0; i < tiles; i++, line += s->tile_size / BF16_UNIT)
      for (int64_t j = 0; j < TILE_VECTORS && j * VEC < height[i]; j++) {
        vec even, odd;
        take_pair(s, of, k, start[i] + j * VEC, &even, &odd, &sum[i * MOST_TILE_VECTORS + j]);
        if (s->kernel.widens) {
          vstore(line + j * VEC, odd);
          vstore(line + j * VEC + LEFT_STEP, even);
        } else {
          vstore(line + j * VEC, join_pair(even, odd));
        }
      }
  }
}

/* The same turned: TURNED_ROW units a row, zeros after the last up to a whole vector. */
static void pack_turned(const gradient *s, const stretch *of, int64_t tile_number, char *to, vec *sum) {
  int64_t height;
  const int64_t o = tile_start(s, tile_number, &height);
  for (int64_t j = 0; j * VEC < height; j++)
    for (int64_t k = 0; k < of->depth; k += 2 * VEC) {
      float block[VEC * VEC] = {0}, *unit = (float *)(void *)to + j * VEC * TURNED_ROW + (of->at + k) / 2;
      vec turned[VEC];
      for (int64_t i = 0; i < VEC && k + 2 * i < of->depth; i++) {
        vec even, odd;
        take_pair(s, of, k + 2 * i, o + j * VEC, &even, &odd, &sum[j]);
        vstore(block + i * VEC, join_pair(even, odd));
      }
      transpose((const char *)block, sizeof turned[0], turned);
      for (int64_t i = 0; i < VEC; i++)
        vstore(unit + i * TURNED_ROW, turned[i]);
    }
}

/* Column sums of a stretch. */
static void add_columns(const gradient *s, const stretch *of, int64_t first, int64_t n, vec sum) {
  float values[VEC], *db = s->g->db + first;
  vstore(values, sum);
  if (!s->cut) {
    vstore_n(db, vload_n(db, n) + sum, n);
    return;
  }
  wait_for(of, n, values, s->columns + first, s->g->out);
  if (s->chunk.ends && of == &s->chunk.list[s->chunk.count - 1])
    vstore_n(db, vload_n(db, n) + vload_n(s->columns + first, n), n);
}

/* Columns of dy for some tiles; their sums, row by row, are added to db. */
static void pack_stretch(const gradient *s, const stretch *of, int64_t from, int64_t tiles, char *to) {
  vec sum[MOST_TILES * MOST_TILE_VECTORS];
  for (int64_t i = 0; i < tiles * MOST_TILE_VECTORS; i++)
    sum[i] = vzero();
  for (int64_t i = 0; s->kernel.turned && i < tiles; i++)
    pack_turned(s, of, from + i, to + i * s->tile_size, sum + i * MOST_TILE_VECTORS);
  if (!s->kernel.turned)
    pack_steps(s, of, from, tiles, to, sum);
  for (int64_t i = 0; s->g->db && i < tiles; i++) {
    int64_t height;
    const int64_t start = tile_start(s, from + i, &height);
    for (int64_t j = 0; j < height; j += VEC)
      add_columns(s, of, start + j, least(VEC, height - j), sum[i * MOST_TILE_VECTORS + j / VEC]);
  }
}

static void pack_tiles(const gradient *s, int64_t from, int64_t tiles, char *to) {
  for (int32_t k = 0; k < s->chunk.count; k++)
    pack_stretch(s, &s->chunk.list[k], from, tiles, to);
}

/* Units before a stretch. */
static int64_t units_at(const gradient *s, const stretch *of) {
  return s->kernel.widens ? of->at : of->at / 2;
}

static void pack_panel(const gradient *s, int64_t panel, char *to) {
  const int64_t column = panel * TILE_COLUMNS, stride = s->g->x_stride;
  for (int32_t k = 0; k < s->chunk.count; k++) {
    const stretch *of = &s->chunk.list[k];
    char *units = to + units_at(s, of) * TILE_COLUMNS * BF16_UNIT;
    CPU(bf16_pack_rows)(s->kernel.widens, of->depth, least(TILE_COLUMNS, s->g->in - column), s->g->x + of->row * stride + column,
                        stride, units);
    bf16_clear_units(units, bf16_units(s->kernel.widens, of->depth), bf16_deep_units(&s->kernel, of->depth));
  }
}

static void shared_task(void *context, int64_t task, int worker) {
  (void)worker;
  const gradient *s = context;
  const int64_t from = task * MOST_TILES;
  if (s->share_panels)
    pack_panel(s, task, s->shared + task * s->panel_size);
  else
    pack_tiles(s, from, least(MOST_TILES, s->tiles - from), s->shared + from * s->tile_size);
}

static void add_tile(int64_t height, int64_t columns, const float *c, float *dw, int64_t row) {
  for (int64_t i = 0; i < height; i++, c += TILE_COLUMNS, dw += row)
    for (int64_t j = 0; j < columns; j += VEC)
      vstore_n(dw + j, vload_n(dw + j, columns - j) + vload(c + j), columns - j);
}

/* A stretch of a tile by one of a panel. */
static bf16_tile tile_of(const gradient *s, const stretch *of, const char *left, const char *right) {
  const int64_t at = units_at(s, of), step = (s->kernel.turned ? 1 : LEFT_STEP) * BF16_UNIT;
  return (bf16_tile){.steps = bf16_deep_units(&s->kernel, of->depth),
                     .a = left + at * step,
                     .a_row = (s->kernel.turned ? TURNED_ROW : 1) * BF16_UNIT,
                     .a_step = step,
                     .spare = true,
                     .b = right + at * TILE_COLUMNS * BF16_UNIT};
}

/* A chunk's last product, added to dw. */
static void multiply_into(const gradient *s, int64_t o, int64_t height, int64_t column, bf16_tile *t) {
  const int64_t columns = least(TILE_COLUMNS, s->g->in - column), row = s->g->in;
  const bool whole = columns == TILE_COLUMNS;
  float sums[BF16_ROWS * TILE_COLUMNS] __attribute__((aligned(64))), *dw = s->g->dw + o * row + column;
  t->c = whole ? dw : sums;
  t->c_row = whole ? row : TILE_COLUMNS;
  t->add = whole;
  t->fetch = (const char *)dw;
  t->fetch_row = row * (int64_t)sizeof *dw;
  t->fetch_bytes = columns * (int64_t)sizeof *dw;
  s->kernel.run(height, t);
  if (!whole)
    add_tile(height, columns, sums, dw, row);
}

/* One tile by one panel, stretch by stretch. */
static void multiply_stretches(const gradient *s, int64_t o, int64_t height, const char *left, int64_t panel, const char *right) {
  float held[BRIM_SLICE_DEPTH * BF16_ROWS * TILE_COLUMNS] __attribute__((aligned(64)));
  const tile_sums sums = {.held = held,
                          .size = s->kernel.rows * TILE_COLUMNS,
                          .spill = s->sums + (panel * s->g->out + o) * TILE_COLUMNS,
                          .apart = s->panels * s->g->out * TILE_COLUMNS};
  fetch_sums(&sums, &s->chunk, height);
  for (int32_t k = 0; k < s->chunk.count; k++) {
    const stretch *of = &s->chunk.list[k];
    bf16_tile one = tile_of(s, of, left, right);
    const float *before[BRIM_SLICE_DEPTH];
    one.sum_count = of->adds;
    one.sums = before;
    list_sums(&sums, of, before);
    if (s->chunk.ends && k + 1 == s->chunk.count) {
      multiply_into(s, o, height, panel * TILE_COLUMNS, &one);
      continue;
    }
    one.c = sum_goes_to(&sums, of);
    one.c_row = TILE_COLUMNS;
    one.spare = of->stays || of->adds > 0; /* when spilled, the next tile's sums follow at once */
    s->kernel.run(height, &one);
  }
}

/* Some tiles by one panel. */
static void multiply(const gradient *s, int64_t first, int64_t tiles, const char *left, int64_t panel, const char *right) {
  for (int64_t i = 0; i < tiles; i++) {
    int64_t height;
    const int64_t o = tile_start(s, first + i, &height);
    multiply_stretches(s, o, height, left + i * s->tile_size, panel, right);
  }
}

static void tiles_task(void *context, int64_t task, int worker) {
  const gradient *s = context;
  char *own = s->own + (int64_t)worker * s->own_size;
  if (s->kernel.begin)
    s->kernel.begin();
  const int64_t first = s->tiles * task / s->tasks, tiles = s->tiles * (task + 1) / s->tasks - first;
  pack_tiles(s, first, tiles, own);
  for (int64_t panel = 0; s->g->dw && panel < s->panels; panel++)
    multiply(s, first, tiles, own, panel, s->shared + panel * s->panel_size);
  if (s->kernel.end)
    s->kernel.end();
}

static void panels_task(void *context, int64_t task, int worker) {
  const gradient *s = context;
  char *own = s->own + (int64_t)worker * s->own_size;
  if (s->kernel.begin)
    s->kernel.begin();
  for (int64_t panel = s->panels * task / s->tasks; panel < s->panels * (task + 1) / s->tasks; panel++) {
    pack_panel(s, panel, own);
    multiply(s, 0, s->tiles, s->shared, panel, own);
  }
  if (s->kernel.end)
    s->kernel.end();
}

/* What is packed, in bytes. */
static void set_sizes(gradient *s) {
  const int64_t units = s->kernel.widens ? DEPTH : DEPTH / 2;
  s->tile_size = (s->kernel.turned ? TURNED_ROW * s->kernel.rows : units * LEFT_STEP) * BF16_UNIT;
  s->panel_size = units * TILE_COLUMNS * BF16_UNIT;
  s->own_size = s->tile_size * MOST_TILES > s->panel_size * MOST_PANELS ? s->tile_size * MOST_TILES : s->panel_size * MOST_PANELS;
}

void CPU(bf16_weight_gradient)(brim_ops_context *c, const brim_bf16_linear_gradient *g) {
  gradient s = {.g = g, .kernel = CPU(bf16_kernel)(c->runtime->bf16)};
  if (!g->dw && !g->db)
    return;
  if (g->dw) {
    if (g->rows > c->stats.gemm_max_rows)
      c->stats.gemm_max_rows = g->rows;
    c->stats.gemm_flops += 2.0 * (double)g->rows * g->in * g->out;
  }
  set_sizes(&s);
  s.panels = divided(g->in, TILE_COLUMNS);
  s.tiles = divided(g->out, s.kernel.rows);
  s.share_panels = !g->dw || s.panels * s.panel_size <= s.tiles * s.tile_size;
  const int64_t units = s.share_panels ? s.tiles : s.panels, most = s.share_panels ? MOST_TILES : MOST_PANELS;
  const int64_t share = units / LEAST_TASKS;
  s.tasks = divided(units, share < 1 ? 1 : least(share, most));
  s.own = c->workspace;
  s.shared = s.own + (int64_t)brim_runtime_threads(c->runtime) * s.own_size;
  s.cut = g->slices.count > 0;
  s.columns = (float *)(void *)(s.shared + (!g->dw ? 0 : s.share_panels ? s.panels * s.panel_size : s.tiles * s.tile_size));
  s.sums = s.columns + most_waiting(&g->slices) * round_up(g->out, 16);
  chunk_walk walk = {
      .of = &g->slices, .rows = g->rows, .depth = DEPTH, .align = s.kernel.turned ? MOST_ALIGNED : 2, .room = DEPTH};
  while (next_chunk(&walk, &s.chunk)) {
    if (g->dw)
      CPU(run)(c, s.share_panels ? s.panels : divided(s.tiles, MOST_TILES), shared_task, &s);
    CPU(run)(c, s.tasks, s.share_panels ? tiles_task : panels_task, &s);
  }
}

/* One side of any weight has at most H values, but for layers that narrow the feed-forward. */
size_t CPU(bf16_weight_gradient_workspace)(const brim_ops_context *c, const brim_ops_limits *limits) {
  gradient s = {.kernel = CPU(bf16_kernel)(c->runtime->bf16)};
  set_sizes(&s);
  const int64_t panels = divided(limits->hidden, TILE_COLUMNS) * s.panel_size;
  const int64_t tiles = divided(limits->hidden, s.kernel.rows) * s.tile_size;
  const int64_t spill = spill_size(limits, DEPTH - (int64_t)limits->slices * MOST_ALIGNED) * (int64_t)sizeof(float);
  return (size_t)((panels > tiles ? panels : tiles) + (int64_t)brim_runtime_threads(c->runtime) * s.own_size + spill);
}
