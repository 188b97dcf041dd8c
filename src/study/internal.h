/* internal.h: what pages and fold runs take of a study. */
#ifndef BRIM_STUDY_INTERNAL_H
#define BRIM_STUDY_INTERNAL_H
#include "brim/study.h"

/* The options by which strategy `index` was planned: what a page plans again to look at the batches themselves. */
brim_plan_options brim_study_strategy_options(const brim_study *study, const brim_plan_options *options, int index);
/* One side of fold `index`: its rows (`held_out`) or all others, in order. */
int brim_folds_part(brim_runtime *runtime, const brim_dataset *dataset, const brim_folds *folds, int32_t index, bool held_out,
                    brim_dataset **out, brim_error *err) BRIM_CHECK;

#endif
