/* schedule.h: what is known of a run before it starts. */
#ifndef BRIM_TRAIN_SCHEDULE_H
#define BRIM_TRAIN_SCHEDULE_H
#include "brim/train.h"

/* Epochs planned ahead: all of them, so that the schedule counts the steps that will really be taken and memory is taken once.
 * With max_steps the steps are known, and however many they are, the first few epochs are looked at, until there are
 * BRIM_OUTLOOK_STEPS: the start does not wait for the rest, whose parts are looked at when their epoch is reached. */
enum { BRIM_OUTLOOK_STEPS = 1000, BRIM_OUTLOOK_EPOCHS = 4 };
typedef struct brim_outlook {
  uint64_t total_steps, epochs; /* epochs: that were planned */
  uint64_t step_rows;           /* of the largest step, over all ranks */
  uint64_t step_parts;          /* of the step with the most, on each rank */
  bool open;                    /* later epochs may have larger parts */
  brim_model_limits limits;     /* of the largest parts of any rank */
} brim_outlook;

/* Costs a negligible share of training the same epochs. *first (NULL: not wanted) is the plan of epoch 0, the caller's. */
int brim_outlook_run(brim_runtime *runtime, brim_lengths lengths, const brim_train_options *options, brim_outlook *out,
                     brim_plan **first, brim_error *err) BRIM_CHECK;

/* warmup_steps, or the share of all steps, rounded up as in Hugging Face. */
uint64_t brim_warmup_steps(const brim_train_options *options, uint64_t total);

/* Learning rate of optimizer step k (from 1): linear warm-up from 0, then linear decay to 0 at `total` (Hugging Face's schedule,
 * lr(k) = lr * lambda(k-1)). */
double brim_linear_schedule(double lr, uint64_t step, uint64_t warmup, uint64_t total);
/* The same for any schedule. Linear and cosine are 0 after `total`, which no run gets to; constant does not look at `total`. */
double brim_learning_rate(brim_schedule schedule, double lr, uint64_t step, uint64_t warmup, uint64_t total);

#endif
