/* schedule_make.c: all calls of a program, forward and backward. */
#include "model/schedule.h"

#include "base/memory.h"
#include "base/status.h"
#include "model/lowering.h"

/* ---- forward ------------------------------------------------------------------------------------------------ */

static int32_t section_end(const brim_program *p, int32_t section) {
  return (size_t)section + 1 < p->section_count ? p->sections[section + 1].first : (int32_t)p->operation_count;
}

static void lower_forward(brim_lowering *l, int32_t section) {
  const brim_program *p = l->program;
  l->operation = p->sections[section].first;
  for (int32_t i = p->sections[section].first; i < section_end(p, section) && !l->status; i++) {
    l->operation = i;
    p->operations[i].kind->forward(l, &p->operations[i]);
  }
}

/* What a caller may look at after forward lives until backward begins. */
static int32_t publish(brim_lowering *l, int32_t value) {
  const int32_t version = l->held[value].now;
  brim_call_schedule *s = l->schedule;
  if (l->status || version == BRIM_NONE || s->versions[version].last < 0)
    return BRIM_NONE;
  if (s->versions[version].last < s->forward_count)
    s->versions[version].last = s->forward_count;
  return version;
}

/* ---- backward ----------------------------------------------------------------------------------------------- */

static void lower_backward(brim_lowering *l, int32_t section) {
  const brim_program *p = l->program;
  if (l->schedule->sections[section].again) {
    l->phase = BRIM_FORWARD_AGAIN;
    lower_forward(l, section);
    brim_forget(l);
    l->phase = BRIM_BACKWARD;
  }
  for (int32_t i = section_end(p, section) - 1; i >= p->sections[section].first && !l->status; i--) {
    const brim_operation *o = &p->operations[i];
    l->operation = i;
    if (!l->schedule->trained[i])
      continue;
    if (o->kind->backward)
      o->kind->backward(l, o);
    brim_join_chosen(l, o);
  }
}

/* ---- entry -------------------------------------------------------------------------------------------------- */

static int take_lists(brim_call_schedule *s, brim_error *err) {
  const brim_program *p = s->program;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->values, &s->value_room, p->value_count, sizeof *s->values, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->held, &s->held_room, p->value_count, sizeof *s->held, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->trained, &s->operation_room, p->operation_count, sizeof *s->trained, err));
  return brim_grow(s->runtime, (void **)&s->sections, &s->section_room, p->section_count, sizeof *s->sections, err);
}

static int take_order(brim_call_schedule *s, size_t versions, brim_error *err) {
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->order, &s->order_room, versions, sizeof *s->order, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->by_offset, &s->by_offset_room, versions, sizeof *s->by_offset, err));
  return brim_grow(s->runtime, (void **)&s->lasts, &s->last_room, versions, sizeof *s->lasts, err);
}

int brim_schedule_reserve(brim_call_schedule *s, const brim_program *program, brim_error *err) {
  enum { CALLS = 12, FILLS = 10, VERSIONS = 10, OPERANDS = 200 }; /* calls and versions of an operation; the others of a call */
  const size_t calls = CALLS * program->operation_count, versions = VERSIONS * program->operation_count;
  s->runtime = program->runtime;
  s->program = program;
  BRIM_TRY(take_lists(s, err));
  BRIM_TRY(take_order(s, versions, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->calls, &s->call_room, calls, sizeof *s->calls, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->fills, &s->fill_room, FILLS * calls, sizeof *s->fills, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->versions, &s->version_room, versions, sizeof *s->versions, err));
  return brim_grow(s->runtime, (void **)&s->operands, &s->operand_room, OPERANDS * calls, 1, err);
}

static void hold_nothing(brim_call_schedule *s) {
  for (size_t i = 0; i < s->program->value_count; i++)
    s->held[i] = (brim_held){.leader = (int32_t)i,
                             .now = BRIM_NONE,
                             .half = BRIM_NONE,
                             .gradient = BRIM_NONE,
                             .chosen = BRIM_NONE,
                             .chosen_half = BRIM_NONE,
                             .chosen_gradient = BRIM_NONE,
                             .chosen_by = BRIM_NONE};
}

/* A gradient is complete when no later call changes it. */
static void find_complete(brim_call_schedule *s) {
  int64_t end = 0;
  for (int32_t i = (int32_t)s->call_count - 1; i >= s->forward_count; i--) {
    s->calls[i].complete = end;
    end = s->calls[i].changes_to > end ? s->calls[i].changes_to : end;
  }
}

static int fail(const brim_lowering *l, brim_error *err) {
  if (l->status == BRIM_E_MEMORY)
    return BRIM_NOMEM(err);
  return brim_error_set(err, BRIM_E_UNSUPPORTED, "the model has a gradient whose contributions cannot be added up");
}

/* Predictions whose head looks at first tokens alone keep these, which are few, for who wants them. */
static bool gives_first(const brim_call_schedule *s) {
  return !s->variant.training && s->values[s->program->hidden].rows == BRIM_ROW_CHOSEN;
}

int brim_schedule_make(brim_call_schedule *s, const brim_program *program, const brim_variant *variant, brim_error *err) {
  s->runtime = program->runtime;
  s->program = program;
  s->variant = *variant;
  s->call_count = s->fill_count = s->version_count = s->operand_count = 0;
  s->hidden = s->logits = s->outcomes = s->seed = BRIM_NONE;
  s->features = variant->precision == BRIM_PRECISION_FP16 ? BRIM_FEATURE_FP16 : 0;
  BRIM_TRY(take_lists(s, err));
  brim_pass_rows(s);
  brim_pass_gradient(s);
  brim_pass_types(s);
  brim_pass_keep(s);
  hold_nothing(s);
  brim_lowering l = {.program = program, .schedule = s, .held = s->held};
  for (int32_t i = 0; (size_t)i < program->section_count; i++)
    lower_forward(&l, i);
  s->forward_count = (int32_t)s->call_count;
  s->logits = publish(&l, program->logits);
  s->outcomes = program->outcomes == BRIM_NONE ? BRIM_NONE : publish(&l, program->outcomes);
  s->seed = l.held[program->logits].gradient;
  s->hidden = variant->all_rows || gives_first(s) ? publish(&l, program->hidden) : BRIM_NONE;
  brim_forget(&l);
  l.phase = BRIM_BACKWARD;
  for (int32_t i = (int32_t)program->section_count - 1; i >= 0; i--)
    if (s->sections[i].trained)
      lower_backward(&l, i);
  find_complete(s);
  if (!l.status)
    l.status = take_order(s, s->version_count, err);
  return l.status ? fail(&l, err) : BRIM_OK;
}

void brim_schedule_free(brim_call_schedule *s) {
  void *blocks[] = {s->values,   s->trained, s->sections, s->calls,     s->fills, s->versions,
                    s->operands, s->held,    s->order,    s->by_offset, s->lasts};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    brim_release(s->runtime, blocks[i]);
  *s = (brim_call_schedule){0};
}
