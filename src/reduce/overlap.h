/* overlap.h: the gradient of all ranks, summed by a thread while this rank's backward is still under way.
 *
 * The thread sums pieces in an order that is the same on all ranks, each as soon as backward has told that it is complete. Bits
 * are those of a sum afterwards: each value is added up by itself. */
#ifndef BRIM_REDUCE_OVERLAP_H
#define BRIM_REDUCE_OVERLAP_H
#include <pthread.h>

#include "brim/dist.h"
#include "model/ready.h"
#include "reduce/tree.h"

typedef struct brim_overlapped_sum {
  brim_runtime *runtime; /* NULL: not open */
  brim_model *model;
  const brim_group *group;
  brim_slice_sums *slices; /* NULL: there are none */
  brim_ready_hook ready;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool last;              /* this rank's last part of a step is under way */
  bool begun, done, stop; /* of the step's sum */
  int64_t complete;       /* the gradient is, from here on */
  int status;
  brim_error error;
} brim_overlapped_sum;

/* All are borrowed until brim_overlapped_sum_close; `slices` is open, or NULL. Does nothing where ranks sum afterwards: there is
 * one rank, group->apart, the device's memory is not the host's, or slices are not `whole`. */
int brim_overlapped_sum_open(brim_overlapped_sum *o, brim_runtime *runtime, brim_model *model, const brim_group *group,
                             brim_slice_sums *slices, brim_error *err) BRIM_CHECK;
void brim_overlapped_sum_close(brim_overlapped_sum *o);
/* Before this rank's last backward of a step: pieces that it completes are summed. The group is the thread's until
 * brim_overlapped_sum_end. */
void brim_overlapped_sum_begin(brim_overlapped_sum *o);
/* Before the forward of that part, if it has rows: the sums of slices that wait for it are complete. They are sent from now on.
 */
void brim_overlapped_sum_early(brim_overlapped_sum *o);
/* After it, or in its place, also where this rank failed: the others wait for its share, whatever it is. The model's gradient is
 * now the sum of all ranks; where nothing is open it is not. */
int brim_overlapped_sum_end(brim_overlapped_sum *o, brim_error *err) BRIM_CHECK;
#endif
