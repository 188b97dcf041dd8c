/* ops_slices.c: sums that are cut at slices have the very bits of each slice computed alone, with gradients of zero, and added
 * along the tree. */
#include <stdlib.h>

#include "base/reduce_tree.h"
#include "ops_case.h"

enum { MOST = 40 };

typedef struct setting {
  int slices, rows[MOST]; /* 0: the slice is empty */
  int width, out;
  bool half, frozen, chosen;
} setting;

typedef struct slicing {
  int32_t names[MOST], ends[MOST], count;
  uint8_t joins[MOST];
  int64_t rows;
} slicing;

static slicing slice(const setting *s) {
  slicing l = {.count = 0};
  for (int i = 0; i < s->slices; i++)
    if (s->rows[i] > 0) {
      l.rows += s->rows[i];
      l.names[l.count] = i;
      l.ends[l.count++] = (int32_t)l.rows;
    }
  (void)brim_reduce_tree_joins(l.names, l.count, l.joins);
  return l;
}

static brim_row_slices row_slices(const slicing *l) {
  return (brim_row_slices){l->count, l->names, l->ends, l->joins};
}

/* The sums of all slices, one after the other, [count] each, added into the first. */
static void add_up(const slicing *l, real *sums, int64_t count) {
  int32_t at[MOST], depth = 0;
  for (int32_t k = 0; k < l->count; k++) {
    at[depth++] = k;
    for (int joins = l->joins[k]; joins > 0; joins--, depth--)
      for (int64_t i = 0; i < count; i++)
        sums[at[depth - 2] * count + i] += sums[at[depth - 1] * count + i];
  }
}

/* What gradients hold before: sums are added to it. */
static const real HELD = (real)0.3;

/* Both, and how many values have other bits. */
static void emit_both(record *out, const char *name, const slicing *l, const real *got, real *sums, int64_t count) {
  real differ = 0;
  add_up(l, sums, count);
  for (int64_t i = 0; i < count; i++) {
    const real expected = HELD + sums[i];
    differ += memcmp(got + i, &expected, sizeof *got) != 0;
  }
  emit(out, name, got, count);
  emit(out, "values with other bits", &differ, 1);
}

static int64_t first_of(const slicing *l, int32_t k) {
  return k ? l->ends[k - 1] : 0;
}

/* ---- products --------------------------------------------------------------------------------------------- */

static void product(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  const slicing l = slice(s);
  case_memory m = {0};
  inputs in = {41};
  const int64_t size = (int64_t)s->width * s->out;
  const real *x = case_values(&m, &in, l.rows * s->width, 1), *dy = case_values(&m, &in, l.rows * s->out, 1);
  real *dw = case_fill(&m, size, HELD), *db = case_fill(&m, s->out, HELD);
  real *dws = case_fill(&m, size * l.count, 0), *dbs = case_fill(&m, (int64_t)s->out * l.count, 0);
  brim_linear_gradient g = {.rows = l.rows,
                            .in = s->width,
                            .out = s->out,
                            .x = x,
                            .x_stride = s->width,
                            .dy = dy,
                            .dy_stride = s->out,
                            .dw = s->frozen ? NULL : dw,
                            .db = db,
                            .slices = row_slices(&l)};
  ops->linear_backward(c, &g);
  for (int32_t k = 0; k < l.count; k++) {
    const int64_t first = first_of(&l, k);
    g.rows = l.ends[k] - first;
    g.x = x + first * s->width, g.dy = dy + first * s->out;
    g.dw = s->frozen ? NULL : dws + k * size, g.db = dbs + (int64_t)k * s->out;
    g.slices.count = 0;
    ops->linear_backward(c, &g);
  }
  emit_both(out, "dw", &l, dw, dws, size);
  emit_both(out, "db", &l, db, dbs, s->out);
  case_free(&m);
}

static const brim_bfloat *halves(case_memory *m, const real *x, int64_t n) {
  brim_bfloat *half = case_alloc(m, (size_t)n * sizeof *half);
  for (int64_t i = 0; i < n; i++)
    half[i] = half_of((float)x[i]);
  return half;
}

static void half_product(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  const slicing l = slice(s);
  case_memory m = {0};
  inputs in = {42};
  const int64_t size = (int64_t)s->width * s->out;
  const brim_bfloat *x = halves(&m, case_values(&m, &in, l.rows * s->width, 1), l.rows * s->width);
  const brim_bfloat *dy = halves(&m, case_values(&m, &in, l.rows * s->out, 1), l.rows * s->out);
  real *dw = case_fill(&m, size, HELD), *db = case_fill(&m, s->out, HELD);
  real *dws = case_fill(&m, size * l.count, 0), *dbs = case_fill(&m, (int64_t)s->out * l.count, 0);
  brim_bf16_linear_gradient g = {.rows = l.rows,
                                 .in = s->width,
                                 .out = s->out,
                                 .x = x,
                                 .x_stride = s->width,
                                 .dy = dy,
                                 .dy_stride = s->out,
                                 .dw = s->frozen ? NULL : dw,
                                 .db = db,
                                 .slices = row_slices(&l)};
  ops->bf16_backward(c, &g);
  for (int32_t k = 0; k < l.count; k++) {
    const int64_t first = first_of(&l, k);
    g.rows = l.ends[k] - first;
    g.x = x + first * s->width, g.dy = dy + first * s->out;
    g.dw = s->frozen ? NULL : dws + k * size, g.db = dbs + (int64_t)k * s->out;
    g.slices.count = 0;
    ops->bf16_backward(c, &g);
  }
  emit_both(out, "dw", &l, dw, dws, size);
  emit_both(out, "db", &l, db, dbs, s->out);
  case_free(&m);
}

/* ---- norms ------------------------------------------------------------------------------------------------ */

typedef struct norm_case {
  slicing l;
  int64_t width;
  const real *x, *mean, *rstd, *gamma, *dy;
  real *dgamma, *dbeta, *dgammas, *dbetas, *dx;
} norm_case;

static norm_case make_norm(case_memory *m, const setting *s) {
  inputs in = {43};
  norm_case n = {.l = slice(s), .width = s->width};
  n.x = case_values(m, &in, n.l.rows * s->width, 1);
  n.mean = case_values(m, &in, n.l.rows, 0.1);
  n.rstd = case_values(m, &in, n.l.rows, 1);
  n.gamma = case_values(m, &in, s->width, 1);
  n.dy = case_values(m, &in, n.l.rows * s->width, 1);
  n.dx = case_fill(m, n.l.rows * s->width, 0);
  n.dgamma = case_fill(m, s->width, HELD), n.dbeta = case_fill(m, s->width, HELD);
  n.dgammas = case_fill(m, (int64_t)s->width * n.l.count, 0), n.dbetas = case_fill(m, (int64_t)s->width * n.l.count, 0);
  return n;
}

static void emit_norm(record *out, const norm_case *n) {
  emit(out, "dx", n->dx, n->l.rows * n->width);
  emit_both(out, "dgamma", &n->l, n->dgamma, n->dgammas, n->width);
  emit_both(out, "dbeta", &n->l, n->dbeta, n->dbetas, n->width);
}

static void norm(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  const norm_case n = make_norm(&m, s);
  const bool half = s->half;
  const brim_bfloat *sum = half ? rounded(&m, n.x, n.l.rows * n.width) : NULL;
  brim_bfloat *dbranch = half ? rounded(&m, n.dx, n.l.rows * n.width) : NULL;
  brim_norm_gradient g = {.at = {.count = (int32_t)n.l.rows},
                          .width = s->width,
                          .sum = half ? case_half(sum) : case_real(n.x),
                          .mean = n.mean,
                          .rstd = n.rstd,
                          .gamma = n.gamma,
                          .dy = n.dy,
                          .dsum = n.dx,
                          .dbranch = case_half(dbranch),
                          .dgamma = n.dgamma,
                          .dbeta = n.dbeta,
                          .slices = row_slices(&n.l)};
  ops->norm_backward(c, &g);
  for (int32_t k = 0; k < n.l.count; k++) {
    const int64_t first = first_of(&n.l, k), at = first * n.width;
    g.at.count = (int32_t)(n.l.ends[k] - first);
    g.sum = half ? case_half(sum + at) : case_real(n.x + at), g.dy = n.dy + at, g.dsum = n.dx + at;
    g.dbranch = case_half(half ? dbranch + at : NULL);
    g.mean = n.mean + first, g.rstd = n.rstd + first;
    g.dgamma = n.dgammas + k * n.width, g.dbeta = n.dbetas + k * n.width;
    g.slices.count = 0;
    ops->norm_backward(c, &g);
  }
  emit_norm(out, &n);
  case_free(&m);
}

static void prenorm(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  const norm_case n = make_norm(&m, s);
  const brim_bfloat *x = s->half ? rounded(&m, n.x, n.l.rows * n.width) : NULL;
  const brim_bfloat *dy = s->half ? rounded(&m, n.dy, n.l.rows * n.width) : NULL;
  brim_prenorm_gradient g = {.rows = n.l.rows,
                             .width = s->width,
                             .rms = s->frozen,
                             .x = x ? case_half(x) : case_real(n.x),
                             .dy = dy ? case_half(dy) : case_real(n.dy),
                             .mean = n.mean,
                             .rstd = n.rstd,
                             .gamma = n.gamma,
                             .dx = n.dx,
                             .dgamma = n.dgamma,
                             .dbeta = n.dbeta,
                             .slices = row_slices(&n.l)};
  ops->prenorm_backward(c, &g);
  for (int32_t k = 0; k < n.l.count; k++) {
    const int64_t first = first_of(&n.l, k), at = first * n.width;
    g.rows = n.l.ends[k] - first;
    g.x = x ? case_half(x + at) : case_real(n.x + at);
    g.dy = dy ? case_half(dy + at) : case_real(n.dy + at);
    g.dx = n.dx + at;
    g.mean = n.mean + first, g.rstd = n.rstd + first;
    g.dgamma = n.dgammas + k * n.width, g.dbeta = n.dbetas + k * n.width;
    g.slices.count = 0;
    ops->prenorm_backward(c, &g);
  }
  emit_norm(out, &n);
  case_free(&m);
}

/* ---- embeddings ------------------------------------------------------------------------------------------- */

enum { WORDS = 5000, POSITIONS = 64, TYPES = 2 };

/* Of the slots from `first` on, as one text. */
static void embed_slots(const brim_ops *ops, brim_ops_context *c, brim_embed g, int64_t first, int rows, brim_row_slices slices) {
  const int64_t at = first * g.hidden;
  case_memory m = {0};
  g.layout = case_layout(&m, 1, &rows, 0);
  g.ids += first, g.positions += first;
  g.type_ids += g.type_ids ? first : 0;
  g.sum += at, g.dout += at, g.dsum += at;
  g.mean += first, g.rstd += first;
  g.slices = slices;
  ops->embed_backward(c, &g);
  case_free(&m);
}

static void embed(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  const norm_case n = make_norm(&m, s);
  inputs in = {44};
  const int64_t width = s->width, sizes[] = {WORDS * width, POSITIONS * width, TYPES * width};
  int32_t *ids = case_alloc(&m, (size_t)n.l.rows * sizeof *ids), *positions = case_alloc(&m, (size_t)n.l.rows * sizeof *ids);
  uint8_t *types = case_alloc(&m, (size_t)n.l.rows);
  for (int64_t r = 0; r < n.l.rows; r++) {
    const double unit = next_unit(&in);
    ids[r] = next_unit(&in) < 0.5 ? (int32_t)(unit * 9) : (int32_t)(unit * WORDS);
    positions[r] = (int32_t)(next_unit(&in) * POSITIONS);
    types[r] = next_unit(&in) < 0.2;
  }
  real *all[3], *each[3];
  for (int i = 0; i < 3; i++) {
    all[i] = case_fill(&m, sizes[i], HELD);
    each[i] = case_fill(&m, sizes[i] * n.l.count, 0);
  }
  brim_embed g = {.ids = ids,
                  .positions = positions,
                  .type_ids = s->chosen ? NULL : types,
                  .type = n.gamma,
                  .gamma = n.gamma,
                  .hidden = s->width,
                  .sum = (real *)n.x,
                  .mean = (real *)n.mean,
                  .rstd = (real *)n.rstd,
                  .dout = n.dy,
                  .dsum = n.dx,
                  .dword = s->frozen ? NULL : all[0],
                  .dposition = all[1],
                  .dtype = all[2],
                  .dgamma = n.dgamma,
                  .dbeta = n.dbeta};
  embed_slots(ops, c, g, 0, (int)n.l.rows, row_slices(&n.l));
  for (int32_t k = 0; k < n.l.count; k++) {
    g.dword = s->frozen ? NULL : each[0] + k * sizes[0];
    g.dposition = each[1] + k * sizes[1], g.dtype = each[2] + k * sizes[2];
    g.dgamma = n.dgammas + k * width, g.dbeta = n.dbetas + k * width;
    const int64_t first = first_of(&n.l, k);
    embed_slots(ops, c, g, first, (int)(n.l.ends[k] - first), (brim_row_slices){0});
  }
  for (int i = 0; i < 3; i++)
    emit_both(out, "table", &n.l, all[i], each[i], sizes[i]);
  emit_norm(out, &n);
  case_free(&m);
}

/* ---- losses ----------------------------------------------------------------------------------------------- */

static void loss(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  const slicing l = slice(s);
  case_memory m = {0};
  inputs in = {45};
  const real *logits = case_values(&m, &in, l.rows * 3, 2);
  float *labels = case_alloc(&m, (size_t)l.rows * sizeof *labels);
  double *losses = case_alloc(&m, (size_t)l.count * sizeof *losses), one;
  real differ = 0;
  for (int64_t r = 0; r < l.rows; r++)
    labels[r] = (float)(int)(next_unit(&in) * 3);
  brim_loss of = {.n = (int32_t)l.rows,
                  .outputs = 3,
                  .kind = BRIM_LOSS_CROSS_ENTROPY,
                  .logits = logits,
                  .labels = labels,
                  .divisor = 7,
                  .loss = losses,
                  .dlogits = case_fill(&m, l.rows * 3, 0),
                  .slices = row_slices(&l)};
  ops->loss(c, &of);
  for (int32_t k = 0; k < l.count; k++) {
    const int64_t first = first_of(&l, k);
    brim_loss alone = of;
    alone.n = (int32_t)(l.ends[k] - first);
    alone.logits += first * 3, alone.labels += first;
    alone.loss = &one, alone.dlogits = NULL;
    alone.slices.count = 0;
    ops->loss(c, &alone);
    differ += memcmp(&one, &losses[k], sizeof one) != 0;
  }
  emit(out, "dlogits", of.dlogits, l.rows * 3);
  emit(out, "losses with other bits", &differ, 1);
  case_free(&m);
}

static brim_ops_limits limits_of(const setting *s) {
  const slicing l = slice(s);
  const int32_t most = s->width > s->out ? s->width : s->out, least = s->width < s->out ? s->width : s->out;
  return (brim_ops_limits){.max_slots = l.rows,
                           .max_sequences = (int32_t)l.rows,
                           .max_length = 64,
                           .hidden = least > 0 ? least : s->width,
                           .intermediate = s->width,
                           .heads = 1,
                           .bf16 = s->half,
                           .slices = s->slices,
                           .longest = most,
                           .weight = (int64_t)s->out * ((s->width + 63) / 64 * 64)};
}

CASES(slices) {
  /* one slice; two; many small ones with empty ones; the rows of a long one are several stretches, and it ends within a chunk */
  const setting products[] = {
      {.slices = 1, .rows = {5}, .width = 40, .out = 30},
      {.slices = 2, .rows = {1, 3}, .width = 33, .out = 50},
      {.slices = 24, .rows = {7, 0, 1, 27, 31, 2, 0, 0, 9, 33, 64, 1, 12, 0, 5, 5, 8}, .width = 70, .out = 45},
      {.slices = 24,
       .rows = {27, 21, 30, 19, 27, 40, 33, 25, 12, 27, 33, 35, 8, 13, 22, 37, 4, 9, 50, 21, 19, 1, 1, 2},
       .width = 50,
       .out = 96},
      {.slices = 24, .rows = {300, 0, 700, 200, 40, 1100, 2100, 3, 17, 513, 1, 260, 255}, .width = 37, .out = 20},
      {.slices = 5, .rows = {0, 1600, 0, 450, 90}, .width = 20, .out = 37},
      {.slices = 32, .rows = {[0] = 300, [16] = 310, [24] = 290, [28] = 280, [30] = 100, [31] = 40}, .width = 37, .out = 37},
      {.slices = 24, .rows = {3, 1, 1, 7, 2, 1, 1, 4, 9, 1}, .width = 16, .out = 40000}, /* of many classes */
      {.slices = 16, .rows = {9, 400, 30}, .width = 24, .out = 40, .frozen = true}};
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    char name[80];
    setting s = products[i];
    brim_ops_limits limits = limits_of(&s);
    snprintf(name, sizeof name, "%d slices, weight %d x %d%s", s.slices, s.out, s.width, s.frozen ? ", frozen" : "");
    check_case(name, &limits, product, &s, 5e-6);
    s.half = true;
    limits = limits_of(&s);
    snprintf(name, sizeof name, "%d slices, bf16 weight %d x %d%s", s.slices, s.out, s.width, s.frozen ? ", frozen" : "");
    check_case(name, &limits, half_product, &s, 1e-4);
  }
  const setting rows[] = {
      {.slices = 1, .rows = {3}, .width = 20},
      {.slices = 24, .rows = {7, 0, 1, 27, 31, 2, 0, 0, 9, 33, 64, 1, 12, 0, 5, 5, 8}, .width = 70, .frozen = true},
      {.slices = 40, .rows = {3, 1, 2, 0, 5, 17, 90, 16, [31] = 1400, [32] = 1, [39] = 8}, .width = 33, .chosen = true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char name[80];
    const brim_ops_limits limits = limits_of(&rows[i]);
    snprintf(name, sizeof name, "%d slices, norm", rows[i].slices);
    check_case(name, &limits, norm, &rows[i], 2e-5);
    snprintf(name, sizeof name, "%d slices, norm of a stream", rows[i].slices);
    check_case(name, &limits, prenorm, &rows[i], 2e-5);
    snprintf(name, sizeof name, "%d slices, bf16 norm", rows[i].slices);
    setting half = rows[i];
    half.half = true;
    const brim_ops_limits half_limits = limits_of(&half);
    check_case(name, &half_limits, norm, &half, 2e-5);
    snprintf(name, sizeof name, "%d slices, bf16 norm of a stream", rows[i].slices);
    check_case(name, &half_limits, prenorm, &half, 2e-5);
    snprintf(name, sizeof name, "%d slices, embeddings", rows[i].slices);
    check_case(name, &limits, embed, &rows[i], 2e-5);
    snprintf(name, sizeof name, "%d slices, loss", rows[i].slices);
    check_case(name, &limits, loss, &rows[i], 1e-6);
  }
}
