/* lowering.c: writes calls down: which version of a value is read and written where, and which fields a run fills in. */
#include "model/lowering.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

size_t brim_type_size(brim_value_type type) {
  static const size_t sizes[] = {
      [BRIM_AS_REAL] = sizeof(real), [BRIM_AS_BF16] = sizeof(brim_bfloat), [BRIM_AS_INDEX] = sizeof(int32_t)};
  return sizes[type];
}

static bool grow(brim_lowering *l, void **items, size_t *room, size_t needed, size_t size) {
  brim_error ignored;
  if (!l->status)
    l->status = brim_grow(l->schedule->runtime, items, room, needed, size, &ignored);
  return l->status == BRIM_OK;
}

/* ---- versions ---------------------------------------------------------------------------------------------- */

brim_at brim_new_version(brim_lowering *l, brim_value_version version) {
  brim_call_schedule *s = l->schedule;
  if (!grow(l, (void **)&s->versions, &s->version_room, s->version_count + 1, sizeof *s->versions))
    return BRIM_NOWHERE;
  version.first = version.last = version.replaces = BRIM_NONE;
  s->versions[s->version_count] = version;
  return (brim_at){(int32_t)s->version_count++, 0};
}

/* A layer that is computed again writes its output once more, but what the next layer kept of it was read before. */
static brim_region region_of(const brim_lowering *l, int32_t value) {
  const brim_keep keep = l->schedule->values[value].keep;
  const bool next = l->phase == BRIM_FORWARD_AGAIN &&
                    l->program->sections[l->program->operations[l->operation].section + 1].input == value;
  return keep == BRIM_KEEP_AS_IS && !next ? BRIM_KEPT : BRIM_TEMPORARY;
}

static int32_t add_version_of(brim_lowering *l, int32_t value, int32_t width) {
  const brim_value_version version = {.value = value,
                                      .role = l->phase == BRIM_FORWARD ? BRIM_FIRST : BRIM_AGAIN,
                                      .rows = l->schedule->values[value].rows,
                                      .type = l->schedule->values[value].type,
                                      .region = region_of(l, value),
                                      .width = width};
  return brim_new_version(l, version).version;
}

static void hold(brim_lowering *l, int32_t value, int32_t leader, int32_t column) {
  brim_held *h = &l->held[value];
  h->leader = leader;
  h->column = column;
  h->half = h->chosen = BRIM_NONE; /* chosen rows in 16 bits would be the same ones */
}

brim_at brim_write(brim_lowering *l, int32_t value) {
  brim_held *h = &l->held[value];
  hold(l, value, value, 0);
  h->width = l->program->values[value].width;
  h->now = add_version_of(l, value, h->width);
  return (brim_at){h->now, 0};
}

brim_at brim_write_beside(brim_lowering *l, int32_t first, int32_t second, brim_at *after) {
  brim_held *h = &l->held[first];
  hold(l, first, first, 0);
  hold(l, second, first, l->program->values[first].width);
  h->width = l->program->values[first].width + l->program->values[second].width;
  h->now = add_version_of(l, first, h->width);
  *after = (brim_at){h->now, l->held[second].column};
  return (brim_at){h->now, 0};
}

static brim_at add_spare(brim_lowering *l, brim_row_kind rows, int32_t width, brim_value_type type) {
  return brim_new_version(
      l, (brim_value_version){.value = BRIM_NONE, .role = BRIM_SCRATCH, .rows = rows, .type = type, .width = width});
}

brim_at brim_spare(brim_lowering *l, brim_row_kind rows, int32_t width) {
  return add_spare(l, rows, width, BRIM_AS_REAL);
}

brim_at brim_spare_half(brim_lowering *l, brim_row_kind rows, int32_t width) {
  return add_spare(l, rows, width, BRIM_AS_BF16);
}

void brim_becomes(brim_lowering *l, int32_t value, brim_at at) {
  hold(l, value, value, 0);
  l->held[value].now = at.version;
  l->held[value].width = l->program->values[value].width;
}

void brim_may_replace(brim_lowering *l, brim_at to, brim_at from) {
  if (!l->status)
    l->schedule->versions[to.version].replaces = from.version;
}

bool brim_is_kept(const brim_lowering *l, int32_t value) {
  return l->schedule->values[value].keep != BRIM_KEEP_NOT;
}

const brim_program *brim_program_of(const brim_lowering *l) {
  return l->program;
}

bool brim_in_bytes(const brim_lowering *l) {
  return l->schedule->variant.precision == BRIM_PRECISION_INT8;
}

bool brim_gives_logits(const brim_lowering *l) {
  return l->schedule->variant.logits;
}

bool brim_uses_half(const brim_lowering *l) {
  return brim_precision_is_half(l->schedule->variant.precision);
}

bool brim_reads_half(const brim_lowering *l, const brim_operation *o, int input) {
  return brim_uses_half(l) && brim_half_inputs(o->kind, l->schedule->variant.precision) >> input & 1;
}

bool brim_wants_wide(const brim_lowering *l) {
  return l->wants_wide;
}

bool brim_is_half(const brim_lowering *l, int32_t value) {
  return l->schedule->values[value].type == BRIM_AS_BF16;
}

brim_row_kind brim_rows_of(const brim_lowering *l, int32_t value) {
  return l->schedule->values[value].rows;
}

int32_t brim_stride(const brim_lowering *l, brim_at at) {
  return l->status ? 0 : l->schedule->versions[at.version].width;
}

/* ---- sixteen bits ------------------------------------------------------------------------------------------- */

static void fill_elements(brim_lowering *l, int64_t *field, brim_at at) {
  if (!l->status)
    brim_fill_count(l, field, l->schedule->versions[at.version].rows, brim_stride(l, at));
}

void brim_call_narrow(brim_lowering *l, brim_at from, brim_at to) {
  brim_to_bfloat op = {0};
  fill_elements(l, &op.count, from);
  brim_fill(l, &op.x, from, BRIM_READS);
  brim_fill(l, &op.y, to, BRIM_WRITES);
  BRIM_CALL(l, narrow, op);
}

brim_at brim_rounded(brim_lowering *l, brim_at at) {
  if (l->status)
    return BRIM_NOWHERE;
  const brim_at copy = brim_spare_half(l, l->schedule->versions[at.version].rows, brim_stride(l, at));
  brim_call_narrow(l, (brim_at){at.version, 0}, copy);
  return (brim_at){copy.version, at.column};
}

static void call_widen(brim_lowering *l, brim_at from, brim_at to) {
  brim_from_bfloat op = {0};
  fill_elements(l, &op.count, from);
  brim_fill(l, &op.x, from, BRIM_READS);
  brim_fill(l, &op.y, to, BRIM_WRITES);
  BRIM_CALL(l, widen, op);
}

/* Of all rows of a value and those it shares versions with, or of its chosen ones. */
static brim_at add_copy(brim_lowering *l, int32_t leader, brim_row_kind rows, int32_t width, bool kept) {
  return brim_new_version(l, (brim_value_version){.value = leader,
                                                  .role = BRIM_STORED,
                                                  .rows = rows,
                                                  .type = BRIM_AS_BF16,
                                                  .region = kept ? BRIM_KEPT : BRIM_TEMPORARY,
                                                  .width = width});
}

static brim_at add_copy_of_all(brim_lowering *l, int32_t leader) {
  const bool kept = l->schedule->values[leader].keep == BRIM_KEEP_HALF && l->phase != BRIM_BACKWARD;
  const brim_at copy = add_copy(l, leader, l->schedule->values[leader].rows, l->held[leader].width, kept);
  l->held[leader].half = copy.version;
  return copy;
}

static bool is_read_half(const brim_lowering *l, int32_t value) {
  const brim_program *p = l->program;
  for (size_t i = 0; i < p->operation_count; i++) {
    const brim_operation *o = &p->operations[i];
    for (int k = 0; k < o->in.count; k++)
      if (o->in.of[k] == value && brim_reads_half(l, o, k) && !(o->kind->alike.in >> k & 1))
        return true;
  }
  return false;
}

/* A value that is made again may have no other form. */
brim_at brim_write_half(brim_lowering *l, int32_t value) {
  if (brim_is_half(l, value) || (l->phase != BRIM_BACKWARD && !is_read_half(l, value)))
    return BRIM_NOWHERE;
  return add_copy_of_all(l, value);
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

static void make_again(brim_lowering *l, int32_t leader, bool wide) {
  const brim_operation *maker = &l->program->operations[l->program->values[leader].maker];
  const bool before = l->wants_wide;
  l->wants_wide = wide;
  maker->kind->again(l, maker);
  l->wants_wide = before;
}

/* What is there no longer is made again by its operation, or widened from its copy. */
static void restore(brim_lowering *l, int32_t leader) {
  brim_held *h = &l->held[leader];
  if (h->half == BRIM_NONE)
    make_again(l, leader, true);
  if (h->now != BRIM_NONE || l->status)
    return;
  h->now = add_version_of(l, leader, h->width);
  call_widen(l, (brim_at){h->half, 0}, (brim_at){h->now, 0});
}

brim_at brim_read(brim_lowering *l, int32_t value) {
  const int32_t leader = l->held[value].leader;
  const brim_held *h = &l->held[leader];
  if (l->status)
    return BRIM_NOWHERE;
  if (h->now == BRIM_NONE)
    restore(l, leader);
  return (brim_at){h->now, l->held[value].column};
}

brim_at brim_read_half(brim_lowering *l, int32_t value) {
  const int32_t leader = l->held[value].leader;
  brim_held *h = &l->held[leader];
  if (l->status)
    return BRIM_NOWHERE;
  if (brim_is_half(l, leader))
    return brim_read(l, value);
  if (h->half == BRIM_NONE && h->now == BRIM_NONE)
    make_again(l, leader, false);
  if (h->half == BRIM_NONE && !l->status) {
    const brim_at now = {h->now, 0};
    brim_call_narrow(l, now, add_copy_of_all(l, leader));
  }
  return (brim_at){h->half, l->held[value].column};
}

brim_at brim_read_chosen(brim_lowering *l, int32_t value) {
  brim_held *h = &l->held[value];
  if (l->schedule->values[value].rows != BRIM_ROW_TOKENS)
    return brim_read(l, value);
  if (h->chosen != BRIM_NONE)
    return (brim_at){h->chosen, 0};
  if (brim_is_half(l, value) && !l->status) /* passes/types.c */
    l->status = BRIM_E_UNSUPPORTED;
  const int32_t width = l->program->values[value].width;
  const brim_at all = brim_read(l, value);
  const brim_at few = brim_new_version(l, (brim_value_version){.value = value,
                                                               .role = l->phase == BRIM_FORWARD ? BRIM_FIRST : BRIM_AGAIN,
                                                               .rows = BRIM_ROW_CHOSEN,
                                                               .width = width});
  brim_gather op = {.width = width, .x_stride = brim_stride(l, all)};
  brim_fill_rows(l, &op.at, BRIM_ROW_CHOSEN);
  brim_fill(l, &op.x, all, BRIM_READS);
  brim_fill(l, &op.y, few, BRIM_WRITES);
  BRIM_CALL(l, gather_rows, op);
  h->chosen = few.version;
  if (l->phase == BRIM_FORWARD)
    h->chosen_by = l->operation;
  return few;
}

/* Chosen rows in 16 bits are kept: few, and all that products of them read in backward. */
brim_at brim_read_chosen_half(brim_lowering *l, int32_t value) {
  brim_held *h = &l->held[value];
  if (l->schedule->values[value].rows != BRIM_ROW_TOKENS)
    return brim_read_half(l, value);
  if (h->chosen_half == BRIM_NONE) {
    const brim_at few = brim_read_chosen(l, value);
    const bool kept = l->schedule->trained[l->operation];
    const brim_at copy = add_copy(l, value, BRIM_ROW_CHOSEN, l->program->values[value].width, kept);
    brim_call_narrow(l, few, copy);
    h->chosen_half = copy.version;
  }
  return (brim_at){h->chosen_half, 0};
}

/* Values that are kept as they are stay, and copies that are. */
void brim_forget(brim_lowering *l) {
  for (size_t i = 0; i < l->program->value_count; i++) {
    const brim_keep keep = l->schedule->values[i].keep;
    l->held[i].chosen = BRIM_NONE;
    if (keep != BRIM_KEEP_AS_IS)
      l->held[i].now = BRIM_NONE;
    if (keep != BRIM_KEEP_HALF)
      l->held[i].half = BRIM_NONE;
  }
}

/* ---- fields ------------------------------------------------------------------------------------------------- */

static void fill(brim_lowering *l, const void *field, brim_fill_in as) {
  if (!l->status && l->pending_count == BRIM_MOST_FILLS)
    l->status = BRIM_E_UNSUPPORTED;
  if (!l->status)
    l->pending[l->pending_count++] = (brim_pending){field, as};
}

static void fill_address(brim_lowering *l, void *field, brim_at at, brim_access access, bool reached) {
  if (at.version != BRIM_NONE)
    fill(l, field,
         (brim_fill_in){.source = BRIM_FROM_VERSION,
                        .access = (uint8_t)access,
                        .reached = reached,
                        .index = at.version,
                        .offset = at.column});
}

void brim_fill(brim_lowering *l, void *field, brim_at at, brim_access access) {
  fill_address(l, field, at, access, false);
}

void brim_fill_reached(brim_lowering *l, void *field, brim_at at, brim_access access) {
  fill_address(l, field, at, access, true);
}

void brim_fill_weight_from(brim_lowering *l, void *field, int32_t weight, int64_t element) {
  if (!l->status && weight != BRIM_NONE)
    fill(l, field,
         (brim_fill_in){.source = BRIM_FROM_WEIGHT, .index = weight, .offset = brim_weight_at(l->program, weight) + element});
}

void brim_fill_typed(brim_lowering *l, brim_typed *field, brim_at at, brim_access access) {
  if (l->status || at.version == BRIM_NONE)
    return;
  field->type = l->schedule->versions[at.version].type == BRIM_AS_BF16 ? BRIM_TYPE_BF16 : BRIM_TYPE_REAL;
  brim_fill(l, &field->at, at, access);
}

void brim_fill_weight_half(brim_lowering *l, void *field, int32_t weight, int64_t element) {
  if (!l->status)
    fill(
        l, field,
        (brim_fill_in){.source = BRIM_FROM_WEIGHT_HALF, .index = weight, .offset = brim_weight_at(l->program, weight) + element});
}

void brim_fill_weight(brim_lowering *l, void *field, int32_t weight) {
  brim_fill_weight_from(l, field, weight, 0);
}

void brim_fill_weight_gradient(brim_lowering *l, void *field, int32_t weight, int64_t element) {
  if (!l->status && weight != BRIM_NONE)
    brim_fill_weight_gradients(l, field, weight, element, l->program->weights[weight].is.count - element);
}

bool brim_has_weight_gradient(const brim_lowering *l, int32_t weight) {
  return !l->status && weight != BRIM_NONE &&
         brim_trained_at(l->schedule->variant.trained, brim_weight_at(l->program, weight)) >= 0;
}

void brim_fill_weight_gradients(brim_lowering *l, void *field, int32_t weight, int64_t element, int64_t count) {
  if (!brim_has_weight_gradient(l, weight))
    return;
  const int64_t at = brim_trained_at(l->schedule->variant.trained, brim_weight_at(l->program, weight)) + element;
  fill(l, field, (brim_fill_in){.source = BRIM_FROM_WEIGHT_GRADIENT, .index = weight, .offset = at});
  l->changes_to = at + count > l->changes_to ? at + count : l->changes_to;
}

void brim_fill_packed(brim_lowering *l, brim_int8 *field, const brim_operation *o, int product) {
  brim_product products[BRIM_MOST_PRODUCTS];
  o->kind->products(l->program, o, products);
  field->in = products[product].in;
  field->out = products[product].out;
  fill(l, &field->packed, (brim_fill_in){.source = BRIM_FROM_PACKED, .index = o->first_packed + product});
}

void brim_fill_count(brim_lowering *l, int64_t *field, brim_row_kind rows, int64_t times) {
  fill(l, field, (brim_fill_in){.source = BRIM_FROM_COUNT, .index = (int32_t)rows, .offset = times});
}

void brim_fill_slices(brim_lowering *l, brim_row_slices *field, brim_row_kind rows) {
  brim_fill_from_frame(l, field, offsetof(brim_frame, slices) + rows * sizeof(brim_row_slices), sizeof *field);
}

void brim_fill_rows(brim_lowering *l, brim_rows *field, brim_row_kind rows) {
  fill(l, field, (brim_fill_in){.source = BRIM_FROM_ROWS, .index = (int32_t)rows});
}

void brim_fill_layout(brim_lowering *l, brim_layout *field) {
  brim_fill_from_frame(l, field, offsetof(brim_frame, layout), sizeof *field);
}

void brim_fill_dropout(brim_lowering *l, brim_dropout *field, double rate, uint32_t site) {
  *field = brim_dropout_make(rate, (const uint32_t[2]){0}, site);
  if (field->on)
    fill(l, field, (brim_fill_in){.source = BRIM_FROM_DROPOUT});
}

void brim_fill_from_frame(brim_lowering *l, void *field, size_t frame_offset, size_t size) {
  fill(l, field, (brim_fill_in){.source = BRIM_FROM_FRAME, .index = (int32_t)size, .offset = (int64_t)frame_offset});
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

static void take_pending(brim_lowering *l, const void *operands) {
  brim_call_schedule *s = l->schedule;
  const int32_t call = (int32_t)s->call_count;
  for (int i = 0; i < l->pending_count; i++) {
    brim_fill_in in = l->pending[i].as;
    in.field = (uint16_t)((const char *)l->pending[i].field - (const char *)operands);
    s->fills[s->fill_count++] = in;
    if (in.source != BRIM_FROM_VERSION)
      continue;
    brim_value_version *v = &s->versions[in.index];
    v->first = v->first == BRIM_NONE ? call : v->first;
    v->last = call;
  }
}

#define FEATURE(name, operands, feature, ...) feature,
static const uint32_t features_of[] = {BRIM_OPS_LIST(FEATURE)};

void brim_call_device(brim_lowering *l, brim_device_op which, const void *operands, size_t size) {
  enum { ALIGNMENT = 16 };
  brim_call_schedule *s = l->schedule;
  const size_t at = (s->operand_count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!grow(l, (void **)&s->calls, &s->call_room, s->call_count + 1, sizeof *s->calls) ||
      !grow(l, (void **)&s->fills, &s->fill_room, s->fill_count + (size_t)l->pending_count, sizeof *s->fills) ||
      !grow(l, (void **)&s->operands, &s->operand_room, at + size, 1))
    return;
  const brim_call call = {.op = (uint8_t)which,
                          .phase = (uint8_t)l->phase,
                          .size = (uint16_t)size,
                          .operation = l->operation,
                          .section = l->program->operations[l->operation].section,
                          .changes_to = l->changes_to,
                          .operands = (uint32_t)at,
                          .first_fill = (int32_t)s->fill_count,
                          .fill_count = l->pending_count};
  memcpy(s->operands + at, operands, size);
  s->operand_count = at + size;
  take_pending(l, operands);
  l->pending_count = 0;
  l->changes_to = 0;
  s->calls[s->call_count++] = call;
  s->features |= features_of[which];
}

void brim_only_with_loss(brim_lowering *l) {
  if (!l->status)
    l->schedule->calls[l->schedule->call_count - 1].only_with_loss = true;
}
