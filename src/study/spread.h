/* spread.h: what a plan does to its steps. */
#ifndef BRIM_STUDY_SPREAD_H
#define BRIM_STUDY_SPREAD_H
#include "brim/study.h"

/* Fills in cost, step_rows, step_rows_deviation and length_bias. `lengths` are those that the plan was made from, with `options`.
 */
int brim_spread_measure(brim_runtime *runtime, const brim_plan *plan, const brim_plan_options *options,
                        const brim_lengths *lengths, brim_strategy_study *out, brim_error *err) BRIM_CHECK;

#endif
