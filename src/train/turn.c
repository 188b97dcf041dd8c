#include "train/turn.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/run/model.h"
#include "train/options.h"
#include "train/trainer.h"

/* Values and states. */
static int flat_count(const brim_model *model) {
  return 1 + brim_optimizer_states(model->optimizer);
}

static brim_flat flat_at(int index) {
  return index == 0 ? BRIM_VALUES : (brim_flat)(BRIM_STATE0 + index - 1);
}

static int64_t trained_count(const brim_model *model) {
  return model->trained.size;
}

/* All ranges of what is trained, from a flat buffer to what is kept of it, or back. */
static int keep(brim_model *model, brim_flat which, float *kept, brim_error *err) {
  for (int32_t i = 0; i < model->trained.count; i++) {
    const brim_trained_range *range = &model->trained.ranges[i];
    BRIM_TRY(brim_model_read(model, which, range->value, range->count, kept + range->offset, err));
  }
  return BRIM_OK;
}

static int take(brim_model *model, brim_flat which, const float *kept, brim_error *err) {
  for (int32_t i = 0; i < model->trained.count; i++) {
    const brim_trained_range *range = &model->trained.ranges[i];
    BRIM_TRY(brim_model_write(model, which, range->value, range->count, kept + range->offset, err));
  }
  return BRIM_OK;
}

int brim_turns_size(brim_model *model, const brim_train_options *options, uint64_t *bytes, brim_error *err) {
  BRIM_TRY(brim_train_prepare_model(model, options, err));
  *bytes = (uint64_t)flat_count(model) * (uint64_t)trained_count(model) * sizeof(float);
  if (options->swa_start > 0.0)
    *bytes += (uint64_t)brim_model_flat_size(model) * sizeof(float);
  return BRIM_OK;
}

int brim_turns_reserve(brim_turns *turns, const brim_model *model, brim_error *err) {
  for (int i = 0; i < flat_count(model); i++)
    if (!(turns->kept[i] = brim_alloc_array(turns->runtime, (size_t)trained_count(model), sizeof **turns->kept)))
      return BRIM_NOMEM(err);
  return BRIM_OK;
}

void brim_turns_free(brim_turns *turns) {
  for (int i = 0; i < 1 + BRIM_MOST_STATES; i++)
    brim_release(turns->runtime, turns->kept[i]);
  brim_release(turns->runtime, turns->average);
  *turns = (brim_turns){0};
}

static int take_flats(brim_trainer *t, brim_error *err) {
  for (int i = 0; i < flat_count(t->model); i++)
    BRIM_TRY(take(t->model, flat_at(i), t->turns->kept[i], err));
  return BRIM_OK;
}

/* The plan of an epoch that was begun is made again, and 16-bit copies of the weights are made, outside the run's time. */
int brim_trainer_take_turn(brim_trainer *t, brim_error *err) {
  brim_turns *turns = t->turns;
  if (turns->begun) {
    t->state = t->safe = turns->state;
    t->times = turns->times;
    t->tokens_here = turns->state.run.tokens;
    if (turns->average) {
      brim_release(t->runtime, t->average);
      t->average = turns->average;
      turns->average = NULL;
    }
    BRIM_TRY(brim_group_agree(&t->options.group, take_flats(t, err), err));
    BRIM_TRY(brim_trainer_open_epoch(t, err));
  }
  if (brim_precision_is_half(t->options.precision))
    brim_model_make_half(t->model);
  t->start = brim_seconds_now() - t->state.seconds;
  return BRIM_OK;
}

static int keep_flats(brim_trainer *t, brim_error *err) {
  for (int i = 0; i < flat_count(t->model); i++)
    BRIM_TRY(keep(t->model, flat_at(i), t->turns->kept[i], err));
  return BRIM_OK;
}

/* A memory_limit has cut steps into parts by now, and those stay. */
int brim_trainer_keep_turn(brim_trainer *t, brim_error *err) {
  brim_turns *turns = t->turns;
  turns->begun = true;
  turns->options = t->options;
  turns->options.memory_limit = 0;
  turns->state = t->state;
  turns->times = t->times;
  turns->average = t->average;
  t->average = NULL;
  return brim_group_agree(&t->options.group, keep_flats(t, err), err);
}
