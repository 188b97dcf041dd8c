/* bf16_linear_backward.c: dw += dy^T x and db += column sums of dy, of 16-bit values.
 *
 * As in linear_backward.c: the rows are walked in stretches; columns of dy are packed as left sides of tiles (and summed for db),
 * columns of x into panels, two rows side by side. The narrower of the two is packed by all threads, for all; then each task
 * packs some of the other for itself and adds their products with all of the first. An odd stretch ends with a row of zeros. */
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/transpose.h"

enum {
  MOST_TILES = 7,   /* of a task */
  MOST_PANELS = 4,  /* of a task */
  LEAST_TASKS = 16, /* cut this fine at least, if the shape allows */
  AHEAD = 16,       /* rows */
  DEPTH = 1024,     /* rows of a stretch: part of what the bits depend on */
  PARTS = (TILE_ROWS + VEC - 1) / VEC,
  LEFT_STEP = PARTS * VEC,     /* units of a packed tile of dy^T at each step */
  TURNED_ROW = DEPTH / 2 + 16, /* units from one row to the next where it is turned: not a multiple of a page's half, since then
                                  rows would drive each other out of the first cache */
  MOST_PARTS = BRIM_LEVEL == 2 ? BF16_ROWS / VEC : PARTS
};

typedef struct gradient {
  const brim_bf16_linear_gradient *g;
  bf16_kernel kernel;
  int64_t tile_size, panel_size, own_size; /* bytes */
  int64_t panels, tiles;                   /* panels of inputs; tiles of outputs */
  bool share_panels;                       /* tasks own tiles; or the other way round */
  int64_t tasks;
  int64_t row, depth; /* the stretch */
  char *shared, *own; /* all of one side; own_size bytes a worker */
} gradient;

/* Outputs of tile i: `height` from the result on. */
static int64_t tile_start(const gradient *s, int64_t i, int64_t *height) {
  const int64_t out = s->g->out, high = s->kernel.rows, o = s->kernel.whole ? high * i : out * i / s->tiles;
  *height = s->kernel.whole ? least(high, out - o) : out * (i + 1) / s->tiles - o;
  return o;
}

/* Two rows of dy from an output on, VEC values (loads with a mask take longer) or what there is; adds them to the sum. */
BRIM_INLINE void take_pair(const gradient *s, int64_t k, int64_t o, vec *even, vec *odd, vec *sum) {
  const int64_t n = s->g->out - o;
  const brim_bfloat *dy = s->g->dy + (s->row + k) * s->g->dy_stride + o;
  *even = hload_n(dy, n);
  *odd = vzero();
  *sum += *even;
  if (k + 1 < s->depth) {
    *odd = hload_n(dy + s->g->dy_stride, n);
    *sum += *odd;
  }
}

BRIM_INLINE vec join_pair(vec even, vec odd) {
  return (vec)((uvec)odd | (uvec)even >> 16);
}

/* Asks for two rows of dy that will be packed soon: rows are too far apart for the caches to foresee. */
static void fetch_rows(const gradient *s, int64_t k, int64_t from, int64_t to) {
  enum { LINE = 32 };
  const brim_bfloat *dy = s->g->dy + (s->row + k) * s->g->dy_stride;
  for (int64_t o = from; k + 1 < s->depth && o < to; o += LINE) {
    __builtin_prefetch(dy + o);
    __builtin_prefetch(dy + s->g->dy_stride + o);
  }
}

/* Columns of dy for some tiles, step by step, in the order of memory. `sum`: MOST_PARTS a tile. */
static void pack_steps(const gradient *s, int64_t from, int64_t tiles, char *to, vec *sum) {
  int64_t start[MOST_TILES], height[MOST_TILES];
  for (int64_t i = 0; i < tiles; i++)
    start[i] = tile_start(s, from + i, &height[i]);
  for (int64_t k = 0; k < s->depth; k += 2) {
    float *line = (float *)(void *)to + (s->kernel.widens ? k : k / 2) * LEFT_STEP;
    fetch_rows(s, k + AHEAD, start[0], start[tiles - 1] + height[tiles - 1]);
    for (int64_t i = 0; i < tiles; i++, line += s->tile_size / BF16_UNIT)
      for (int64_t j = 0; j < PARTS && j * VEC < height[i]; j++) {
        vec even, odd;
        take_pair(s, k, start[i] + j * VEC, &even, &odd, &sum[i * MOST_PARTS + j]);
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
static void pack_turned(const gradient *s, int64_t tile_number, char *to, vec *sum) {
  int64_t height;
  const int64_t o = tile_start(s, tile_number, &height);
  for (int64_t j = 0; j * VEC < height; j++)
    for (int64_t k = 0; k < s->depth; k += 2 * VEC) {
      float block[VEC * VEC] = {0}, *unit = (float *)(void *)to + j * VEC * TURNED_ROW + k / 2;
      vec turned[VEC];
      for (int64_t i = 0; i < VEC && k + 2 * i < s->depth; i++) {
        vec even, odd;
        take_pair(s, k + 2 * i, o + j * VEC, &even, &odd, &sum[j]);
        vstore(block + i * VEC, join_pair(even, odd));
      }
      transpose((const char *)block, sizeof turned[0], turned);
      for (int64_t i = 0; i < VEC; i++)
        vstore(unit + i * TURNED_ROW, turned[i]);
    }
}

/* Columns of dy for some tiles; their sums, row by row, are added to db. */
static void pack_tiles(const gradient *s, int64_t from, int64_t tiles, char *to) {
  vec sum[MOST_TILES * MOST_PARTS];
  for (int64_t i = 0; i < tiles * MOST_PARTS; i++)
    sum[i] = vzero();
  for (int64_t i = 0; s->kernel.turned && i < tiles; i++)
    pack_turned(s, from + i, to + i * s->tile_size, sum + i * MOST_PARTS);
  if (!s->kernel.turned)
    pack_steps(s, from, tiles, to, sum);
  for (int64_t i = 0; s->g->db && i < tiles; i++) {
    int64_t height;
    float *db = s->g->db + tile_start(s, from + i, &height);
    for (int64_t j = 0; j < height; j += VEC)
      vstore_n(db + j, vload_n(db + j, height - j) + sum[i * MOST_PARTS + j / VEC], height - j);
  }
}

static void pack_panel(const gradient *s, int64_t panel, char *to) {
  const int64_t column = panel * TILE_COLUMNS, stride = s->g->x_stride;
  CPU(bf16_pack_rows)(s->kernel.widens, s->depth, least(TILE_COLUMNS, s->g->in - column), s->g->x + s->row * stride + column,
                      stride, to);
  bf16_clear_units(to, bf16_units(s->kernel.widens, s->depth), bf16_deep_units(&s->kernel, s->depth));
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

static void add_part(int64_t height, int64_t columns, const float *c, float *dw, int64_t row) {
  for (int64_t i = 0; i < height; i++, c += TILE_COLUMNS, dw += row)
    for (int64_t j = 0; j < columns; j += VEC)
      vstore_n(dw + j, vload_n(dw + j, columns - j) + vload(c + j), columns - j);
}

/* Some tiles by one panel. */
static void multiply(const gradient *s, int64_t first, int64_t tiles, const char *left, int64_t panel, const char *right) {
  const int64_t column = panel * TILE_COLUMNS, columns = least(TILE_COLUMNS, s->g->in - column), row = s->g->in;
  const bool whole = columns == TILE_COLUMNS, turned = s->kernel.turned;
  for (int64_t i = 0; i < tiles; i++) {
    float sums[BF16_ROWS * TILE_COLUMNS];
    int64_t height;
    float *dw = s->g->dw + tile_start(s, first + i, &height) * row + column;
    const bf16_tile t = {.steps = bf16_deep_units(&s->kernel, s->depth),
                         .a = left + i * s->tile_size,
                         .a_row = (turned ? TURNED_ROW : 1) * BF16_UNIT,
                         .a_step = (turned ? 1 : LEFT_STEP) * BF16_UNIT,
                         .b = right,
                         .c = whole ? dw : sums,
                         .c_row = whole ? row : TILE_COLUMNS,
                         .spare = true,
                         .add = whole,
                         .fetch = (const char *)dw,
                         .fetch_row = row * (int64_t)sizeof *dw,
                         .fetch_bytes = columns * (int64_t)sizeof *dw};
    s->kernel.run(height, &t);
    if (!whole)
      add_part(height, columns, sums, dw, row);
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
  const int64_t stretches = divided(g->rows, DEPTH);
  for (int64_t i = 0; i < stretches; i++) {
    s.row = g->rows * i / stretches;
    s.depth = g->rows * (i + 1) / stretches - s.row;
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
  return (size_t)((panels > tiles ? panels : tiles) + (int64_t)brim_runtime_threads(c->runtime) * s.own_size);
}
