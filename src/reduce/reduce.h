/* reduce.h: the way from the gradients that ranks compute to the weights that all of them have after a step.
 *
 *   begin -> sum -> (part -> forward, backward -> losses)* -> finish -> update -> gather
 *
 * Every rank makes the same calls but for those of its parts. How gradients are added up is hidden here: a process alone,
 * messages while backward runs, memory that ranks share (each updates its shard), or the ranks' devices. With plan->slices the
 * sum goes along a fixed tree, whatever the way, and has the same bits for any number of ranks. */
#ifndef BRIM_REDUCE_REDUCE_H
#define BRIM_REDUCE_REDUCE_H
#include "brim/batch.h"
#include "brim/dist.h"
#include "brim/model.h"
#include "brim/profile.h"

typedef struct brim_reduce brim_reduce;

/* All are borrowed until brim_reduce_close. */
typedef struct brim_reduce_how {
  brim_runtime *runtime;
  brim_model *model;
  const brim_group *group;
  const brim_plan_options *plan; /* of training: its slices, and what cuts them */
  brim_profile *profile;         /* or NULL */
  bool host_losses;              /* pieces have no losses of the model's */
} brim_reduce_how;

/* Bytes besides those of the model; `cut`: of steps that a limit of memory cuts into smaller parts. */
uint64_t brim_reduce_memory(const brim_reduce_how *how, bool cut);
/* Every rank calls it; the way is the same on all. The model is prepared for training, and has no gradient. */
int brim_reduce_open(const brim_reduce_how *how, brim_reduce **out, brim_error *err) BRIM_CHECK;
/* "alone", "messages", "shared memory" or "devices". */
const char *brim_reduce_way_name(const brim_reduce *reduce);
/* NULL: nothing happens. Devices wait for all ranks here, unless brim_reduce_abandon was called. */
void brim_reduce_close(brim_reduce *reduce);

/* A step begins. All ranks have met since the last one was over (brim_group_agree): others read memory of this rank until then.
 */
void brim_reduce_begin(brim_reduce *reduce);
/* What a step must know before its first forward, such as the divisor of its loss: each of `values` [count] becomes its sum over
 * the ranks. A step may do without it, on all ranks. All wait here, whatever their status is, and get one decision, as in
 * brim_reduce_finish. */
enum { BRIM_REDUCE_MOST_SUMS = 8 };
int brim_reduce_sum(brim_reduce *reduce, int status, double *values, int32_t count, brim_error *err) BRIM_CHECK;
/* Before a forward: *piece are the rows of the part from row *first on that are computed at once, borrowed from it until the next
 * call, and *first moves past them. `last`: this rank has no further part in this step, so that its backward completes the
 * gradient. */
int brim_reduce_part(brim_reduce *reduce, const brim_batch *part, bool last, int32_t *first, brim_batch *piece,
                     brim_error *err) BRIM_CHECK;
/* The losses of pieces since the last call, in their order: shares of the step's mean loss. */
void brim_reduce_losses(brim_reduce *reduce, const double *losses, int32_t count);
/* Instead, with how->host_losses: the share of one slice of a piece (slice < 0: of the piece, which has none); or the loss of the
 * whole step, where every rank has it. */
void brim_reduce_loss(brim_reduce *reduce, int32_t slice, double loss);
void brim_reduce_loss_of_all(brim_reduce *reduce, double loss);
/* Whether brim_reduce_finish decides by the losses, so that it needs all of them; else they may be asked for after the update. */
bool brim_reduce_needs_losses(const brim_reduce *reduce);
/* All ranks wait here, whatever their status is, and get one decision: BRIM_OK, or a failure or cancellation of one of them.
 * After BRIM_OK, if the loss is finite, the gradient is there for the update. */
int brim_reduce_finish(brim_reduce *reduce, int status, brim_error *err) BRIM_CHECK;

/* Of the step, so far. */
typedef struct brim_reduced {
  double loss;   /* of this rank's pieces; of all ranks after brim_reduce_finish */
  bool cancel;   /* a rank's runtime was cancelled */
  double waited; /* seconds until all ranks had computed theirs */
  double sent;   /* seconds of sums and weights that nothing hid */
} brim_reduced;
const brim_reduced *brim_reduce_result(const brim_reduce *reduce);

/* Queues norm, clipping and the optimizer: brim_model_answers has the norm, of the gradient of all ranks. */
int brim_reduce_update(brim_reduce *reduce, const brim_adamw *options, brim_error *err) BRIM_CHECK;
/* Then every rank has all weights. */
int brim_reduce_gather(brim_reduce *reduce, brim_error *err) BRIM_CHECK;
/* After a failure, in a step or outside: nothing waits any more, no rank is waited for, and the gradient is zero. NULL: nothing
 * happens. */
void brim_reduce_abandon(brim_reduce *reduce);
/* It was abandoned in a way that may keep another rank waiting until it hears that this one has left: nobody is to be met any
 * more. */
bool brim_reduce_is_broken(const brim_reduce *reduce);

/* Between two steps, before rank 0 saves: every rank gets the whole states of the optimizer. */
int brim_reduce_states(brim_reduce *reduce, brim_error *err) BRIM_CHECK;
#endif
