/* normed.h: what kinds that end in norm(residual + dropout(x W + b)) share: join and feed_forward. */
#ifndef BRIM_MODEL_NORMED_H
#define BRIM_MODEL_NORMED_H
#include "model/calls.h"

/* Inner values and weights of such an operation, and its residual. */
typedef struct brim_normed_operands {
  int32_t sum, mean, rstd;           /* values */
  int32_t weight, bias, gamma, beta; /* weights */
  int32_t residual;                  /* value */
} brim_normed_operands;

/* out = norm(residual + dropout(x W + b)). In bf16 x is of 16 bits, the output is of 32 with a copy in 16, and the sum is written
 * for backward alone. */
void brim_normed_forward(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n, brim_at x, int32_t in);
/* The output made again from the sum. */
void brim_normed_again(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n);
/* Writes the gradient of the residual and that of the branch, x W + b before dropout, which is returned; in bf16 it has 16 bits.
 */
brim_at brim_normed_backward(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n);
/* The residual of an operation in bytes. */
void brim_fill_residual(brim_lowering *l, brim_residual *r, const brim_operation *o, const brim_normed_operands *n,
                        brim_at residual);
/* Where the residual is for the rows that are computed of the output. */
brim_at brim_read_residual(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n);

#endif
