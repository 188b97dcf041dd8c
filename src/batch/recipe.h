/* recipe.h: plan options made ready to plan with, and the rows that are planned. */
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

/* The rows of a plan, as strategies look at them (lengths.c). */
typedef struct brim_planned_rows {
  brim_runtime *runtime;
  brim_row_sizes sizes;
  brim_row_size *several; /* these two where rows have several texts */
  int32_t *longest;
  uint64_t truncated, lost;      /* rows and tokens that the recipe cuts */
  const brim_dataset *repeating; /* whose windows overlap; NULL: there are none */
} brim_planned_rows;

/* Checks every row against the recipe, which becomes one for rows of several texts where they have them. *lengths must stay as
 * long as *rows, which is to be freed whatever comes back. */
int brim_planned_rows_make(brim_planned_rows *rows, brim_runtime *runtime, brim_recipe *recipe, const brim_lengths *lengths,
                           brim_error *err) BRIM_CHECK;
void brim_planned_rows_free(brim_planned_rows *rows);

/* The stream of random numbers of one purpose in this epoch. */
brim_random brim_recipe_random(const brim_recipe *recipe, brim_purpose purpose);

#endif
