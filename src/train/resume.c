/* resume.c: where a run resumes, and what it has otherwise than before: more steps, other kernels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "train/average.h"
#include "train/trainer.h"

/* Steps and warm-up of the run as it was planned before. */
static int former_plan(const brim_trainer *t, const brim_train_former *former, uint64_t *steps, uint64_t *warmup,
                       brim_error *err) {
  const brim_dataset *data = t->supply.dataset;
  brim_train_options options = t->options;
  brim_outlook outlook = {.total_steps = former->max_steps};
  options.epochs = former->epochs, options.max_steps = former->max_steps;
  if (former->max_steps == 0 && data)
    BRIM_TRY(brim_outlook_run(t->runtime, brim_lengths_of(data), &options, &outlook, NULL, err));
  *steps = outlook.total_steps;
  *warmup = brim_warmup_steps(&options, outlook.total_steps);
  return BRIM_OK;
}

static int refuse_length(const brim_trainer *t, const brim_train_former *former, uint64_t steps, brim_error *err) {
  char before[64];
  if (former->max_steps > 0)
    snprintf(before, sizeof before, "max_steps %llu", (unsigned long long)former->max_steps);
  else
    snprintf(before, sizeof before, "epochs %.9g", former->epochs);
  if (former->max_steps > 0 && t->options.max_steps == 0)
    return brim_error_at(
        err, BRIM_E_MISMATCH, t->folder.output, 0, -1,
        "the run was started with %s, which is missing now: give the same to resume, or more to make the run longer", before);
  return brim_error_at(err, BRIM_E_MISMATCH, t->folder.output, 0, -1,
                       "the run was begun with %s, which is %llu steps, now it is %llu: a run that is resumed may become "
                       "longer, not shorter",
                       before, (unsigned long long)steps, (unsigned long long)t->outlook.total_steps);
}

/* Weights are averaged from a share of the longer run's steps on: what was averaged before that is left out. */
static int average_longer(brim_trainer *t, brim_error *err) {
  if (t->average_first == 0 || t->state.step > t->average_first)
    return BRIM_OK;
  t->state.averaged = 0;
  if (t->state.step < t->average_first)
    return BRIM_OK;
  t->state.averaged = 1;
  return brim_average_add(t->runtime, t->model, t->average, 0, err);
}

/* The longer run's schedule counts from here on. */
static int make_longer(brim_trainer *t, const brim_train_former *former, brim_error *err) {
  const brim_train_options *o = &t->options;
  const uint64_t total = t->outlook.total_steps, next = t->state.step + 1;
  uint64_t steps, warmup;
  if (former->epochs == o->epochs && former->max_steps == o->max_steps)
    return BRIM_OK;
  BRIM_TRY(former_plan(t, former, &steps, &warmup, err));
  if (total < steps || (former->max_steps > 0 && o->max_steps == 0))
    return refuse_length(t, former, steps, err);
  if (total == steps)
    return BRIM_OK;
  if (t->state.stopped)
    return brim_error_at(err, BRIM_E_MISMATCH, t->folder.output, 0, -1,
                         "early stopping (patience) ended this run at step %llu, so it cannot become longer: start another run "
                         "with more patience, or without it",
                         (unsigned long long)t->state.step);
  BRIM_TRY(average_longer(t, err));
  t->resumed.longer = true;
  t->resumed.former_steps = steps;
  t->resumed.former_rate = brim_learning_rate(o->schedule, o->lr, next, warmup, steps);
  t->resumed.rate = brim_learning_rate(o->schedule, o->lr, next, t->warmup, total);
  return BRIM_OK;
}

/* The weights that the run is to end with are looked for now, and not after all steps. */
static int check_best(const brim_trainer *t, brim_error *err) {
  const bool earlier = t->state.best_step > 0 && t->state.best_step != t->state.step;
  return earlier && t->options.final == BRIM_FINAL_BEST
             ? brim_checkpoint_check_best(&t->folder, t->state.best_step, &t->identity, err)
             : BRIM_OK;
}

/* Every rank reads the checkpoint; rank 0 brings the log back to it. */
int brim_trainer_resume(brim_trainer *t, brim_error *err) {
  brim_train_former former;
  uint64_t *steps;
  size_t count;
  BRIM_TRY(brim_checkpoint_steps(t->runtime, t->folder.checkpoints, &steps, &count, err));
  if (count > 0)
    t->saved_step = steps[count - 1];
  brim_release(t->runtime, steps);
  if (count == 0)
    return brim_log_cut(&t->folder.log, 0, err);
  BRIM_TRY(
      brim_checkpoint_load(&t->folder, t->saved_step, t->model, &t->identity, &t->state, &former, t->average, &t->supply, err));
  BRIM_TRY(make_longer(t, &former, err));
  if (t->identity.judged_by == 0) /* the best is still of those rows, whoever evaluates again */
    t->identity.judged_by = former.judged_by;
  t->resumed.other_kernels = strcmp(former.kernels, t->identity.kernels) != 0;
  memcpy(t->resumed.former_kernels, former.kernels, sizeof former.kernels);
  if (t->best) { /* no checkpoint has them */
    t->state.best = (double)NAN;
    t->state.best_step = 0;
  }
  BRIM_TRY(check_best(t, err));
  t->earlier = t->state.seconds;
  if (t->options.group.rank == 0) { /* what a run that was killed after its checkpoint did not get to */
    BRIM_TRY(brim_checkpoint_link_best(&t->folder, t->state.best_step, err));
    BRIM_TRY(brim_checkpoint_prune(&t->folder, t->options.keep_checkpoints, t->state.best_step, &t->found, err));
  }
  t->resumed.log_lost = t->folder.log.file >= 0 && t->folder.log.bytes < t->state.log_bytes;
  return brim_log_cut(&t->folder.log, t->state.log_bytes, err);
}
