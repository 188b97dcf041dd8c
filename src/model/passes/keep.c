/* keep.c: what a training forward leaves for backward.
 *
 * Backward reads what the kinds say. An output that its operation can make again from sums that are kept anyway is not kept. With
 * checkpoints a layer keeps its input alone; backward runs its forward again, but that of the last layer, whose values are still
 * there. In bf16 what is kept is a copy in 16 bits, and layers' inputs are rounded, so that forward and backward see the same;
 * sums of norms and softmax are exact, and so is all that belongs to texts. */
#include "model/kind.h"

/* Two layers, of which the last keeps little, take no less memory with copies and what the copies are made of. */
enum { LEAST_NARROW = 3 };

static void keep(brim_call_schedule *s, int32_t value, const brim_operation *reader) {
  const brim_program *p = s->program;
  const int32_t maker = p->values[value].maker;
  const bool inside = &p->operations[maker] == reader;
  s->values[value].keep = s->trained[maker] && p->operations[maker].kind->again && !inside ? BRIM_KEEP_AGAIN : BRIM_KEEP_WIDE;
}

static void keep_list(brim_call_schedule *s, const brim_list *list, unsigned which, const brim_operation *reader) {
  for (int i = 0; i < list->count; i++)
    if (which >> i & 1)
      keep(s, list->of[i], reader);
}

static int trained_layers(const brim_call_schedule *s) {
  int count = 0;
  for (size_t i = 0; i < s->program->part_count; i++)
    count += s->program->parts[i].layer && s->parts[i].trained;
  return count;
}

static int all_layers(const brim_call_schedule *s) {
  int count = 0;
  for (size_t i = 0; i < s->program->part_count; i++)
    count += s->program->parts[i].layer;
  return count;
}

/* All trained layers but the last are computed again. */
static void plan_checkpoints(brim_call_schedule *s) {
  const brim_program *p = s->program;
  bool above = false;
  for (size_t i = p->part_count; i-- > 0;) {
    if (!p->parts[i].layer || !s->parts[i].trained)
      continue;
    s->parts[i].again = above;
    above = true;
    s->values[p->parts[i].input].keep = BRIM_KEEP_WIDE;
  }
}

/* Values of tokens; in layers that are computed again, rounded in place. */
static void narrow(brim_call_schedule *s, bool checkpoints) {
  const brim_program *p = s->program;
  for (size_t i = 0; i < p->value_count; i++) {
    const brim_value *v = &p->values[i];
    const bool layer = p->parts[p->operations[v->maker].part].layer;
    if (s->values[i].keep == BRIM_KEEP_WIDE && v->rows == BRIM_ROW_TOKENS && !v->exact)
      s->values[i].keep = checkpoints && layer ? BRIM_KEEP_ROUNDED : BRIM_KEEP_NARROW;
  }
  for (size_t i = 0; i < p->part_count; i++)
    if (s->parts[i].rounded)
      s->values[p->parts[i].input].keep = BRIM_KEEP_NARROW;
}

void brim_pass_keep(brim_call_schedule *s) {
  const brim_program *p = s->program;
  const bool training = s->variant.training, bf16 = s->variant.precision == BRIM_PRECISION_BF16;
  const int layers = training ? trained_layers(s) : all_layers(s);
  const bool checkpoints = training && s->variant.checkpoints && layers > 1, is_narrow = bf16 && layers >= LEAST_NARROW;
  for (size_t i = 0; i < p->value_count; i++)
    s->values[i].keep = BRIM_KEEP_NOT;
  for (size_t i = 0; i < p->operation_count; i++) {
    const brim_operation *o = &p->operations[i];
    if (!s->trained[i])
      continue;
    keep_list(s, &o->in, o->kind->reads.in, o);
    keep_list(s, &o->out, o->kind->reads.out, o);
    keep_list(s, &o->inner, o->kind->reads.inner, o);
  }
  for (size_t i = 0; i < p->part_count; i++)
    s->parts[i].rounded = is_narrow && p->parts[i].layer && (s->parts[i].trained || !training);
  if (checkpoints)
    plan_checkpoints(s);
  if (is_narrow && training)
    narrow(s, checkpoints);
}
