/* loop.c: brim_train. */
#include <math.h>

#include "base/status.h"
#include "dist/group.h"
#include "feed/steps.h"
#include "model/run/ask.h"
#include "train/trainer.h"
#include "train/turn.h"

static int train_announce(brim_trainer *t, brim_error *err) {
  BRIM_TRY(brim_trainer_open_epoch(t, err));
  BRIM_TRY(brim_trainer_emit_start(t, err));
  BRIM_TRY(brim_trainer_emit_folder(t, err));
  if (t->saved_step == BRIM_NO_STEP)
    return BRIM_OK;
  BRIM_TRY(brim_trainer_emit_resume(t, err));
  /* The log was cut to what it was when this checkpoint was about to be written. */
  if (t->state.scheduled)
    BRIM_TRY(brim_trainer_emit_checkpoint(t, err));
  t->state.log_bytes = t->folder.log.bytes;
  t->safe = t->state;
  return BRIM_OK;
}

/* Of a run in turns: whether there is a further one. */
static bool train_waits(const brim_trainer *t) {
  return t->turns && !t->state.stopped && t->state.step < t->outlook.total_steps;
}

static bool train_continues(const brim_trainer *t) {
  return !t->state.stopped && t->state.step < t->outlook.total_steps && (!t->turns || t->state.step < t->turns->until);
}

static int train_steps(brim_trainer *t, brim_error *err) {
  while (t->state.pending || train_continues(t)) {
    BRIM_TRY(brim_trainer_open_epoch(t, err)); /* boundary needs it too */
    if (!t->state.pending)
      BRIM_TRY(brim_trainer_step(t, err));
    BRIM_TRY(brim_trainer_boundary(t, err));
  }
  return BRIM_OK;
}

/* A run without a step leaves the folder as it was; one that was to be resumed stays as it is. The same on all ranks. */
static bool train_leaves_nothing(const brim_trainer *t) {
  return t->folder.output && t->state.step == 0 && !t->options.resume;
}

/* Where this fails, what was to be replaced lies in replaced-run. */
static void train_undo(brim_trainer *t) {
  brim_error ignored;
  if (brim_run_folder_restore(&t->folder, &ignored))
    return;
}

/* A failed run says why as the last line of its log; resuming cuts that line away. A failure to write would hide the first one.
 */
static void train_note_failure(brim_trainer *t, const brim_error *failure) {
  brim_error ignored;
  if (train_leaves_nothing(t))
    train_undo(t);
  else if (brim_trainer_emit_end(t, failure ? failure->message : "failed", &ignored))
    return;
}

static int train_interrupted(brim_trainer *t, brim_train_result *result, brim_error *err) {
  result->interrupted = true;
  BRIM_TRY(brim_reduce_states(t->reduce, err));
  BRIM_TRY(brim_trainer_interrupt(t, err));
  if (train_leaves_nothing(t))
    train_undo(t);
  else
    BRIM_TRY(brim_trainer_emit_end(t, "interrupted", err));
  return brim_error_cancelled(err);
}

static int train_begin(brim_trainer *t, brim_error *err) {
  if (!t->turns || !t->turns->begun)
    BRIM_TRY(train_announce(t, err));
  return t->turns ? brim_trainer_take_turn(t, err) : BRIM_OK;
}

static int train_run(brim_trainer *t, brim_train_result *result, brim_error *err) {
  int status = train_begin(t, err);
  if (!status)
    status = train_steps(t, err);
  if (t->turns)
    t->state.seconds = brim_trainer_seconds(t);
  if (status == BRIM_E_CANCELLED)
    return train_interrupted(t, result, err);
  if (!status)
    status = brim_reduce_states(t->reduce, err);
  if (!status && train_waits(t))
    return brim_trainer_keep_turn(t, err);
  if (!status)
    status = brim_trainer_finish(t, err);
  if (!status)
    status = brim_trainer_emit_ranks(t, err);
  if (!status)
    return brim_trainer_emit_end(t, NULL, err);
  train_note_failure(t, err);
  return status;
}

static void train_result(const brim_trainer *t, brim_train_result *result) {
  const brim_tally *now = &t->state.since_epoch;
  result->steps = t->state.step;
  result->rows = t->state.run.rows;
  result->tokens = t->state.run.tokens;
  result->slots = t->state.run.slots;
  result->loss = now->weight > 0.0 ? now->loss / now->weight : now->rows > 0 ? 0.0 : t->state.last_loss;
  result->seconds = t->turns ? t->state.seconds : brim_trainer_seconds(t);
  result->best_metric = t->state.best;
  result->metric = t->state.best_step ? t->options.best_metric : NULL;
  result->best_step = t->state.best_step;
  result->averaged = t->state.averaged;
  result->stopped_early = t->state.stopped;
  result->model_step = t->model_step ? t->model_step : t->state.step;
}

static int train(brim_trainer *t, const brim_named_dataset *evals, int eval_count, brim_train_result *result, brim_error *err) {
  brim_train_result ignored;
  if (!result)
    result = &ignored;
  *result = (brim_train_result){.loss = (double)NAN, .best_metric = (double)NAN};
  brim_profile *profile = t->options.profile;
  brim_profile_begin(profile, BRIM_WORK_START, "plan, memory, run folder");
  int status = brim_trainer_open(t, evals, eval_count, err);
  brim_profile_end(profile, 0);
  status = brim_group_agree(&t->options.group, status, err);
  if (!status)
    status = brim_trainer_open_reduce(t, err);
  result->interrupted = status == BRIM_E_CANCELLED;
  if (!status) {
    result->resumed = t->saved_step != BRIM_NO_STEP;
    brim_model_set_profile(t->model, profile);
    status = train_run(t, result, err);
    brim_model_catch_up(t->model); /* for those who hold addresses of weights */
    brim_model_set_profile(t->model, NULL);
    train_result(t, result);
  } else if (train_leaves_nothing(t)) {
    train_undo(t); /* another rank may have failed after this one took the folder */
  }
  if (status)
    brim_reduce_abandon(t->reduce); /* a lost rank would be waited for */
  brim_trainer_close(t);
  return status;
}

int brim_train(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, const brim_dataset *data,
               const brim_named_dataset *evals, int eval_count, const brim_train_options *options, brim_train_result *result,
               brim_error *err) {
  BRIM_GIVEN_AS(err, "runtime, model, train, options", runtime, model, data, options);
  BRIM_ARRAY(err, evals, eval_count);
  brim_trainer trainer = {.runtime = runtime,
                          .model = model,
                          .tokenizer = tokenizer,
                          .options = *options,
                          .supply = {.runtime = runtime, .dataset = data}};
  return train(&trainer, evals, eval_count, result, err);
}

int brim_train_feed(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, brim_feed *feed,
                    const brim_named_dataset *evals, int eval_count, const brim_train_options *options, brim_train_result *result,
                    brim_error *err) {
  BRIM_GIVEN(err, runtime, model, feed, options);
  BRIM_ARRAY(err, evals, eval_count);
  brim_trainer trainer = {.runtime = runtime,
                          .model = model,
                          .tokenizer = tokenizer,
                          .options = *options,
                          .supply = {.runtime = runtime, .feed = feed}};
  trainer.options.plan = brim_feed_how(feed)->plan;
  return train(&trainer, evals, eval_count, result, err);
}

int brim_train_turn(brim_runtime *runtime, brim_model *model, const brim_dataset *data, brim_turns *turns,
                    brim_train_result *result, brim_error *err) {
  brim_trainer trainer = {.runtime = runtime,
                          .model = model,
                          .options = turns->options,
                          .supply = {.runtime = runtime, .dataset = data},
                          .turns = turns};
  const int status = train(&trainer, NULL, 0, result, err);
  turns->over = !status && !train_waits(&trainer);
  return status;
}
