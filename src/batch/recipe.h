/* recipe.h: plan options made ready to plan with, and the lengths that are planned. */
#ifndef BRIM_BATCH_RECIPE_H
#define BRIM_BATCH_RECIPE_H
#include "base/random.h"
#include "batch/budget.h"

typedef struct brim_recipe {
  brim_plan_options options;
  uint64_t epoch;
  int32_t world;       /* at least 1 */
  uint64_t accumulate; /* batches of a step when there is no batch_size */
  bool drop;           /* drop_last, or tail drop */
  brim_budget budget;  /* of a part; its limit is the final one */
  brim_budget compose; /* of a batch while rows are brought together: with batch_size only the row count, so that a step does not
                          depend on what is computed at once */
} brim_recipe;

/* Checks the options and fills *recipe. */
int brim_recipe_make(const brim_plan_options *options, uint64_t epoch, brim_recipe *recipe, brim_error *err) BRIM_CHECK;

/* Checks every length against the recipe and counts what is cut: *truncated rows, *lost tokens. */
int brim_recipe_check_lengths(const brim_recipe *recipe, const int32_t *lengths, uint64_t rows, uint64_t *truncated,
                              uint64_t *lost, brim_error *err) BRIM_CHECK;

/* The stream of random numbers of one purpose in this epoch. */
brim_random brim_recipe_random(const brim_recipe *recipe, brim_purpose purpose);

#endif
