/* boundary.c: what happens between two optimizer steps. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/run/ask.h"
#include "train/answers/evaluate.h"
#include "train/trainer.h"

/* ---- evaluation ------------------------------------------------------------------------------------------- */

/* An undefined value (NaN) is never better, and anything is better than one. */
static bool boundary_better(const brim_trainer *t, double value, double than, double by) {
  return (isnan(than) && !isnan(value)) || (t->small ? value < than - by : value > than + by);
}

static void boundary_note_best(brim_trainer *t, double value) {
  if (boundary_better(t, value, t->state.best, 0.0)) {
    t->state.best = value;
    t->state.best_step = t->state.step;
  }
  if (!isnan(value) || !isnan(t->state.best)) /* before the first that is defined there is nothing to improve on */
    t->state.waited++;
  if (boundary_better(t, value, t->state.reference, t->options.min_delta)) {
    t->state.reference = value;
    t->state.waited = 0;
  }
  t->state.stopped = t->options.patience > 0 && t->state.waited >= t->options.patience;
}

typedef enum ready { OF_STEP, OF_AVERAGE, AGAIN } ready; /* AGAIN: what the log has, or what is not for it */

/* What an evaluation came to: brim's metrics, and the caller's, which rank 0 has. */
typedef struct found {
  brim_metrics metrics;
  brim_own_metric own[BRIM_MOST_OWN_METRICS];
  int own_count;
} found;

static const char *boundary_metric_name(const brim_trainer *t) {
  const char *slash = strrchr(t->options.best_metric, '/');
  return slash ? slash + 1 : t->options.best_metric;
}

/* One's own metric of brim's name is meant. */
static int boundary_own_value(const brim_trainer *t, const found *f, double *value, brim_error *err) {
  for (int i = 0; i < f->own_count; i++)
    if (strcmp(f->own[i].name, boundary_metric_name(t)) == 0)
      return *value = f->own[i].value, BRIM_OK;
  if (t->metric)
    return *value = brim_metric_value(t->metric, &f->metrics), BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "best_metric is \"%s\", which is none of brim's, nor among the %d of one's own",
                        t->options.best_metric, f->own_count);
}

/* What decides the best. Only rank 0 has metrics of the caller's; x + 0 is x. */
static int boundary_value(const brim_trainer *t, const found *f, double *value, brim_error *err) {
  const brim_group *group = &t->options.group;
  *value = 0.0;
  if (!t->options.own_metrics)
    return *value = brim_metric_value(t->metric, &f->metrics), BRIM_OK;
  const int status = group->rank == 0 ? boundary_own_value(t, f, value, err) : BRIM_OK;
  BRIM_TRY(brim_group_agree(group, status, err));
  return group->world_size > 1 ? group->sum_double(group->context, value, 1, err) : BRIM_OK;
}

static int boundary_own_metrics(brim_trainer *t, const brim_evaluation *evaluation, found *f, brim_error *err) {
  brim_evaluation whole = *evaluation;
  whole.logits = t->logits;
  f->own_count = 0;
  if (!t->options.own_metrics)
    return BRIM_OK;
  const int status = t->options.group.rank == 0
                         ? t->options.own_metrics(t->options.event_context, &whole, f->own, &f->own_count, err)
                         : BRIM_OK;
  return brim_group_agree(&t->options.group, status, err);
}

enum { MOST_FOUND = 1000 }; /* rows whose cosines are looked at: each is compared with all */

/* Scores part nothing: labels do, where all are 0 or 1. */
static bool boundary_parts(const brim_dataset *dataset) {
  brim_sample sample;
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    brim_dataset_sample(dataset, row, &sample);
    if (sample.text_count == 2 && !isnan(sample.label) && sample.label != 0 && sample.label != 1)
      return false;
  }
  return true;
}

/* How far what belongs together lies from what does not. Only rank 0 says it. */
static int boundary_cosines(brim_trainer *t, const brim_eval_set *set, ready how, brim_error *err) {
  const brim_task task = brim_model_task(t->model);
  brim_found_rows rows = {0};
  if (!brim_target_of(task)->nearest || !boundary_parts(set->dataset))
    return BRIM_OK;
  int status = BRIM_OK;
  if (t->options.group.rank == 0)
    status = brim_found_open(t->runtime, task, brim_model_outputs(t->model), brim_model_meaning(t->model), t->logits,
                             set->dataset, MOST_FOUND, &rows, err);
  status = brim_group_agree(&t->options.group, status, err);
  if (!status)
    status = brim_trainer_emit_cosines(t, set->name, &rows, how != AGAIN, err);
  brim_found_close(&rows);
  return status;
}

static int boundary_evaluate_one(brim_trainer *t, brim_eval_set *set, ready how, found *f, brim_error *err) {
  brim_metrics *metrics = &f->metrics;
  bool speaks = t->options.group.rank == 0;
  double start = brim_seconds_now();
  const brim_prediction prediction = {.runtime = t->runtime,
                                      .model = t->model,
                                      .dataset = set->dataset,
                                      .plan = set->plan,
                                      .group = &t->options.group,
                                      .batch = &t->batch,
                                      .part_logits = t->part_logits,
                                      .outcomes = t->outcomes,
                                      .firsts = set->firsts,
                                      .event = speaks ? brim_trainer_hear : NULL,
                                      .event_context = t};
  brim_profile_begin(t->options.profile, BRIM_WORK_EVALUATION, "evaluation");
  int status = brim_prediction_run(&prediction, t->logits, err);
  if (!status && t->outcomes)
    status = brim_outcomes_judge(t->runtime, brim_model_labels(t->model), t->outcomes, set->dataset, metrics, err);
  else if (!status)
    status = brim_model_metrics(t->runtime, t->model, t->logits, set->dataset, metrics, err);
  brim_profile_end(t->options.profile, 0);
  BRIM_TRY(status);
  brim_ledger ledger;
  brim_plan_ledger(set->plan, &ledger);
  metrics->tokens = ledger.tokens, metrics->slots = ledger.slots;
  metrics->seconds = brim_seconds_now() - start;
  t->evaluated = set->evaluated = true;
  const float *logits = t->outcomes ? NULL : t->logits;
  const brim_evaluation evaluation = {set->name,
                                      t->state.step,
                                      how == OF_AVERAGE,
                                      set->dataset,
                                      logits,
                                      t->outcomes,
                                      metrics,
                                      brim_model_labels(t->model),
                                      brim_model_outputs(t->model),
                                      brim_model_meaning(t->model)};
  BRIM_TRY(boundary_own_metrics(t, &evaluation, f, err));
  BRIM_TRY(brim_trainer_emit_eval(t, set->name, metrics, f->own, f->own_count, how == OF_AVERAGE, how != AGAIN, err));
  BRIM_TRY(boundary_cosines(t, set, how, err));
  if (speaks && t->options.evaluated && brim_model_shape(t->model)->outputs != BRIM_OUTPUTS_OF_LABELLED)
    t->options.evaluated(t->options.event_context, &evaluation);
  return BRIM_OK;
}

/* Of weights that no checkpoint will have. */
static int boundary_hold_best(brim_trainer *t, brim_error *err) {
  if (!t->best || t->state.best_step != t->state.step)
    return BRIM_OK;
  t->best_state = t->state;
  return brim_model_read(t->model, BRIM_VALUES, 0, brim_model_flat_size(t->model), t->best, err);
}

static int boundary_evaluate(brim_trainer *t, brim_error *err) {
  brim_model_catch_up(t->model);
  for (int i = 0; i < t->eval_count; i++) {
    found f;
    double value;
    BRIM_TRY(boundary_evaluate_one(t, &t->evals[i], OF_STEP, &f, err));
    if (i != t->metric_set)
      continue;
    BRIM_TRY(boundary_value(t, &f, &value, err));
    boundary_note_best(t, value);
  }
  return boundary_hold_best(t, err);
}

/* ---- checkpoint ------------------------------------------------------------------------------------------- */

/* How rows were encoded, as the folder says it. */
static brim_saving boundary_saving(const brim_trainer *t) {
  return (brim_saving){.max_length = t->options.plan.max_length,
                       .windows = brim_supply_windows(&t->supply),
                       .cutting = brim_supply_cutting(&t->supply)};
}

static int boundary_write_checkpoint(brim_trainer *t, brim_error *err) {
  t->state.seconds = brim_trainer_seconds(t);
  BRIM_TRY(brim_run_folder_held(&t->folder, err));
  BRIM_TRY(brim_log_sync(&t->folder.log, err));
  const brim_saving saving = boundary_saving(t);
  BRIM_TRY(
      brim_checkpoint_save(&t->folder, t->model, t->tokenizer, &saving, &t->state, t->average, &t->identity, &t->supply, err));
  BRIM_TRY(brim_run_folder_settle(&t->folder, err));
  if (t->state.best_step == t->state.step)
    BRIM_TRY(brim_checkpoint_link_best(&t->folder, t->state.step, err));
  return brim_trainer_prune(t, err);
}

/* Of a folder that is gone everything fails in its own way: that it is gone says more. */
static int boundary_write_or_lose(brim_trainer *t, brim_error *err) {
  const int status = boundary_write_checkpoint(t, err);
  if (status)
    BRIM_TRY(brim_run_folder_held(&t->folder, err));
  return status;
}

static int boundary_checkpoint(brim_trainer *t, bool scheduled, brim_error *err) {
  if (!t->folder.output)
    return BRIM_OK;
  t->state.scheduled = scheduled;
  BRIM_TRY(brim_supply_gather(&t->supply, err));
  BRIM_TRY(brim_reduce_states(t->reduce, err));
  brim_profile_begin(t->options.profile, BRIM_WORK_CHECKPOINT, "checkpoint");
  int status = t->options.group.rank == 0 ? boundary_write_or_lose(t, err) : BRIM_OK;
  brim_profile_end(t->options.profile, 0);
  BRIM_TRY(brim_group_agree(&t->options.group, status, err));
  t->saved_step = t->state.step;
  BRIM_TRY(brim_trainer_emit_checkpoint(t, err));
  t->asked &= ~BRIM_DO_SAVE; /* there it is */
  return BRIM_OK;
}

/* ---- in order --------------------------------------------------------------------------------------------- */

static int boundary_end_epoch(brim_trainer *t, bool whole, brim_error *err) {
  BRIM_TRY(brim_trainer_emit_epoch(t, err));
  const brim_tally *since = &t->state.since_epoch;
  t->state.last_loss = since->weight > 0.0 ? since->loss / since->weight : 0.0;
  t->state.since_epoch = (brim_tally){0};
  if (!whole)
    return BRIM_OK;
  t->state.epoch++;
  t->state.epoch_step = 0;
  return BRIM_OK;
}

static void boundary_mark_safe(brim_trainer *t) {
  t->state.log_bytes = t->folder.log.bytes;
  t->safe = t->state;
}

/* Whether it is time to evaluate, or to save. */
static bool boundary_due(const brim_trainer *t, brim_rhythm rhythm, uint64_t every, bool whole, bool last) {
  if (rhythm == BRIM_NEVER)
    return false;
  return last || (whole && rhythm == BRIM_EACH_EPOCH) || (every > 0 && t->state.step % every == 0);
}

/* Takes what the caller's function asked of rank 0, for all ranks. */
static int boundary_asked(brim_trainer *t, uint64_t *asked, brim_error *err) {
  *asked = (uint64_t)t->asked;
  t->asked = 0;
  return t->options.group.world_size > 1 ? brim_group_largest(&t->options.group, t->runtime, asked, err) : BRIM_OK;
}

int brim_trainer_boundary(brim_trainer *t, brim_error *err) {
  const brim_train_options *o = &t->options;
  bool whole = false, all = false;
  uint64_t asked, then = 0;
  int status = brim_supply_over(&t->supply, t->state.epoch, t->state.epoch_step, &whole, &all, err);
  BRIM_TRY(brim_group_agree(&t->options.group, status, err));
  if (all)
    t->outlook.total_steps = t->state.step;
  bool last = t->state.step == t->outlook.total_steps;
  BRIM_TRY(boundary_asked(t, &asked, err));
  bool evaluates = (asked & BRIM_DO_EVALUATE) || boundary_due(t, o->eval_when, o->eval_every, whole, last);
  if (evaluates)
    BRIM_TRY(boundary_evaluate(t, err));
  last = last || t->state.stopped;
  if (whole || last)
    BRIM_TRY(boundary_end_epoch(t, whole, err));
  if (evaluates || whole || last)
    BRIM_TRY(boundary_asked(t, &then, err));
  if (!evaluates && (then & BRIM_DO_EVALUATE)) { /* at the end of the epoch; asked for during an evaluation, that was it */
    BRIM_TRY(boundary_evaluate(t, err));
    BRIM_TRY(boundary_asked(t, &asked, err));
    then |= asked;
    last = last || t->state.stopped;
  }
  const bool best = t->state.best_step == t->state.step && o->save_when != BRIM_NEVER;
  const bool save = best || ((asked | then) & BRIM_DO_SAVE) || boundary_due(t, o->save_when, o->save_every, whole, last);
  t->state.pending = false;
  boundary_mark_safe(t);
  if (!save)
    return BRIM_OK;
  BRIM_TRY(boundary_checkpoint(t, true, err));
  boundary_mark_safe(t);
  return BRIM_OK;
}

int brim_trainer_interrupt(brim_trainer *t, brim_error *err) {
  t->state = t->safe;
  BRIM_TRY(brim_group_agree(&t->options.group, brim_run_folder_held(&t->folder, err), err));
  if (!t->folder.output || t->state.step == 0)
    return BRIM_OK;
  return t->saved_step == t->state.step ? BRIM_OK : boundary_checkpoint(t, false, err);
}

static int boundary_write_model(brim_trainer *t, brim_error *err) {
  const brim_saving saving = boundary_saving(t);
  BRIM_TRY(brim_run_folder_held(&t->folder, err));
  return brim_model_save(t->model, t->tokenizer, &saving, t->folder.output, NULL, err);
}

/* These do not count for the best checkpoint: of the average there is none, and what is reported again has counted. */
static int boundary_evaluate_final(brim_trainer *t, ready how, brim_error *err) {
  for (int i = 0; i < t->eval_count; i++) {
    found f;
    BRIM_TRY(boundary_evaluate_one(t, &t->evals[i], how, &f, err));
  }
  return BRIM_OK;
}

static int boundary_evaluate_others(brim_trainer *t, brim_error *err) {
  for (int i = 0; i < t->eval_count; i++) {
    found f;
    if (!t->evals[i].evaluated)
      BRIM_TRY(boundary_evaluate_one(t, &t->evals[i], AGAIN, &f, err));
  }
  return BRIM_OK;
}

/* Whether the log has the last step's evaluation of a set, which rank 0 looks up. */
static int boundary_is_logged(brim_trainer *t, const brim_eval_set *set, uint64_t *logged, brim_error *err) {
  bool here = false;
  const int status = brim_log_has_eval(&t->folder.log, t->state.step, set->name, &here, err);
  *logged = here;
  BRIM_TRY(brim_group_agree(&t->options.group, status, err));
  return t->options.group.world_size > 1 ? brim_group_largest(&t->options.group, t->runtime, logged, err) : BRIM_OK;
}

/* Of a run that is resumed at its end with sets that it did not have: they are evaluated as at the last step, and count. */
static int boundary_make_up(brim_trainer *t, brim_error *err) {
  bool any = false;
  for (int i = 0; i < t->eval_count; i++) {
    uint64_t logged;
    found f;
    double value;
    BRIM_TRY(boundary_is_logged(t, &t->evals[i], &logged, err));
    if (logged)
      continue;
    any = true;
    BRIM_TRY(boundary_evaluate_one(t, &t->evals[i], OF_STEP, &f, err));
    if (i != t->metric_set || !isnan(t->state.best)) /* it has counted, and the log was lost */
      continue;
    BRIM_TRY(boundary_value(t, &f, &value, err));
    boundary_note_best(t, value);
  }
  BRIM_TRY(boundary_hold_best(t, err));
  boundary_mark_safe(t);
  if (!any || t->options.save_when == BRIM_NEVER)
    return BRIM_OK;
  BRIM_TRY(boundary_checkpoint(t, true, err)); /* which knows of them */
  boundary_mark_safe(t);
  return BRIM_OK;
}

/* The average becomes the model. */
static int boundary_take_average(brim_trainer *t, brim_error *err) {
  BRIM_TRY(brim_model_write(t->model, BRIM_VALUES, 0, brim_model_flat_size(t->model), t->average, err));
  return boundary_evaluate_final(t, OF_AVERAGE, err);
}

/* The best weights become the model, and are looked at once more: what is said of the model at the end is true of it. */
static int boundary_take_best(brim_trainer *t, brim_error *err) {
  const brim_train_state last = t->state;
  int status = t->best ? brim_model_write(t->model, BRIM_VALUES, 0, brim_model_flat_size(t->model), t->best, err)
                       : brim_checkpoint_load_weights(&t->folder, last.best_step, t->model, &t->identity, &t->best_state, err);
  BRIM_TRY(brim_group_agree(&t->options.group, status, err));
  t->model_step = last.best_step;
  t->state = t->best_state;
  status = boundary_evaluate_final(t, AGAIN, err);
  t->state = last;
  return status;
}

static bool boundary_keeps_earlier(const brim_trainer *t) {
  return t->options.final == BRIM_FINAL_BEST && t->state.best_step > 0 && t->state.best_step != t->state.step;
}

int brim_trainer_finish(brim_trainer *t, brim_error *err) {
  const bool ended = !t->evaluated && t->options.eval_when != BRIM_NEVER; /* it was resumed at its end */
  if (ended)
    BRIM_TRY(boundary_make_up(t, err));
  if (t->state.averaged > 0)
    BRIM_TRY(boundary_take_average(t, err));
  else if (boundary_keeps_earlier(t))
    BRIM_TRY(boundary_take_best(t, err));
  else if (ended) /* what came after the last checkpoint may never have been kept */
    BRIM_TRY(boundary_evaluate_others(t, err));
  bool writes = t->folder.output && t->options.group.rank == 0;
  brim_profile_begin(t->options.profile, BRIM_WORK_CHECKPOINT, "final model");
  int status = writes ? boundary_write_model(t, err) : BRIM_OK;
  if (writes && !status)
    status = brim_run_folder_settle(&t->folder, err);
  brim_profile_end(t->options.profile, 0);
  return brim_group_agree(&t->options.group, status, err);
}
