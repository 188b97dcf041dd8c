/* ordered.h: an ordered parallel map over blocks.
 *
 *   produce (one at a time, in order) -> work (in parallel) -> next (in the order of produce)
 *
 * Whichever thread is free calls `produce` for the next block, which so gets its serial number, and then `work` on it; `next`
 * hands the blocks out strictly by serial number. At most `queue` blocks are between produce and next. The order, and which error
 * comes first, are thus the same for any number of threads; with threads == 0 no thread is started and `next` does the work
 * itself.
 *
 * A map has its own threads and never uses brim_pool_run's, so it may run while the pool computes, and neither can wait for
 * the other. `produce` and `work` may call brim_pool_run only if they can bear it to run inline. Maps can be stacked: the produce
 * of one may call the next of another. */
#ifndef BRIM_BASE_ORDERED_H
#define BRIM_BASE_ORDERED_H
#include "brim/base.h"

typedef struct brim_ordered_options {
  int threads; /* own threads; 0: none, everything happens inside next */
  int queue;   /* most blocks in flight; 0: 2 * threads + 1 */
  /* Makes the next block. BRIM_END ends the stream (no block); an error ends it too and is reported after the blocks before it.
   * Calls never overlap and each sees what the one before wrote. */
  int (*produce)(void *context, void **block, brim_error *err);
  /* Works on a block in place. `worker` is 0 .. max(threads, 1) - 1, and no two calls with one worker overlap. May be NULL. */
  int (*work)(void *context, void *block, int worker, brim_error *err);
  /* Frees a block that will not be handed out (close, or blocks after or at an error). */
  void (*discard)(void *context, void *block);
  /* May be NULL. Called by close before it joins the threads: makes a produce that waits (for a pipe) return soon. */
  void (*interrupt)(void *context);
  void *context;
} brim_ordered_options;

typedef struct brim_ordered brim_ordered;

int brim_ordered_new(brim_runtime *runtime, const brim_ordered_options *options, brim_ordered **out, brim_error *err) BRIM_CHECK;
/* The next block, now the caller's. BRIM_END when the stream is over; the error of produce or work when it is that block's turn
 * (and again on every later call); BRIM_E_CANCELLED when the runtime was cancelled. */
int brim_ordered_next(brim_ordered *ordered, void **block, brim_error *err) BRIM_CHECK;
/* Stops at any time: waits for the calls of produce and work that are under way, discards what is in flight. */
void brim_ordered_free(brim_ordered *ordered);

#endif
