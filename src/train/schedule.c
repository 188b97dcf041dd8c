/* schedule.c: the learning rate of every step, and how many steps a run has. */
#include "train/schedule.h"

#include <math.h>
#include <string.h>

#include "base/runtime.h"
#include "base/status.h"
#include "train/answers/evaluate.h"

double brim_linear_schedule(double lr, uint64_t step, uint64_t warmup, uint64_t total) {
  uint64_t done = step > 0 ? step - 1 : 0;
  if (done < warmup)
    return lr * ((double)done / (double)warmup);
  if (done >= total)
    return 0.0;
  return lr * ((double)(total - done) / (double)(total > warmup ? total - warmup : 1));
}

double brim_learning_rate(brim_schedule schedule, double lr, uint64_t step, uint64_t warmup, uint64_t total) {
  const double pi = 3.14159265358979323846;
  uint64_t done = step > 0 ? step - 1 : 0;
  if (schedule == BRIM_SCHEDULE_LINEAR || done < warmup)
    return brim_linear_schedule(lr, step, warmup, total);
  if (schedule == BRIM_SCHEDULE_CONSTANT)
    return lr;
  if (done >= total)
    return 0.0;
  return lr * 0.5 * (1.0 + cos(pi * ((double)(done - warmup) / (double)(total - warmup))));
}

static const char *const schedule_names[] = {
    [BRIM_SCHEDULE_LINEAR] = "linear", [BRIM_SCHEDULE_COSINE] = "cosine", [BRIM_SCHEDULE_CONSTANT] = "constant"};
enum { SCHEDULES = sizeof schedule_names / sizeof *schedule_names };

const char *brim_schedule_name(brim_schedule schedule) {
  return (unsigned)schedule < SCHEDULES ? schedule_names[schedule] : "unknown";
}

bool brim_schedule_parse(const char *name, brim_schedule *out) {
  for (int i = 0; name && i < SCHEDULES; i++)
    if (strcmp(name, schedule_names[i]) == 0) {
      *out = (brim_schedule)i;
      return true;
    }
  return false;
}

uint64_t brim_warmup_steps(const brim_train_options *options, uint64_t total) {
  if (options->warmup_steps > 0)
    return options->warmup_steps;
  return (uint64_t)ceil((double)total * options->warmup_ratio);
}

/* Steps of an epoch of which only `share` is trained. The nudge keeps 0.3 * 10 from becoming 4. */
static uint64_t schedule_share(uint64_t steps, double share) {
  if (share >= 1.0)
    return steps;
  return (uint64_t)ceil((double)steps * share - 1e-9);
}

/* Is there nothing left to plan ahead? */
static bool outlook_done(const brim_outlook *outlook, const brim_train_options *options) {
  if (options->max_steps > 0)
    return outlook->total_steps >= BRIM_OUTLOOK_STEPS || outlook->epochs >= BRIM_OUTLOOK_EPOCHS;
  return options->epochs - (double)outlook->epochs <= 0.0;
}

static void widen_step(brim_outlook *out, const brim_plan *plan) {
  uint64_t step = UINT64_MAX, parts = 0;
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    parts = part.step == step ? parts + 1 : 1;
    step = part.step;
    out->step_rows = part.step_rows > out->step_rows ? part.step_rows : out->step_rows;
    out->step_parts = parts > out->step_parts ? parts : out->step_parts;
  }
}

static int outlook_epoch(brim_runtime *runtime, const brim_lengths *lengths, const brim_train_options *options, brim_outlook *out,
                         brim_plan **first, brim_error *err) {
  brim_plan *plan;
  BRIM_TRY(brim_check_cancel(runtime, err));
  BRIM_TRY(brim_plan_new_of(runtime, lengths, &options->plan, out->epochs, &plan, err));
  uint64_t steps = brim_plan_steps(plan);
  brim_limits_widen(&out->limits, plan, options->group.world_size);
  widen_step(out, plan);
  if (first && out->epochs == 0)
    *first = plan;
  else
    brim_plan_free(plan);
  if (steps == 0)
    return brim_error_set(err, BRIM_E_USAGE,
                          "the plan of epoch %llu has no step: there are fewer rows than a batch, which drop_last, or a tail "
                          "that is dropped, leaves out",
                          (unsigned long long)out->epochs);
  out->total_steps += options->max_steps > 0 ? steps : schedule_share(steps, options->epochs - (double)out->epochs);
  out->epochs++;
  return BRIM_OK;
}

int brim_outlook_run(brim_runtime *runtime, brim_lengths lengths, const brim_train_options *options, brim_outlook *out,
                     brim_plan **first, brim_error *err) {
  *out = (brim_outlook){.limits = {.training = true}};
  if (first)
    *first = NULL;
  int status = BRIM_OK;
  while (!status && !outlook_done(out, options))
    status = outlook_epoch(runtime, &lengths, options, out, first, err);
  if (status && first) {
    brim_plan_free(*first);
    *first = NULL;
  }
  if (options->max_steps > 0) {
    out->open = out->total_steps < options->max_steps;
    out->total_steps = options->max_steps;
  }
  return status;
}
