/* attention.c: softmax(scale q k^T) v per sequence and head. */
#include "ops/cpu/attention.h"
#include "ops/cpu/philox_queries.h"
#include "ops/cpu/relative.h"
#include "ops/cpu/vecmath.h"

/* ---- shared */

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

attention_tensors CPU(attention_tensors)(const brim_attention *a) {
  return (attention_tensors){.q = {false, a->q},
                             .k = {false, a->k},
                             .v = {false, a->v},
                             .dout = {false, a->dout},
                             .out = {BRIM_TYPE_REAL, a->out},
                             .dq = {BRIM_TYPE_REAL, a->dq},
                             .dk = {BRIM_TYPE_REAL, a->dk},
                             .dv = {BRIM_TYPE_REAL, a->dv}};
}

attention_work CPU(attention_work)(brim_ops_context *c, const brim_attention *a, const attention_tensors *t,
                                   int64_t scratch_size) {
  const brim_layout *layout = &a->layout;
  int32_t *order = c->workspace;
  sort_sequences(layout, order, order + layout->n);
  return (attention_work){.a = a,
                          .t = *t,
                          .order = order,
                          .scratch = (float *)((char *)c->workspace + order_size(layout->n, layout->max_length)),
                          .scratch_size = scratch_size,
                          .head_room = round_up(a->head_size, TILE_COLUMNS),
                          .rows = a->first_only ? layout->n : layout->slots,
                          .group = a->group > 0 ? a->group : 1};
}

attention_head CPU(attention_head)(const attention_work *w, int64_t task) {
  const brim_attention *a = w->a;
  const brim_layout *layout = &a->layout;
  const int64_t heads = a->heads / w->group, own = task % heads, shift = own * a->head_size;
  const int32_t s = w->order[task / heads];
  attention_head h = {
      .head = own * w->group, .keys = layout->lengths[s], .size = a->head_size, .first_key = layout->offsets[s], .own = own};
  h.slots = layout->offsets[s + 1] - layout->offsets[s];
  h.queries = a->first_only && h.slots > 1 ? 1 : a->window > 0 ? h.keys : h.slots;
  h.first_query = a->first_only ? s : h.first_key;
  h.q = h.first_query * a->q_stride + h.head * a->head_size;
  h.kv = h.first_key * a->kv_stride + shift;
  h.lse = a->lse + h.head * w->rows + h.first_query;
  h.site = a->dropout.site + (uint32_t)h.head;
  h.place = a->dropout.on ? layout->places[s] : 0;
  return h;
}

void CPU(attention_next_head)(const attention_work *w, attention_head *h) {
  h->head++;
  h->q += h->size;
  h->lse += w->rows;
  h->site++;
}

/* Keys that queries first .. end - 1 see. Dropout's bits come in stretches: its blocks of keys begin where a stretch does. */
static void find_keys(const attention_work *w, const attention_head *h, int64_t first, int64_t end, bool whole, int64_t *key,
                      int64_t *key_end) {
  const int64_t window = w->a->window, from = first > window ? first - window : 0;
  *key = window == 0 ? 0 : whole ? from / KEY_BLOCK * KEY_BLOCK : from;
  *key_end = window == 0 ? h->keys : least(h->keys, end + window);
}

attention_span CPU(attention_span)(const attention_work *w, const attention_head *h, int64_t first) {
  attention_span s = {.first = first, .end = w->a->window > 0 ? least(h->queries, first + SPAN_QUERIES) : h->queries};
  find_keys(w, h, s.first, s.end, true, &s.key, &s.key_end);
  return s;
}

attention_block CPU(attention_block)(const attention_work *w, const attention_head *h, const attention_span *s, int64_t first) {
  const int64_t queries = least(s->end - first, QUERY_BLOCK);
  attention_block b = {.first = first, .queries = queries, .columns = round_up(queries, TILE_COLUMNS)};
  find_keys(w, h, first, first + queries, w->a->dropout.on, &b.key, &b.key_end);
  return b;
}

int64_t CPU(attention_keys)(int64_t first, int64_t end) {
  const int64_t left = end - first;
  return left <= KEY_ROOM ? left : KEY_BLOCK;
}

int64_t CPU(attention_span_keys)(int64_t max_length, int64_t window) {
  return window > 0 ? least(max_length, SPAN_QUERIES + 2 * window + KEY_BLOCK) : max_length;
}

int64_t CPU(attention_block_keys)(int64_t max_length, int64_t window) {
  return window > 0 ? least(max_length, QUERY_BLOCK + 2 * window + KEY_BLOCK) : max_length;
}

/* Finite, so that differences are numbers: what a query takes for its largest score until it sees a key counts for nothing when
 * it does. */
static const float UNSEEN = -1e30f;

void CPU(attention_mask)(const attention_work *w, const attention_block *b, int64_t first, int64_t keys, float *scores) {
  const int64_t window = w->a->window, last = b->first + b->queries - 1;
  if (window == 0 || (first >= last - window && first + keys - 1 <= b->first + window))
    return;
  for (int64_t j = 0; j < keys; j++) {
    const int64_t from = first + j - window - b->first, to = first + j + window - b->first; /* queries that see it */
    float *row = scores + j * QUERY_BLOCK;
    for (int64_t i = 0; i < from && i < b->queries; i++)
      row[i] = UNSEEN;
    for (int64_t i = to < 0 ? 0 : to + 1; i < b->queries; i++)
      row[i] = UNSEEN;
  }
}

/* Rows of a head lie far apart, each on a page of its own, so that the processor does not see which comes next. An address that
 * is none is no error. */
enum { AHEAD = 40 /* rows */ };
static void fetch_ahead(attention_side x, int64_t at, int64_t size) {
  const uintptr_t from = (uintptr_t)x.at, width = x.narrow ? sizeof(brim_bfloat) : sizeof(float);
  for (uintptr_t i = 0; i < (uintptr_t)size * width; i += 64)
    __builtin_prefetch((const void *)(from + (uintptr_t)at * width + i));
}

void CPU(attention_pack)(const attention_work *w, int64_t rows, attention_side x, int64_t at, int64_t stride, float factor,
                         float *to) {
  const int64_t size = w->a->head_size;
  for (int64_t r = 0; r < rows; r++, at += stride, to += w->head_room) {
    fetch_ahead(x, at + AHEAD * stride, size);
    for (int64_t i = 0; i < w->head_room; i += VEC) {
      const int64_t n = i < size ? size - i : 0;
      const vec row = x.narrow ? hload_n((const brim_bfloat *)x.at + at + i, n) : vload_n((const float *)x.at + at + i, n);
      vstore(to + i, row * vset(factor));
    }
  }
}

void CPU(attention_unpack)(const attention_work *w, int64_t rows, const float *from, float factor, brim_typed to, int64_t at,
                           int64_t stride) {
  const int64_t size = w->a->head_size;
  for (int64_t r = 0; r < rows; r++, from += w->head_room, at += stride)
    for (int64_t i = 0; i < size; i += VEC)
      tstore_n(to, at + i, vload(from + i) * vset(factor), size - i);
}

void CPU(attention_clear)(const attention_work *w, brim_typed to, int64_t at) {
  const int64_t size = w->a->head_size;
  for (int64_t i = 0; i < size; i += VEC)
    tstore_n(to, at + i, vzero(), size - i);
}

void CPU(attention_turn)(const attention_work *w, const attention_block *b, float *rows, float *panels) {
  memset(rows + b->queries * w->head_room, 0, (size_t)((b->columns - b->queries) * w->head_room) * sizeof *rows);
  for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS)
    CPU(pack_columns)(w->head_room, TILE_COLUMNS, rows + j * w->head_room, w->head_room, panels + j * w->head_room);
}

void CPU(attention_scores)(const attention_work *w, const attention_block *b, int64_t keys, const float *rows,
                           const float *panels, float *out) {
  for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS) {
    const tile t = {.depth = w->a->head_size,
                    .a = rows,
                    .a_row = w->head_room,
                    .a_step = 1,
                    .b = panels + j * w->head_room,
                    .b_step = TILE_COLUMNS,
                    .c = out + j,
                    .c_row = QUERY_BLOCK};
    CPU(tile_rows)(keys, TILE_COLUMNS, &t);
  }
}

void CPU(attention_sum)(const attention_work *w, const attention_block *b, int64_t keys, const float *p, const float *rows,
                        bool add, float *to) {
  for (int64_t i = 0; i < w->head_room; i += TILE_COLUMNS) {
    const tile t = {.depth = keys,
                    .a = p,
                    .a_row = 1,
                    .a_step = QUERY_BLOCK,
                    .b = rows + i,
                    .b_step = w->head_room,
                    .c = to + i,
                    .c_row = w->head_room,
                    .add = add};
    CPU(tile_rows)(b->queries, TILE_COLUMNS, &t);
  }
}

/* ---- forward */

/* A worker's scratch. */
typedef struct forward_buffers {
  float *keys, *values;    /* packed rows */
  float *queries, *panels; /* of one block */
  float *p, *out;          /* [KEY_ROOM, QUERY_BLOCK] scores, then probabilities; [QUERY_BLOCK, head_room] */
  relative_head *relative; /* NULL: there are no terms by distance */
} forward_buffers;

int64_t CPU(attention_forward_scratch)(int64_t max_length, int64_t size, int64_t window) {
  const int64_t head_room = round_up(size, TILE_COLUMNS);
  return (2 * CPU(attention_span_keys)(max_length, window) + 3 * QUERY_BLOCK) * head_room + KEY_ROOM * QUERY_BLOCK;
}

static forward_buffers divide(const attention_work *w, const attention_head *h, int worker) {
  const int64_t of_keys = CPU(attention_span_keys)(h->keys, w->a->window) * w->head_room;
  forward_buffers b;
  b.keys = w->scratch + worker * w->scratch_size;
  b.values = b.keys + of_keys;
  b.queries = b.values + of_keys;
  b.panels = b.queries + QUERY_BLOCK * w->head_room;
  b.out = b.panels + QUERY_BLOCK * w->head_room;
  b.p = b.out + QUERY_BLOCK * w->head_room;
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
static float find_most(const attention_block *b, int64_t keys, const float *scores, bool others, softmax *s) {
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
    most[0] = vmax(vmax(most[0], most[1]), vmax(most[2], most[3]));
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
BRIM_INLINE void find_power(vec top, const brim_dropout *d, const query_words *random, int k, float *p, vec *sum) {
  const vec e = vexp2(vload(p) - top);
  vstore(p, d ? dropout_keep_key(random, k, d, e) : e);
  *sum += e;
}

static void find_powers(const attention_block *b, int64_t keys, softmax *s, float *p) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const vec top = vload(s->top + i);
    vec sum = vload(s->sum + i);
    for (int64_t j = 0; j < keys; j++)
      find_power(top, NULL, NULL, 0, p + j * QUERY_BLOCK + i, &sum);
    vstore(s->sum + i, sum);
  }
}

static void find_dropped_powers(const attention_head *h, const attention_block *b, int64_t first, int64_t keys, softmax *s,
                                const brim_dropout *d, float *p) {
  for (int64_t i = 0; i < b->columns; i += VEC) {
    const dropout_queries q = dropout_queries_of(d, h->site, h->place, (uint32_t)(b->first + i));
    const vec top = vload(s->top + i);
    vec sum = vload(s->sum + i);
    for (int64_t j = 0; j < keys; j += BRIM_DROPOUT_STRETCH)
      for (int64_t block = 0; block < BRIM_DROPOUT_BLOCKS && j + 2 * block < keys; block++) {
        const query_words random = dropout_query_words(&q, (first + j) / 8 + block);
        BRIM_UNROLL(8)
        for (int k = 0; k < BLOCK_KEYS; k++) {
          const int64_t key = j + block_key(block, k);
          if (key >= keys)
            break;
          find_power(top, d, &random, k, p + key * QUERY_BLOCK + i, &sum);
        }
      }
    vstore(s->sum + i, sum);
  }
}

static void forward_block(const attention_work *w, const attention_head *h, const attention_span *span, const attention_block *b,
                          const forward_buffers *buffers) {
  const brim_attention *a = w->a;
  const brim_dropout *d = &a->dropout;
  const int64_t out = (h->first_query + b->first) * a->out_stride + h->head * h->size;
  softmax s;
  CPU(attention_pack)(w, b->queries, w->t.q, h->q + b->first * a->q_stride, a->q_stride, a->scale * LOG2_E, buffers->queries);
  CPU(attention_turn)(w, b, buffers->queries, buffers->panels);
  if (buffers->relative)
    CPU(relative_queries)(w, b, buffers->panels, buffers->relative);
  for (int64_t i = 0; i < b->columns; i += VEC)
    vstore(s.sum + i, vzero());
  for (int64_t j = b->key, keys; j < b->key_end; j += keys) {
    const int64_t row = (j - span->key) * w->head_room;
    keys = CPU(attention_keys)(j, b->key_end);
    CPU(attention_scores)(w, b, keys, buffers->keys + row, buffers->panels, buffers->p);
    CPU(attention_mask)(w, b, j, keys, buffers->p);
    if (buffers->relative)
      CPU(relative_add)(b, j, keys, buffers->relative, buffers->p);
    const float excess = find_most(b, keys, buffers->p, j > b->key, &s);
    if (excess > HEADROOM)
      raise_top(w, b, &s, buffers->out);
    if (d->on)
      find_dropped_powers(h, b, j, keys, &s, d, buffers->p);
    else
      find_powers(b, keys, &s, buffers->p);
    CPU(attention_sum)(w, b, keys, buffers->p, buffers->values + row, j > b->key, buffers->out);
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
  const int64_t at = h.kv + s->key * w->a->kv_stride;
  CPU(attention_pack)(w, s->key_end - s->key, w->t.k, at, w->a->kv_stride, 1, buffers->keys);
  CPU(attention_pack)(w, s->key_end - s->key, w->t.v, at, w->a->kv_stride, 1, buffers->values);
  if (buffers->relative)
    CPU(relative_begin)(w, &h, false, buffers->keys, buffers->relative);
  for (int64_t member = 0; member < w->group; member++, CPU(attention_next_head)(w, &h)) {
    for (int64_t first = s->first; first < s->end; first += QUERY_BLOCK) {
      const attention_block b = CPU(attention_block)(w, &h, s, first);
      forward_block(w, &h, s, &b, buffers);
    }
    if (s->end == h.queries)
      leave_out(w, &h);
  }
}

static void forward_task(void *context, int64_t task, int worker) {
  const attention_work *w = context;
  const attention_head h = CPU(attention_head)(w, task);
  relative_head relative;
  forward_buffers buffers = divide(w, &h, worker);
  if (w->relative) {
    CPU(relative_open)(w, false, worker, &relative);
    buffers.relative = &relative;
  }
  for (int64_t first = 0; first < h.queries;) {
    const attention_span s = CPU(attention_span)(w, &h, first);
    forward_span(w, h, &s, &buffers);
    first = s.end;
  }
}

/* Keys that `queries` queries of a sequence see, from its first on. */
static double seen(double queries, double keys, double window) {
  const double away = window < keys - 1 ? window : keys - 1;
  if (window == 0)
    return queries * keys;
  return queries == 1 ? away + 1 : keys + 2 * away * keys - away * (away + 1);
}

double CPU(attention_flops)(const brim_attention *a, double products) {
  double pairs = 0;
  for (int32_t s = 0; s < a->layout.n; s++) {
    const int32_t slots = a->layout.offsets[s + 1] - a->layout.offsets[s];
    pairs += seen(a->first_only && slots > 1 ? 1 : slots, a->layout.lengths[s], a->window);
  }
  return 2 * products * pairs * a->head_size * a->heads;
}

static void run_forward(brim_ops_context *c, const brim_attention *a, const attention_tensors *t) {
  attention_work w = CPU(attention_work)(c, a, t, CPU(attention_forward_scratch)(a->layout.max_length, a->head_size, a->window));
  c->stats.attention_flops += CPU(attention_flops)(a, 2);
  CPU(run)(c, (int64_t)a->layout.n * (a->heads / w.group), forward_task, &w);
}

void CPU(relative_forward)(brim_ops_context *c, const brim_relative *r) {
  const brim_attention *a = &r->attention;
  attention_work w = CPU(relative_work)(c, r, CPU(attention_forward_scratch)(a->layout.max_length, a->head_size, 0));
  c->stats.attention_flops += CPU(attention_flops)(a, 2);
  CPU(run)(c, (int64_t)a->layout.n * a->heads, forward_task, &w);
}

void CPU(attention_forward)(brim_ops_context *c, const brim_attention *a) {
  const attention_tensors t = CPU(attention_tensors)(a);
  run_forward(c, a, &t);
}

void CPU(bf16_attention_forward)(brim_ops_context *c, const brim_bf16_attention *a) {
  const attention_tensors t = {.q = {true, a->q}, .k = {true, a->k}, .v = {true, a->v}, .out = {BRIM_TYPE_BF16, a->out}};
  run_forward(c, &a->of, &t);
}

size_t CPU(attention_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t size = limits->hidden / (limits->heads > 0 ? limits->heads : 1);
  const int64_t forward = CPU(attention_forward_scratch)(limits->max_length, size, limits->window);
  const int64_t backward = CPU(attention_backward_scratch)(limits->max_length, size, limits->window);
  const int64_t relative = limits->distances > 0 ? CPU(relative_scratch)(limits->max_length, size, limits->distances) : 0;
  return order_size(limits->max_sequences, limits->max_length) +
         (size_t)threads * (size_t)((forward > backward ? forward : backward) + relative) * sizeof(float);
}
