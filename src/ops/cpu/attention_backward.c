/* attention_backward.c: gradients of attention. The probabilities are recomputed from the log-sum-exp; a task owns all rows of
 * its head's dk and dv, so their sums run over the queries in order. */
#include "ops/cpu/attention.h"
#include "ops/cpu/philox_queries.h"
#include "ops/cpu/vecmath.h"

/* A worker's scratch. */
typedef struct buffers {
  float *keys, *values, *dk, *dv;                          /* packed rows */
  float *queries, *dout, *query_panels, *dout_panels, *dq; /* of a block of queries */
  float *p, *ds;                                           /* [keys, QUERY_BLOCK] probabilities, gradient of scores */
} buffers;

int64_t CPU(attention_backward_scratch)(int64_t max_length, int64_t size) {
  const int64_t head_room = round_up(size, TILE_COLUMNS);
  return (4 * max_length + 5 * QUERY_BLOCK) * head_room + 2 * max_length * QUERY_BLOCK;
}

static buffers divide(const attention_work *w, const attention_head *h, int worker) {
  const int64_t of_keys = h->keys * w->head_room, of_queries = QUERY_BLOCK * w->head_room;
  buffers b;
  b.keys = w->scratch + worker * w->scratch_size;
  b.values = b.keys + of_keys;
  b.dk = b.values + of_keys;
  b.dv = b.dk + of_keys;
  b.queries = b.dv + of_keys;
  b.dout = b.queries + of_queries;
  b.query_panels = b.dout + of_queries;
  b.dout_panels = b.query_panels + of_queries;
  b.dq = b.dout_panels + of_queries;
  b.p = b.dq + of_queries;
  b.ds = b.p + h->keys * QUERY_BLOCK;
  return b;
}

/* Of each query: the log-sum-exp, in powers of two; the sums of p and of p * dropout(dp), and then their quotient. */
typedef struct marks {
  float lse[QUERY_BLOCK], sum[QUERY_BLOCK], delta[QUERY_BLOCK];
} marks;

static void begin_marks(const attention_head *h, const attention_block *b, marks *m) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    vstore(m->lse + i, vload_n(h->lse + b->first + i, i < b->queries ? b->queries - i : 0) * vset(LOG2_E));
    vstore(m->sum + i, vzero());
    vstore(m->delta + i, vzero());
  }
}

/* Score p becomes the probability, negative where dropout takes it; the gradient dp becomes dropout(dp). */
BRIM_INLINE void find_terms(vec lse, const brim_dropout *d, const query_words *random, int k, float *p, float *dp, vec *sum,
                            vec *total) {
  const vec probability = vexp2(vload(p) - lse);
  vec gradient = vload(dp), marked = probability;
  if (d) {
    const vec kept = dropout_keep_key(random, k, d, probability);
    marked = kept + (kept - probability);
    gradient = dropout_keep_key(random, k, d, gradient);
    vstore(dp, gradient);
  }
  vstore(p, marked);
  *sum += probability;
  *total = vmadd(probability, gradient, *total);
}

/* Sums of eight keys go into those of a block, and these into the query's: a long chain of additions would round too often. */
BRIM_INLINE void add_to(float *sum, vec x) {
  vstore(sum, vload(sum) + x);
}

static void terms(const attention_block *b, marks *m, int64_t keys, float *p, float *dp) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const vec lse = vload(m->lse + i);
    vec sum = vzero(), total = vzero();
    for (int64_t j = 0; j < keys; j += BLOCK_KEYS) {
      const int64_t end = j + BLOCK_KEYS < keys ? j + BLOCK_KEYS : keys;
      vec some = vzero(), weighed = vzero();
      for (int64_t key = j; key < end; key++)
        find_terms(lse, NULL, NULL, 0, p + key * QUERY_BLOCK + i, dp + key * QUERY_BLOCK + i, &some, &weighed);
      sum += some;
      total += weighed;
    }
    add_to(m->sum + i, sum);
    add_to(m->delta + i, total);
  }
}

/* The same for the keys from `first` on, with dropout. */
static void dropped_terms(const attention_head *h, const attention_block *b, marks *m, int64_t first, int64_t keys,
                          const brim_dropout *d, float *p, float *dp) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const dropout_queries q = dropout_queries_of(d, h->site, h->place, (uint32_t)(b->first + i));
    const vec lse = vload(m->lse + i);
    vec sum = vzero(), total = vzero();
    for (int64_t j = 0; j < keys; j += BRIM_DROPOUT_STRETCH)
      for (int64_t block = 0; block < BRIM_DROPOUT_BLOCKS && j + 2 * block < keys; block++) {
        const query_words random = dropout_query_words(&q, (first + j) / 8 + block);
        vec some = vzero(), weighed = vzero();
        BRIM_UNROLL(8)
        for (int k = 0; k < BLOCK_KEYS; k++) {
          const int64_t key = j + block_key(block, k), at = key * QUERY_BLOCK + i;
          if (key >= keys)
            break;
          find_terms(lse, d, &random, k, p + at, dp + at, &some, &weighed);
        }
        sum += some;
        total += weighed;
      }
    add_to(m->sum + i, sum);
    add_to(m->delta + i, total);
  }
}

/* The mean of dropout(dp) that the probabilities weigh. Divided by their sum, which rounding of the log-sum-exp keeps from 1:
 * only so do the gradients of a query's scores add up to 0, and what all keys have in common cancels. */
static void end_marks(const attention_block *b, marks *m) {
  for (int64_t i = 0; i < b->columns; i += VEC)
    vstore(m->delta + i, vload(m->delta + i) / vload(m->sum + i));
}

/* Marked probabilities become what dropout leaves of them; dropout(dp) becomes the gradient of the score, p * (dropout(dp) -
 * delta). Dropout's scale and that of the scores are in the rows that these are multiplied with. */
static void score_gradients(const attention_block *b, const marks *m, int64_t keys, bool dropped, float *p, float *ds) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const vec delta = vload(m->delta + i);
    for (int64_t at = i; at < keys * QUERY_BLOCK; at += QUERY_BLOCK) {
      const vec marked = vload(p + at), kept = vmax(vzero(), marked);
      vstore(ds + at, (dropped ? vmax(-marked, marked) : marked) * (vload(ds + at) - delta));
      if (dropped)
        vstore(p + at, kept);
    }
  }
}

/* to [keys, head_room] (+)= p rows, with p [keys, QUERY_BLOCK] and packed rows of the block's queries. */
static void add_rows(const attention_work *w, const attention_block *b, int64_t keys, const float *p, const float *rows,
                     float *to) {
  for (int64_t i = 0; i < w->head_room; i += TILE_COLUMNS) {
    const tile t = {.depth = b->queries,
                    .a = p,
                    .a_row = QUERY_BLOCK,
                    .a_step = 1,
                    .b = rows + i,
                    .b_step = w->head_room,
                    .c = to + i,
                    .c_row = w->head_room,
                    .add = b->first > 0};
    CPU(tile_rows)(keys, TILE_COLUMNS, &t);
  }
}

static void backward_block(const attention_work *w, const attention_head *h, const buffers *s, const attention_block *b) {
  const brim_attention *a = w->a;
  const brim_dropout *d = &a->dropout;
  const int64_t shift = h->head * h->size, at = h->first_query + b->first;
  marks m;
  begin_marks(h, b, &m);
  CPU(attention_pack)(w, b->queries, h->q + b->first * a->q_stride, a->q_stride, a->scale * LOG2_E, s->queries);
  CPU(attention_pack)(w, b->queries, a->dout + at * a->out_stride + shift, a->out_stride, d->on ? d->scale : 1, s->dout);
  CPU(attention_turn)(w, b, s->queries, s->query_panels);
  CPU(attention_turn)(w, b, s->dout, s->dout_panels);
  for (int64_t j = 0, keys; j < h->keys; j += keys) {
    keys = CPU(attention_keys)(h, j);
    const int64_t row = j * w->head_room;
    float *p = s->p + j * QUERY_BLOCK, *dp = s->ds + j * QUERY_BLOCK;
    CPU(attention_scores)(w, b, keys, s->keys + row, s->query_panels, p);
    CPU(attention_scores)(w, b, keys, s->values + row, s->dout_panels, dp);
    if (d->on)
      dropped_terms(h, b, &m, j, keys, d, p, dp);
    else
      terms(b, &m, keys, p, dp);
  }
  end_marks(b, &m);
  for (int64_t j = 0, keys; j < h->keys; j += keys) {
    keys = CPU(attention_keys)(h, j);
    const int64_t row = j * w->head_room;
    float *p = s->p + j * QUERY_BLOCK, *ds = s->ds + j * QUERY_BLOCK;
    score_gradients(b, &m, keys, d->on, p, ds);
    add_rows(w, b, keys, p, s->dout, s->dv + row);
    add_rows(w, b, keys, ds, s->queries, s->dk + row);
    CPU(attention_sum)(w, b, keys, ds, s->keys + row, j > 0, s->dq);
  }
  CPU(attention_unpack)(w, b->queries, s->dq, a->scale, a->dq + at * a->q_stride + shift, a->q_stride);
}

/* Rows of the real keys from the accumulators, 0 for padded keys. */
static void write_rows(const attention_work *w, const attention_head *h, const float *from, float factor, float *to) {
  const int64_t stride = w->a->kv_stride;
  to += h->first_key * stride + h->head * h->size;
  CPU(attention_unpack)(w, h->keys, from, factor, to, stride);
  for (int64_t j = h->keys; j < h->slots; j++)
    memset(to + j * stride, 0, (size_t)h->size * sizeof *to);
}

static void backward_task(void *context, int64_t task, int worker) {
  const attention_work *w = context;
  const attention_head h = CPU(attention_head)(w, task);
  const buffers s = divide(w, &h, worker);
  CPU(attention_pack)(w, h.keys, h.k, w->a->kv_stride, 1, s.keys);
  CPU(attention_pack)(w, h.keys, h.v, w->a->kv_stride, 1, s.values);
  for (int64_t first = 0; first < h.queries; first += QUERY_BLOCK) {
    const attention_block b = CPU(attention_block)(&h, first);
    backward_block(w, &h, &s, &b);
  }
  write_rows(w, &h, s.dk, LOG_2, w->a->dk); /* packed queries carry scale * LOG2_E */
  write_rows(w, &h, s.dv, 1, w->a->dv);
}

void CPU(attention_backward)(brim_ops_context *c, const brim_attention *a) {
  attention_work w = CPU(attention_work)(c, a, CPU(attention_backward_scratch)(a->layout.max_length, a->head_size));
  c->stats.attention_flops += CPU(attention_flops)(a, 5);
  CPU(run)(c, (int64_t)a->layout.n * a->heads, backward_task, &w);
}
