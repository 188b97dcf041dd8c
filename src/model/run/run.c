/* run.c: runs a schedule: each call's operands are copied, the fields that depend on the batch filled in, and the device called.
 */
#include <string.h>

#include "base/poison.h"
#include "base/runtime.h"
#include "base/status.h"
#include "model/schedule.h"

enum { MOST_OPERANDS = 512 };

#define FITS(name, operands, ...) _Static_assert(sizeof(operands) <= MOST_OPERANDS, "operands of " #name);
BRIM_OPS_LIST(FITS)

void *brim_version_address(const brim_call_schedule *s, int32_t version, const brim_frame *frame) {
  const brim_value_version *v = &s->versions[version];
  return frame->memory[v->region] + v->offset;
}

static void fill_dropout(brim_dropout *d, const brim_frame *f) {
  if (f->dropout)
    memcpy(d->key, f->key, sizeof d->key);
  else
    *d = brim_dropout_make(0, f->key, d->site);
}

static void put_address(void *field, const void *address) {
  memcpy(field, &address, sizeof address);
}

static int64_t elements_before(const brim_value_version *v, const brim_fill_in *in, const brim_frame *f) {
  return in->offset + (in->reached ? (int64_t)f->first_reached * v->width : 0);
}

static void fill_in(const brim_call_schedule *s, const brim_fill_in *in, const brim_frame *f, char *operands) {
  void *field = operands + in->field;
  switch ((brim_origin)in->source) {
  case BRIM_FROM_VERSION:
    put_address(field, (char *)brim_version_address(s, in->index, f) +
                           (size_t)elements_before(&s->versions[in->index], in, f) * brim_type_size(s->versions[in->index].type));
    break;
  case BRIM_FROM_WEIGHT:
    put_address(field, f->values + in->offset);
    break;
  case BRIM_FROM_WEIGHT_HALF:
    put_address(field, f->half + (in->offset - f->narrowed));
    break;
  case BRIM_FROM_WEIGHT_GRADIENT:
    put_address(field, f->gradients + in->offset);
    break;
  case BRIM_FROM_PACKED:
    put_address(field, f->packed[in->index]);
    break;
  case BRIM_FROM_COUNT:
    *(int64_t *)field = f->rows[in->index].count * in->offset;
    break;
  case BRIM_FROM_ROWS:
    memcpy(field, &f->rows[in->index], sizeof f->rows[0]);
    break;
  case BRIM_FROM_DROPOUT:
    fill_dropout(field, f);
    break;
  case BRIM_FROM_FRAME:
    memcpy(field, (const char *)f + in->offset, (size_t)in->index);
    break;
  }
}

#define CALL(name, operands_type, ...)                                                                                           \
  case BRIM_OP_##name:                                                                                                           \
    ops->name(c, (const operands_type *)operands);                                                                               \
    break;

static void issue(const brim_ops *ops, brim_ops_context *c, brim_device_op op, const void *operands) {
  switch (op) {
    BRIM_OPS_LIST(CALL)
  case BRIM_OP_COUNT:
    break;
  }
}

/* ---- where AddressSanitizer watches, memory is there for the calls of its version's life only ---------------- */

/* It knows the host's memory, and of calls that are done when they return. */
static bool is_guarded(const brim_ops *ops) {
  return BRIM_RED_ZONE > 0 && (ops->features & BRIM_FEATURE_HOST_MEMORY);
}

static void *guarded(const brim_call_schedule *s, const brim_value_version *v, const brim_frame *f) {
  return brim_version_address(s, (int32_t)(v - s->versions), f);
}

static void guard_before(const brim_call_schedule *s, int32_t call, const brim_frame *f) {
  for (size_t i = 0; i < s->version_count; i++)
    if (s->versions[i].first == call)
      brim_unpoison(guarded(s, &s->versions[i], f), s->versions[i].size - BRIM_RED_ZONE);
}

/* The memory of a version that was replaced lives on. */
static bool is_replaced(const brim_call_schedule *s, size_t version) {
  for (size_t i = version + 1; i < s->version_count; i++)
    if (s->versions[i].unit == s->versions[version].unit && s->versions[i].first >= 0 &&
        s->versions[i].last > s->versions[version].last)
      return true;
  return false;
}

static void guard_after(const brim_call_schedule *s, int32_t call, const brim_frame *f) {
  for (size_t i = 0; i < s->version_count; i++)
    if (s->versions[i].last == call && !is_replaced(s, i))
      brim_poison(guarded(s, &s->versions[i], f), s->versions[i].size);
}

/* ---- entry -------------------------------------------------------------------------------------------------- */

static void run_call(const brim_call_schedule *s, const brim_call *call, const brim_ops *ops, brim_ops_context *c,
                     const brim_frame *f) {
  union {
    max_align_t aligned;
    char bytes[MOST_OPERANDS];
  } operands;
  memcpy(operands.bytes, s->operands + call->operands, call->size);
  for (int32_t i = 0; i < call->fill_count; i++)
    fill_in(s, &s->fills[call->first_fill + i], f, operands.bytes);
  issue(ops, c, (brim_device_op)call->op, operands.bytes);
}

/* `told`: how much was reported so far. */
static void tell(const brim_call *call, const brim_frame *f, int64_t *told) {
  if (!f->ready || call->complete >= *told)
    return;
  *told = call->complete;
  f->ready->complete(f->ready->context, *told);
}

static int run_calls(const brim_call_schedule *s, const brim_ops *ops, brim_ops_context *c, const brim_frame *frame,
                     bool backward, bool whole, brim_error *err) {
  const int32_t first = backward ? s->forward_count : 0, end = backward ? (int32_t)s->call_count : s->forward_count;
  const bool guard = is_guarded(ops);
  int64_t told = INT64_MAX;
  for (int i = 0; guard && !backward && i < BRIM_REGIONS; i++)
    brim_poison(frame->memory[i], s->region_size[i]);
  for (int32_t i = first; i < end; i++) {
    BRIM_TRY(brim_check_cancel(c->runtime, err));
    if (guard)
      guard_before(s, i, frame);
    if (!s->calls[i].only_with_loss || frame->loss)
      run_call(s, &s->calls[i], ops, c, frame);
    if (guard)
      guard_after(s, i, frame);
    if (backward && !whole)
      tell(&s->calls[i], frame, &told);
  }
  return BRIM_OK;
}

int brim_schedule_run(const brim_call_schedule *s, const brim_ops *ops, brim_ops_context *c, const brim_frame *frame,
                      bool backward, brim_error *err) {
  int status;
  bool again;
  do {
    const bool whole = ops->begin && ops->begin(c, frame->layout.slots);
    status = run_calls(s, ops, c, frame, backward, whole, err);
    again = ops->end && ops->end(c);
  } while (again && !status);
  return status;
}
