/* attention_blocks.c: how attention is cut: heads, spans and blocks of queries; their working memory. */
#include "ops/cpu/attention.h"
#include "ops/cpu/relative.h"
#include "ops/cpu/vecmath.h"

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

static attention_store store_of(brim_bf16_way way) {
  if (CPU(bf16_kernel)(way).widens)
    return STORE_WIDENED;
  return way == BRIM_BF16_TILES_EMULATED ? STORE_PAIRS_IN_C : STORE_PAIRS;
}

attention_work CPU(attention_work)(brim_ops_context *c, const brim_attention *a, const attention_tensors *t,
                                   int64_t scratch_size) {
  const brim_layout *layout = &a->layout;
  int32_t *order = c->workspace;
  const brim_bf16_way way = c->runtime->bf16;
  const bool splits = attention_splits(a->head_size, t->half);
  const float dropped = t->half && a->dropout.on ? a->dropout.scale : 1;
  sort_sequences(layout, order, order + layout->n);
  return (attention_work){.a = a,
                          .t = *t,
                          .order = order,
                          .scratch = (float *)((char *)c->workspace + order_size(layout->n, layout->max_length)),
                          .scratch_size = scratch_size,
                          .head_room = round_up(a->head_size, TILE_COLUMNS),
                          .rows = a->first_only ? layout->n : layout->slots,
                          .group = a->group > 0 ? a->group : 1,
                          .store = t->half ? store_of(way) : STORE_SINGLE,
                          .kernel = CPU(bf16_kernel)(way),
                          .splits = splits,
                          .split = split_kernel_of(c),
                          .to_powers = t->half ? a->scale * LOG2_E : 1, /* else packed queries have it */
                          .of_dq = a->scale * dropped,
                          .of_dk = t->half ? a->scale * dropped : LOG_2,
                          .of_dv = dropped};
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

/* Keys that queries first .. end - 1 see. Dropout's bits come in stretches: its blocks of keys begin where a stretch does. Values
 * of 16 bits come in pairs, three components in steps. */
static void find_keys(const attention_work *w, const attention_head *h, int64_t first, int64_t end, bool whole, int64_t *key,
                      int64_t *key_end) {
  const int64_t window = w->a->window, from = first > window ? first - window : 0;
  const int64_t step = whole ? KEY_BLOCK : w->splits ? SPLIT_K : w->store == STORE_SINGLE ? 1 : 2;
  *key = window == 0 ? 0 : from / step * step;
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

static int64_t room_for(int64_t queries, int64_t max_length, int64_t window, bool rounded) {
  const int64_t keys = window > 0 ? least(max_length, queries + 2 * window + KEY_BLOCK) : max_length;
  return rounded ? round_up(keys, KEYS_TO) : keys;
}

int64_t CPU(attention_span_keys)(int64_t max_length, int64_t window, bool rounded) {
  return room_for(SPAN_QUERIES, max_length, window, rounded);
}

int64_t CPU(attention_block_keys)(int64_t max_length, int64_t window, bool rounded) {
  return room_for(QUERY_BLOCK, max_length, window, rounded);
}

/* Finite, so that differences are numbers: what a query takes for its largest score until it sees a key counts for nothing when
 * it does. A power of two, so that it times any factor is exact: less itself, as the largest, it is 0. */
static const float UNSEEN = -0x1p100F;

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

static int64_t scratch_for(const brim_ops_limits *limits, int64_t size, bool half) {
  const int64_t forward = CPU(attention_forward_scratch)(limits->max_length, size, limits->window, half);
  const int64_t backward = CPU(attention_backward_scratch)(limits->max_length, size, limits->window, half);
  return forward > backward ? forward : backward;
}

/* With terms by distance attention is in single precision, whatever the layers' products are. */
size_t CPU(attention_workspace)(int threads, const brim_ops_limits *limits) {
  const int64_t size = limits->hidden / (limits->heads > 0 ? limits->heads : 1);
  const bool by_distance = limits->distances > 0;
  const int64_t asked = scratch_for(limits, size, limits->bf16), single = by_distance ? scratch_for(limits, size, false) : 0;
  const int64_t relative = by_distance ? CPU(relative_scratch)(limits->max_length, size, limits->distances) : 0;
  const int64_t shared = by_distance ? CPU(relative_shared)(limits->max_length, limits->distances) : 0;
  return order_size(limits->max_sequences, limits->max_length) +
         (size_t)(shared + threads * ((asked > single ? asked : single) + relative)) * sizeof(float);
}
