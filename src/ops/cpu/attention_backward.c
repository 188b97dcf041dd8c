/* attention_backward.c: gradients of attention. The probabilities are recomputed from the log-sum-exp; a task owns all rows of
 * its head's dk and dv, so their sums run over the queries in order. From one span to the next, sums of keys that no later query
 * sees are written out, and the others move to the front. */
#include "ops/cpu/attention_store.h"
#include "ops/cpu/philox_queries.h"
#include "ops/cpu/relative.h"
#include "ops/cpu/vecmath.h"

/* A worker's scratch. */
typedef struct buffers {
  float *keys, *key_pairs, *values, *dk, *dv;              /* packed; single precision needs no pairs, unless it is split */
  float *key_rows;                                         /* as floats: what terms by distance multiply */
  float *queries, *dout, *query_panels, *dout_panels, *dq; /* of a block of queries */
  float *query_side, *dout_side;                           /* the same, split */
  float *p, *ds;                                           /* [keys, QUERY_BLOCK] probabilities, gradient of scores */
  float *p_rows, *ds_rows, *ds_pairs;                      /* of 16-bit values, [KEY_ROOM, QUERY_BLOCK] */
  relative_head *relative;                                 /* NULL: there are no terms by distance */
} buffers;

static int64_t span_rows(int64_t keys, int64_t window, bool rounded) {
  return round_up(CPU(attention_span_keys)(keys, window, rounded), 2);
}

int64_t CPU(attention_backward_scratch)(int64_t max_length, int64_t size, int64_t window, bool half) {
  const bool splits = attention_splits(size, half), rounded = half || splits;
  const int64_t head_room = round_up(size, TILE_COLUMNS), rows = span_rows(max_length, window, rounded);
  const int64_t of_keys = attention_side_room(rows, head_room, splits),
                of_queries = attention_side_room(QUERY_BLOCK, head_room, splits);
  return (rounded ? 3 : 2) * of_keys + (splits ? 3 : 2) * rows * head_room + (splits ? 4 : 2) * of_queries +
         3 * QUERY_BLOCK * head_room + 2 * CPU(attention_block_keys)(max_length, window, rounded) * QUERY_BLOCK +
         (half ? 3 * KEY_ROOM * QUERY_BLOCK : 0);
}

static float *take(float **from, int64_t values) {
  float *at = *from;
  *from += values;
  return at;
}

static buffers divide_backward(const attention_work *w, const attention_head *h, int worker) {
  const bool rounded = w->store != STORE_SINGLE || w->splits;
  const int64_t rows = span_rows(h->keys, w->a->window, rounded), sums = rows * w->head_room;
  const int64_t of_keys = attention_side_room(rows, w->head_room, w->splits), of_rows = QUERY_BLOCK * w->head_room;
  const int64_t of_queries = attention_side_room(QUERY_BLOCK, w->head_room, w->splits);
  const int64_t scores = CPU(attention_block_keys)(h->keys, w->a->window, rounded) * QUERY_BLOCK;
  float *at = w->scratch + worker * w->scratch_size;
  buffers b = {.keys = take(&at, of_keys)};
  b.values = take(&at, of_keys);
  b.dk = take(&at, sums);
  b.dv = take(&at, sums);
  b.queries = take(&at, of_rows);
  b.dout = take(&at, of_rows);
  b.query_panels = take(&at, of_queries);
  b.dout_panels = take(&at, of_queries);
  b.dq = take(&at, of_rows);
  b.p = take(&at, scores);
  b.ds = take(&at, scores);
  b.key_pairs = rounded ? take(&at, of_keys) : NULL;
  b.query_side = w->splits ? take(&at, of_queries) : NULL;
  b.dout_side = w->splits ? take(&at, of_queries) : NULL;
  b.key_rows = w->splits ? take(&at, sums) : b.keys;
  b.p_rows = at; /* of 16-bit values alone */
  b.ds_rows = b.p_rows + KEY_ROOM * QUERY_BLOCK;
  b.ds_pairs = b.ds_rows + KEY_ROOM * QUERY_BLOCK;
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
BRIM_INLINE void find_terms(vec factor, vec lse, const brim_dropout *d, const query_words *random, int k, float *p, float *dp,
                            vec *sum, vec *total) {
  const vec probability = vexp2(vmadd(vload(p), factor, -lse));
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

static void terms(const attention_work *w, const attention_block *b, marks *m, int64_t keys, float *p, float *dp) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const vec lse = vload(m->lse + i), factor = vset(w->to_powers);
    vec sum = vzero(), total = vzero();
    for (int64_t j = 0; j < keys; j += BLOCK_KEYS) {
      const int64_t end = j + BLOCK_KEYS < keys ? j + BLOCK_KEYS : keys;
      vec some = vzero(), weighed = vzero();
      for (int64_t key = j; key < end; key++)
        find_terms(factor, lse, NULL, NULL, 0, p + key * QUERY_BLOCK + i, dp + key * QUERY_BLOCK + i, &some, &weighed);
      sum += some;
      total += weighed;
    }
    add_to(m->sum + i, sum);
    add_to(m->delta + i, total);
  }
}

/* The same for the keys from `first` on, with dropout. */
static void dropped_terms(const attention_work *w, const attention_head *h, const attention_block *b, marks *m, int64_t first,
                          int64_t keys, float *p, float *dp) {
  const brim_dropout *d = &w->a->dropout;
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const dropout_queries q = dropout_queries_of(d, h->site, h->place, (uint32_t)(b->first + i));
    const vec lse = vload(m->lse + i), factor = vset(w->to_powers);
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
          find_terms(factor, lse, d, &random, k, p + at, dp + at, &some, &weighed);
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

/* The same for products of 16-bit values: p and ds stay, their rounded values go to the buffers. */
BRIM_INLINE void rounded_gradients(const attention_store how, const attention_block *b, const marks *m, int64_t keys,
                                   const float *p, const float *ds, const buffers *s) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const vec delta = vload(m->delta + i);
    for (int64_t j = 0; j < keys; j += 2) {
      const bool partner = j + 1 < keys;
      const int64_t even = j * QUERY_BLOCK + i, odd = partner ? even + QUERY_BLOCK : even;
      const vec p0 = vload(p + even), p1 = partner ? vload(p + odd) : vzero();
      const vec ds0 = vmax(-p0, p0) * (vload(ds + even) - delta), ds1 = vmax(-p1, p1) * (vload(ds + odd) - delta);
      store_rows(how, partner, s->p_rows, NULL, j, i, vmax(vzero(), p0), vmax(vzero(), p1));
      store_rows(how, partner, s->ds_rows, s->ds_pairs, j, i, ds0, ds1);
    }
  }
}

/* Probabilities and gradients of scores as products read them. */
typedef struct factors {
  const float *p_rows, *ds_rows, *ds_keys;
} factors;

static factors find_factors(const attention_work *w, const attention_block *b, const marks *m, int64_t keys, float *p, float *ds,
                            const buffers *s) {
  const factors half = {s->p_rows, s->ds_rows, s->ds_pairs};
  switch (w->store) {
  case STORE_WIDENED:
    rounded_gradients(STORE_WIDENED, b, m, keys, p, ds, s);
    return half;
#if BRIM_LEVEL >= 2
  case STORE_PAIRS:
    rounded_gradients(STORE_PAIRS, b, m, keys, p, ds, s);
    return half;
  case STORE_PAIRS_IN_C:
    rounded_gradients(STORE_PAIRS_IN_C, b, m, keys, p, ds, s);
    return half;
#endif
  default:
    score_gradients(b, m, keys, w->a->dropout.on, p, ds);
    return (factors){p, ds, ds};
  }
}

/* Whether there is something in dk and dv already: the first block of queries writes, unless they begin as zeros. */
static bool begins_with_zeros(const attention_work *w) {
  return w->a->window > 0 || w->group > 1;
}

/* A block of queries and the gradients of its outputs, packed as right sides of both kinds of products. */
typedef struct block_sides {
  attention_right queries, dout;
} block_sides;

static block_sides pack_block(const attention_work *w, const attention_head *h, const attention_block *b, const buffers *s) {
  const brim_attention *a = w->a;
  const int64_t q = h->q + b->first * a->q_stride, out = (h->first_query + b->first) * a->out_stride + h->head * h->size;
  if (w->store == STORE_SINGLE) {
    CPU(attention_pack)(w, b->queries, floats_at(w->t.q, q), a->q_stride, a->scale * LOG2_E, s->queries);
    CPU(attention_pack)(w, b->queries, floats_at(w->t.dout, out), a->out_stride, a->dropout.on ? a->dropout.scale : 1, s->dout);
  }
  CPU(attention_turn)(w, b, s->queries, w->t.q, q, a->q_stride, s->query_panels);
  CPU(attention_turn)(w, b, s->dout, w->t.dout, out, a->out_stride, s->dout_panels);
  if (SPLITS && w->splits)
    return (block_sides){CPU(attention_split_right)(w, b->queries, s->queries, w->head_room, (char *)s->query_side),
                         CPU(attention_split_right)(w, b->queries, s->dout, w->head_room, (char *)s->dout_side)};
  return (block_sides){CPU(attention_right)(w, b->queries, w->t.q, q, a->q_stride, s->queries),
                       CPU(attention_right)(w, b->queries, w->t.dout, out, a->out_stride, s->dout)};
}

/* Probabilities and dropout(dp) of all keys of the block, and its marks. */
static void find_scores(const attention_work *w, const attention_head *h, const buffers *s, const attention_span *span,
                        const attention_block *b, marks *m) {
  begin_marks(h, b, m);
  for (int64_t j = b->key, keys; j < b->key_end; j += keys) {
    keys = CPU(attention_keys)(j, b->key_end);
    const int64_t row = j - span->key, at_key = (j - b->key) * QUERY_BLOCK;
    float *p = s->p + at_key, *dp = s->ds + at_key;
    CPU(attention_scores)(w, b, keys, CPU(attention_left_from)(w, s->keys, row), s->query_panels, p);
    CPU(attention_mask)(w, b, j, keys, p);
    if (s->relative)
      CPU(relative_add)(w, b, j, keys, s->relative, p);
    CPU(attention_scores)(w, b, keys, CPU(attention_left_from)(w, s->values, row), s->dout_panels, dp);
    if (w->a->dropout.on)
      dropped_terms(w, h, b, m, j, keys, p, dp);
    else
      terms(w, b, m, keys, p, dp);
  }
  end_marks(b, m);
}

static void backward_block(const attention_work *w, const attention_head *h, const buffers *s, const attention_span *span,
                           const attention_block *b, attention_right key_sides) {
  const brim_attention *a = w->a;
  const int64_t at = (h->first_query + b->first) * a->q_stride + h->head * h->size;
  const bool add = begins_with_zeros(w) || b->first > 0;
  const block_sides sides = pack_block(w, h, b, s);
  marks m;
  if (s->relative)
    CPU(relative_queries)(w, b, s->queries, s->relative);
  find_scores(w, h, s, span, b, &m);
  for (int64_t j = b->key, keys; j < b->key_end; j += keys) {
    keys = CPU(attention_keys)(j, b->key_end);
    const int64_t row = j - span->key, at_key = (j - b->key) * QUERY_BLOCK;
    const factors f = find_factors(w, b, &m, keys, s->p + at_key, s->ds + at_key, s);
    CPU(attention_add)(w, b, keys, f.p_rows, sides.dout, add, s->dv + row * w->head_room);
    CPU(attention_add)(w, b, keys, f.ds_rows, sides.queries, add, s->dk + row * w->head_room);
    CPU(attention_sum)(w, b, keys, f.ds_keys, CPU(attention_right_from)(w, key_sides, row), j > b->key, s->dq);
  }
  if (s->relative)
    CPU(relative_gradients)(w, b, s->ds, s->queries, s->dq, s->relative);
  CPU(attention_unpack)(w, b->queries, s->dq, w->of_dq, w->t.dq, at, a->q_stride);
}

/* Rows of real keys first .. end - 1 from the accumulators. */
static void write_rows(const attention_work *w, const attention_head *h, int64_t first, int64_t end, const float *from,
                       float factor, brim_typed to) {
  const int64_t stride = w->a->kv_stride;
  CPU(attention_unpack)(w, end - first, from, factor, to, h->kv + first * stride, stride);
}

/* 0 for keys that nobody sees, and those of padding. */
static void clear_rows(const attention_work *w, const attention_head *h, int64_t first, brim_typed to) {
  for (int64_t j = first; j < h->slots; j++)
    CPU(attention_clear)(w, to, h->kv + j * w->a->kv_stride);
}

/* And for queries of padding, which see nothing. */
static void clear_queries(const attention_work *w, const attention_head *h) {
  for (int64_t i = h->queries; !w->a->first_only && i < h->slots; i++)
    CPU(attention_clear)(w, w->t.dq, h->q + i * w->a->q_stride);
}

static void backward_span(const attention_work *w, attention_head h, const buffers *s, const attention_span *span) {
  const int64_t stride = w->a->kv_stride, at = h.kv + span->key * stride, keys = span->key_end - span->key;
  CPU(attention_left)(w, keys, w->t.k, at, stride, s->keys);
  CPU(attention_left)(w, keys, w->t.v, at, stride, s->values);
  const attention_right key_sides = CPU(attention_right)(w, keys, w->t.k, at, stride, s->key_pairs ? s->key_pairs : s->keys);
  if (s->relative && w->splits)
    CPU(attention_pack)(w, keys, floats_at(w->t.k, at), stride, 1, s->key_rows);
  if (s->relative)
    CPU(relative_begin)(w, &h, true, s->key_rows, s->relative);
  for (int64_t member = 0; member < w->group; member++, CPU(attention_next_head)(w, &h)) {
    for (int64_t first = span->first; first < span->end; first += QUERY_BLOCK) {
      const attention_block b = CPU(attention_block)(w, &h, span, first);
      backward_block(w, &h, s, span, &b, key_sides);
    }
    if (span->end == h.queries)
      clear_queries(w, &h);
  }
  if (s->relative)
    CPU(relative_end)(w, s->key_rows, s->dk, s->relative);
}

/* Sums of keys before `next` are complete: they are written, the others move to the front, and zeros follow them. */
static void move_on(const attention_work *w, const attention_head *h, const buffers *s, const attention_span *span, int64_t next,
                    int64_t end) {
  const int64_t done = (next - span->key) * w->head_room, kept = (span->key_end - next) * w->head_room,
                added = (end - span->key_end) * w->head_room;
  float *const sums[] = {s->dk, s->dv};
  const brim_typed to[] = {w->t.dk, w->t.dv};
  const float of[] = {w->of_dk, w->of_dv};
  for (int i = 0; i < 2; i++) {
    write_rows(w, h, span->key, next, sums[i], of[i], to[i]);
    memmove(sums[i], sums[i] + done, (size_t)kept * sizeof *sums[i]);
    memset(sums[i] + kept, 0, (size_t)added * sizeof *sums[i]);
  }
}

static void backward_head(const attention_work *w, int64_t task, int worker, relative_head *relative) {
  const attention_head h = CPU(attention_head)(w, task);
  attention_work short_text;
  w = attention_work_of(w, &h, &short_text);
  buffers s = divide_backward(w, &h, worker);
  s.relative = relative;
  attention_span span = CPU(attention_span)(w, &h, 0);
  if (begins_with_zeros(w)) {
    const size_t bytes = (size_t)(span.key_end * w->head_room) * sizeof(float);
    memset(s.dk, 0, bytes);
    memset(s.dv, 0, bytes);
  }
  CPU(attention_begin)(w);
  for (;;) {
    backward_span(w, h, &s, &span);
    if (span.end == h.queries)
      break;
    const attention_span next = CPU(attention_span)(w, &h, span.end);
    move_on(w, &h, &s, &span, next.key, next.key_end);
    span = next;
  }
  CPU(attention_end)(w);
  move_on(w, &h, &s, &span, span.key_end, span.key_end);
  clear_rows(w, &h, span.key_end, w->t.dk);
  clear_rows(w, &h, span.key_end, w->t.dv);
}

static void backward_task(void *context, int64_t task, int worker) {
  backward_head(context, task, worker, NULL);
}

static void run_backward(brim_ops_context *c, const brim_attention *a, const attention_tensors *t) {
  attention_work w = CPU(attention_work)(c, a, t,
                                         CPU(attention_backward_scratch)(a->layout.max_length, a->head_size, a->window, t->half));
  c->stats.attention_flops += CPU(attention_flops)(a, 5);
  CPU(run)(c, (int64_t)a->layout.n * (a->heads / w.group), backward_task, &w);
}

/* A task is a head of all texts, one after the other: the gradients of its columns of the embeddings are sums over them. */
static void relative_task(void *context, int64_t task, int worker) {
  const attention_work *w = context;
  relative_head relative;
  CPU(relative_open)(w, true, worker, &relative);
  relative.head = task;
  for (int64_t s = 0; s < w->a->layout.n; s++)
    backward_head(w, s * w->a->heads + task, worker, &relative);
  CPU(relative_close)(w, &relative);
}

void CPU(relative_backward)(brim_ops_context *c, const brim_relative *r) {
  const brim_attention *a = &r->attention;
  attention_work w = CPU(relative_work)(c, r, CPU(attention_backward_scratch)(a->layout.max_length, a->head_size, 0, false));
  c->stats.attention_flops += CPU(attention_flops)(a, 5);
  CPU(run)(c, a->heads, relative_task, &w);
}

void CPU(attention_backward)(brim_ops_context *c, const brim_attention *a) {
  const attention_tensors t = CPU(attention_tensors)(a);
  run_backward(c, a, &t);
}

void CPU(bf16_attention_backward)(brim_ops_context *c, const brim_bf16_attention *a) {
  const attention_tensors t = {.half = true,
                               .q = {true, a->q},
                               .k = {true, a->k},
                               .v = {true, a->v},
                               .dout = {true, a->dout},
                               .dq = {BRIM_TYPE_BF16, a->dq},
                               .dk = {BRIM_TYPE_BF16, a->dk},
                               .dv = {BRIM_TYPE_BF16, a->dv}};
  run_backward(c, &a->of, &t);
}
