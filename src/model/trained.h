/* trained.h: which weights are trained, and where what training keeps of them is.
 *
 * Gradients, states of the optimizer and values at the start are buffers of what is trained alone, in the order of the values.
 * What they have is a list of ranges. Weights that adjoin are one product, so all of them have a gradient where one is trained;
 * the update changes those that are trained. */
#ifndef BRIM_MODEL_TRAINED_H
#define BRIM_MODEL_TRAINED_H
#include "model/program.h"

typedef struct brim_trained_range {
  int64_t value, offset, count; /* where it begins among the values, and in the buffers of what is trained */
} brim_trained_range;

typedef struct brim_trained {
  bool *weights; /* [weights of the program]: the update changes it */
  brim_trained_range *ranges;
  int32_t count;
  int64_t size; /* values of all ranges, padding included */
} brim_trained;

/* Memory for any choice. Everything is trained. */
int brim_trained_init(brim_trained *t, const brim_program *p, brim_arena *arena, brim_error *err) BRIM_CHECK;
/* `weights` [weights of the program] are trained: at least one that an operation has. */
void brim_trained_set(brim_trained *t, const brim_program *p, const bool *weights);
bool brim_trained_differs(const brim_trained *t, const brim_program *p, const bool *weights);
/* Where the gradient and the states of the value at `value` are; -1: it has none. */
int64_t brim_trained_at(const brim_trained *t, int64_t value);
/* Whether all slices of a step may be computed at once, with the bits of one after the other: each weight that has a gradient has
 * one contribution to it, which is cut at slices. */
bool brim_trained_joins_slices(const brim_trained *t, const brim_program *p);

#endif
