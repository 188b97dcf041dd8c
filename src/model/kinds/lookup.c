/* lookup.c: from ids to the first hidden states.
 *
 *   sum = word[id] + position[position] + type[type]      out = dropout(norm(sum)) */
#include "model/calls.h"
#include "model/kinds/kinds.h"

enum { SUM, MEAN, RSTD };                   /* inner */
enum { WORD, POSITION, GAMMA, BETA, TYPE }; /* weights; all but the first may be absent */

static bool has(const brim_operation *o, int weight) {
  return o->weights.of[weight] != BRIM_NONE;
}

static brim_embed operands(brim_lowering *l, const brim_operation *o) {
  return (brim_embed){.hidden = brim_weight_columns(brim_program_of(l), o->weights.of[WORD]), .eps = (real)o->terms.eps};
}

/* What forward and backward both read. */
static void fill_embeddings(brim_lowering *l, const brim_operation *o, brim_embed *op) {
  const int32_t *w = o->weights.of;
  brim_fill_layout(l, &op->layout);
  brim_fill_from_frame(l, &op->ids, offsetof(brim_frame, ids), sizeof op->ids);
  if (has(o, POSITION))
    brim_fill_from_frame(l, &op->positions, offsetof(brim_frame, positions), sizeof op->positions);
  brim_fill_weight(l, &op->word, w[WORD]);
  brim_fill_weight(l, &op->position, w[POSITION]);
  brim_fill_weight(l, &op->gamma, w[GAMMA]);
  brim_fill_weight(l, &op->beta, w[BETA]);
  brim_fill_dropout(l, &op->dropout, o->terms.dropout, o->terms.site);
  if (!has(o, TYPE))
    return;
  brim_fill_from_frame(l, &op->type_ids, offsetof(brim_frame, types), sizeof op->type_ids);
  brim_fill_weight(l, &op->type, w[TYPE]);
  op->types = brim_weight_rows(brim_program_of(l), w[TYPE]);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  brim_embed op = operands(l, o);
  fill_embeddings(l, o, &op);
  brim_fill(l, &op.sum, brim_write(l, o->inner.of[SUM]), BRIM_WRITES);
  if (has(o, GAMMA)) {
    brim_fill(l, &op.mean, brim_write(l, o->inner.of[MEAN]), BRIM_WRITES);
    brim_fill(l, &op.rstd, brim_write(l, o->inner.of[RSTD]), BRIM_WRITES);
  }
  brim_fill(l, &op.out, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, embed_forward, op);
}

/* Row `row` of an embedding has no gradient. */
static void clear_row(brim_lowering *l, int32_t embedding, int32_t row) {
  if (row == BRIM_NONE || !brim_has_weight_gradient(l, embedding))
    return;
  const int32_t width = brim_weight_columns(brim_program_of(l), embedding);
  brim_zero op = {.count = width};
  brim_fill_weight_gradient(l, &op.x, embedding, (int64_t)row * width);
  BRIM_CALL(l, zero, op);
}

/* Row `row` of an embedding that others add to as well: what it has is kept separately while this operation adds. */
static brim_at keep_row(brim_lowering *l, int32_t embedding, int32_t row) {
  const int32_t width = brim_weight_columns(brim_program_of(l), embedding);
  const brim_at kept = brim_spare(l, BRIM_ROW_TEXTS, width);
  brim_zero none = {.count = width};
  brim_add op = {.count = width};
  brim_fill(l, &none.x, kept, BRIM_WRITES);
  BRIM_CALL(l, zero, none);
  brim_fill_weight_gradient(l, &op.x, embedding, (int64_t)row * width);
  brim_fill(l, &op.y, kept, BRIM_CHANGES);
  BRIM_CALL(l, add, op);
  return kept;
}

static void give_row_back(brim_lowering *l, int32_t embedding, int32_t row, brim_at kept) {
  const int32_t width = brim_weight_columns(brim_program_of(l), embedding);
  brim_add op = {.count = width};
  brim_fill(l, &op.x, kept, BRIM_READS);
  brim_fill_weight_gradient(l, &op.y, embedding, (int64_t)row * width);
  BRIM_CALL(l, add, op);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const int32_t *w = o->weights.of;
  const brim_at sum = has(o, GAMMA) ? brim_read(l, o->inner.of[SUM]) : BRIM_NOWHERE;
  const int32_t empty = o->terms.empty_rows[0];
  const bool shared = empty != BRIM_NONE && brim_has_weight_gradient(l, w[WORD]) &&
                      !brim_program_of(l)->weights[w[WORD]].is.sparse_rows;
  const brim_at kept = shared ? keep_row(l, w[WORD], empty) : BRIM_NOWHERE;
  brim_embed op = operands(l, o);
  fill_embeddings(l, o, &op);
  brim_fill_slices(l, &op.slices, BRIM_ROW_TOKENS);
  if (has(o, GAMMA)) {
    brim_fill(l, &op.sum, sum, BRIM_READS);
    brim_fill(l, &op.mean, brim_read(l, o->inner.of[MEAN]), BRIM_READS);
    brim_fill(l, &op.rstd, brim_read(l, o->inner.of[RSTD]), BRIM_READS);
  }
  brim_fill(l, &op.dout, brim_gradient(l, o->out.of[0]), BRIM_READS);
  brim_fill(l, &op.dsum, brim_spare(l, BRIM_ROW_TOKENS, op.hidden), BRIM_CHANGES);
  brim_fill_weight_gradient(l, &op.dword, w[WORD], 0);
  brim_fill_weight_gradient(l, &op.dposition, w[POSITION], 0);
  brim_fill_weight_gradient(l, &op.dgamma, w[GAMMA], 0);
  brim_fill_weight_gradient(l, &op.dbeta, w[BETA], 0);
  brim_fill_weight_gradient(l, &op.dtype, w[TYPE], 0);
  BRIM_CALL(l, embed_backward, op);
  clear_row(l, w[WORD], empty);
  if (shared)
    give_row_back(l, w[WORD], empty, kept);
  clear_row(l, w[POSITION], o->terms.empty_rows[1]);
}

static const brim_kind kind = {
    .name = "lookup", .reads = {.inner = 1 << SUM | 1 << MEAN | 1 << RSTD}, .forward = forward, .backward = backward};
/* Without a norm backward needs nothing. */
static const brim_kind plain_kind = {.name = "lookup", .forward = forward, .backward = backward};

static void select_rows(brim_program *p, int32_t embedding, brim_read_by by) {
  if (!p->status && embedding != BRIM_NONE)
    p->weights[embedding].selected = by;
}

int32_t brim_append_lookup(brim_program *p, brim_embeddings embeddings, brim_normed norm, brim_drop_at drop) {
  const int32_t width = p->status ? 0 : brim_weight_columns(p, embeddings.word);
  select_rows(p, embeddings.word, BRIM_BY_IDS);
  select_rows(p, embeddings.position, BRIM_BY_POSITIONS);
  select_rows(p, embeddings.type, BRIM_BY_TYPES);
  const int32_t sum = brim_add_value(p, "sum", BRIM_ROW_TOKENS, width), mean = brim_add_exact(p, "mean", BRIM_ROW_TOKENS, 1),
                rstd = brim_add_exact(p, "rstd", BRIM_ROW_TOKENS, 1), out = brim_add_value(p, "embedded", BRIM_ROW_TOKENS, width);
  const brim_operation o = {
      .kind = norm.norm == BRIM_NONE ? &plain_kind : &kind,
      .out = BRIM_LIST(out),
      .inner = BRIM_LIST(sum, mean, rstd),
      .weights = BRIM_LIST(embeddings.word, embeddings.position, norm.norm, brim_bias_of(p, norm.norm), embeddings.type),
      .terms = {.dropout = drop.rate,
                .site = drop.site,
                .eps = norm.eps,
                .empty_rows = {embeddings.empty_word, embeddings.empty_position}}};
  brim_add_operation(p, &o);
  return out;
}
