/* keep.c: what a training forward leaves for backward.
 *
 * Backward reads what the kinds say. An output that its operation can make again from sums that are kept anyway is not kept. With
 * checkpoints a layer keeps its input alone; backward runs its forward again, but that of the last layer, whose values are still
 * there. Of a value that is stored in fp32, and that backward reads in 16 bits alone, the copy is kept. */
#include "model/kind.h"
#include "model/schedule.h"

static void keep(brim_call_schedule *s, int32_t value, const brim_operation *reader, bool half) {
  const brim_program *p = s->program;
  brim_keep *is = &s->values[value].keep;
  const int32_t maker = p->values[value].maker;
  const bool inside = &p->operations[maker] == reader;
  if (s->trained[maker] && p->operations[maker].kind->again && !inside)
    *is = BRIM_KEEP_AGAIN;
  else if (!half || s->values[value].type != BRIM_AS_REAL)
    *is = BRIM_KEEP_AS_IS;
  else if (*is == BRIM_KEEP_NOT)
    *is = BRIM_KEEP_HALF;
}

static void keep_list(brim_call_schedule *s, const brim_list *list, unsigned which, unsigned half, const brim_operation *reader) {
  const bool bf16 = brim_precision_is_half(s->variant.precision);
  for (int i = 0; i < list->count; i++)
    if (which >> i & 1)
      keep(s, list->of[i], reader, bf16 && half >> i & 1);
}

static int trained_layers(const brim_call_schedule *s) {
  int count = 0;
  for (size_t i = 0; i < s->program->section_count; i++)
    count += s->program->sections[i].layer && s->sections[i].trained;
  return count;
}

/* What a section that is computed again reads of those before it: its input, and embeddings of distances, also frozen ones. */
static void keep_inputs(brim_call_schedule *s, size_t section) {
  const brim_program *p = s->program;
  const int32_t first = p->sections[section].first;
  const int32_t end = section + 1 < p->section_count ? p->sections[section + 1].first : (int32_t)p->operation_count;
  s->values[p->sections[section].input].keep = BRIM_KEEP_AS_IS;
  for (int32_t i = first; i < end; i++)
    for (int32_t k = 0; k < p->operations[i].in.count; k++)
      if (p->values[p->operations[i].in.of[k]].maker < first)
        s->values[p->operations[i].in.of[k]].keep = BRIM_KEEP_AS_IS;
}

/* All trained layers but the last are computed again. */
static void plan_checkpoints(brim_call_schedule *s) {
  const brim_program *p = s->program;
  bool above = false;
  for (size_t i = p->section_count; i-- > 0;) {
    if (!p->sections[i].layer || !s->sections[i].trained)
      continue;
    s->sections[i].again = above;
    above = true;
    keep_inputs(s, i);
  }
}

void brim_pass_keep(brim_call_schedule *s) {
  const brim_program *p = s->program;
  for (size_t i = 0; i < p->value_count; i++)
    s->values[i].keep = BRIM_KEEP_NOT;
  for (size_t i = 0; i < p->operation_count; i++) {
    const brim_operation *o = &p->operations[i];
    if (!s->trained[i])
      continue;
    keep_list(s, &o->in, o->kind->reads.in, brim_half_inputs(o->kind, s->variant.precision) & ~o->kind->alike.in, o);
    keep_list(s, &o->out, o->kind->reads.out, o->kind->half.out, o);
    keep_list(s, &o->inner, o->kind->reads.inner, o->kind->half.inner, o);
  }
  if (s->variant.training && s->variant.checkpoints && trained_layers(s) > 1)
    plan_checkpoints(s);
}
