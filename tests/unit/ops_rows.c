/* ops_rows.c: embeddings, dropout, gather, scatter, pooling, add and zero of every table. */
#include "ops_case.h"

typedef struct setting {
  int n, hidden, width;
  bool types, dropout, frozen, bare; /* bare: words alone, or words with a norm without bias */
  int lengths[5];
} setting;

enum { WORDS = 23, POSITIONS = 70 };

/* What was added to a gradient, or, without one, that its memory was left alone. */
static void emit_embedding(record *out, const char *name, const real *wanted, const real *memory, int64_t n, const real *input) {
  if (wanted)
    emit_gradient(out, name, memory, n, input, true);
  else
    emit(out, name, memory, n);
}

static void embedding(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {31};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t rows = layout.slots, count = rows * s->hidden;
  const uint32_t key[2] = {1, 2};
  int32_t *ids = case_alloc(&m, (size_t)rows * sizeof *ids), *positions = case_alloc(&m, (size_t)rows * sizeof *positions);
  uint8_t *types = case_alloc(&m, (size_t)rows);
  for (int64_t r = 0; r < rows; r++) {
    ids[r] = (int32_t)(next_unit(&in) * WORDS);
    positions[r] = (int32_t)(r - layout.offsets[layout.sequence[r]]);
    types[r] = r % 3 == 0;
  }
  brim_embed e = {.layout = layout,
                  .ids = ids,
                  .type_ids = types,
                  .positions = positions,
                  .word = case_values(&m, &in, WORDS * s->hidden, 1),
                  .position = case_values(&m, &in, POSITIONS * s->hidden, 1),
                  .type = s->types ? case_values(&m, &in, 2 * s->hidden, 1) : NULL,
                  .gamma = case_values(&m, &in, s->hidden, 1),
                  .beta = case_values(&m, &in, s->hidden, 1),
                  .eps = (real)1e-12,
                  .hidden = s->hidden,
                  .dropout = brim_dropout_make(s->dropout ? 0.1 : 0, key, 1)};
  real *dout = case_values(&m, &in, count, 1);
  for (int t = 0; t < s->n; t++) /* padding has no gradient */
    for (int64_t i = (int64_t)(layout.offsets[t] + layout.lengths[t]) * s->hidden; i < (int64_t)layout.offsets[t + 1] * s->hidden;
         i++)
      dout[i] = 0;
  real *sum = case_fill(&m, count, 7), *y = case_fill(&m, count, 7), *mean = case_fill(&m, rows, 7),
       *rstd = case_fill(&m, rows, 7);
  real *dsum = case_fill(&m, count, 7), *dword = case_values(&m, &in, WORDS * s->hidden, 1),
       *dtype = case_fill(&m, 2 * s->hidden, 1);
  real *dposition = case_fill(&m, POSITIONS * s->hidden, 1), *dgamma = case_fill(&m, s->hidden, 1),
       *dbeta = case_fill(&m, s->hidden, 1);
  if (s->bare) {
    e.position = NULL;
    e.gamma = s->types ? e.gamma : NULL;
    e.beta = NULL;
  }
  e.sum = sum, e.mean = mean, e.rstd = rstd, e.out = y, e.dout = dout, e.dsum = dsum;
  e.dword = s->frozen ? NULL : dword, e.dposition = s->bare ? NULL : dposition, e.dtype = s->types ? dtype : NULL;
  e.dgamma = s->frozen || !e.gamma ? NULL : dgamma, e.dbeta = s->frozen || !e.beta ? NULL : dbeta;
  ops->embed_forward(c, &e);
  emit(out, "sum", sum, count);
  emit(out, "mean", mean, rows);
  emit(out, "rstd", rstd, rows);
  emit_output(out, "y", y, count, dout);
  ops->embed_backward(c, &e);
  emit_embedding(out, "dword", e.dword, dword, WORDS * s->hidden, e.word);
  emit_embedding(out, "dposition", e.dposition, dposition, POSITIONS * s->hidden, e.position);
  emit_embedding(out, "dtype", e.dtype, dtype, 2 * s->hidden, e.type);
  emit_embedding(out, "dgamma", e.dgamma, dgamma, s->hidden, e.gamma);
  emit_embedding(out, "dbeta", e.dbeta, dbeta, s->hidden, e.beta);
  case_free(&m);
}

static void whole_rows(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {32};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t stride = s->hidden + 3, count = layout.slots * stride, few = s->n * s->hidden;
  const brim_rows at = {.count = s->n, .slot = layout.offsets}, all = {.count = layout.slots};
  const uint32_t key[2] = {1, 2};
  const brim_dropout d = brim_dropout_make(s->dropout ? 0.5 : 0, key, 1);
  const real *x = case_values(&m, &in, count, 1);
  real *y = case_fill(&m, few, 7), *dropped = case_fill(&m, few, 7), *dx = case_values(&m, &in, count, 1);
  real *wide = case_values(&m, &in, (int64_t)layout.slots * s->hidden, 1);
  const real *weight = case_values(&m, &in, few, 1);
  ops->gather_rows(c, &(brim_gather){.at = at, .width = s->hidden, .x = x, .x_stride = stride, .y = y});
  emit_output(out, "gather", y, few, weight);
  ops->scatter_rows(c, &(brim_scatter){.at = at, .width = s->hidden, .dy = weight, .dx = dx, .dx_stride = stride});
  emit_gradient(out, "scatter", dx, count, x, true);
  brim_dropout_rows drop = {.layout = layout, .at = at, .width = s->hidden, .dropout = d, .x = y, .y = dropped};
  ops->dropout(c, &drop);
  emit(out, "dropout", dropped, few);
  drop.at = all;
  drop.x = drop.y = wide;
  ops->dropout(c, &drop);
  emit(out, "dropout in place", wide, (int64_t)layout.slots * s->hidden);
  ops->add(c, &(brim_add){.count = count, .x = x, .y = dx});
  emit(out, "add", dx, count);
  ops->zero(c, &(brim_zero){.count = count, .x = dx});
  emit(out, "zero", dx, count);
  case_free(&m);
}

static void pools(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {34};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t count = (int64_t)layout.slots * s->hidden, few = (int64_t)s->n * s->hidden;
  real *x = case_values(&m, &in, count, 1), *dy = case_values(&m, &in, few, 1);
  real *y = case_fill(&m, few, 7), *dx = case_fill(&m, count, 7), *slots = case_fill(&m, few, 7);
  int32_t *chosen = case_alloc(&m, (size_t)few * sizeof *chosen);
  for (int64_t i = 0; i < count; i++) /* many are equal: the first of them counts */
    x[i] = (real)((int)(x[i] * 10));
  for (int largest = 0; largest < 2; largest++) {
    ops->pool_forward(c, &(brim_pool){.layout = layout, .width = s->hidden, .x = x, .chosen = largest ? chosen : NULL, .y = y});
    emit(out, largest ? "largest" : "mean", y, few);
    ops->pool_backward(
        c, &(brim_pool_gradient){.layout = layout, .width = s->hidden, .dy = dy, .chosen = largest ? chosen : NULL, .dx = dx});
    emit(out, largest ? "gradient of the largest" : "gradient of the mean", dx, count);
  }
  for (int64_t i = 0; i < few; i++)
    slots[i] = (real)chosen[i];
  emit(out, "slots", slots, few);
  case_free(&m);
}

static void smooth_pool(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out, bool largest) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {36};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t count = (int64_t)layout.slots * s->hidden, few = (int64_t)s->n * s->hidden;
  const real *x = case_values(&m, &in, count, 1), *dy = case_values(&m, &in, few, 1);
  real *y = case_fill(&m, few, 7), *dx = case_fill(&m, count, 7);
  int32_t *chosen = largest ? case_alloc(&m, (size_t)few * sizeof *chosen) : NULL;
  ops->pool_forward(c, &(brim_pool){.layout = layout, .width = s->hidden, .x = x, .chosen = chosen, .y = y});
  emit_output(out, "pooled", y, few, dy);
  ops->pool_backward(c, &(brim_pool_gradient){.layout = layout, .width = s->hidden, .dy = dy, .chosen = chosen, .dx = dx});
  emit_gradient(out, "dx", dx, count, x, false);
  case_free(&m);
}
static void mean_pool(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  smooth_pool(ops, c, parameters, out, false);
}
static void largest_pool(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  smooth_pool(ops, c, parameters, out, true);
}

#ifndef BRIM_CASE_CUDA /* cards have no such operation */
/* All ways but the largest, which has corners, side by side, without the first token of every second sequence. */
static void joined_pool(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  static const brim_pool_list all = {
      5, {BRIM_POOL_CLS, BRIM_POOL_MEAN, BRIM_POOL_MEAN_SQRT, BRIM_POOL_WEIGHTED_MEAN, BRIM_POOL_LAST}};
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {37};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t count = (int64_t)layout.slots * s->hidden, few = (int64_t)s->n * s->hidden * all.count;
  const real *x = case_values(&m, &in, count, 1), *dy = case_values(&m, &in, few, 1);
  int32_t *skipped = case_alloc(&m, (size_t)s->n * sizeof *skipped);
  for (int i = 0; i < s->n; i++)
    skipped[i] = i % 2;
  const brim_pool_joined op = {.layout = layout,
                               .width = s->hidden,
                               .modes = all,
                               .skipped = skipped,
                               .x = x,
                               .y = case_fill(&m, few, 7),
                               .dy = dy,
                               .dx = case_fill(&m, count, 7)};
  ops->pool_joined_forward(c, &op);
  emit_output(out, "pooled", op.y, few, dy);
  ops->pool_joined_backward(c, &op);
  emit_gradient(out, "dx", op.dx, count, x, false);
  case_free(&m);
}

/* Three layers as one: their mean, whose shares are trained, and side by side; the gradient of the second is added to one. */
static void mixed_layers(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { LAYERS = 3 };
  const setting *s = parameters;
  for (int joined = 0; joined < 2; joined++) {
    case_memory m = {0};
    inputs in = {41};
    const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
    const int64_t rows = layout.slots, count = rows * s->hidden, all = joined ? LAYERS * count : count;
    real *shares = case_values(&m, &in, LAYERS, 1), *dshares = case_fill(&m, LAYERS, 0), *y = case_fill(&m, all, 7),
         *dy = case_values(&m, &in, all, 1);
    brim_mix ops_of[LAYERS];
    for (int k = 0; k < LAYERS; k++)
      shares[k] += (real)(k + 2);
    for (int k = 0; k < LAYERS; k++) {
      ops_of[k] = (brim_mix){.rows = rows,
                             .width = s->hidden,
                             .stride = joined ? LAYERS * s->hidden : s->hidden,
                             .layer = k,
                             .layers = LAYERS,
                             .add = !joined && k > 0,
                             .shares = joined ? NULL : shares,
                             .x = case_values(&m, &in, count, 1),
                             .y = joined ? y + k * s->hidden : y};
      ops->mix_forward(c, &ops_of[k]);
    }
    emit_output(out, joined ? "side by side" : "mean", y, all, dy);
    for (int k = 0; k < LAYERS; k++) {
      ops_of[k].dy = joined ? dy + k * s->hidden : dy;
      ops_of[k].dx = case_fill(&m, count, 7);
      ops_of[k].add = k == 1;
      ops_of[k].dshares = joined ? NULL : dshares;
      ops->mix_backward(c, &ops_of[k]);
      emit_gradient(out, "dx", ops_of[k].dx, count, ops_of[k].x, k == 1);
    }
    if (!joined)
      emit_gradient(out, "dshares", dshares, LAYERS, shares, false);
    case_free(&m);
  }
}
#endif

/* Random bits, so that all magnitudes occur, infinities and NaN too. */
static void precisions(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { COUNT = 40001 };
  (void)parameters;
  case_memory m = {0};
  inputs in = {35};
  real *x = case_alloc(&m, COUNT * sizeof *x), *y = case_fill(&m, COUNT, 7), *words = case_fill(&m, COUNT, 0);
  brim_bfloat *half = case_alloc(&m, (COUNT + 1) * sizeof *half);
  half[COUNT] = 7;
  for (int i = 0; i < COUNT; i++) {
    const uint32_t bits = i < 40   ? 0x7f7f7ff8u + (uint32_t)i
                          : i < 80 ? 0x3f808000u - 20 + (uint32_t)i - 40
                                   : (uint32_t)(next_unit(&in) * 4294967296.0);
    float value;
    memcpy(&value, &bits, sizeof value);
    x[i] = (real)value;
  }
  ops->narrow(c, &(brim_to_bfloat){.count = COUNT, .x = x, .y = half});
  ops->widen(c, &(brim_from_bfloat){.count = COUNT, .x = half, .y = y});
  int wrong = 0;
  for (int i = 0; i < COUNT; i++) {
    words[i] = (real)half[i];
    const double step = ldexp(1, ilogb(fmax(fabs((double)x[i]), 1e-37)) - 8); /* half of the distance between neighbours */
    wrong += isnan((double)x[i]) ? !isnan((double)y[i]) : isfinite((double)y[i]) && fabs((double)(y[i] - x[i])) > step;
    if (!isfinite((double)y[i]))
      y[i] = 0;
  }
  const real count = (real)wrong, beyond = (real)half[COUNT];
  emit(out, "wrong", &count, 1);
  emit(out, "what is beyond the last", &beyond, 1);
  emit(out, "words", words, COUNT);
  emit(out, "values", y, COUNT);
  if (wrong)
    ok(false, "%d values are not rounded to the nearest", wrong);
  case_free(&m);
}

CASES(rows) {
  static const setting settings[] = {
      {1, 8, 0, true, false, false, false, {1}},
      {3, 36, 0, true, false, false, false, {5, 17, 2}},
      {4, 384, 20, true, false, false, false, {20, 3, 11, 1}},
      {2, 100, 0, false, false, true, false, {64, 60}},
      {2, 768, 0, true, false, false, false, {40, 64}},
      {3, 60, 0, true, false, false, true, {5, 17, 2}},
      {3, 60, 0, false, false, false, true, {5, 17, 2}},
      {3, 65, 40, true, false, false, false, {1, 37, 40}},
      {0, 34, 0, true, false, false, false, {0}},
  };
  char name[128];
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    for (int dropout = 0; dropout < 2; dropout++) {
      setting s = settings[i];
      s.dropout = dropout;
      const brim_ops_limits limits = {
          .max_slots = 400, .max_sequences = s.n, .max_length = 64, .hidden = s.hidden, .intermediate = s.hidden, .heads = 1};
      snprintf(name, sizeof name, "embedding, width %d%s%s, setting %zu", s.hidden, s.bare ? ", bare" : "",
               dropout ? ", dropout" : "", i);
      check_case(name, &limits, embedding, &s, 1e-5);
      snprintf(name, sizeof name, "rows, width %d%s, setting %zu", s.hidden, dropout ? ", dropout" : "", i);
      check_case(name, &limits, whole_rows, &s, 1e-6);
      if (dropout)
        continue;
      snprintf(name, sizeof name, "pooling, width %d, setting %zu", s.hidden, i);
      check_case(name, &limits, pools, &s, 1e-6);
      snprintf(name, sizeof name, "mean, width %d, setting %zu", s.hidden, i);
      check_case(name, &limits, mean_pool, &s, 1e-6);
      snprintf(name, sizeof name, "largest, width %d, setting %zu", s.hidden, i);
      check_case(name, &limits, largest_pool, &s, 1e-6);
#ifndef BRIM_CASE_CUDA
      snprintf(name, sizeof name, "all ways of pooling, width %d, setting %zu", s.hidden, i);
      check_case(name, &limits, joined_pool, &s, 1e-6);
      snprintf(name, sizeof name, "layers as one, width %d, setting %zu", s.hidden, i);
      check_case(name, &limits, mixed_layers, &s, 1e-6);
#endif
    }
  }
  const brim_ops_limits small = {.max_slots = 1, .max_sequences = 1, .max_length = 1, .hidden = 1, .intermediate = 1, .heads = 1};
  check_case("bf16", &small, precisions, NULL, 0);
}
