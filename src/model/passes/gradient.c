/* gradient.c: which operations take part in backward: those with trained weights, and all that lie above one. */
#include "model/kind.h"
#include "model/schedule.h"

static bool has_gradient(const brim_call_schedule *s, int32_t weight) {
  return weight != BRIM_NONE && brim_trained_at(s->variant.trained, brim_weight_at(s->program, weight)) >= 0;
}

void brim_pass_gradient(brim_call_schedule *s) {
  const brim_program *p = s->program;
  for (size_t i = 0; i < p->operation_count; i++) {
    const brim_operation *o = &p->operations[i];
    bool takes_part = false;
    for (int k = 0; k < o->weights.count; k++)
      takes_part = takes_part || has_gradient(s, o->weights.of[k]);
    for (int k = 0; k < o->in.count; k++)
      takes_part = takes_part || s->trained[p->values[o->in.of[k]].maker];
    s->trained[i] = takes_part && s->variant.training;
  }
  for (size_t i = 0; i < p->section_count; i++) {
    const size_t end = i + 1 < p->section_count ? (size_t)p->sections[i + 1].first : p->operation_count;
    s->sections[i] = (brim_section_plan){0};
    for (size_t k = (size_t)p->sections[i].first; k < end; k++)
      s->sections[i].trained = s->sections[i].trained || s->trained[k];
  }
}
