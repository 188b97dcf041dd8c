/* relative.c: terms of attention's scores by distance. */
#include "ops/cpu/relative.h"
#include "ops/cpu/vecmath.h"

/* Most rows of an embedding that a text reaches. Beyond a quarter of it a logarithm may lead farther than the distance: where
 * few distances share what is left. */
static int64_t reach(int64_t longest, int64_t rows) {
  return round_up(longest > rows / 4 ? rows : 2 * longest, TILE_COLUMNS);
}

enum { BAND_ROWS = 42 }; /* at a time: whole tiles */

static int64_t line_room(int64_t longest) {
  return 2 * longest + QUERY_BLOCK;
}

int64_t CPU(relative_shared)(int64_t longest, int64_t rows) {
  return round_up(2 * longest + rows + 4 * VEC, TILE_COLUMNS);
}

int64_t CPU(relative_scratch)(int64_t longest, int64_t size, int64_t rows) {
  const int64_t head_room = round_up(size, TILE_COLUMNS), room = reach(longest, rows);
  return 2 * line_room(longest) + 3 * room * head_room + 2 * longest * room + 2 * room * QUERY_BLOCK + 2 * rows * head_room +
         round_up(rows, VEC);
}

/* Rows of all distances of the call, those at the ends VEC times more, and where rows start. */
static void share_rows(attention_work *w) {
  const brim_distances *d = &w->relative->distances;
  const int64_t count = 2 * w->longest - 1;
  int32_t *shared = (int32_t *)w->scratch, *row = shared + VEC, *starts = row + count + VEC;
  w->scratch += CPU(relative_shared)(w->longest, d->rows);
  w->steady = true;
  for (int64_t i = 0; i < count; i++) {
    row[i] = brim_distance_row(d, (int32_t)(i + 1 - w->longest));
    w->steady = w->steady && (i == 0 || row[i] == row[i - 1] || row[i] == row[i - 1] + 1);
  }
  for (int64_t i = 0; i < VEC; i++) {
    shared[i] = row[0];
    row[count + i] = row[count - 1];
  }
  for (int32_t r = 0, at = 0; r <= d->rows + VEC; r++) {
    while (at < count && row[at] < r)
      at++;
    starts[r] = at;
  }
  w->distance_rows = row;
  w->row_starts = starts;
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
  share_rows(&w);
  return w;
}

void CPU(relative_open)(const attention_work *w, bool gradients, int worker, relative_head *r) {
  const int64_t longest = w->longest, rows = w->relative->distances.rows, room = reach(longest, rows), all = rows * w->head_room;
  float *scratch = w->scratch + (worker + 1) * w->scratch_size - CPU(relative_scratch)(longest, w->a->head_size, rows);
  *r = (relative_head){.of = w->relative, .bias = scratch};
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

static void find_rows(const attention_work *w, relative_head *r, int64_t queries) {
  int32_t low = r->of->distances.rows, high = 0;
  r->distances = r->keys + queries - 1;
  r->from = w->longest - r->keys;
  r->row = w->distance_rows + r->from;
  for (int64_t i = 0; i < r->distances; i++) {
    low = r->row[i] < low ? r->row[i] : low;
    high = r->row[i] > high ? r->row[i] : high;
  }
  r->first = low;
  r->rows = high - low + 1;
  r->room = round_up(r->rows, TILE_COLUMNS);
}

/* Rows of the embeddings that some distances reach: half of all, or little more, for a few keys or queries of a text. */
typedef struct band {
  int64_t first, end;
} band;

static band band_of(const relative_head *r, int64_t distance, int64_t count) {
  band b = {r->rows, 0};
  for (int64_t i = distance; i < distance + count; i++) {
    const int64_t row = r->row[i] - r->first;
    b.first = least(b.first, row);
    b.end = row + 1 > b.end ? row + 1 : b.end;
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
    if (r->row[i] < r->first + row || r->row[i] >= r->first + row + count)
      continue;
    const int64_t key = r->keys - 1 - i; /* of the first query */
    b.first = least(b.first, key < 0 ? 0 : key);
    b.end = key + queries > b.end ? key + queries : b.end;
  }
  b.end = least(b.end, r->keys);
  return b;
}

/* Rows of an embedding as the right side of products that run over the head's size. */
static void turn_rows(const attention_work *w, const float *rows, relative_head *r) {
  for (int64_t i = 0; i < r->room; i += TILE_COLUMNS)
    CPU(pack_columns)(w->head_room, TILE_COLUMNS, rows + i * w->head_room, w->head_room, r->panels + i * w->head_room);
}

/* Packed rows times those of the panels that are in the band, to rows of `room`. */
static void multiply(const attention_work *w, int64_t count, const float *rows, band b, const relative_head *r, float *to) {
  for (int64_t i = b.first / TILE_COLUMNS * TILE_COLUMNS; i < b.end; i += TILE_COLUMNS) {
    const tile t = {.depth = w->a->head_size,
                    .a = rows,
                    .a_row = w->head_room,
                    .a_step = 1,
                    .b = r->panels + i * w->head_room,
                    .b_step = TILE_COLUMNS,
                    .c = to + i,
                    .c_row = r->room};
    CPU(tile_rows)(count, TILE_COLUMNS, &t);
  }
}

/* Keys, which are packed already, times the query rows at their distances. */
static void multiply_keys(const attention_work *w, const float *keys, relative_head *r) {
  turn_rows(w, r->query_rows, r);
  for (int64_t j = 0; j < r->keys; j += BAND_ROWS) {
    const int64_t count = least(BAND_ROWS, r->keys - j);
    multiply(w, count, keys + j * w->head_room, band_of_keys(r, j, count), r, r->of_keys + j * r->room);
  }
}

void CPU(relative_begin)(const attention_work *w, const attention_head *h, bool gradients, const float *keys, relative_head *r) {
  const brim_relative *of = r->of;
  r->head = h->head;
  r->keys = h->keys;
  find_rows(w, r, h->queries);
  for (int64_t i = 0; of->bias && i < r->distances; i++)
    r->bias[i] = of->bias[r->row[i] * w->a->heads + r->head] * LOG2_E;
  if (gradients)
    memset(r->dbias, 0, (size_t)r->distances * sizeof *r->dbias);
  if (!of->keys)
    return;
  const int64_t at = r->first * of->stride + r->head * h->size, tail = (r->room - r->rows) * w->head_room;
  CPU(attention_pack)(w, r->rows, of->keys + at, of->stride, 1, r->key_rows);
  CPU(attention_pack)(w, r->rows, of->queries + at, of->stride, w->a->scale * LOG2_E, r->query_rows);
  memset(r->key_rows + r->rows * w->head_room, 0, (size_t)tail * sizeof *r->key_rows);
  memset(r->query_rows + r->rows * w->head_room, 0, (size_t)tail * sizeof *r->query_rows);
  multiply_keys(w, keys, r);
  turn_rows(w, r->key_rows, r);
  if (gradients)
    memset(r->dof_keys, 0, (size_t)(r->keys * r->room) * sizeof *r->dof_keys);
}

void CPU(relative_queries)(const attention_work *w, const attention_block *b, const float *queries, relative_head *r) {
  if (r->of->keys)
    multiply(w, b->queries, queries, band_of_queries(r, b), r, r->of_queries);
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
    CPU(relative_add_up)(w, b, ds, r);
    return;
  }
  const band reached = band_of_queries(r, b);
  const int64_t rows = reached.end - reached.first, at = reached.first * w->head_room;
  float *of_queries = r->dof_queries + reached.first;
  for (int64_t i = 0; i < b->queries; i++)
    memset(of_queries + i * r->room, 0, (size_t)rows * sizeof *of_queries);
  CPU(relative_add_up)(w, b, ds, r);
  add_product(w, b->queries, rows, of_queries, r->room, 1, r->key_rows + at, dq);
  add_product(w, rows, b->queries, of_queries, 1, r->room, queries, r->dkey_rows + r->first * w->head_room + at);
}

void CPU(relative_end)(const attention_work *w, const float *keys, float *dk, relative_head *r) {
  for (int64_t i = 0; r->of->dbias && i < r->distances; i++)
    r->dsums[r->row[i]] += r->dbias[i];
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
