/* sum.h: the gradient of all ranks. Of tables only the rows that any rank's texts have are sent. */
#ifndef BRIM_REDUCE_SUM_H
#define BRIM_REDUCE_SUM_H
#include "brim/dist.h"
#include "model/run/pending.h"

/* Rows of tables that have a gradient on any rank, in the model or in the first `count` of `pending` (which may be NULL), have
 * one in the model on all ranks. */
int brim_sum_join_rows(const brim_group *group, brim_runtime *runtime, brim_model *model, const brim_pending *pending,
                       int32_t count, brim_error *err) BRIM_CHECK;
/* Returns when the gradient from `from` on is complete; with BRIM_SUM_BEGUN when backward has begun, which is when the rows of
 * tables are known. */
#define BRIM_SUM_BEGUN (INT64_MAX - 1)
typedef void (*brim_sum_wait)(void *context, int64_t from);
/* The model's gradient becomes the sum of those of all ranks. `wait` NULL: it is complete. */
int brim_sum_gradient(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_sum_wait wait, void *context,
                      brim_error *err) BRIM_CHECK;
/* Only its tables do, after all ranks have come here. */
int brim_sum_tables(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_error *err) BRIM_CHECK;
#endif
