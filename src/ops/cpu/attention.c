/* attention.c: softmax(scale q k^T) v per sequence and head. */
#include "ops/cpu/attention.h"
#include "ops/cpu/philox.h"
#include "ops/cpu/vecmath.h"

/* ---- shared */

/* A line more than the panels need, so that rows of scores do not fall on the same cache sets. */
int64_t CPU(attention_key_room)(int64_t max_length) {
  return round_up(max_length, TILE_COLUMNS) + 16;
}

/* Longest first, equal lengths in order: a counting sort. */
static void sort_sequences(const brim_layout *layout, int32_t *order, int32_t *starts) {
  const int32_t longest = layout->max_length;
  memset(starts, 0, ((size_t)longest + 2) * sizeof *starts);
  for (int32_t s = 0; s < layout->n; s++)
    starts[longest - layout->lengths[s] + 1]++;
  for (int32_t i = 0; i < longest; i++)
    starts[i + 1] += starts[i];
  for (int32_t s = 0; s < layout->n; s++)
    order[starts[longest - layout->lengths[s]]++] = s;
}

static size_t order_size(int64_t n, int64_t max_length) {
  return (size_t)round_up((n + max_length + 2) * (int64_t)sizeof(int32_t), 64);
}

attention_work CPU(attention_work)(brim_ops_context *c, const brim_attention *a, int64_t scratch_size) {
  const brim_layout *layout = a->layout;
  int32_t *order = c->workspace;
  sort_sequences(layout, order, order + layout->n);
  return (attention_work){.a = a,
                          .order = order,
                          .scratch = (float *)((char *)c->workspace + order_size(layout->n, layout->max_length)),
                          .scratch_size = scratch_size,
                          .key_room = CPU(attention_key_room)(layout->max_length),
                          .head_room = round_up(a->head_size, TILE_COLUMNS),
                          .rows = a->first_only ? layout->n : layout->slots};
}

attention_head CPU(attention_head)(const attention_work *w, int64_t task) {
  const brim_attention *a = w->a;
  const brim_layout *layout = a->layout;
  const int32_t s = w->order[task / a->heads];
  attention_head h = {.head = task % a->heads, .keys = layout->lengths[s], .size = a->head_size, .first_key = layout->offsets[s]};
  const int64_t shift = h.head * a->head_size;
  h.slots = layout->offsets[s + 1] - layout->offsets[s];
  h.queries = a->first_only && h.slots > 1 ? 1 : h.slots;
  h.first_query = a->first_only ? s : h.first_key;
  h.q = a->q + h.first_query * a->q_stride + shift;
  h.k = a->k + h.first_key * a->kv_stride + shift;
  h.v = a->v + h.first_key * a->kv_stride + shift;
  h.lse = a->lse + h.head * w->rows + h.first_query;
  h.site = a->dropout.site + (uint32_t)h.head;
  h.place = a->dropout.on ? layout->places[s] : 0;
  return h;
}

void CPU(attention_pack_transposed)(const attention_head *h, const float *x, int64_t stride, float *panels) {
  for (int64_t j = 0; j < h->keys; j += TILE_COLUMNS) {
    const int64_t columns = h->keys - j < TILE_COLUMNS ? h->keys - j : TILE_COLUMNS;
    CPU(pack_columns)(h->size, columns, x + j * stride, stride, panels + j * h->size);
  }
}

void CPU(attention_pack)(int64_t rows, int64_t size, const float *x, int64_t stride, float *panels) {
  for (int64_t i = 0; i < size; i += TILE_COLUMNS)
    CPU(pack_rows)(rows, size - i < TILE_COLUMNS ? size - i : TILE_COLUMNS, x + i, stride, panels + i * rows);
}

void CPU(attention_scores)(const attention_work *w, const attention_head *h, int64_t rows, const float *x, int64_t stride,
                           const float *panels, float *out) {
  for (int64_t j = 0; j < h->keys; j += TILE_COLUMNS) {
    const tile t = {.depth = h->size,
                    .a = x,
                    .a_row = stride,
                    .a_step = 1,
                    .b = panels + j * h->size,
                    .b_step = TILE_COLUMNS,
                    .c = out + j,
                    .c_row = w->key_room};
    CPU(tile_rows)(rows, TILE_COLUMNS, &t);
  }
}

/* ---- forward */

/* The largest of factor * scores. */
static float row_top(int64_t n, float factor, const float *scores) {
  vec top = vset(-INFINITY);
  int64_t j = 0;
  for (; j + VEC <= n; j += VEC)
    top = vmax(top, vload(scores + j) * vset(factor));
  if (j < n)
    top = vmax(top, vfirst_n(vload_n(scores + j, n - j) * vset(factor), n - j, top));
  return vtop(top);
}

/* p = 2^(factor p - top), of which dropout then takes some; returns the sum before dropout. */
BRIM_INLINE float row_powers(int64_t n, float factor, float top, const brim_dropout *d, const dropout_line *line, float *p) {
  const vec times = vset(factor), minus = vset(-top);
  vec total = vzero();
  for (int64_t i = 0; i < n; i += 4 * VEC) {
    words random;
    if (d)
      random = dropout_words(line, i);
    BRIM_UNROLL(4)
    for (int k = 0; k < 4; k++) {
      const int64_t j = i + k * VEC, left = n - j;
      if (left <= 0)
        break;
      const vec e = vexp2(vmadd(vload_n(p + j, left), times, minus));
      vstore_n(p + j, d ? dropout_keep(random.word[k], d, e) : e, left);
      total += vfirst_n(e, left, vzero());
    }
  }
  return vsum(total);
}

/* Scores p of some queries become the terms of their softmax with dropout, but for a factor each. Twos take the place of e: their
 * powers are shorter to make. */
static void softmax_rows(const attention_work *w, const attention_head *h, int64_t first, int64_t rows, float *p,
                         float *factors) {
  const brim_attention *a = w->a;
  const brim_dropout *d = &a->dropout;
  const float scale = a->scale * LOG2_E;
  float tops[TILE_ROWS], sums[TILE_ROWS];
  for (int64_t i = 0; i < rows; i++)
    tops[i] = row_top(h->keys, scale, p + i * w->key_room);
  for (int64_t i = 0; i < rows; i++) {
    float *row = p + i * w->key_room;
    if (d->on) {
      const dropout_line line = dropout_line_of(d, h->site, h->place, (uint32_t)(first + i));
      sums[i] = row_powers(h->keys, scale, tops[i], d, &line, row);
    } else {
      sums[i] = row_powers(h->keys, scale, tops[i], NULL, NULL, row);
    }
  }
  for (int64_t i = 0; i < rows; i++) {
    h->lse[first + i] = tops[i] * LOG_2 + logf(sums[i]);
    factors[i] = (d->on ? d->scale : 1) / sums[i];
  }
}

/* `rows` queries from `first` on. */
static void forward_block(const attention_work *w, const attention_head *h, int64_t first, int64_t rows, const float *keys,
                          const float *values, float *p) {
  const brim_attention *a = w->a;
  float factors[TILE_ROWS];
  float *out = a->out + (h->first_query + first) * a->out_stride + h->head * h->size;
  CPU(attention_scores)(w, h, rows, h->q + first * a->q_stride, a->q_stride, keys, p);
  softmax_rows(w, h, first, rows, p, factors);
  for (int64_t i = 0; i < h->size; i += TILE_COLUMNS) {
    const tile t = {.depth = h->keys,
                    .a = p,
                    .a_row = w->key_room,
                    .a_step = 1,
                    .b = values + i * h->keys,
                    .b_step = TILE_COLUMNS,
                    .c = out + i,
                    .c_row = a->out_stride};
    CPU(tile_run_part)(rows, h->size - i < TILE_COLUMNS ? h->size - i : TILE_COLUMNS, &t);
  }
  for (int64_t i = 0; i < rows; i++) {
    float *row = out + i * a->out_stride;
    for (int64_t j = 0; j < h->size; j += VEC)
      vstore_n(row + j, vload_n(row + j, h->size - j) * vset(factors[i]), h->size - j);
  }
}

static void forward_task(void *context, int64_t task, int worker) {
  const attention_work *w = context;
  const attention_head h = CPU(attention_head)(w, task);
  float *keys = w->scratch + worker * w->scratch_size, *values = keys + w->key_room * h.size, *p = values + h.keys * w->head_room;
  const int64_t blocks = (h.queries + TILE_ROWS - 1) / TILE_ROWS;
  CPU(attention_pack_transposed)(&h, h.k, w->a->kv_stride, keys);
  CPU(attention_pack)(h.keys, h.size, h.v, w->a->kv_stride, values);
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t first = h.queries * b / blocks, rows = h.queries * (b + 1) / blocks - first;
    forward_block(w, &h, first, rows, keys, values, p);
  }
}

int64_t CPU(attention_forward_scratch)(int64_t max_length, int64_t size) {
  const int64_t key_room = CPU(attention_key_room)(max_length), head_room = round_up(size, TILE_COLUMNS);
  return round_up(key_room * size + max_length * head_room + TILE_ROWS * key_room, 16);
}

double CPU(attention_flops)(const brim_attention *a, double products) {
  double pairs = 0;
  for (int32_t s = 0; s < a->layout->n; s++) {
    const int32_t slots = a->layout->offsets[s + 1] - a->layout->offsets[s];
    pairs += (double)(a->first_only && slots > 1 ? 1 : slots) * a->layout->lengths[s];
  }
  return 2 * products * pairs * a->head_size * a->heads;
}

void CPU(attention_forward)(brim_ops_context *c, const brim_attention *a) {
  attention_work w = CPU(attention_work)(c, a, CPU(attention_forward_scratch)(a->layout->max_length, a->head_size));
  c->stats.attention_flops += CPU(attention_flops)(a, 2);
  CPU(run)(c, (int64_t)a->layout->n * a->heads, forward_task, &w);
}

size_t CPU(attention_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t size = limits->hidden / (limits->heads > 0 ? limits->heads : 1);
  const int64_t forward = CPU(attention_forward_scratch)(limits->max_length, size);
  const int64_t backward = CPU(attention_backward_scratch)(limits->max_length, size);
  return order_size(limits->max_sequences, limits->max_length) +
         (size_t)threads * (size_t)(forward > backward ? forward : backward) * sizeof(float);
}
