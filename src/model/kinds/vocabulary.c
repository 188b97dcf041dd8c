/* vocabulary.c: the loss of masked words over all of a vocabulary. Forward keeps a log of a sum a row, and backward makes the
 * logits again: of a part with 600 masked words and 50,000 words they would be 120 MB. */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

enum { WEIGHT, BIAS };  /* weights; the second may be absent */
enum { LSE, OUTCOMES }; /* inner */
enum { BLOCK = 2048 };  /* words whose logits are there at once */

static brim_at read_input(brim_lowering *l, const brim_operation *o) {
  return brim_reads_half(l, o, 0) ? brim_read_half(l, o->in.of[0]) : brim_read(l, o->in.of[0]);
}

/* What forward and backward both read. */
static brim_vocabulary operands(brim_lowering *l, const brim_operation *o) {
  const brim_program *p = brim_program_of(l);
  const int32_t weight = o->weights.of[WEIGHT], words = brim_weight_rows(p, weight);
  return (brim_vocabulary){.in = brim_weight_columns(p, weight), .out = words, .block = words < BLOCK ? words : BLOCK};
}

static void fill(brim_lowering *l, const brim_operation *o, brim_vocabulary *op, brim_at x) {
  brim_fill_count(l, &op->rows, BRIM_ROW_CHOSEN, 1);
  brim_fill_typed(l, &op->x, x, BRIM_READS);
  op->w.type = op->x.type;
  if (op->x.type == BRIM_TYPE_BF16)
    brim_fill_weight_half(l, &op->w.at, o->weights.of[WEIGHT], 0);
  else
    brim_fill_weight(l, &op->w.at, o->weights.of[WEIGHT]);
  brim_fill_weight(l, &op->b, o->weights.of[BIAS]);
  brim_fill_from_frame(l, &op->classes, offsetof(brim_frame, classes), sizeof op->classes);
  brim_fill_from_frame(l, &op->divisor, offsetof(brim_frame, divisor), sizeof op->divisor);
  brim_fill(l, &op->logits, brim_spare(l, BRIM_ROW_CHOSEN, op->block), BRIM_CHANGES);
}

static void logits(brim_lowering *l, const brim_operation *o) {
  const brim_at x = read_input(l, o);
  brim_product_forward(l, &(brim_product_call){.weight = o->weights.of[WEIGHT],
                                               .bias = o->weights.of[BIAS],
                                               .rows = BRIM_ROW_CHOSEN,
                                               .x = x,
                                               .y = brim_write(l, o->out.of[0])});
}

static void forward(brim_lowering *l, const brim_operation *o) {
  if (brim_gives_logits(l)) {
    logits(l, o);
    return;
  }
  brim_vocabulary op = operands(l, o);
  fill(l, o, &op, read_input(l, o));
  brim_fill(l, &op.lse, brim_write(l, o->inner.of[LSE]), BRIM_WRITES);
  brim_fill(l, &op.outcomes, brim_write(l, o->inner.of[OUTCOMES]), BRIM_WRITES);
  brim_fill_from_frame(l, &op.loss, offsetof(brim_frame, loss), sizeof op.loss);
  BRIM_CALL(l, vocabulary_forward, op);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  brim_vocabulary op = operands(l, o);
  fill(l, o, &op, read_input(l, o));
  brim_fill(l, &op.lse, brim_read(l, o->inner.of[LSE]), BRIM_READS);
  if (op.x.type == BRIM_TYPE_BF16)
    brim_fill(l, &op.half, brim_spare_half(l, BRIM_ROW_CHOSEN, op.block), BRIM_CHANGES);
  if (brim_wants_gradient(l, o->in.of[0]))
    brim_fill(l, &op.dx, brim_write_gradient(l, o->in.of[0], BRIM_ROW_CHOSEN), BRIM_WRITES);
  brim_fill_weight_gradient(l, &op.dw, o->weights.of[WEIGHT], 0);
  brim_fill_weight_gradient(l, &op.db, o->weights.of[BIAS], 0);
  BRIM_CALL(l, vocabulary_backward, op);
}

/* The gradient of one text's tokens cannot be distinguished from another's: slices come one after the other. */
static const brim_kind kind = {.name = "vocabulary",
                               .sums_texts = true,
                               .needs = {BRIM_NEED_ALL},
                               .reads = {.in = 1, .inner = 1 << LSE},
                               .half = {.in = 1, .weights = 1 << WEIGHT},
                               .forward = forward,
                               .backward = backward,
                               .flops = brim_one_product_flops};

void brim_append_vocabulary(brim_program *p, int32_t x, int32_t weight, int32_t bias) {
  enum { WORDS = sizeof(brim_outcome) / sizeof(int32_t) };
  const int32_t lse = brim_add_exact(p, "log-sum-exp", BRIM_ROW_CHOSEN, 1),
                outcomes = brim_add_index(p, "outcomes", BRIM_ROW_CHOSEN, WORDS),
                out = brim_add_value(p, "logits", BRIM_ROW_CHOSEN, p->status ? 0 : brim_weight_rows(p, weight));
  const brim_operation o = {.kind = &kind,
                            .in = BRIM_LIST(x),
                            .out = BRIM_LIST(out),
                            .inner = BRIM_LIST(lse, outcomes),
                            .weights = BRIM_LIST(weight, bias)};
  brim_add_operation(p, &o);
  if (!p->status)
    p->weights[weight].at_once = BLOCK;
  p->logits = out;
  p->outcomes = outcomes;
}
