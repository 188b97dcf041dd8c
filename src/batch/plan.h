/* plan.h: what is asked of a plan so often that a whole part would be too much. */
#ifndef BRIM_BATCH_PLAN_H
#define BRIM_BATCH_PLAN_H
#include "brim/batch.h"

/* The step that part `index` of every rank belongs to. */
uint64_t brim_plan_step_of(const brim_plan *plan, uint64_t index);

#endif
