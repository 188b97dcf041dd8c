/* views.h: what the files of src/views share. */
#ifndef BRIM_VIEWS_VIEWS_H
#define BRIM_VIEWS_VIEWS_H
#include "brim/views.h"

/* The text of a record into *passage, at most BRIM_MOST_PASSAGE bytes of it. */
int brim_passage_copy(brim_runtime *runtime, const brim_record *record, brim_passage *passage, brim_error *err) BRIM_CHECK;

/* What is judged; borrowed. */
typedef struct brim_verdict {
  const char *name;
  uint64_t step;
  brim_task task;
  const brim_labels *labels;
  const brim_dataset *dataset;
  const brim_metrics *metrics;
  const float *logits;          /* [rows, labels->count]; NULL for classification and tokens */
  const brim_outcome *outcomes; /* [rows] of classification, or [labelled tokens]; NULL for other tasks */
} brim_verdict;

/* Without texts. Free *out in any case. */
int brim_judge(brim_runtime *runtime, const brim_verdict *verdict, brim_judged *out, brim_error *err) BRIM_CHECK;

#endif
