/* attention_forward.c: softmax(scale q k^T) v per sequence and head. */
#include "ops/cpu/attention_store.h"
#include "ops/cpu/philox_queries.h"
#include "ops/cpu/relative.h"
#include "ops/cpu/vecmath.h"

/* A worker's scratch. */
typedef struct forward_buffers {
  float *keys, *values;    /* packed */
  float *key_rows;         /* as floats: what terms by distance multiply */
  float *queries, *panels; /* of one block */
  float *scores, *p, *out; /* [SCORE_ROOM, QUERY_BLOCK], the same but for 16-bit values; [QUERY_BLOCK, head_room] */
  relative_head *relative; /* NULL: there are no terms by distance */
} forward_buffers;

int64_t CPU(attention_forward_scratch)(int64_t max_length, int64_t size, int64_t window, bool half) {
  const bool splits = attention_splits(size, half);
  const int64_t head_room = round_up(size, TILE_COLUMNS),
                keys = round_up(CPU(attention_span_keys)(max_length, window, half || splits), 2);
  return 2 * attention_side_room(keys, head_room, splits) + attention_side_room(QUERY_BLOCK, head_room, splits) +
         ((splits ? keys : 0) + 2 * QUERY_BLOCK) * head_room + (half ? 2 : 1) * SCORE_ROOM * QUERY_BLOCK;
}

static forward_buffers divide(const attention_work *w, const attention_head *h, int worker) {
  const bool half = w->store != STORE_SINGLE;
  const int64_t keys = round_up(CPU(attention_span_keys)(h->keys, w->a->window, half || w->splits), 2);
  const int64_t of_keys = attention_side_room(keys, w->head_room, w->splits);
  forward_buffers b;
  b.keys = w->scratch + worker * w->scratch_size;
  b.values = b.keys + of_keys;
  b.panels = b.values + of_keys;
  b.queries = b.panels + attention_side_room(QUERY_BLOCK, w->head_room, w->splits);
  b.out = b.queries + QUERY_BLOCK * w->head_room;
  b.scores = b.out + QUERY_BLOCK * w->head_room;
  b.p = w->store == STORE_SINGLE ? b.scores : b.scores + SCORE_ROOM * QUERY_BLOCK;
  b.key_rows = w->splits ? b.scores + SCORE_ROOM * QUERY_BLOCK : b.keys;
  b.relative = NULL;
  return b;
}

/* The softmax of a block of queries while it runs over the keys: terms are 2^(score - top). `top` is the largest score of the
 * first keys; it is only raised when a later one exceeds it by more than HEADROOM, which is seldom, and the sums with it. */
enum { HEADROOM = 16 };
typedef struct softmax {
  float top[QUERY_BLOCK], sum[QUERY_BLOCK], most[QUERY_BLOCK];
} softmax;

/* The largest score of each query among these keys; where there are no others yet, that is `top`. Returns by how much `top` is
 * exceeded at most. */
static float find_most(const attention_work *w, const attention_block *b, int64_t keys, const float *scores, bool others,
                       softmax *s) {
  vec excess = vset(-INFINITY);
  for (int64_t i = 0; i < b->columns; i += VEC) {
    vec most[4];
    for (int k = 0; k < 4; k++)
      most[k] = vset(-INFINITY);
    int64_t j = 0;
    for (; j + 4 <= keys; j += 4) {
      BRIM_UNROLL(4)
      for (int k = 0; k < 4; k++)
        most[k] = vmax(most[k], vload(scores + (j + k) * QUERY_BLOCK + i));
    }
    for (; j < keys; j++)
      most[0] = vmax(most[0], vload(scores + j * QUERY_BLOCK + i));
    most[0] = vmax(vmax(most[0], most[1]), vmax(most[2], most[3])) * vset(w->to_powers);
    vstore(s->most + i, most[0]);
    if (!others)
      vstore(s->top + i, most[0]);
    excess = vmax(excess, most[0] - vload(s->top + i));
  }
  return vtop(excess);
}

static void raise_top(const attention_work *w, const attention_block *b, softmax *s, float *out) {
  for (int64_t i = 0; i < b->queries; i++) {
    if (!(s->most[i] - s->top[i] > HEADROOM))
      continue;
    const float factor = exp2f(s->top[i] - s->most[i]);
    s->top[i] = s->most[i];
    s->sum[i] *= factor;
    for (int64_t j = 0; j < w->head_room; j += VEC)
      vstore(out + i * w->head_room + j, vload(out + i * w->head_room + j) * vset(factor));
  }
}

/* A score becomes a term, which is added to the sum before dropout. */
BRIM_INLINE vec find_power(vec factor, vec top, const brim_dropout *d, const query_words *random, int k, const float *score,
                           vec *sum) {
  const vec e = vexp2(vmadd(vload(score), factor, -top));
  *sum += e;
  return d ? dropout_keep_key(random, k, d, e) : e;
}

/* Of keys `key` and key + 1, which is there if it is less than `keys`. */
BRIM_INLINE void find_two(const attention_store how, vec factor, vec top, const brim_dropout *d, const query_words *random, int k,
                          int64_t key, int64_t keys, int64_t i, const float *scores, float *p, vec *sum) {
  const float *score = scores + key * QUERY_BLOCK + i;
  const bool partner = key + 1 < keys;
  const vec even = find_power(factor, top, d, random, k, score, sum);
  const vec odd = partner ? find_power(factor, top, d, random, k + 1, score + QUERY_BLOCK, sum) : vzero();
  store_keys(how, partner, p, key, i, even, odd);
}

BRIM_INLINE void find_powers(const attention_store how, const attention_work *w, const attention_block *b, int64_t keys,
                             softmax *s, const float *scores, float *p) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const vec top = vload(s->top + i), factor = vset(w->to_powers);
    vec sum = vload(s->sum + i);
    for (int64_t j = 0; j < keys; j += 2)
      find_two(how, factor, top, NULL, NULL, 0, j, keys, i, scores, p, &sum);
    vstore(s->sum + i, sum);
  }
}

BRIM_INLINE void find_dropped_powers(const attention_store how, const attention_work *w, const attention_head *h,
                                     const attention_block *b, int64_t first, int64_t keys, softmax *s, const float *scores,
                                     float *p) {
  const brim_dropout *d = &w->a->dropout;
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const dropout_queries q = dropout_queries_of(d, h->site, h->place, (uint32_t)(b->first + i));
    const vec top = vload(s->top + i), factor = vset(w->to_powers);
    vec sum = vload(s->sum + i);
    for (int64_t j = 0; j < keys; j += BRIM_DROPOUT_STRETCH)
      for (int64_t block = 0; block < BRIM_DROPOUT_BLOCKS && j + 2 * block < keys; block++) {
        const query_words random = dropout_query_words(&q, (first + j) / 8 + block);
        BRIM_UNROLL(4)
        for (int k = 0; k < BLOCK_KEYS; k += 2) {
          const int64_t key = j + block_key(block, k);
          if (key >= keys)
            break;
          find_two(how, factor, top, d, &random, k, key, keys, i, scores, p, &sum);
        }
      }
    vstore(s->sum + i, sum);
  }
}

#define FIND_POWERS(how)                                                                                                         \
  case how:                                                                                                                      \
    if (w->a->dropout.on)                                                                                                        \
      find_dropped_powers(how, w, h, b, first, keys, s, buffers->scores, buffers->p);                                            \
    else                                                                                                                         \
      find_powers(how, w, b, keys, s, buffers->scores, buffers->p);                                                              \
    break;

static void powers(const attention_work *w, const attention_head *h, const attention_block *b, int64_t first, int64_t keys,
                   softmax *s, const forward_buffers *buffers) {
  switch (w->store) {
    FIND_POWERS(STORE_SINGLE)
    FIND_POWERS(STORE_WIDENED)
#if BRIM_LEVEL >= 2
    FIND_POWERS(STORE_PAIRS)
    FIND_POWERS(STORE_PAIRS_IN_C)
#endif
  default:
    break;
  }
}

/* Queries first .. first + queries - 1 as the right side of scores. */
static void turn_queries(const attention_work *w, const attention_head *h, const attention_block *b,
                         const forward_buffers *buffers) {
  const brim_attention *a = w->a;
  const int64_t at = h->q + b->first * a->q_stride;
  if (w->store == STORE_SINGLE)
    CPU(attention_pack)(w, b->queries, floats_at(w->t.q, at), a->q_stride, a->scale * LOG2_E, buffers->queries);
  CPU(attention_turn)(w, b, buffers->queries, w->t.q, at, a->q_stride, buffers->panels);
}

static void forward_block(const attention_work *w, const attention_head *h, const attention_span *span, const attention_block *b,
                          attention_right values, const forward_buffers *buffers) {
  const brim_attention *a = w->a;
  const brim_dropout *d = &a->dropout;
  const int64_t out = (h->first_query + b->first) * a->out_stride + h->head * h->size;
  softmax s;
  turn_queries(w, h, b, buffers);
  if (buffers->relative)
    CPU(relative_queries)(w, b, buffers->queries, buffers->relative);
  for (int64_t i = 0; i < b->columns; i += VEC)
    vstore(s.sum + i, vzero());
  for (int64_t j = b->key, keys; j < b->key_end; j += keys) {
    const int64_t row = j - span->key;
    keys = CPU(attention_keys)(j, b->key_end);
    CPU(attention_scores)(w, b, keys, CPU(attention_left_from)(w, buffers->keys, row), buffers->panels, buffers->scores);
    CPU(attention_mask)(w, b, j, keys, buffers->scores);
    if (buffers->relative)
      CPU(relative_add)(w, b, j, keys, buffers->relative, buffers->scores);
    const float excess = find_most(w, b, keys, buffers->scores, j > b->key, &s);
    if (excess > HEADROOM)
      raise_top(w, b, &s, buffers->out);
    powers(w, h, b, j, keys, &s, buffers);
    CPU(attention_sum)(w, b, keys, buffers->p, CPU(attention_right_from)(w, values, row), j > b->key, buffers->out);
  }
  for (int64_t i = 0; i < b->queries; i += VEC) {
    const vec sum = vload(s.sum + i);
    vstore_n(h->lse + b->first + i, vmadd(vload(s.top + i), vset(LOG_2), vlog(sum)), b->queries - i);
    vstore(s.sum + i, vset(d->on ? d->scale : 1) / sum);
  }
  for (int64_t i = 0; i < b->queries; i++)
    CPU(attention_unpack)(w, 1, buffers->out + i * w->head_room, s.sum[i], w->t.out, out + i * a->out_stride, a->out_stride);
}

/* Rows of padding, which see nothing. */
static void leave_out(const attention_work *w, const attention_head *h) {
  for (int64_t i = h->queries; !w->a->first_only && i < h->slots; i++) {
    CPU(attention_clear)(w, w->t.out, (h->first_query + i) * w->a->out_stride + h->head * h->size);
    h->lse[i] = 0;
  }
}

static void forward_span(const attention_work *w, attention_head h, const attention_span *s, const forward_buffers *buffers) {
  const int64_t stride = w->a->kv_stride, at = h.kv + s->key * stride, keys = s->key_end - s->key;
  CPU(attention_left)(w, keys, w->t.k, at, stride, buffers->keys);
  if (w->store == STORE_SINGLE && !w->splits)
    CPU(attention_pack)(w, keys, floats_at(w->t.v, at), stride, 1, buffers->values);
  if (buffers->relative && w->splits)
    CPU(attention_pack)(w, keys, floats_at(w->t.k, at), stride, 1, buffers->key_rows);
  const attention_right values = CPU(attention_right)(w, keys, w->t.v, at, stride, buffers->values);
  if (buffers->relative)
    CPU(relative_begin)(w, &h, false, buffers->key_rows, buffers->relative);
  for (int64_t member = 0; member < w->group; member++, CPU(attention_next_head)(w, &h)) {
    for (int64_t first = s->first; first < s->end; first += QUERY_BLOCK) {
      const attention_block b = CPU(attention_block)(w, &h, s, first);
      forward_block(w, &h, s, &b, values, buffers);
    }
    if (s->end == h.queries)
      leave_out(w, &h);
  }
}

static void forward_task(void *context, int64_t task, int worker) {
  const attention_work *w = context;
  const attention_head h = CPU(attention_head)(w, task);
  relative_head relative;
  attention_work short_text;
  w = attention_work_of(w, &h, &short_text);
  forward_buffers buffers = divide(w, &h, worker);
  if (w->relative) {
    CPU(relative_open)(w, false, worker, &relative);
    buffers.relative = &relative;
  }
  CPU(attention_begin)(w);
  for (int64_t first = 0; first < h.queries;) {
    const attention_span s = CPU(attention_span)(w, &h, first);
    forward_span(w, h, &s, &buffers);
    first = s.end;
  }
  CPU(attention_end)(w);
}

static void run_forward(brim_ops_context *c, const brim_attention *a, const attention_tensors *t) {
  attention_work w = CPU(attention_work)(c, a, t,
                                         CPU(attention_forward_scratch)(a->layout.max_length, a->head_size, a->window, t->half));
  c->stats.attention_flops += CPU(attention_flops)(a, 2);
  CPU(run)(c, (int64_t)a->layout.n * (a->heads / w.group), forward_task, &w);
}

void CPU(relative_forward)(brim_ops_context *c, const brim_relative *r) {
  const brim_attention *a = &r->attention;
  attention_work w = CPU(relative_work)(c, r, CPU(attention_forward_scratch)(a->layout.max_length, a->head_size, 0, false));
  c->stats.attention_flops += CPU(attention_flops)(a, 2);
  CPU(run)(c, (int64_t)a->layout.n * a->heads, forward_task, &w);
}

void CPU(attention_forward)(brim_ops_context *c, const brim_attention *a) {
  const attention_tensors t = CPU(attention_tensors)(a);
  run_forward(c, a, &t);
}

void CPU(bf16_attention_forward)(brim_ops_context *c, const brim_bf16_attention *a) {
  const attention_tensors t = {
      .half = true, .q = {true, a->q}, .k = {true, a->k}, .v = {true, a->v}, .out = {BRIM_TYPE_BF16, a->out}};
  run_forward(c, &a->of, &t);
}
