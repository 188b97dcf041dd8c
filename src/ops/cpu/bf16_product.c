/* bf16_product.c: see bf16_product.h. */
#include "ops/cpu/bf16_product.h"

enum {
  ROWS_PER_TASK = 512,
  LEAST_TASKS = 16,                 /* cut this fine at least, if the shape allows */
  MOST_PANELS = 4,                  /* of a task */
  DEPTH = MOST_PANELS * BF16_CHUNK, /* units of a panel that is packed alone */
  PANELS_SIZE = DEPTH * TILE_COLUMNS * BF16_UNIT,
  LEFT_SIZE = BF16_ROWS * BF16_CHUNK * BF16_UNIT,
  SUMS_SIZE = MOST_PANELS * ROWS_PER_TASK * TILE_COLUMNS * (int)sizeof(float),
  SCRATCH_SIZE = PANELS_SIZE + LEFT_SIZE + SUMS_SIZE
};

/* A worker's memory. */
typedef struct scratch {
  char *panels; /* MOST_PANELS of BF16_CHUNK units, or one of DEPTH */
  float *left;  /* widened rows of a tile: [rows, BF16_CHUNK] */
  float *sums;  /* of a tile; or of all tiles while a product is summed in chunks */
} scratch;

/* Some panels of some rows, of which `units` units are multiplied at a time. */
typedef struct work {
  const bf16_product *p;
  scratch s;
  int64_t first, rows; /* rows */
  int64_t from, to;    /* panels */
  int64_t next;        /* the panel that follows, or -1 */
  int64_t units, chunk;
} work;

static int64_t panel_columns(const bf16_product *p, int64_t panel) {
  return least(TILE_COLUMNS, p->columns - panel * TILE_COLUMNS);
}

static void pack(const bf16_product *p, int64_t panel, int64_t k, int64_t depth, char *to) {
  const int64_t column = panel * TILE_COLUMNS, columns = panel_columns(p, panel);
  if (p->transposed)
    CPU(bf16_pack_columns)(p->kernel.widens, depth, columns, p->w + column * p->w_stride + k, p->w_stride, to);
  else
    CPU(bf16_pack_rows)(p->kernel.widens, depth, columns, p->w + k * p->w_stride + column, p->w_stride, to);
}

/* Asks for one of `shares` equal shares of a panel. */
static void prefetch(const bf16_product *p, int64_t panel, int64_t which, int64_t shares) {
  enum { LINE = 32 };
  const int64_t column = panel * TILE_COLUMNS, columns = panel_columns(p, panel), depth = least(p->depth, 2 * DEPTH);
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

/* What the sums of some columns start from: `line` where there are not enough of them. */
static const float *start_of(const bf16_product *p, int64_t column, int64_t columns, float line[TILE_COLUMNS]) {
  if (!p->start || columns == TILE_COLUMNS)
    return p->start ? p->start + column : NULL;
  memset(line, 0, TILE_COLUMNS * sizeof *line);
  memcpy(line, p->start + column, (size_t)columns * sizeof *line);
  return line;
}

/* Rows of a from value k on, as the kernel reads them. */
static void take_left(const work *t, int64_t row, int64_t rows, int64_t k, int64_t depth, bf16_tile *to) {
  const bf16_product *p = t->p;
  const brim_bfloat *a = p->a + (t->first + row) * p->a_stride + k;
  to->a_step = BF16_UNIT;
  if (p->kernel.widens) {
    for (int64_t i = 0; i < rows; i++)
      CPU(bf16_widen_row)(depth, a + i * p->a_stride, t->s.left + i * BF16_CHUNK);
    to->a = (const char *)t->s.left;
    to->a_row = BF16_CHUNK * BF16_UNIT;
    to->steps = bf16_units(true, depth);
  } else {
    to->a = (const char *)a;
    to->a_row = p->a_stride * (int64_t)sizeof *a;
    to->steps = depth / 2;
    to->odd = depth % 2;
  }
}

static void fetch_out(const bf16_product *p, int64_t row, int64_t column, int64_t columns, bool last, bf16_tile *to) {
  const int64_t size = p->out.type == BRIM_TYPE_BF16 ? (int64_t)sizeof(brim_bfloat) : (int64_t)sizeof(float);
  to->fetch = p->out.at && last ? (const char *)p->out.at + (row * p->out_stride + column) * size : NULL;
  to->fetch_row = p->out_stride * size;
  to->fetch_bytes = columns * size;
}

/* Rows of a tile; the first ones may be done already. */
typedef struct tile_rows {
  int64_t first, end, done;
} tile_rows;

/* One tile's rows by the panels of `t`, units from `unit` on. */
static void multiply_rows(const work *t, tile_rows at, int64_t unit) {
  const bf16_product *p = t->p;
  const int64_t row = at.first, rows = at.end - row, to_do = row + at.done;
  const int64_t each = p->kernel.widens ? 1 : 2, k = unit * each, depth = least(t->chunk * each, p->depth - k);
  const bool alone = t->chunk >= t->units, last = unit + t->chunk >= t->units;
  bf16_tile sides = {.c_row = TILE_COLUMNS};
  take_left(t, row, rows, k, depth, &sides);
  for (int64_t panel = t->from; panel < t->to; panel++) {
    const int64_t column = panel * TILE_COLUMNS, columns = panel_columns(p, panel), number = panel - t->from;
    sides.b = t->s.panels + number * t->chunk * TILE_COLUMNS * BF16_UNIT;
    float line[TILE_COLUMNS];
    sides.start = start_of(p, column, columns, line);
    sides.accumulates = unit > 0;
    sides.c = alone ? t->s.sums : t->s.sums + (number * ROWS_PER_TASK + row) * TILE_COLUMNS;
    fetch_out(p, t->first + row, column, columns, last, &sides);
    p->kernel.run(rows, &sides);
    if (last)
      p->done(p, t->first + to_do, at.end - to_do, column, columns, sides.c + at.done * TILE_COLUMNS);
  }
}

/* Where tile `i` begins and ends. Where tiles are whole, and sums begin and end with them, the last one begins early
 * enough to have whole rows: some, which are done, are multiplied once more. */
static tile_rows tile_of(const work *t, int64_t i, int64_t tiles) {
  const bf16_kernel *kernel = &t->p->kernel;
  const int64_t first = kernel->rows * i, spare = round_up(t->rows, BF16_SPARE) - t->rows;
  if (!kernel->whole)
    return (tile_rows){t->rows * i / tiles, t->rows * (i + 1) / tiles, 0};
  const int64_t again = i + 1 == tiles && first >= spare && t->chunk >= t->units ? spare : 0;
  return (tile_rows){first - again, least(first + kernel->rows, t->rows), again};
}

static void run_work(const work *t) {
  const bf16_product *p = t->p;
  const int64_t tiles = divided(t->rows, p->kernel.rows), each = p->kernel.widens ? 1 : 2;
  for (int64_t unit = 0; unit == 0 || unit < t->units; unit += t->chunk) {
    const int64_t depth = least(t->chunk * each, p->depth - unit * each);
    for (int64_t panel = t->from; panel < t->to; panel++)
      pack(p, panel, unit * each, depth, t->s.panels + (panel - t->from) * t->chunk * TILE_COLUMNS * BF16_UNIT);
    for (int64_t i = 0; i < tiles; i++) {
      multiply_rows(t, tile_of(t, i, tiles), unit);
      if (t->next >= 0 && unit == 0)
        prefetch(p, t->next, i, tiles);
    }
  }
}

static void product_task(void *context, int64_t task, int worker) {
  const bf16_product *p = context;
  const int64_t block = task / p->groups, group = task % p->groups;
  const int64_t from = p->panels * group / p->groups, to = p->panels * (group + 1) / p->groups;
  char *memory = p->scratch + (int64_t)worker * SCRATCH_SIZE;
  work t = {.p = p, .first = p->rows * block / p->blocks, .units = bf16_units(p->kernel.widens, p->depth)};
  t.s = (scratch){memory, (float *)(void *)(memory + PANELS_SIZE), (float *)(void *)(memory + PANELS_SIZE + LEFT_SIZE)};
  t.rows = p->rows * (block + 1) / p->blocks - t.first;
  t.chunk = least(t.units, p->kernel.widens ? BF16_CHUNK : DEPTH);
  if (p->kernel.begin)
    p->kernel.begin();
  for (t.from = from; t.from < to; t.from = t.to) {
    t.to = p->kernel.widens ? to : t.from + 1; /* rows that are widened serve all panels */
    t.next = t.to < to ? t.to : -1;
    run_work(&t);
  }
  if (p->kernel.end)
    p->kernel.end();
}

void CPU(bf16_product_run)(brim_ops_context *c, bf16_product *p) {
  if (p->rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = p->rows;
  c->stats.gemm_flops += 2.0 * (double)p->rows * (double)p->depth * (double)p->columns;
  p->kernel = CPU(bf16_kernel)(c->runtime->bf16);
  p->scratch = c->workspace;
  p->panels = divided(p->columns, TILE_COLUMNS);
  p->blocks = divided(p->rows, ROWS_PER_TASK);
  const int64_t share = p->panels * p->blocks / LEAST_TASKS, fewest = p->kernel.widens ? 3 : 1;
  p->groups = divided(p->panels, share < fewest ? fewest : least(share, MOST_PANELS));
  CPU(run)(c, p->blocks * p->groups, product_task, p);
}

size_t CPU(bf16_product_workspace)(int threads) {
  return (size_t)threads * SCRATCH_SIZE;
}
