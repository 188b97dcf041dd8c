/* types.c: what each value is stored as. In bf16 a value has 16 bits if its writer and all of its readers say that they can do
 * with that (brim_kind.half); in any other precision, and where a kind says nothing, it is a real number of 32. What stays in
 * fp32 in a BERT: hidden states and their gradients, to which every layer adds, statistics of norms and of softmax, the head.
 * Likewise a residual stream; the norms that take it are of 16 bits, but what the head and the last layer's chosen rows read. */
#include "model/kind.h"
#include "model/schedule.h"

/* The bit of a value in a list of an operation; 1 if it is not there. */
static bool allowed(const brim_list *list, unsigned bits, int32_t value) {
  for (int i = 0; i < list->count; i++)
    if (list->of[i] == value && !(bits >> i & 1))
      return false;
  return true;
}

static bool has_chosen_output(const brim_call_schedule *s, const brim_operation *o) {
  bool has = false;
  for (int i = 0; i < o->out.count; i++)
    has = has || s->values[o->out.of[i]].rows == BRIM_ROW_CHOSEN;
  return has;
}

/* The operation takes chosen rows of a value of which all are there: those are gathered from floats, and then rounded. */
static bool gathers(const brim_call_schedule *s, const brim_operation *o, int32_t value) {
  return s->values[value].rows == BRIM_ROW_TOKENS && has_chosen_output(s, o) && !allowed(&o->in, o->kind->alike.in, value);
}

static bool can_be_half(const brim_call_schedule *s, int32_t value) {
  const brim_program *p = s->program;
  const brim_value *v = &p->values[value];
  bool can = v->type == BRIM_AS_REAL && !v->exact && value != p->hidden && value != p->logits;
  for (size_t i = 0; i < p->operation_count && can; i++) {
    const brim_operation *o = &p->operations[i];
    can = allowed(&o->in, brim_half_inputs(o->kind, s->variant.precision), value) && allowed(&o->out, o->kind->half.out, value) &&
          allowed(&o->inner, o->kind->half.inner, value) && !gathers(s, o, value);
  }
  return can;
}

static bool has_wide(const brim_call_schedule *s, const brim_list *list, unsigned bits) {
  for (int i = 0; i < list->count; i++)
    if (bits >> i & 1 && s->values[list->of[i]].type != BRIM_AS_BF16)
      return true;
  return false;
}

/* Returns whether one became wide. */
static bool widen(brim_call_schedule *s, const brim_list *list, unsigned bits) {
  bool changed = false;
  for (int i = 0; i < list->count; i++)
    if (bits >> i & 1 && s->values[list->of[i]].type == BRIM_AS_BF16) {
      s->values[list->of[i]].type = BRIM_AS_REAL;
      changed = true;
    }
  return changed;
}

/* Tensors that have one type: a wide one makes the others wide. */
static bool make_alike(brim_call_schedule *s, const brim_operation *o) {
  const unsigned in = o->kind->alike.in, out = o->kind->alike.out;
  if (!has_wide(s, &o->in, in) && !has_wide(s, &o->out, out))
    return false;
  const bool inputs = widen(s, &o->in, in), outputs = widen(s, &o->out, out);
  return inputs || outputs;
}

void brim_pass_types(brim_call_schedule *s) {
  const brim_program *p = s->program;
  const bool bf16 = brim_precision_is_half(s->variant.precision);
  for (size_t i = 0; i < p->value_count; i++)
    s->values[i].type = bf16 && can_be_half(s, (int32_t)i) ? BRIM_AS_BF16 : p->values[i].type;
  for (bool changed = bf16; changed;) {
    changed = false;
    for (size_t i = 0; i < p->operation_count; i++)
      changed = make_alike(s, &p->operations[i]) || changed;
  }
}
