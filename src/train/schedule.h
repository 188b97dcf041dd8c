/* schedule.h: what is known of a run before it starts. */
#ifndef BRIM_TRAIN_SCHEDULE_H
#define BRIM_TRAIN_SCHEDULE_H
#include "brim/train.h"

/* All epochs planned ahead, so that the schedule counts the steps that will really be taken and memory is taken once. */
typedef struct brim_survey {
  uint64_t total_steps, epochs;
  brim_model_limits limits; /* of the largest parts of any rank */
} brim_survey;

/* Plans every epoch of the run once. Costs a negligible share of training the same epochs. */
int brim_survey_run(brim_runtime *runtime, const int32_t *lengths, uint64_t rows, const brim_train_options *options,
                    brim_survey *out, brim_error *err);

/* warmup_steps, or the share of all steps, rounded up as in Hugging Face. */
uint64_t brim_warmup_steps(const brim_train_options *options, uint64_t total);

#endif
