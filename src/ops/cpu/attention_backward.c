/* attention_backward.c: gradients of attention. The probabilities are recomputed from the log-sum-exp; a task owns all rows of
 * its head's dk and dv, so their sums run over the queries in order. */
#include "ops/cpu/attention.h"
#include "ops/cpu/philox.h"
#include "ops/cpu/vecmath.h"

/* A worker's scratch. */
typedef struct buffers {
  float *keys_t, *values_t; /* transposed panels */
  float *keys;              /* panels as they lie */
  float *queries, *dout;    /* the same, of one block of queries */
  float *p, *ds;            /* [QUERY_BLOCK, key_room] dropped probabilities; gradient of the scores */
  float *dk, *dv;           /* [keys, head_room] */
} buffers;

int64_t CPU(attention_backward_scratch)(int64_t max_length, int64_t size) {
  const int64_t key_room = CPU(attention_key_room)(max_length), head_room = round_up(size, TILE_COLUMNS);
  return round_up(2 * key_room * size + 3 * max_length * head_room + 2 * QUERY_BLOCK * head_room + 2 * QUERY_BLOCK * key_room,
                  16);
}

static buffers divide(const attention_work *w, const attention_head *h, int worker) {
  buffers b;
  b.keys_t = w->scratch + worker * w->scratch_size;
  b.values_t = b.keys_t + w->key_room * h->size;
  b.p = b.values_t + w->key_room * h->size;
  b.ds = b.p + QUERY_BLOCK * w->key_room;
  b.queries = b.ds + QUERY_BLOCK * w->key_room;
  b.dout = b.queries + QUERY_BLOCK * w->head_room;
  b.keys = b.dout + QUERY_BLOCK * w->head_room;
  b.dk = b.keys + h->keys * w->head_room;
  b.dv = b.dk + h->keys * w->head_room;
  return b;
}

/* Scores p become probabilities, marked with a minus where dropout takes them; returns the sum of those left, times dp. */
BRIM_INLINE float row_probabilities(int64_t n, float factor, float lse, const brim_dropout *d, const dropout_line *line, float *p,
                                    const float *dp) {
  const vec times = vset(factor), minus = vset(-lse);
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
      vec probability = vexp2(vmadd(vload_n(p + j, left), times, minus));
      if (d)
        probability = dropout_mark(random.word[k], d, probability);
      vstore_n(p + j, probability, left);
      total = vmadd(d ? vmax(vzero(), probability) : probability, vload_n(dp + j, left), total); /* dp is 0 beyond the keys */
    }
  }
  return vsum(total);
}

/* One query: scores in p become dropped probabilities; gradients of the dropped probabilities in ds become those of the scores:
 * ds = scale * p * (dropout(dp) - sum(p * dropout(dp))). */
static void score_gradient(const attention_work *w, const attention_head *h, int64_t query, float *p, float *ds) {
  const brim_dropout *d = &w->a->dropout;
  const int64_t n = h->keys;
  const float factor = w->a->scale * LOG2_E, lse = h->lse[query] * LOG2_E;
  const vec scale = vset(w->a->scale);
  if (!d->on) {
    const vec delta = vset(row_probabilities(n, factor, lse, NULL, NULL, p, ds));
    for (int64_t j = 0; j < n; j += VEC)
      vstore_n(ds + j, scale * vload_n(p + j, n - j) * (vload_n(ds + j, n - j) - delta), n - j);
    return;
  }
  const dropout_line line = dropout_line_of(d, h->site, h->place, (uint32_t)query);
  const vec kept_scale = vset(d->scale), delta = scale * kept_scale * vset(row_probabilities(n, factor, lse, d, &line, p, ds));
  for (int64_t j = 0; j < n; j += VEC) {
    const int64_t left = n - j;
    const vec marked = vload_n(p + j, left), dropped = vmax(vzero(), marked) * kept_scale;
    const vec probability = (vec)((ivec)marked & 0x7fffffff);
    vstore_n(p + j, dropped, left);
    vstore_n(ds + j, vnmadd(probability, delta, dropped * scale * vload_n(ds + j, left)), left);
  }
}

/* to [rows, head_room] (+)= from^T [rows, depth] * panels [depth, head_room], with from [depth, key_room]. */
static void add_transposed(const attention_work *w, int64_t rows, int64_t depth, const float *from, const float *panels, bool add,
                           float *to) {
  for (int64_t i = 0; i < w->head_room; i += TILE_COLUMNS) {
    const tile t = {.depth = depth,
                    .a = from,
                    .a_row = 1,
                    .a_step = w->key_room,
                    .b = panels + i * depth,
                    .b_step = TILE_COLUMNS,
                    .c = to + i,
                    .c_row = w->head_room,
                    .add = add};
    CPU(tile_rows)(rows, TILE_COLUMNS, &t);
  }
}

static void backward_block(const attention_work *w, const attention_head *h, const buffers *b, int64_t first, int64_t rows) {
  const brim_attention *a = w->a;
  const int64_t shift = h->head * h->size, at = h->first_query + first;
  const float *q = h->q + first * a->q_stride, *dout = a->dout + at * a->out_stride + shift;
  CPU(attention_scores)(w, h, rows, q, a->q_stride, b->keys_t, b->p);
  CPU(attention_scores)(w, h, rows, dout, a->out_stride, b->values_t, b->ds);
  for (int64_t i = 0; i < rows; i++)
    score_gradient(w, h, first + i, b->p + i * w->key_room, b->ds + i * w->key_room);
  CPU(attention_pack)(rows, h->size, q, a->q_stride, b->queries);
  CPU(attention_pack)(rows, h->size, dout, a->out_stride, b->dout);
  add_transposed(w, h->keys, rows, b->p, b->dout, first > 0, b->dv);
  add_transposed(w, h->keys, rows, b->ds, b->queries, first > 0, b->dk);
  for (int64_t i = 0; i < h->size; i += TILE_COLUMNS) {
    const tile t = {.depth = h->keys,
                    .a = b->ds,
                    .a_row = w->key_room,
                    .a_step = 1,
                    .b = b->keys + i * h->keys,
                    .b_step = TILE_COLUMNS,
                    .c = a->dq + at * a->q_stride + shift + i,
                    .c_row = a->q_stride};
    CPU(tile_rows)(rows, h->size - i < TILE_COLUMNS ? h->size - i : TILE_COLUMNS, &t);
  }
}

/* Rows of the real keys from the accumulators, 0 for padded keys. */
static void write_rows(const attention_work *w, const attention_head *h, const float *from, float *to) {
  const size_t bytes = (size_t)h->size * sizeof *to;
  to += h->first_key * w->a->kv_stride + h->head * h->size;
  for (int64_t j = 0; j < h->keys; j++)
    memcpy(to + j * w->a->kv_stride, from + j * w->head_room, bytes);
  for (int64_t j = h->keys; j < h->slots; j++)
    memset(to + j * w->a->kv_stride, 0, bytes);
}

static void backward_task(void *context, int64_t task, int worker) {
  const attention_work *w = context;
  const attention_head h = CPU(attention_head)(w, task);
  const buffers b = divide(w, &h, worker);
  const int64_t blocks = (h.queries + QUERY_BLOCK - 1) / QUERY_BLOCK;
  CPU(attention_pack_transposed)(&h, h.k, w->a->kv_stride, b.keys_t);
  CPU(attention_pack_transposed)(&h, h.v, w->a->kv_stride, b.values_t);
  CPU(attention_pack)(h.keys, h.size, h.k, w->a->kv_stride, b.keys);
  for (int64_t i = 0; i < blocks; i++) {
    const int64_t first = h.queries * i / blocks;
    backward_block(w, &h, &b, first, h.queries * (i + 1) / blocks - first);
  }
  write_rows(w, &h, b.dk, w->a->dk);
  write_rows(w, &h, b.dv, w->a->dv);
}

void CPU(attention_backward)(brim_ops_context *c, const brim_attention *a) {
  attention_work w = CPU(attention_work)(c, a, CPU(attention_backward_scratch)(a->layout->max_length, a->head_size));
  c->stats.attention_flops += CPU(attention_flops)(a, 5);
  CPU(run)(c, (int64_t)a->layout->n * a->heads, backward_task, &w);
}
