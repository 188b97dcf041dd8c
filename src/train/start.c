/* start.c: everything that happens once, before the first step. What can be refused is refused before anything is written. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "train/clock.h"
#include "train/evaluate.h"
#include "train/trainer.h"

/* ---- options ---------------------------------------------------------------------------------------------- */

/* What was left open gets its value, so that it can be recorded and compared. */
static int start_options(brim_trainer *t, brim_error *err) {
  brim_train_options *o = &t->options;
  if (o->group.world_size <= 0)
    o->group = brim_group_single();
  BRIM_TRY(brim_train_options_check(o, err));
  BRIM_TRY(brim_model_freeze(t->model, o->freeze, err));
  o->freeze = brim_model_frozen(t->model);
  o->plan.world_size = o->group.world_size;
  if (o->plan.batch_size == 0 && o->plan.accumulate == 0)
    o->plan.accumulate = o->group.world_size;
  if (o->log_every == 0)
    o->log_every = 1;
  bool regression = brim_model_task(t->model) == BRIM_TASK_REGRESSION;
  if (!o->best_metric)
    o->best_metric = regression ? "rmse" : "accuracy";
  static const char *const of_regression[] = {"loss", "rmse", "pearson", "spearman"};
  static const char *const of_classes[] = {"loss", "accuracy", "f1", "matthews"};
  for (int i = 0; i < 4; i++)
    if (strcmp(o->best_metric, (regression ? of_regression : of_classes)[i]) == 0)
      return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "best_metric is \"%s\", which a %s model does not have: take one of %s",
                        o->best_metric, regression ? "regression" : "classification",
                        regression ? "loss, rmse, pearson, spearman" : "loss, accuracy, f1, matthews");
}

/* ---- evaluation sets -------------------------------------------------------------------------------------- */

/* Evaluation computes at once what training computes at once: it needs no memory of its own. */
static int start_eval_plan(brim_trainer *t, brim_eval_set *set, brim_error *err) {
  int64_t longest = brim_dataset_longest(set->dataset), most = t->survey.limits.max_slots;
  const brim_plan_options plan = {
      .batching = BRIM_SORTED,
      .padding = t->options.plan.padding,
      .max_tokens = most > longest ? most : longest,
      .max_rows = 4 * (int64_t)t->survey.limits.max_sequences,
      .accumulate = t->options.group.world_size,
      .max_length = t->options.plan.max_length,
      .pad_to_multiple_of = t->options.plan.pad_to_multiple_of,
      .oversize = BRIM_OVERSIZE_ALONE,
      .seed = t->options.plan.seed,
      .world_size = t->options.group.world_size,
  };
  return brim_plan_new(t->runtime, brim_dataset_lengths(set->dataset), brim_dataset_rows(set->dataset), &plan, 0, &set->plan,
                       err);
}

static int start_evals(brim_trainer *t, const brim_named_dataset *evals, int count, brim_error *err) {
  if (count == 0)
    return BRIM_OK;
  t->evals = brim_alloc_array_zero(t->runtime, (size_t)count, sizeof *t->evals);
  if (!t->evals)
    return BRIM_NOMEM(err);
  brim_model_limits limits = t->survey.limits;
  uint64_t most = 0;
  for (; t->eval_count < count; t->eval_count++) {
    brim_eval_set *set = &t->evals[t->eval_count];
    *set = (brim_eval_set){.name = evals[t->eval_count].name, .dataset = evals[t->eval_count].dataset};
    BRIM_TRY(brim_dataset_fits(t->model, set->dataset, t->options.plan.max_length, true, set->name, err));
    BRIM_TRY(start_eval_plan(t, set, err));
    brim_limits_widen(&limits, set->plan, t->options.group.world_size, brim_dataset_lengths(set->dataset));
    if (brim_dataset_rows(set->dataset) > most)
      most = brim_dataset_rows(set->dataset);
  }
  t->survey.limits = limits;
  size_t row = (size_t)brim_model_outputs(t->model) * sizeof(float);
  t->logits = brim_alloc_array(t->runtime, (size_t)most, row);
  t->part_logits = brim_alloc_array(t->runtime, (size_t)limits.max_sequences, row);
  return t->logits && t->part_logits ? BRIM_OK : BRIM_NOMEM(err);
}

/* ---- the place to begin at -------------------------------------------------------------------------------- */

static void start_fresh(brim_trainer *t) {
  size_t bytes = (size_t)(brim_model_flat_size(t->model) - brim_model_trained_offset(t->model)) * sizeof(float);
  memset(brim_model_moment1(t->model), 0, bytes);
  memset(brim_model_moment2(t->model), 0, bytes);
  brim_model_state_written(t->model);
  t->state = (brim_train_state){.best = (double)NAN, .last_loss = (double)NAN};
}

/* Every rank reads the checkpoint; rank 0 brings the log back to it. */
static int start_resume(brim_trainer *t, brim_error *err) {
  uint64_t *steps;
  size_t count;
  BRIM_TRY(brim_checkpoint_steps(t->runtime, t->folder.checkpoints, &steps, &count, err));
  if (count > 0)
    t->saved_step = steps[count - 1];
  brim_release(t->runtime, steps);
  if (count == 0)
    return brim_log_cut(&t->folder.log, 0, err);
  BRIM_TRY(brim_checkpoint_load(&t->folder, t->saved_step, t->model, &t->identity, &t->state, &t->supply, err));
  t->earlier = t->state.seconds;
  if (t->options.group.rank == 0)
    BRIM_TRY(brim_checkpoint_link_best(&t->folder, t->state.best_step, err));
  return brim_log_cut(&t->folder.log, t->state.log_bytes, err);
}

static int start_place(brim_trainer *t, brim_error *err) {
  const brim_train_options *o = &t->options;
  if (o->group.rank == 0)
    BRIM_TRY(brim_run_folder_open(t->runtime, o->output, o->resume, o->overwrite, &t->folder, err));
  else
    BRIM_TRY(brim_run_folder_watch(t->runtime, o->output, &t->folder, err));
  start_fresh(t);
  return o->output && o->resume ? start_resume(t, err) : BRIM_OK;
}

int brim_trainer_open(brim_trainer *t, const brim_named_dataset *evals, int eval_count, brim_error *err) {
  t->saved_step = BRIM_NO_STEP;
  t->folder.log.file = -1;
  BRIM_TRY(start_options(t, err));
  t->supply.model = t->model;
  t->supply.options = &t->options;
  t->supply.batch = &t->batch;
  BRIM_TRY(brim_supply_check(&t->supply, err));
  BRIM_TRY(brim_supply_survey(&t->supply, &t->survey, err));
  t->warmup = brim_warmup_steps(&t->options, t->survey.total_steps);
  t->survey.limits.checkpoint_activations = t->options.checkpoint_activations;
  BRIM_TRY(start_evals(t, evals, eval_count, err));
  t->identity = (brim_train_identity){.options = &t->options,
                                      .model_type = brim_model_type(t->model),
                                      .kernels = brim_model_kernels(t->model),
                                      .pooling = brim_pooling_name(brim_model_pooling(t->model)),
                                      .type_ids = brim_model_reads_types(t->model),
                                      .initial_weights = brim_model_weights_hash(t->model)};
  brim_supply_identity(&t->supply, &t->identity.data_rows, &t->identity.data_fingerprint);
  const brim_model_limits *limits = &t->survey.limits;
  BRIM_TRY(brim_batch_reserve(&t->batch, t->runtime, limits->max_slots, limits->max_sequences, err));
  BRIM_TRY(brim_model_prepare(t->model, limits, err));
  brim_model_zero_gradients(t->model);
  BRIM_TRY(start_place(t, err));
  t->safe = t->state;
  t->start = brim_seconds_now();
  return BRIM_OK;
}

int brim_trainer_open_epoch(brim_trainer *t, brim_error *err) {
  brim_profile_begin(t->options.profile, BRIM_WORK_DATA, "plan of an epoch");
  int status = brim_supply_open_epoch(&t->supply, t->state.epoch, t->state.epoch_step, err);
  brim_profile_end(t->options.profile, 0);
  return brim_group_agree(&t->options.group, status, err);
}

void brim_trainer_close(brim_trainer *t) {
  for (int i = 0; i < t->eval_count; i++)
    brim_plan_free(t->evals[i].plan);
  brim_release(t->runtime, t->evals);
  brim_release(t->runtime, t->logits);
  brim_release(t->runtime, t->part_logits);
  brim_supply_close(&t->supply);
  brim_batch_free(&t->batch);
  brim_run_folder_close(&t->folder);
}
