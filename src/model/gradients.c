/* gradients.c: the gradients of values while a schedule is written. The first contribution in backward writes, later ones add, in
 * the order of the schedule: that order is part of what fixes the bits. */
#include "base/status.h"
#include "model/lowering.h"

bool brim_is_trained(const brim_lowering *l, const brim_operation *o) {
  return l->schedule->trained[o - l->program->operations];
}

bool brim_wants_gradient(const brim_lowering *l, int32_t value) {
  return l->schedule->trained[l->program->values[value].maker];
}

/* Of the value's type. */
static int32_t add_version(brim_lowering *l, int32_t value, brim_row_kind rows, int32_t width) {
  return brim_new_version(
             l,
             (brim_value_version){
                 .value = value, .role = BRIM_GRADIENT, .rows = rows, .type = l->schedule->values[value].type, .width = width})
      .version;
}

/* Values side by side have one version for their gradients too. */
static brim_at version_of(brim_lowering *l, int32_t value) {
  const int32_t leader = l->held[value].leader;
  brim_held *h = &l->held[leader];
  if (h->gradient == BRIM_NONE)
    h->gradient = add_version(l, leader, l->schedule->values[leader].rows, h->width);
  return (brim_at){h->gradient, l->held[value].column};
}

brim_at brim_gradient(brim_lowering *l, int32_t value) {
  return version_of(l, value);
}

brim_at brim_gradient_half(brim_lowering *l, int32_t value) {
  const brim_at at = brim_gradient(l, value);
  if (l->status || brim_is_half(l, value))
    return at;
  return brim_rounded(l, at);
}

brim_at brim_add_gradient(brim_lowering *l, int32_t value, bool *add) {
  brim_held *h = &l->held[value];
  *add = h->has_gradient;
  h->has_gradient = true;
  return version_of(l, value);
}

brim_at brim_add_gradient_chosen(brim_lowering *l, int32_t value, bool *add) {
  brim_held *h = &l->held[value];
  if (l->schedule->values[value].rows != BRIM_ROW_TOKENS)
    return brim_add_gradient(l, value, add);
  *add = h->has_chosen_gradient;
  h->has_chosen_gradient = true;
  if (h->chosen_gradient == BRIM_NONE)
    h->chosen_gradient = add_version(l, value, BRIM_ROW_CHOSEN, l->program->values[value].width);
  return (brim_at){h->chosen_gradient, 0};
}

/* Where nobody wants it: as wide as the version would be, since operations take the stride of values side by side for it. */
static brim_at unwanted(brim_lowering *l, int32_t value, brim_row_kind rows) {
  const int32_t width = l->held[l->held[value].leader].width;
  const brim_at at = brim_is_half(l, value) ? brim_spare_half(l, rows, width) : brim_spare(l, rows, width);
  return (brim_at){at.version, l->held[value].column};
}

brim_at brim_write_gradient(brim_lowering *l, int32_t value, brim_row_kind rows) {
  bool add = false;
  if (!brim_wants_gradient(l, value))
    return unwanted(l, value, rows);
  const brim_at at = rows == BRIM_ROW_CHOSEN ? brim_add_gradient_chosen(l, value, &add) : brim_add_gradient(l, value, &add);
  if (add && !l->status)
    l->status = BRIM_E_UNSUPPORTED;
  return at;
}

void brim_pass_gradient_on(brim_lowering *l, int32_t from, int32_t chosen_of) {
  brim_held *to = &l->held[chosen_of];
  const brim_at at = brim_gradient(l, from);
  const bool all = l->schedule->values[chosen_of].rows == BRIM_ROW_TOKENS;
  if ((all ? to->has_chosen_gradient : to->has_gradient) && !l->status)
    l->status = BRIM_E_UNSUPPORTED;
  *(all ? &to->chosen_gradient : &to->gradient) = at.version;
  *(all ? &to->has_chosen_gradient : &to->has_gradient) = true;
}

static void add(brim_lowering *l, brim_at from, brim_at to, brim_row_kind rows) {
  brim_add op = {0};
  brim_fill_count(l, &op.count, rows, brim_stride(l, from));
  brim_fill(l, &op.x, from, BRIM_READS);
  brim_fill(l, &op.y, to, BRIM_CHANGES);
  BRIM_CALL(l, add, op);
}

/* Of all rows of a value, or of its chosen ones, where all are computed. */
static bool are_chosen(const brim_lowering *l, int32_t value, brim_row_kind rows) {
  return rows != l->schedule->values[value].rows;
}

bool brim_has_gradient(const brim_lowering *l, int32_t value, brim_row_kind rows) {
  const brim_held *h = &l->held[value];
  return brim_wants_gradient(l, value) && (are_chosen(l, value, rows) ? h->has_chosen_gradient : h->has_gradient);
}

void brim_add_to_gradient(brim_lowering *l, brim_at from, int32_t value, brim_row_kind rows) {
  const brim_held *h = &l->held[value];
  add(l, from, (brim_at){are_chosen(l, value, rows) ? h->chosen_gradient : h->gradient, 0}, rows);
}

void brim_share_gradient(brim_lowering *l, int32_t from, int32_t to) {
  brim_held *h = &l->held[to];
  const brim_row_kind rows = l->schedule->values[from].rows;
  const bool chosen = are_chosen(l, to, rows);
  if (!brim_wants_gradient(l, to))
    return;
  const brim_at at = brim_gradient(l, from);
  if (brim_has_gradient(l, to, rows)) {
    brim_add_to_gradient(l, at, to, rows);
    return;
  }
  *(chosen ? &h->chosen_gradient : &h->gradient) = at.version;
  *(chosen ? &h->has_chosen_gradient : &h->has_gradient) = true;
}

static void zero(brim_lowering *l, brim_at at, int32_t width) {
  brim_zero op = {0};
  brim_fill_count(l, &op.count, BRIM_ROW_TOKENS, width);
  brim_fill(l, &op.x, at, BRIM_WRITES);
  BRIM_CALL(l, zero, op);
}

static void join_chosen(brim_lowering *l, int32_t value) {
  const int32_t width = l->program->values[value].width;
  bool add;
  const brim_at to = brim_add_gradient(l, value, &add);
  brim_scatter op = {.width = width, .dx_stride = width};
  if (!add)
    zero(l, to, width);
  brim_fill_rows(l, &op.at, BRIM_ROW_CHOSEN);
  brim_fill(l, &op.dy, (brim_at){l->held[value].chosen_gradient, 0}, BRIM_READS);
  brim_fill(l, &op.dx, to, BRIM_CHANGES);
  BRIM_CALL(l, scatter_rows, op);
  l->held[value].has_chosen_gradient = false;
}

void brim_join_chosen(brim_lowering *l, const brim_operation *o) {
  for (int i = 0; i < o->in.count; i++) {
    const brim_held *h = &l->held[o->in.of[i]];
    if (h->has_chosen_gradient && h->chosen_by == l->operation)
      join_chosen(l, o->in.of[i]);
  }
}
