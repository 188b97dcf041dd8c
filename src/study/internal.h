/* internal.h: what pages and fold runs take of a study. */
#ifndef BRIM_STUDY_INTERNAL_H
#define BRIM_STUDY_INTERNAL_H
#include "brim/study.h"

/* The options by which strategy `index` was planned: what a page plans again to look at the batches themselves. */
brim_plan_options brim_study_strategy_options(const brim_study *study, const brim_plan_options *options, int index);
/* One side of fold `index`: its rows (`held_out`) or all others, in order. */
int brim_folds_part(brim_runtime *runtime, const brim_dataset *dataset, const brim_folds *folds, int32_t index, bool held_out,
                    brim_dataset **out, brim_error *err) BRIM_CHECK;
/* Rows that stay together where rows are divided: those of one query of a reranker, and windows of one record; but where all rows
 * would, each is alone. */
typedef struct brim_row_groups {
  uint64_t *of; /* [rows] numbers of groups, from 0 in the order of their first rows; to be released */
  uint64_t count;
} brim_row_groups;
/* A reranker's rows, of which each has a query. */
bool brim_rows_have_queries(const brim_dataset *dataset);
int brim_row_groups_find(brim_runtime *runtime, const brim_dataset *dataset, brim_row_groups *out, brim_error *err) BRIM_CHECK;

#endif
