/* attend.c: context = dropout(softmax(queries keys^T / sqrt(width of a head))) values, within each text. */
#include <math.h>

#include "model/calls.h"
#include "model/kinds/kinds.h"

enum { QUERIES, KEYS_VALUES }; /* in */
enum { LSE };                  /* inner: log-sum-exp of each query's scores */

/* Keys and values are side by side; so are their gradients. */
static brim_at second_half(brim_lowering *l, const brim_operation *o, brim_at keys_values) {
  return (brim_at){keys_values.version, keys_values.column + brim_program_of(l)->values[o->in.of[KEYS_VALUES]].width / 2};
}

/* Its tensors have 16 bits. */
static bool is_half(const brim_lowering *l, const brim_operation *o) {
  return brim_is_half(l, o->out.of[0]);
}

/* What forward and backward both take. */
static brim_attention operands(brim_lowering *l, const brim_operation *o, brim_at queries, brim_at keys_values) {
  const int32_t width = brim_program_of(l)->values[o->out.of[0]].width, head_size = width / o->terms.heads;
  return (brim_attention){.heads = o->terms.heads,
                          .head_size = head_size,
                          .group = o->terms.group,
                          .window = o->terms.window,
                          .scale = (real)(1 / sqrt(head_size)),
                          .first_only = brim_rows_of(l, o->out.of[0]) == BRIM_ROW_CHOSEN,
                          .q_stride = brim_stride(l, queries),
                          .kv_stride = brim_stride(l, keys_values),
                          .out_stride = width};
}

/* What forward and backward both read; q, k and v are fields of an operand of either width. */
static void fill(brim_lowering *l, const brim_operation *o, brim_attention *op, const brim_at in[2], void *q, void *k, void *v) {
  brim_fill_layout(l, &op->layout);
  brim_fill_dropout(l, &op->dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, q, in[QUERIES], BRIM_READS);
  brim_fill(l, k, in[KEYS_VALUES], BRIM_READS);
  brim_fill(l, v, second_half(l, o, in[KEYS_VALUES]), BRIM_READS);
}

static void fill_outputs(brim_lowering *l, const brim_operation *o, brim_attention *op, void *out) {
  brim_fill(l, out, brim_write(l, o->out.of[0]), BRIM_WRITES);
  brim_fill(l, &op->lse, brim_write(l, o->inner.of[LSE]), BRIM_WRITES);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_at in[] = {brim_read(l, o->in.of[QUERIES]), brim_read(l, o->in.of[KEYS_VALUES])};
  brim_bf16_attention half = {.of = operands(l, o, in[QUERIES], in[KEYS_VALUES])};
  brim_attention op = half.of;
  if (is_half(l, o)) {
    fill(l, o, &half.of, in, &half.q, &half.k, &half.v);
    fill_outputs(l, o, &half.of, &half.out);
    BRIM_CALL(l, bf16_attention_forward, half);
  } else {
    fill(l, o, &op, in, &op.q, &op.k, &op.v);
    fill_outputs(l, o, &op, &op.out);
    BRIM_CALL(l, attention_forward, op);
  }
}

/* The gradients that backward takes and writes. */
typedef struct gradients {
  brim_at queries, keys_values;
  void *dout, *dq, *dk, *dv; /* fields, as above */
} gradients;

static void fill_gradients(brim_lowering *l, const brim_operation *o, brim_attention *op, gradients d) {
  brim_fill(l, &op->lse, brim_read(l, o->inner.of[LSE]), BRIM_READS);
  brim_fill(l, d.dout, brim_gradient(l, o->out.of[0]), BRIM_READS);
  brim_fill(l, d.dq, d.queries, BRIM_WRITES);
  brim_fill(l, d.dk, d.keys_values, BRIM_WRITES);
  brim_fill(l, d.dv, second_half(l, o, d.keys_values), BRIM_WRITES);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const brim_at in[] = {brim_read(l, o->in.of[QUERIES]), brim_read(l, o->in.of[KEYS_VALUES])};
  const brim_at dq = brim_write_gradient(l, o->in.of[QUERIES], brim_rows_of(l, o->in.of[QUERIES])),
                dkv = brim_write_gradient(l, o->in.of[KEYS_VALUES], BRIM_ROW_TOKENS);
  brim_bf16_attention half = {.of = operands(l, o, in[QUERIES], in[KEYS_VALUES])};
  brim_attention op = half.of;
  if (is_half(l, o)) {
    fill(l, o, &half.of, in, &half.q, &half.k, &half.v);
    fill_gradients(l, o, &half.of, (gradients){dq, dkv, &half.dout, &half.dq, &half.dk, &half.dv});
    BRIM_CALL(l, bf16_attention_backward, half);
  } else {
    fill(l, o, &op, in, &op.q, &op.k, &op.v);
    fill_gradients(l, o, &op, (gradients){dq, dkv, &op.dout, &op.dq, &op.dk, &op.dv});
    BRIM_CALL(l, attention_backward, op);
  }
}

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  const double seen = o->terms.window > 0 ? fmin(length, 2.0 * o->terms.window + 1) : length;
  return 4 * rows[s->values[o->out.of[0]].rows] * seen * s->program->values[o->out.of[0]].width;
}

static const brim_kind kind = {.name = "attend",
                               .attends = true,
                               .needs = {BRIM_NEED_SAME, BRIM_NEED_ALL},
                               .reads = {.in = 1 << QUERIES | 1 << KEYS_VALUES, .inner = 1 << LSE},
                               .half = {.in = 1 << QUERIES | 1 << KEYS_VALUES, .out = 1},
                               .alike = {.in = 1 << QUERIES | 1 << KEYS_VALUES, .out = 1},
                               .forward = forward,
                               .backward = backward,
                               .flops = flops};

int32_t brim_append_attend_heads(brim_program *p, brim_projected x, brim_heads heads, brim_drop_at drop) {
  const int32_t context = brim_add_value(p, "context", BRIM_ROW_TOKENS, brim_width_of(p, x.queries));
  const int32_t lse = brim_add_exact(p, "log-sum-exp", BRIM_ROW_TOKENS, heads.count);
  const brim_operation o = {
      .kind = &kind,
      .in = BRIM_LIST(x.queries, x.keys_values),
      .out = BRIM_LIST(context),
      .inner = BRIM_LIST(lse),
      .terms = {.heads = heads.count, .group = heads.group, .window = heads.window, .dropout = drop.rate, .site = drop.site}};
  brim_add_operation(p, &o);
  return context;
}

int32_t brim_append_attend(brim_program *p, brim_projected x, int32_t heads, brim_drop_at drop) {
  return brim_append_attend_heads(p, x, (brim_heads){.count = heads}, drop);
}
