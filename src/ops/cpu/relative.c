/* relative.c: terms of attention's scores by distance. */
#include "ops/cpu/relative.h"
#include "ops/cpu/vecmath.h"

/* Most rows of a table that a text reaches. Beyond a quarter of the table a logarithm may lead farther than the distance: where
 * few distances share what is left. */
static int64_t reach(int64_t longest, int64_t rows) {
  return round_up(longest > rows / 4 ? rows : 2 * longest, TILE_COLUMNS);
}

enum { BAND_ROWS = 42 }; /* at a time: whole tiles */

static int64_t line_room(int64_t longest) {
  return 2 * longest + QUERY_BLOCK;
}

int64_t CPU(relative_scratch)(int64_t longest, int64_t size, int64_t rows) {
  const int64_t head_room = round_up(size, TILE_COLUMNS), room = reach(longest, rows);
  return 3 * line_room(longest) + 3 * room * head_room + 2 * longest * room + 2 * room * QUERY_BLOCK + 2 * rows * head_room +
         round_up(rows, VEC);
}

attention_work CPU(relative_work)(brim_ops_context *c, const brim_relative *r, int64_t scratch_size) {
  const brim_layout *layout = &r->attention.layout;
  int64_t longest = 1;
  for (int32_t s = 0; s < layout->n; s++)
    longest = layout->offsets[s + 1] - layout->offsets[s] > longest ? layout->offsets[s + 1] - layout->offsets[s] : longest;
  const attention_tensors t = CPU(attention_tensors)(&r->attention);
  attention_work w = CPU(attention_work)(
      c, &r->attention, &t, scratch_size + CPU(relative_scratch)(longest, r->attention.head_size, r->distances.rows));
  w.relative = r;
  w.longest = longest;
  return w;
}

void CPU(relative_open)(const attention_work *w, bool gradients, int worker, relative_head *r) {
  const int64_t longest = w->longest, rows = w->relative->distances.rows, room = reach(longest, rows), all = rows * w->head_room;
  float *scratch = w->scratch + (worker + 1) * w->scratch_size - CPU(relative_scratch)(longest, w->a->head_size, rows);
  *r = (relative_head){.of = w->relative, .row = (int32_t *)scratch};
  r->bias = scratch + line_room(longest);
  r->dbias = r->bias + line_room(longest);
  r->key_rows = r->dbias + line_room(longest);
  r->query_rows = r->key_rows + room * w->head_room;
  r->panels = r->query_rows + room * w->head_room;
  r->of_keys = r->panels + room * w->head_room;
  r->dof_keys = r->of_keys + longest * room;
  r->of_queries = r->dof_keys + longest * room;
  r->dof_queries = r->of_queries + room * QUERY_BLOCK;
  r->dkey_rows = r->dof_queries + room * QUERY_BLOCK;
  r->dquery_rows = r->dkey_rows + all;
  r->dsums = r->dquery_rows + all;
  if (gradients)
    memset(r->dkey_rows, 0, (size_t)(2 * all + rows) * sizeof *r->dkey_rows);
}

static void find_rows(relative_head *r, int64_t queries) {
  const brim_distances *d = &r->of->distances;
  int32_t low = d->rows, high = 0;
  r->distances = r->keys + queries - 1;
  for (int64_t i = 0; i < r->distances; i++) {
    r->row[i] = brim_distance_row(d, (int32_t)(i + 1 - r->keys));
    low = r->row[i] < low ? r->row[i] : low;
    high = r->row[i] > high ? r->row[i] : high;
  }
  r->first = low;
  r->rows = high - low + 1;
  r->room = round_up(r->rows, TILE_COLUMNS);
  for (int64_t i = 0; i < r->distances; i++)
    r->row[i] -= low;
}

/* Rows of the tables that some distances reach: half of all, or little more, for a few keys or queries of a text. */
typedef struct band {
  int64_t first, end;
} band;

static band band_of(const relative_head *r, int64_t distance, int64_t count) {
  band b = {r->rows, 0};
  for (int64_t i = distance; i < distance + count; i++) {
    b.first = least(b.first, r->row[i]);
    b.end = r->row[i] + 1 > b.end ? r->row[i] + 1 : b.end;
  }
  return b;
}

/* Of `count` keys from `key` on with all queries. */
static band band_of_keys(const relative_head *r, int64_t key, int64_t count) {
  return band_of(r, r->keys - key - count, r->distances - r->keys + count);
}

/* Of a block of queries with all keys. */
static band band_of_queries(const relative_head *r, const attention_block *b) {
  return band_of(r, b->first, b->queries + r->keys - 1);
}

/* Keys of which some query is as far away as one of `count` rows from `row` on. */
static band keys_of_rows(const relative_head *r, int64_t row, int64_t count) {
  const int64_t queries = r->distances - r->keys + 1;
  band b = {r->keys, 0};
  for (int64_t i = 0; i < r->distances; i++) {
    if (r->row[i] < row || r->row[i] >= row + count)
      continue;
    const int64_t key = r->keys - 1 - i; /* of the first query */
    b.first = least(b.first, key < 0 ? 0 : key);
    b.end = key + queries > b.end ? key + queries : b.end;
  }
  b.end = least(b.end, r->keys);
  return b;
}

/* Keys, which are packed already, times the query rows that they meet. */
static void multiply_keys(const attention_work *w, const float *keys, relative_head *r) {
  for (int64_t i = 0; i < r->room; i += TILE_COLUMNS)
    CPU(pack_columns)(w->head_room, TILE_COLUMNS, r->query_rows + i * w->head_room, w->head_room, r->panels + i * w->head_room);
  for (int64_t j = 0; j < r->keys; j += BAND_ROWS) {
    const int64_t count = least(BAND_ROWS, r->keys - j);
    const band b = band_of_keys(r, j, count);
    for (int64_t i = b.first / TILE_COLUMNS * TILE_COLUMNS; i < b.end; i += TILE_COLUMNS) {
      const tile t = {.depth = w->a->head_size,
                      .a = keys + j * w->head_room,
                      .a_row = w->head_room,
                      .a_step = 1,
                      .b = r->panels + i * w->head_room,
                      .b_step = TILE_COLUMNS,
                      .c = r->of_keys + j * r->room + i,
                      .c_row = r->room};
      CPU(tile_rows)(count, TILE_COLUMNS, &t);
    }
  }
}

void CPU(relative_begin)(const attention_work *w, const attention_head *h, bool gradients, const float *keys, relative_head *r) {
  const brim_relative *of = r->of;
  r->head = h->head;
  r->keys = h->keys;
  find_rows(r, h->queries);
  for (int64_t i = 0; of->bias && i < r->distances; i++)
    r->bias[i] = of->bias[(r->first + r->row[i]) * w->a->heads + r->head] * LOG2_E;
  if (gradients)
    memset(r->dbias, 0, (size_t)r->distances * sizeof *r->dbias);
  if (!of->keys)
    return;
  const int64_t at = r->first * of->stride + r->head * h->size, tail = (r->room - r->rows) * w->head_room;
  CPU(attention_pack)(w, r->rows, (attention_side){false, of->keys}, at, of->stride, 1, r->key_rows);
  CPU(attention_pack)(w, r->rows, (attention_side){false, of->queries}, at, of->stride, w->a->scale * LOG2_E, r->query_rows);
  memset(r->query_rows + r->rows * w->head_room, 0, (size_t)tail * sizeof *r->query_rows);
  multiply_keys(w, keys, r);
  if (gradients)
    memset(r->dof_keys, 0, (size_t)(r->keys * r->room) * sizeof *r->dof_keys);
}

void CPU(relative_queries)(const attention_work *w, const attention_block *b, const float *panels, relative_head *r) {
  if (!r->of->keys)
    return;
  const band reached = band_of_queries(r, b);
  CPU(attention_scores)(w, b, reached.end - reached.first, r->key_rows + reached.first * w->head_room, panels,
                        r->of_queries + reached.first * QUERY_BLOCK);
}

/* Distance of a block's first query to a key, as an index. */
static int64_t distance_at(const relative_head *r, const attention_block *b, int64_t key) {
  return b->first - key + r->keys - 1;
}

void CPU(relative_add)(const attention_block *b, int64_t first, int64_t keys, const relative_head *r, float *scores) {
  for (int64_t j = 0; j < keys; j++) {
    const int64_t at = distance_at(r, b, first + j);
    float *p = scores + j * QUERY_BLOCK;
    for (int64_t i = 0; r->of->bias && i < b->queries; i += VEC)
      vstore_n(p + i, vload_n(p + i, b->queries - i) + vload_n(r->bias + at + i, b->queries - i), b->queries - i);
    if (!r->of->keys)
      continue;
    const float *of_key = r->of_keys + (first + j) * r->room;
    const int32_t *row = r->row + at;
    for (int64_t i = 0; i < b->queries; i++)
      p[i] += of_key[row[i]] + r->of_queries[(int64_t)row[i] * QUERY_BLOCK + i];
  }
}

static void add_up(const attention_block *b, const float *ds, relative_head *r) {
  for (int64_t j = 0; j < r->keys; j++) {
    const int64_t at = distance_at(r, b, j);
    const float *d = ds + j * QUERY_BLOCK;
    for (int64_t i = 0; r->of->dbias && i < b->queries; i += VEC)
      vstore_n(r->dbias + at + i, vload_n(r->dbias + at + i, b->queries - i) + vload_n(d + i, b->queries - i), b->queries - i);
    if (!r->of->keys)
      continue;
    float *of_key = r->dof_keys + j * r->room;
    const int32_t *row = r->row + at;
    for (int64_t i = 0; i < b->queries; i++) {
      of_key[row[i]] += d[i];
      r->dof_queries[(int64_t)row[i] * QUERY_BLOCK + i] += d[i];
    }
  }
}

/* to [rows, head_room] += a rows of `depth`, with rows of head_room values. */
static void add_product(const attention_work *w, int64_t rows, int64_t depth, const float *a, int64_t a_row, int64_t a_step,
                        const float *of, float *to) {
  for (int64_t i = 0; i < w->head_room; i += TILE_COLUMNS) {
    const tile t = {.depth = depth,
                    .a = a,
                    .a_row = a_row,
                    .a_step = a_step,
                    .b = of + i,
                    .b_step = w->head_room,
                    .c = to + i,
                    .c_row = w->head_room,
                    .add = true};
    CPU(tile_rows)(rows, TILE_COLUMNS, &t);
  }
}

void CPU(relative_gradients)(const attention_work *w, const attention_block *b, const float *ds, const float *queries, float *dq,
                             relative_head *r) {
  if (!r->of->keys) {
    add_up(b, ds, r);
    return;
  }
  const band reached = band_of_queries(r, b);
  const int64_t rows = reached.end - reached.first, at = reached.first * w->head_room;
  float *of_queries = r->dof_queries + reached.first * QUERY_BLOCK;
  memset(of_queries, 0, (size_t)(rows * QUERY_BLOCK) * sizeof *of_queries);
  add_up(b, ds, r);
  CPU(attention_sum)(w, b, rows, of_queries, CPU(attention_right_of)(w, r->key_rows + at), true, dq);
  add_product(w, rows, b->queries, of_queries, QUERY_BLOCK, 1, queries, r->dkey_rows + r->first * w->head_room + at);
}

void CPU(relative_end)(const attention_work *w, const float *keys, float *dk, relative_head *r) {
  for (int64_t i = 0; r->of->dbias && i < r->distances; i++)
    r->dsums[r->first + r->row[i]] += r->dbias[i];
  if (!r->of->keys)
    return;
  for (int64_t j = 0; j < r->keys; j += BAND_ROWS) {
    const int64_t count = least(BAND_ROWS, r->keys - j);
    const band b = band_of_keys(r, j, count);
    add_product(w, count, b.end - b.first, r->dof_keys + j * r->room + b.first, r->room, 1,
                r->query_rows + b.first * w->head_room, dk + j * w->head_room);
  }
  for (int64_t i = 0; i < r->rows; i += BAND_ROWS) {
    const int64_t count = least(BAND_ROWS, r->rows - i);
    const band met = keys_of_rows(r, i, count);
    if (met.first < met.end) /* none: distances skip these rows */
      add_product(w, count, met.end - met.first, r->dof_keys + met.first * r->room + i, 1, r->room,
                  keys + met.first * w->head_room, r->dquery_rows + (r->first + i) * w->head_room);
  }
}

void CPU(relative_close)(const attention_work *w, const relative_head *r) {
  const brim_relative *of = r->of;
  const int64_t rows = of->distances.rows, at = r->head * w->a->head_size;
  for (int64_t i = 0; of->dbias && i < rows; i++)
    of->dbias[i * w->a->heads + r->head] += r->dsums[i];
  if (!of->keys)
    return;
  CPU(attention_unpack)(w, rows, r->dkey_rows, LOG_2, (brim_typed){BRIM_TYPE_REAL, of->dkeys}, at,
                        of->stride); /* packed queries carry scale * LOG2_E */
  CPU(attention_unpack)(w, rows, r->dquery_rows, w->a->scale, (brim_typed){BRIM_TYPE_REAL, of->dqueries}, at, of->stride);
}
