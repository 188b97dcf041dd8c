/* found.c: what a model made of rows of texts: how far what belongs together lies from what does not, the worst rows, and
 * neighbours. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "target/target.h"
#include "train/answers/evaluate.h"
#include "views/views.h"

enum { MOST_FOUND = 2000, SAMPLES = 6, NEAREST = BRIM_MOST_NEAR / SAMPLES };

static uint64_t origin(const brim_verdict *v, uint64_t row) {
  return brim_dataset_origin(v->dataset, row);
}

/* Whether the others that a row is compared with are its own texts. */
static bool has_own(const brim_found_rows *found, uint64_t row) {
  const uint64_t *firsts = found->scored.firsts;
  return firsts && firsts[row + 1] - firsts[row] > 1 + (uint64_t)(found->scored.outputs > 1);
}

static void note_wrong(const brim_verdict *v, const brim_found_rows *found, uint64_t at, brim_judged *out) {
  const brim_target *target = brim_target_of(v->task);
  const uint64_t row = at * found->every;
  const bool own = has_own(found, row);
  brim_row_found f = found->rows[at];
  brim_wrong_row *w = brim_judged_note(out, origin(v, row), f.loss);
  if (!w)
    return;
  f.other = own || isnan(f.rival) ? f.other : origin(v, f.other);
  target->say(&f, own, w->label, w->predicted, sizeof w->label);
}

static void put_point(brim_judged *out, double label, double value) {
  if (isnan(value))
    return;
  out->labels[out->points] = label;
  out->values[out->points++] = value;
}

static int put_points(const brim_found_rows *found, brim_judged *out, brim_error *err) {
  const size_t room = 2 * (size_t)found->count + 1;
  out->labels = brim_alloc_array(out->runtime, room, sizeof *out->labels);
  out->values = brim_alloc_array(out->runtime, room, sizeof *out->values);
  if (!out->labels || !out->values)
    return BRIM_NOMEM(err);
  bool apart = true;
  for (uint64_t i = 0; i < found->count; i++) {
    const brim_row_found *f = &found->rows[i];
    put_point(out, isnan(f->label) ? 1 : f->label, f->predicted);
    if (isnan(f->label))
      put_point(out, 0, f->rival);
    apart = apart && (isnan(f->label) || f->label == 0 || f->label == 1);
  }
  out->apart = apart;
  return BRIM_OK;
}

static int find_near(const brim_verdict *v, const brim_found_rows *found, brim_judged *out, brim_error *err) {
  const brim_target *target = brim_target_of(v->task);
  const uint64_t rows = found->scored.rows, samples = rows < SAMPLES ? rows : SAMPLES;
  for (uint64_t i = 0; target->nearest && i < samples; i++) {
    const uint64_t row = i * rows / samples;
    brim_near near[NEAREST];
    const int count = target->nearest(&found->scored, row, NEAREST, near);
    if (count < 0)
      return BRIM_NOMEM(err);
    for (int k = 0; k < count; k++)
      out->near[out->near_count++] = (brim_near_row){
          .row = origin(v, row), .other = origin(v, near[k].row), .similarity = near[k].similarity};
  }
  return BRIM_OK;
}

int brim_judge_found(brim_runtime *runtime, const brim_verdict *v, brim_judged *out, brim_error *err) {
  brim_found_rows found;
  out->outputs = 1;
  int status = brim_found_open(runtime, v->task, v->outputs, v->meaning, v->logits, v->dataset, MOST_FOUND, &found, err);
  for (uint64_t i = 0; i < found.count && !status; i++)
    note_wrong(v, &found, i, out);
  if (!status)
    status = put_points(&found, out, err);
  if (!status)
    status = find_near(v, &found, out, err);
  brim_found_close(&found);
  return status;
}
