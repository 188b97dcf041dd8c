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
  const float *logits; /* [rows, labels->count], or of rows of texts [texts, outputs]; NULL for classification and tokens */
  const brim_outcome *outcomes; /* [rows] of classification, or [labelled tokens]; NULL for other tasks */
  int32_t outputs;              /* of vectors: their width */
  brim_meaning meaning;         /* of logits */
} brim_verdict;

/* Without texts. Free *out in any case. */
int brim_judge(brim_runtime *runtime, const brim_verdict *verdict, brim_judged *out, brim_error *err) BRIM_CHECK;

/* Whether there is an answer of each row, or labelled token, that can be wrong. */
bool brim_is_judged(brim_task task, const brim_dataset *dataset);

/* The place of a row among the most wrong, which is the caller's to describe; NULL: it is none of them. */
brim_wrong_row *brim_judged_note(brim_judged *judged, uint64_t row, double loss);

/* The same where the task's target finds what became of rows: out->labels, values, wrong and near. */
int brim_judge_found(brim_runtime *runtime, const brim_verdict *verdict, brim_judged *out, brim_error *err) BRIM_CHECK;

#endif
