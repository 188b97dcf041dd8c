/* step.c: one optimizer step: parts forward and backward, the sum over ranks, the update. */
#include <math.h>
#include <stdio.h>

#include "base/runtime.h"
#include "base/status.h"
#include "train/trainer.h"

/* What one step adds up over its parts. */
typedef struct step_sums {
  double loss; /* this rank's share of the step's mean loss, then the whole */
  uint64_t tokens, slots;
  uint32_t rows;    /* of the step, over all ranks */
  uint64_t end;     /* first part of the next step */
  brim_planned bad; /* the first part of this rank whose loss is not finite (count 0: none) */
} step_sums;

static int step_part(brim_trainer *t, const brim_planned *part, step_sums *sums, brim_error *err) {
  const brim_pass pass = {.training = true, .dropout = true, .seed = t->options.seed, .optimizer_step = t->state.step + 1};
  double loss = 0.0;
  brim_profile_begin(t->options.profile, BRIM_WORK_DATA, "batch");
  int status = brim_batch_fill(&t->batch, t->runtime, t->dataset, part, err);
  brim_profile_end(t->options.profile, 0);
  BRIM_TRY(status);
  BRIM_TRY(brim_model_forward(t->model, &t->batch, &pass, &loss, NULL, err));
  if (!isfinite(loss) && sums->bad.count == 0)
    sums->bad = *part;
  sums->loss += loss;
  return brim_model_backward(t->model, &t->batch, &pass, err);
}

/* All parts of this rank. Counts come from the plan, which knows every rank's parts. */
static int step_parts(brim_trainer *t, step_sums *sums, brim_error *err) {
  const brim_group *group = &t->options.group;
  uint64_t parts = brim_plan_parts(t->plan);
  for (sums->end = t->part; sums->end < parts; sums->end++) {
    for (int32_t rank = 0; rank < group->world_size; rank++) {
      brim_planned part;
      brim_plan_part(t->plan, rank, sums->end, &part);
      if (part.step != t->state.epoch_step)
        return BRIM_OK;
      sums->tokens += (uint64_t)part.tokens, sums->slots += (uint64_t)part.slots;
      sums->rows = part.step_rows;
      if (rank == group->rank && part.count > 0)
        BRIM_TRY(step_part(t, &part, sums, err));
    }
  }
  return BRIM_OK;
}

/* Appends the rows of a part by their numbers in the source, at most eight in all. */
static size_t rows_text(const brim_trainer *t, char *text, size_t size, size_t used, const brim_planned *part, uint32_t *listed) {
  for (uint32_t i = 0; i < part->count && used < size; i++, ++*listed)
    if (*listed < 8)
      used += (size_t)snprintf(text + used, size - used, *listed ? ", %llu" : "%llu",
                               (unsigned long long)brim_dataset_origin(t->dataset, part->rows[i]));
  return used;
}

/* `bad` names the part at fault when it is known; otherwise all rows of the step on this rank are named. */
static int step_diverged(brim_trainer *t, const char *what, const step_sums *sums, brim_error *err) {
  char rows[240] = "", more[40] = "", kept[64] = "";
  uint32_t listed = 0;
  size_t used = 0;
  if (sums->bad.count > 0)
    rows_text(t, rows, sizeof rows, 0, &sums->bad, &listed);
  for (uint64_t i = t->part; i < sums->end && sums->bad.count == 0; i++) {
    brim_planned part;
    brim_plan_part(t->plan, t->options.group.rank, i, &part);
    used = rows_text(t, rows, sizeof rows, used, &part, &listed);
  }
  if (listed > 8)
    snprintf(more, sizeof more, " and %u more", (unsigned)(listed - 8));
  if (t->saved_step != BRIM_NO_STEP)
    snprintf(kept, sizeof kept, "; checkpoint step-%llu is kept", (unsigned long long)t->saved_step);
  return brim_error_set(
      err, BRIM_E_DIVERGED,
      "step %llu: the %s is not a finite number (rows %s%s of the training data): lower the learning rate or look at "
      "these rows%s",
      (unsigned long long)t->state.step + 1, what, rows, more, kept);
}

/* The loss over all ranks, and one decision for all of them: BRIM_OK, a failure somewhere, or *cancel. */
static int step_share(brim_trainer *t, int status, step_sums *sums, bool *cancel, brim_error *err) {
  const brim_group *group = &t->options.group;
  double shared[3] = {sums->loss, status != BRIM_OK, brim_runtime_cancelled(t->runtime)};
  brim_error ignored;
  int summed = group->sum_double(group->context, shared, 3, status ? &ignored : err);
  *cancel = shared[2] > 0.0;
  sums->loss = shared[0];
  if (status)
    return status;
  if (summed)
    return summed;
  if (shared[1] > 0.0)
    return *cancel ? brim_error_cancelled(err) : brim_error_set(err, BRIM_E_IO, "another rank failed; its message says why");
  return BRIM_OK;
}

static int step_update(brim_trainer *t, const step_sums *sums, double lr, double *norm, brim_error *err) {
  const brim_train_options *o = &t->options;
  if (!isfinite(sums->loss))
    return step_diverged(t, "loss", sums, err);
  if (o->group.world_size > 1) {
    BRIM_TRY(o->group.sum(o->group.context, brim_model_gradients(t->model), brim_model_flat_size(t->model), err));
    brim_model_gradients_written(t->model);
  }
  const brim_adamw adamw = {.lr = lr,
                            .beta1 = o->beta1,
                            .beta2 = o->beta2,
                            .eps = o->eps,
                            .weight_decay = o->weight_decay,
                            .clip = o->clip,
                            .step = t->state.step + 1};
  int status = brim_model_update(t->model, &adamw, norm, err);
  return status == BRIM_E_DIVERGED ? step_diverged(t, "gradient", sums, err) : status;
}

static void tally_add(brim_tally *tally, const step_sums *sums) {
  tally->loss += sums->loss * (double)sums->rows;
  tally->rows += sums->rows;
  tally->tokens += sums->tokens;
  tally->slots += sums->slots;
}

static void step_done(brim_trainer *t, const step_sums *sums) {
  tally_add(&t->state.run, sums);
  tally_add(&t->state.since_epoch, sums);
  tally_add(&t->state.since_log, sums);
  t->tokens_here += sums->tokens;
  t->part = sums->end;
  t->state.step++;
  t->state.epoch_step++;
  t->state.pending = true;
}

static double step_rate(const brim_trainer *t) {
  const brim_train_options *o = &t->options;
  return brim_learning_rate(o->schedule, o->lr, t->state.step + 1, t->warmup, t->survey.total_steps);
}

static int step_run(brim_trainer *t, brim_error *err) {
  step_sums sums = {0};
  double norm = 0.0, lr = step_rate(t);
  bool cancel = false;
  int status = step_share(t, step_parts(t, &sums, err), &sums, &cancel, err);
  if (!status)
    status = step_update(t, &sums, lr, &norm, err);
  if (status) {
    brim_model_zero_gradients(t->model);
    return status;
  }
  step_done(t, &sums);
  BRIM_TRY(brim_trainer_emit_step(t, sums.loss, lr, norm, err));
  t->state.log_bytes = t->folder.log.bytes;
  t->safe = t->state;
  if (t->options.group.world_size == 1)
    cancel = brim_runtime_cancelled(t->runtime); /* ranks decide together, in their next step */
  return cancel ? brim_error_cancelled(err) : BRIM_OK;
}

int brim_trainer_step(brim_trainer *t, brim_error *err) {
  brim_profile_begin(t->options.profile, BRIM_WORK_FRAME, "step");
  int status = step_run(t, err);
  brim_profile_end(t->options.profile, 0);
  return status;
}
