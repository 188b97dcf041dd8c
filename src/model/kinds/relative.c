/* relative.c: attend, with terms of the scores by distance: see ops.h. */
#include <math.h>

#include "model/calls.h"
#include "model/kinds/kinds.h"

enum { QUERIES, KEYS_VALUES, EMBEDDINGS }; /* in; the last may be absent: queries and keys of distances, side by side */
enum { LSE };                              /* inner: log-sum-exp of each query's scores */
enum { BIAS };                             /* weights; may be absent */

static int32_t width_of(brim_lowering *l, const brim_operation *o) {
  return brim_program_of(l)->values[o->out.of[0]].width;
}

static bool has_embeddings(const brim_operation *o) {
  return o->in.count > EMBEDDINGS;
}

static brim_at after(brim_at at, int32_t columns) {
  return (brim_at){at.version, at.column + columns};
}

static int terms_of(const brim_operation *o) {
  return 1 + (has_embeddings(o) ? 2 : 0);
}

/* What forward and backward both take. */
static brim_relative operands(brim_lowering *l, const brim_operation *o, brim_at queries, brim_at keys_values) {
  const int32_t width = width_of(l, o), head_size = width / o->terms.heads;
  return (brim_relative){.attention = {.heads = o->terms.heads,
                                       .head_size = head_size,
                                       .scale = (real)(1 / sqrt((double)head_size * terms_of(o))),
                                       .first_only = brim_rows_of(l, o->out.of[0]) == BRIM_ROW_CHOSEN,
                                       .q_stride = brim_stride(l, queries),
                                       .kv_stride = brim_stride(l, keys_values),
                                       .out_stride = width},
                         .distances = o->terms.distances,
                         .stride = 2 * width};
}

static void fill_inputs(brim_lowering *l, const brim_operation *o, brim_relative *op, brim_at queries, brim_at keys_values) {
  brim_attention *a = &op->attention;
  brim_fill_layout(l, &a->layout);
  brim_fill_dropout(l, &a->dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, &a->q, queries, BRIM_READS);
  brim_fill(l, &a->k, keys_values, BRIM_READS);
  brim_fill(l, &a->v, after(keys_values, width_of(l, o)), BRIM_READS);
  if (o->weights.count > BIAS)
    brim_fill_weight(l, &op->bias, o->weights.of[BIAS]);
}

static void fill_embeddings(brim_lowering *l, const brim_operation *o, brim_relative *op, brim_at embeddings) {
  if (!has_embeddings(o))
    return;
  brim_fill(l, &op->queries, embeddings, BRIM_READS);
  brim_fill(l, &op->keys, after(embeddings, width_of(l, o)), BRIM_READS);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_at queries = brim_read(l, o->in.of[QUERIES]), keys_values = brim_read(l, o->in.of[KEYS_VALUES]);
  const brim_at embeddings = has_embeddings(o) ? brim_read(l, o->in.of[EMBEDDINGS]) : BRIM_NOWHERE;
  brim_relative op = operands(l, o, queries, keys_values);
  fill_inputs(l, o, &op, queries, keys_values);
  fill_embeddings(l, o, &op, embeddings);
  brim_fill(l, &op.attention.out, brim_write(l, o->out.of[0]), BRIM_WRITES);
  brim_fill(l, &op.attention.lse, brim_write(l, o->inner.of[LSE]), BRIM_WRITES);
  BRIM_CALL(l, relative_forward, op);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const brim_at queries = brim_read(l, o->in.of[QUERIES]), keys_values = brim_read(l, o->in.of[KEYS_VALUES]);
  const brim_at embeddings = has_embeddings(o) ? brim_read(l, o->in.of[EMBEDDINGS]) : BRIM_NOWHERE,
                dembeddings = has_embeddings(o) ? brim_write_gradient(l, o->in.of[EMBEDDINGS], BRIM_ROW_DISTANCES) : BRIM_NOWHERE;
  const brim_at dqueries = brim_write_gradient(l, o->in.of[QUERIES], brim_rows_of(l, o->in.of[QUERIES])),
                dkeys_values = brim_write_gradient(l, o->in.of[KEYS_VALUES], BRIM_ROW_TOKENS);
  brim_relative op = operands(l, o, queries, keys_values);
  brim_attention *a = &op.attention;
  fill_inputs(l, o, &op, queries, keys_values);
  fill_embeddings(l, o, &op, embeddings);
  brim_fill(l, &a->lse, brim_read(l, o->inner.of[LSE]), BRIM_READS);
  brim_fill(l, &a->dout, brim_gradient(l, o->out.of[0]), BRIM_READS);
  brim_fill(l, &a->dq, dqueries, BRIM_WRITES);
  brim_fill(l, &a->dk, dkeys_values, BRIM_WRITES);
  brim_fill(l, &a->dv, after(dkeys_values, width_of(l, o)), BRIM_WRITES);
  brim_fill(l, &op.dqueries, dembeddings, BRIM_WRITES);
  brim_fill(l, &op.dkeys, has_embeddings(o) ? after(dembeddings, width_of(l, o)) : BRIM_NOWHERE, BRIM_WRITES);
  if (o->weights.count > BIAS)
    brim_fill_weight_gradient(l, &op.dbias, o->weights.of[BIAS], 0);
  BRIM_CALL(l, relative_backward, op);
}

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  const int32_t width = s->program->values[o->out.of[0]].width;
  const double reached = 2 * length - 1 < o->terms.distances.rows ? 2 * length - 1 : o->terms.distances.rows;
  const double of_embeddings = has_embeddings(o)
                                   ? 2 * reached * width * (rows[s->values[o->out.of[0]].rows] + rows[BRIM_ROW_TOKENS])
                                   : 0;
  return 4 * rows[s->values[o->out.of[0]].rows] * length * width + of_embeddings;
}

static const brim_kind kind = {.name = "attend",
                               .attends = true,
                               .sums_texts = true,
                               .needs = {BRIM_NEED_SAME, BRIM_NEED_ALL, BRIM_NEED_ALL},
                               .reads = {.in = 1 << QUERIES | 1 << KEYS_VALUES | 1 << EMBEDDINGS, .inner = 1 << LSE},
                               .forward = forward,
                               .backward = backward,
                               .flops = flops};

int32_t brim_append_relative(brim_program *p, brim_projected x, brim_by_distance by, int32_t heads, brim_drop_at drop) {
  const int32_t context = brim_add_value(p, "context", BRIM_ROW_TOKENS, brim_width_of(p, x.queries));
  const int32_t lse = brim_add_exact(p, "log-sum-exp", BRIM_ROW_TOKENS, heads);
  brim_operation o = {.kind = &kind,
                      .in = BRIM_LIST(x.queries, x.keys_values),
                      .out = BRIM_LIST(context),
                      .inner = BRIM_LIST(lse),
                      .terms = {.heads = heads, .distances = by.distances, .dropout = drop.rate, .site = drop.site}};
  if (by.embeddings != BRIM_NONE)
    o.in.of[o.in.count++] = by.embeddings;
  if (by.bias != BRIM_NONE)
    o.weights.of[o.weights.count++] = by.bias;
  brim_add_operation(p, &o);
  return context;
}
