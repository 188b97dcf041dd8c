/* texts.c: choose, pool and pool_joined: from tokens to texts. */
#include "model/calls.h"
#include "model/kinds/kinds.h"

/* ---- choose: the first token of each text. The value is no copy: it is the chosen rows of its input. */

static void choose_forward(brim_lowering *l, const brim_operation *o) {
  brim_becomes(l, o->out.of[0], brim_read_chosen(l, o->in.of[0]));
}

static void choose_backward(brim_lowering *l, const brim_operation *o) {
  if (brim_wants_gradient(l, o->in.of[0]))
    brim_pass_gradient_on(l, o->out.of[0], o->in.of[0]);
}

static const brim_kind choose = {
    .name = "choose", .needs = {BRIM_NEED_CHOSEN}, .forward = choose_forward, .backward = choose_backward};

int32_t brim_append_choose(brim_program *p, int32_t x) {
  const int32_t out = brim_add_value(p, "first tokens", BRIM_ROW_TEXTS, brim_width_of(p, x));
  const brim_operation o = {.kind = &choose, .in = BRIM_LIST(x), .out = BRIM_LIST(out)};
  brim_add_operation(p, &o);
  return out;
}

/* The same of the tokens that are masked, which all lie in one batch: the layers below compute every token. */
static const brim_kind masked = {
    .name = "choose", .needs = {BRIM_NEED_ALL}, .forward = choose_forward, .backward = choose_backward};

int32_t brim_append_masked(brim_program *p, int32_t x) {
  const int32_t out = brim_add_value(p, "masked tokens", BRIM_ROW_CHOSEN, brim_width_of(p, x));
  const brim_operation o = {.kind = &masked, .in = BRIM_LIST(x), .out = BRIM_LIST(out)};
  brim_add_operation(p, &o);
  return out;
}

/* ---- pool: the mean of a text's tokens; or the largest of each column, whose slot is kept for backward */

static void pool_forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_pool op = {.width = brim_stride(l, x)};
  brim_fill_layout(l, &op.layout);
  brim_fill(l, &op.x, x, BRIM_READS);
  if (o->terms.largest)
    brim_fill(l, &op.chosen, brim_write(l, o->inner.of[0]), BRIM_WRITES);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, pool_forward, op);
}

static void pool_backward(brim_lowering *l, const brim_operation *o) {
  const brim_at dy = brim_gradient(l, o->out.of[0]);
  brim_pool_gradient op = {.width = brim_stride(l, dy)};
  if (!brim_wants_gradient(l, o->in.of[0]))
    return;
  brim_fill_layout(l, &op.layout);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  if (o->terms.largest)
    brim_fill(l, &op.chosen, brim_read(l, o->inner.of[0]), BRIM_READS);
  brim_fill(l, &op.dx, brim_write_gradient(l, o->in.of[0], BRIM_ROW_TOKENS), BRIM_WRITES);
  BRIM_CALL(l, pool_backward, op);
}

static const brim_kind pool = {
    .name = "pool", .needs = {BRIM_NEED_ALL}, .reads = {.inner = 1}, .forward = pool_forward, .backward = pool_backward};

int32_t brim_append_pool(brim_program *p, int32_t x, bool largest) {
  const int32_t width = brim_width_of(p, x), out = brim_add_value(p, "pooled", BRIM_ROW_TEXTS, width);
  brim_operation o = {.kind = &pool, .in = BRIM_LIST(x), .out = BRIM_LIST(out), .terms = {.largest = largest}};
  if (largest)
    o.inner = (brim_list)BRIM_LIST(brim_add_index(p, "chosen", BRIM_ROW_TEXTS, width));
  brim_add_operation(p, &o);
  return out;
}

/* ---- pool_joined: any of the six ways, or several side by side; tokens of a prompt may be left out */

static void joined_forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_pool_joined op = {.width = brim_stride(l, x), .modes = o->terms.modes};
  brim_fill_layout(l, &op.layout);
  brim_fill_from_frame(l, &op.skipped, offsetof(brim_frame, skipped), sizeof op.skipped);
  brim_fill(l, &op.x, x, BRIM_READS);
  if (o->inner.count > 0)
    brim_fill(l, &op.chosen, brim_write(l, o->inner.of[0]), BRIM_WRITES);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, pool_joined_forward, op);
}

static void joined_backward(brim_lowering *l, const brim_operation *o) {
  const brim_at dy = brim_gradient(l, o->out.of[0]);
  brim_pool_joined op = {.width = brim_width_of(brim_program_of(l), o->in.of[0]), .modes = o->terms.modes};
  if (!brim_wants_gradient(l, o->in.of[0]))
    return;
  brim_fill_layout(l, &op.layout);
  brim_fill_from_frame(l, &op.skipped, offsetof(brim_frame, skipped), sizeof op.skipped);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  if (o->inner.count > 0)
    brim_fill(l, &op.chosen, brim_read(l, o->inner.of[0]), BRIM_READS);
  brim_fill(l, &op.dx, brim_write_gradient(l, o->in.of[0], BRIM_ROW_TOKENS), BRIM_WRITES);
  BRIM_CALL(l, pool_joined_backward, op);
}

static const brim_kind joined = {
    .name = "pool", .needs = {BRIM_NEED_ALL}, .reads = {.inner = 1}, .forward = joined_forward, .backward = joined_backward};

int32_t brim_append_pool_joined(brim_program *p, int32_t x, brim_pool_list modes) {
  const int32_t width = brim_width_of(p, x), out = brim_add_value(p, "pooled", BRIM_ROW_TEXTS, modes.count * width);
  brim_operation o = {.kind = &joined, .in = BRIM_LIST(x), .out = BRIM_LIST(out), .terms = {.modes = modes}};
  if (brim_pool_has(&modes, BRIM_POOL_MAX))
    o.inner = (brim_list)BRIM_LIST(brim_add_index(p, "chosen", BRIM_ROW_TEXTS, width));
  brim_add_operation(p, &o);
  return out;
}
