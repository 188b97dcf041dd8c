/* step.c: one optimizer step: parts forward and backward, the sum over ranks, the update. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/runtime.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/run/mixout.h"
#include "model/run/queue.h"
#include "train/average.h"
#include "train/loss_scale.h"
#include "train/sum.h"
#include "train/trainer.h"

enum { NAMED = 8 }; /* rows that a message names */

/* A part, as its answer is read. */
typedef struct step_part {
  uint64_t named[NAMED]; /* its first rows */
  int32_t rows, slice;   /* slice < 0: it has none, or several, whose losses are noted */
} step_part;

/* What one step adds up over its parts. */
typedef struct step_sums {
  double loss; /* this rank's share of the step's mean loss, then the whole */
  double norm; /* of the gradient */
  uint64_t tokens, slots;
  uint32_t rows;         /* of the step, over all ranks */
  double divisor;        /* of the loss: these rows, or the sum of their weights */
  uint64_t named[NAMED]; /* the first rows of this rank, or of its first part whose loss is not finite */
  uint64_t listed;
  bool bad;                          /* there is such a part */
  step_part parts[BRIM_MOST_QUEUED]; /* that wait for their answers */
  int32_t waiting;
} step_sums;

static void note_rows(step_sums *sums, const step_part *part, bool bad) {
  if (sums->bad)
    return;
  if (bad)
    sums->listed = 0;
  sums->bad = bad;
  for (int32_t i = 0; i < part->rows; i++, sums->listed++)
    if (sums->listed < NAMED)
      sums->named[sums->listed] = part->named[i];
}

/* Waits for what the device has found so far. */
static int step_answers(brim_trainer *t, step_sums *sums, brim_error *err) {
  brim_answers answers;
  BRIM_TRY(brim_model_answers(t->model, &answers, err));
  for (int32_t i = 0; i < sums->waiting; i++) {
    note_rows(sums, &sums->parts[i], !isfinite(answers.losses[i]));
    sums->loss += answers.losses[i];
    if (sums->parts[i].slice >= 0)
      brim_slice_sums_note(&t->slices, sums->parts[i].slice, answers.losses[i]);
  }
  sums->waiting = 0;
  sums->norm = answers.norm;
  return BRIM_OK;
}

static int step_compute(brim_trainer *t, const brim_batch *part, step_sums *sums, brim_error *err) {
  const brim_pass pass = {.training = true,
                          .dropout = true,
                          .seed = t->options.seed,
                          .optimizer_step = t->state.step + 1,
                          .class_weights = t->class_weights,
                          .label_smoothing = t->options.label_smoothing,
                          .loss_scale = brim_loss_scale(t)};
  if (brim_model_queue_full(t->model))
    BRIM_TRY(step_answers(t, sums, err));
  if (part->slices) {
    brim_slice_sums_next(&t->slices, part->slices[0]);
    brim_overlapped_sum_early(&t->overlap);
  }
  BRIM_TRY(brim_model_queue_forward(t->model, part, &pass, err));
  const bool several = part->slices && part->slices[0] != part->slices[part->count - 1];
  if (several)
    brim_slice_sums_note_all(&t->slices);
  step_part *noted = &sums->parts[sums->waiting++];
  *noted = (step_part){.rows = part->count, .slice = part->slices && !several ? part->slices[0] : -1};
  for (int32_t i = 0; i < part->count && i < NAMED; i++)
    noted->named[i] = part->rows[i];
  return brim_model_backward(t->model, part, &pass, err);
}

/* Slice by slice where the model cannot compute several at once. */
static int step_compute_slices(brim_trainer *t, const brim_batch *part, step_sums *sums, brim_error *err) {
  if (!part->slices || t->slices.joins)
    return step_compute(t, part, sums, err);
  for (int32_t first = 0; first < part->count;) {
    brim_batch slice;
    BRIM_TRY(brim_slice_sums_cut(&t->slices, part, first, &slice, err));
    BRIM_TRY(step_compute(t, &slice, sums, err));
    first += slice.count;
  }
  return BRIM_OK;
}

/* All parts of this rank, queued. The supply counts those of all ranks. */
static int step_queue(brim_trainer *t, step_sums *sums, brim_error *err) {
  if (t->options.plan.slices > 0)
    brim_slice_sums_begin(&t->slices);
  for (bool last = false; !last;) {
    const brim_batch *part;
    brim_profile_begin(t->options.profile, BRIM_WORK_DATA, "batch");
    int status = brim_supply_next(&t->supply, &part, &last, err);
    brim_profile_end(t->options.profile, 0);
    BRIM_TRY(status);
    if (last) {
      brim_overlapped_sum_begin(&t->overlap);
      brim_device_ranks_begin(&t->devices);
    }
    if (part->count > 0)
      BRIM_TRY(step_compute_slices(t, part, sums, err));
  }
  brim_device_ranks_end(&t->devices);
  if (t->options.plan.slices > 0)
    brim_slice_sums_end(&t->slices);
  sums->rows = t->supply.rows;
  sums->divisor = t->supply.divisor;
  sums->tokens = t->supply.tokens, sums->slots = t->supply.slots;
  return BRIM_OK;
}

/* With mixout all of them see the same mixed weights. */
static int step_parts(brim_trainer *t, step_sums *sums, brim_error *err) {
  brim_model_mix(t->model, t->options.seed, t->state.step + 1);
  const int status = step_queue(t, sums, err);
  brim_model_unmix(t->model);
  return status;
}

/* Names the part at fault when it is known; otherwise the rows of the step on this rank. */
static int step_diverged(brim_trainer *t, const char *what, const step_sums *sums, brim_error *err) {
  char rows[480] = "", more[40] = "", kept[64] = "";
  size_t used = 0;
  for (uint64_t i = 0; i < sums->listed && i < NAMED && used + 4 < sizeof rows; i++) {
    used += (size_t)snprintf(rows + used, sizeof rows - used, "%s", i ? ", " : "");
    used += brim_supply_row_text(&t->supply, sums->named[i], rows + used, sizeof rows - used);
  }
  if (sums->listed > NAMED)
    snprintf(more, sizeof more, " and %llu more", (unsigned long long)(sums->listed - NAMED));
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
  double shared[4] = {sums->loss, status && status != BRIM_E_CANCELLED, status == BRIM_E_CANCELLED,
                      brim_runtime_cancelled(t->runtime)};
  brim_error ignored, *why = status ? &ignored : err;
  int summed = t->options.plan.slices > 0 ? brim_slice_sums_share(&t->slices, &sums->loss, shared + 1, 3, why)
                                          : group->sum_double(group->context, shared, 4, why);
  if (summed)
    return status ? status : summed;
  if (t->options.plan.slices == 0)
    sums->loss = shared[0];
  *cancel = shared[3] > 0.0;
  return brim_group_decide(status, shared[1], shared[2], err);
}

/* What is left of the sum over ranks that backward has begun. Also where this rank has failed, but for the group. */
static int step_join(brim_trainer *t, int status, brim_error *err) {
  const double begun = brim_seconds_now();
  brim_error ignored;
  if (!t->overlap.runtime)
    return status;
  brim_profile_begin(t->options.profile, BRIM_WORK_RANKS, "gradient of all processes");
  const int joined = brim_overlapped_sum_end(&t->overlap, status ? &ignored : err);
  brim_profile_end(t->options.profile, 0);
  t->times.communication += brim_seconds_now() - begun;
  return status ? status : joined;
}

/* The gradient of all slices and all ranks. */
static int step_sum(brim_trainer *t, brim_error *err) {
  const brim_train_options *o = &t->options;
  const double begun = brim_seconds_now();
  if (t->overlap.runtime)
    return BRIM_OK;
  brim_profile_begin(o->profile, BRIM_WORK_RANKS, "gradient of all processes");
  const int status = t->sharing.memory    ? brim_sharing_sum(&t->sharing, err)
                     : o->plan.slices > 0 ? brim_slice_sums_add(&t->slices, NULL, NULL, err)
                     : t->devices.joined  ? brim_device_ranks_wait(&t->devices, err)
                                          : brim_sum_gradient(&o->group, t->runtime, t->model, NULL, NULL, err);
  brim_profile_end(o->profile, 0);
  t->times.communication += brim_seconds_now() - begun;
  return status;
}

/* The device decides whether there is an update: it has the losses that were not answered, and the gradient. */
static int step_update(brim_trainer *t, double lr, brim_error *err) {
  const brim_train_options *o = &t->options;
  const brim_update_options update = {.lr = lr,
                                      .beta1 = o->beta1,
                                      .beta2 = o->beta2,
                                      .eps = o->eps,
                                      .weight_decay = o->weight_decay,
                                      .momentum = o->momentum,
                                      .clip = o->clip,
                                      .layer_decay = o->layer_lr_decay,
                                      .step = t->state.step + 1 - t->state.skipped,
                                      .loss_scale = brim_loss_scale(t)};
  return t->sharing.memory ? brim_sharing_update(&t->sharing, &update, err) : brim_model_queue_update(t->model, &update, err);
}

/* Weights that other ranks have updated. */
static int step_gather(brim_trainer *t, brim_error *err) {
  const double begun = brim_seconds_now();
  if (!t->sharing.memory)
    return BRIM_OK;
  brim_profile_begin(t->options.profile, BRIM_WORK_RANKS, "weights of all processes");
  const int status = brim_sharing_gather(&t->sharing, err);
  brim_profile_end(t->options.profile, 0);
  t->times.communication += brim_seconds_now() - begun;
  return status;
}

/* Alone the device is asked once, after the update; among ranks before the sum of their gradients too. */
static int step_own(brim_trainer *t, step_sums *sums, double lr, brim_error *err) {
  BRIM_TRY(step_parts(t, sums, err));
  if (t->options.group.world_size <= 1 && isfinite(sums->loss)) /* of those that were answered */
    BRIM_TRY(step_update(t, lr, err));
  return step_answers(t, sums, err);
}

static int step_among_ranks(brim_trainer *t, step_sums *sums, double lr, brim_error *err) {
  BRIM_TRY(step_sum(t, err));
  BRIM_TRY(step_update(t, lr, err));
  BRIM_TRY(step_gather(t, err));
  return step_answers(t, sums, err);
}

static int step_finish(brim_trainer *t, step_sums *sums, double lr, brim_error *err) {
  if (!isfinite(sums->loss))
    return step_diverged(t, "loss", sums, err);
  if (t->options.group.world_size > 1)
    BRIM_TRY(step_among_ranks(t, sums, lr, err));
  return isfinite(sums->norm) || brim_loss_scale_halve(t) ? BRIM_OK : step_diverged(t, "gradient", sums, err);
}

static void tally_add(brim_tally *tally, const step_sums *sums) {
  tally->loss += sums->loss * sums->divisor;
  tally->weight += sums->divisor;
  tally->rows += sums->rows;
  tally->tokens += sums->tokens;
  tally->slots += sums->slots;
}

static int step_done(brim_trainer *t, const step_sums *sums, brim_error *err) {
  tally_add(&t->state.run, sums);
  tally_add(&t->state.since_epoch, sums);
  tally_add(&t->state.since_log, sums);
  t->tokens_here += sums->tokens;
  t->state.step++;
  t->state.epoch_step++;
  t->state.pending = true;
  brim_loss_scale_served(t, isfinite(sums->norm));
  if (t->average && t->state.step >= t->average_first && (t->state.step - t->average_first) % t->average_every == 0) {
    BRIM_TRY(brim_average_add(t->runtime, t->model, t->average, t->state.averaged, err));
    t->state.averaged++;
  }
  return brim_supply_step_done(&t->supply, err);
}

static double step_rate(const brim_trainer *t) {
  const brim_train_options *o = &t->options;
  return brim_learning_rate(o->schedule, o->lr, t->state.step + 1, t->warmup, t->outlook.total_steps);
}

/* After a failure nothing of the step waits, and nothing is left of it. */
static void step_undo(brim_trainer *t) {
  brim_answers unused;
  brim_error ignored;
  brim_device_ranks_undo(&t->devices);
  (void)!brim_model_answers(t->model, &unused, &ignored);
  brim_model_zero_gradients(t->model);
}

static int step_run(brim_trainer *t, brim_error *err) {
  step_sums sums = {0};
  const double lr = step_rate(t), begun = brim_seconds_now();
  bool cancel = false;
  int status = step_own(t, &sums, lr, err);
  t->times.compute += brim_seconds_now() - begun;
  status = step_join(t, status, err);
  const double computed = brim_seconds_now();
  brim_profile_begin(t->options.profile, BRIM_WORK_RANKS, "waiting for all processes");
  status = step_share(t, status, &sums, &cancel, err);
  brim_profile_end(t->options.profile, 0);
  t->times.wait += brim_seconds_now() - computed;
  if (!status)
    status = step_finish(t, &sums, lr, err);
  if (status) {
    step_undo(t);
    return status;
  }
  BRIM_TRY(brim_group_agree(&t->options.group, step_done(t, &sums, err), err));
  brim_sharing_done(&t->sharing);
  BRIM_TRY(brim_trainer_emit_step(t, sums.loss, lr, sums.norm, err));
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
