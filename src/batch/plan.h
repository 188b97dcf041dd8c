/* plan.h: what the library alone asks of plans. */
#ifndef BRIM_BATCH_PLAN_H
#define BRIM_BATCH_PLAN_H
#include "brim/batch.h"

/* The step that part `index` of every rank belongs to: asked so often that a whole part would be too much. */
uint64_t brim_plan_step_of(const brim_plan *plan, uint64_t index);

/* Checks options alone; names the field and what to do. */
int brim_plan_options_check(const brim_plan_options *options, brim_error *err) BRIM_CHECK;

#endif
