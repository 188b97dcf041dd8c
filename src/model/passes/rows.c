/* rows.c: which rows of each value are computed: those that somebody reads. From the end of the program to its beginning. */
#include "model/kind.h"
#include "model/schedule.h"

static void need(brim_call_schedule *s, int32_t value, brim_row_kind rows) {
  brim_value_plan *v = &s->values[value];
  if (rows > v->rows)
    v->rows = rows;
}

/* Outputs that nobody reads are not computed for any rows; they count as the fewest. */
static brim_row_kind rows_of_outputs(const brim_call_schedule *s, const brim_operation *o) {
  brim_row_kind rows = BRIM_ROW_TEXTS;
  for (int i = 0; i < o->out.count; i++)
    if (s->values[o->out.of[i]].rows > rows)
      rows = s->values[o->out.of[i]].rows;
  return rows;
}

static void pass_operation(brim_call_schedule *s, const brim_operation *o) {
  const brim_row_kind out = rows_of_outputs(s, o);
  for (int i = 0; i < o->in.count; i++) {
    const brim_row_kind all = s->program->values[o->in.of[i]].rows;
    const brim_need needs = o->kind->needs[i < BRIM_NEEDS ? i : BRIM_NEEDS - 1];
    need(s, o->in.of[i], needs == BRIM_NEED_ALL ? all : needs == BRIM_NEED_CHOSEN ? BRIM_ROW_CHOSEN : out);
  }
  for (int i = 0; i < o->inner.count; i++)
    need(s, o->inner.of[i], s->program->values[o->inner.of[i]].rows < out ? s->program->values[o->inner.of[i]].rows : out);
}

void brim_pass_rows(brim_call_schedule *s) {
  const brim_program *p = s->program;
  for (size_t i = 0; i < p->value_count; i++)
    s->values[i].rows = BRIM_ROW_TEXTS;
  if (s->variant.all_rows)
    need(s, p->hidden, BRIM_ROW_TOKENS);
  need(s, p->logits, p->values[p->logits].rows);
  for (size_t i = p->operation_count; i-- > 0;)
    pass_operation(s, &p->operations[i]);
}
