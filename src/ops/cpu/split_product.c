/* split_product.c: a whole product with a weight on the right.
 *
 * The weight is packed once, by all threads, some panels of 32 columns and a chunk of k at a time; so are the rows where there
 * are few. Then a task multiplies some rows, which it packs itself where there are many, by some panels. Very few rows do not pay
 * for a weight that is packed in memory: a task packs its panels for itself, in the second cache, each while the one before it is
 * multiplied: AMX leaves the units of vectors idle. Rows and panels of a task are no matter to a result: a sum runs over its
 * chunks of k in order, and these depend on the weight's shape alone. */
#include "ops/cpu/split.h"

enum {
  CHUNK = 12,          /* steps: rows, and panels of a chunk, leave the second cache room for c */
  LEAST_TASKS = 16,    /* cut this fine at least, if the shape allows */
  MOST_TILES = 8,      /* of 32 rows, of a task */
  FEW_TILES = 64,      /* up to here rows are packed once, for all */
  VERY_FEW_TILES = 20, /* fit the second cache along with two panels */
  MOST_PANELS = 85,    /* of 32 columns and a whole chunk, at a time: 8 MiB */
  FEWEST_PANELS = 12,  /* of a task that packs its rows */
  FEW_TASKS = 2,       /* a thread, of few rows: of a task, the first panel is packed while nothing is multiplied */
  AT_ONCE = 4          /* panels after which activations are computed, while their columns are in the second cache */
};

typedef struct job {
  const product *p;
  split_kernel kernel;
  char *right, *left; /* packed */
  bool shares;        /* left has all rows; else those of each worker's task */
  bool few;           /* and each task packs its panels */
  int64_t tiles, blocks, groups;
  int64_t own;            /* tiles of a task */
  int64_t panel, panels;  /* the present ones */
  int64_t k, depth, size; /* chunk; bytes of a packed side of a tile */
} job;

static int64_t columns_of(const job *j, int64_t panel) {
  return least(SPLIT_SIDE, j->p->columns - panel * SPLIT_SIDE);
}

static split_panel panel_at(const job *j, int64_t number, char *to) {
  const product *p = j->p;
  const int64_t apart = SPLIT_SIDE * (p->transposed ? p->w_stride : 1), k = j->k * (p->transposed ? 1 : p->w_stride);
  const float *x = p->w + (j->panel + number) * apart + k;
  return (split_panel){.columns = columns_of(j, j->panel + number),
                       .depth = j->depth,
                       .x = x,
                       .stride = p->w_stride,
                       .turned = p->transposed,
                       .next = number + 1 < j->panels ? x + apart : NULL,
                       .to = to};
}

static void pack_right(const job *j, int64_t number, char *to) {
  const split_panel p = panel_at(j, number, to);
  split_right(&p);
}

static void pack_left(const job *j, int64_t number, char *to) {
  const product *p = j->p;
  const int64_t row = number * SPLIT_SIDE;
  CPU(split_left)(least(SPLIT_SIDE, p->rows - row), j->depth, p->a + row * p->a_stride + j->k, p->a_stride, to);
}

static void pack_task(void *context, int64_t task, int worker) {
  (void)worker;
  const job *j = context;
  if (task < j->panels)
    pack_right(j, task, j->right + task * j->size);
  else
    pack_left(j, task - j->panels, j->left + (task - j->panels) * j->size);
}

/* What the sums of a panel start from. */
static const float *start_of(const job *j, int64_t panel, float line[SPLIT_SIDE]) {
  const int64_t columns = columns_of(j, panel);
  const float *start = j->p->start ? j->p->start + panel * SPLIT_SIDE : NULL;
  if (!start || columns == SPLIT_SIDE)
    return start;
  memset(line, 0, SPLIT_SIDE * sizeof *line);
  memcpy(line, start, (size_t)columns * sizeof *line);
  return line;
}

/* A tile that c has no room for, or that is added to it. */
static BRIM_NOINLINE void run_spill(const job *j, int64_t rows, int64_t columns, split_tile *t) {
  float sums[SPLIT_SIZE] __attribute__((aligned(64))), *c = t->c;
  const int64_t row = t->c_row;
  const bool adds = j->p->add && !t->accumulates;
  for (int64_t i = 0; t->accumulates && i < SPLIT_SIDE; i++)
    for (int64_t k = 0; k < SPLIT_SIDE; k += VEC)
      vstore(sums + i * SPLIT_SIDE + k, i < rows && k < columns ? vload_n(c + i * row + k, columns - k) : vzero());
  t->c = sums;
  t->c_row = SPLIT_SIDE;
  j->kernel.run(t);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k += VEC) {
      const vec x = vload(sums + i * SPLIT_SIDE + k), old = adds ? vload_n(c + i * row + k, columns - k) : vzero();
      vstore_n(c + i * row + k, old + x, columns - k);
    }
}

/* Tiles from .. to - 1, packed at `left`, by one panel; the lines of the `next` one are asked for, or the one `beside` is packed,
 * unless it is NULL. */
static void multiply(const job *j, int64_t from, int64_t to, const char *left, int64_t number, const char *right,
                     const char *next, const split_panel *beside) {
  const product *p = j->p;
  const int64_t panel = j->panel + number, columns = columns_of(j, panel), steps = j->size / SPLIT_STEP;
  float line[SPLIT_SIDE];
  const float *start = start_of(j, panel, line);
  for (int64_t i = from; i < to; i++) {
    const int64_t row = i * SPLIT_SIDE, rows = least(SPLIT_SIDE, p->rows - row);
    split_tile t = {.steps = steps,
                    .a = left + (i - from) * j->size,
                    .b = right,
                    .start = start,
                    .c = p->c + row * p->c_stride + panel * SPLIT_SIDE,
                    .c_row = p->c_stride,
                    .half = rows <= SPLIT_SIDE / 2,
                    .accumulates = j->k > 0,
                    .fetch = next ? next + j->size / (to - from) / 64 * 64 * (i - from) : NULL,
                    .fetch_lines = divided(SPLIT_STEP / 64, to - from),
                    .beside = beside,
                    .piece = SPLIT_PIECES * steps * (i - from) / (to - from),
                    .piece_end = SPLIT_PIECES * steps * (i - from + 1) / (to - from)};
    t.next = i + 1 < to ? t.c + SPLIT_SIDE * p->c_stride : t.c - (i - from) * SPLIT_SIDE * p->c_stride + SPLIT_SIDE;
    if (rows < SPLIT_SIDE || columns < SPLIT_SIDE || (p->add && j->k == 0))
      run_spill(j, rows, columns, &t);
    else
      j->kernel.run(&t);
  }
}

static void multiply_task(void *context, int64_t task, int worker) {
  const job *j = context;
  const product *p = j->p;
  const int64_t block = task / j->groups, group = task % j->groups;
  const int64_t from = j->tiles * block / j->blocks, to = j->tiles * (block + 1) / j->blocks;
  const int64_t end = j->panels * (group + 1) / j->groups, row = from * SPLIT_SIDE;
  char *left = j->left + (j->shares ? from : (int64_t)worker * j->own) * j->size;
  for (int64_t i = from; !j->shares && i < to; i++)
    pack_left(j, i, left + (i - from) * j->size);
  if (j->kernel.begin)
    j->kernel.begin();
  for (int64_t first = j->panels * group / j->groups, last; first < end; first = last) {
    last = least(first + AT_ONCE, end);
    for (int64_t n = first; n < last; n++)
      multiply(j, from, to, left, n, j->right + n * j->size, n + 1 < end ? j->right + (n + 1) * j->size : NULL, NULL);
    if (p->after && j->k + j->depth == p->depth)
      p->after(p, row, least(to * SPLIT_SIDE, p->rows) - row, (j->panel + first) * SPLIT_SIDE,
               least((j->panel + last) * SPLIT_SIDE, p->columns));
  }
  if (j->kernel.end)
    j->kernel.end();
}

/* Of very few rows. */
static void left_task(void *context, int64_t task, int worker) {
  (void)worker;
  const job *j = context;
  pack_left(j, task, j->left + task * j->size);
}

static void panels_task(void *context, int64_t task, int worker) {
  const job *j = context;
  const product *p = j->p;
  const int64_t first = j->panels * task / j->groups, end = j->panels * (task + 1) / j->groups;
  char *right = j->right + 2 * worker * j->size, *other = right + j->size;
  pack_right(j, first, right); /* nothing is multiplied yet */
  if (j->kernel.begin)
    j->kernel.begin();
  for (int64_t n = first; n < end; n++) {
    const bool last = n + 1 == end;
    const split_panel next = panel_at(j, last ? n : n + 1, other);
    multiply(j, 0, j->tiles, j->left, n, right, NULL, last ? NULL : &next);
    if (p->after && j->k + j->depth == p->depth)
      p->after(p, 0, p->rows, n * SPLIT_SIDE, least((n + 1) * SPLIT_SIDE, p->columns));
    other = right;
    right = next.to;
  }
  if (j->kernel.end)
    j->kernel.end();
}

/* What is packed goes into the memory that there is: no result depends on how much at a time. `size`: bytes of a tile's side.
 * Panels at a time. */
static int64_t share_memory(job *j, const brim_ops_context *c, int64_t size) {
  const int64_t room = (int64_t)c->workspace_size / size, threads = brim_runtime_threads(c->runtime);
  const int64_t panels = divided(j->p->columns, SPLIT_SIDE);
  j->shares = j->tiles <= FEW_TILES && j->tiles < room;
  j->own = least(MOST_TILES, j->tiles);
  while (!j->shares && j->own > 1 && threads * j->own >= room)
    j->own--;
  const int64_t left = j->shares ? j->tiles : threads * j->own;
  j->few = j->shares && j->tiles <= VERY_FEW_TILES && left + 2 * threads <= room;
  j->left = c->workspace;
  j->right = j->left + left * size;
  j->blocks = divided(j->tiles, j->own);
  return j->few ? panels : least(panels, least(room - left, (int64_t)MOST_PANELS * SPLIT_TILE / size));
}

void CPU(split_product_run)(brim_ops_context *c, const product *p) {
  job j = {.p = p, .kernel = split_kernel_of(c), .tiles = divided(p->rows, SPLIT_SIDE)};
  if (p->rows < 1)
    return;
  const int64_t steps = split_steps(p->depth), panels = divided(p->columns, SPLIT_SIDE);
  const int64_t chunks = divided(steps, p->add ? SPLIT_CHUNK : CHUNK); /* where c is added after the first, bits go by them */
  const int64_t bands = divided(panels, share_memory(&j, c, divided(steps, chunks) * SPLIT_STEP));
  for (int64_t band = 0; band < bands; band++) {
    j.panel = panels * band / bands;
    j.panels = panels * (band + 1) / bands - j.panel;
    j.groups = j.few ? least(FEW_TASKS * (int64_t)brim_runtime_threads(c->runtime), j.panels)
                     : least(divided(LEAST_TASKS, j.blocks), divided(j.panels, j.shares ? 1 : FEWEST_PANELS));
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
      const int64_t first = steps * chunk / chunks, next = steps * (chunk + 1) / chunks;
      j.k = first * SPLIT_K;
      j.depth = least(next * SPLIT_K, p->depth) - j.k;
      j.size = (next - first) * SPLIT_STEP;
      CPU(run)(c, j.few ? j.tiles : j.panels + (j.shares ? j.tiles : 0), j.few ? left_task : pack_task, &j);
      CPU(run)(c, j.few ? j.groups : j.blocks * j.groups, j.few ? panels_task : multiply_task, &j);
    }
  }
}

size_t CPU(split_product_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t narrow = split_steps(limits->hidden), wide = split_steps(split_longest(limits));
  const int64_t slots = split_steps(limits->max_slots), right = wide * least(narrow, SPLIT_CHUNK);
  const int64_t own = threads * (slots > FEW_TILES ? MOST_TILES : 1), shared = least(slots, FEW_TILES);
  const int64_t few = 2 * threads + least(slots, VERY_FEW_TILES), most = own > shared ? own : shared;
  const int64_t many = least(right, MOST_PANELS * SPLIT_CHUNK) + most * least(wide, SPLIT_CHUNK);
  return (size_t)(many > few * least(wide, SPLIT_CHUNK) ? many : few * least(wide, SPLIT_CHUNK)) * SPLIT_STEP;
}
