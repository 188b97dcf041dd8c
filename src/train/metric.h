/* metric.h: the metrics by name: which task has them, and which way is better. */
#ifndef BRIM_TRAIN_METRIC_H
#define BRIM_TRAIN_METRIC_H
#include "brim/train.h"

typedef struct brim_metric {
  const char *name;
  size_t offset;  /* of the double in brim_metrics */
  bool small;     /* less is better */
  unsigned tasks; /* 1 << brim_task for each task that has it */
} brim_metric;

/* By name among those of a task (AUTO: of any task), or NULL. */
const brim_metric *brim_metric_find(brim_task task, const char *name);
double brim_metric_value(const brim_metric *metric, const brim_metrics *metrics);
/* "loss, accuracy, f1, matthews" */
void brim_metric_names(brim_task task, char *text, size_t size);

/* BRIM_E_DIVERGED, which names the row, where an output is no finite number. */
int brim_outputs_finite(const float *logits, int32_t outputs, uint64_t row, brim_error *err) BRIM_CHECK;
/* The label of a row, which has to be one of the classes. */
int brim_outcomes_label(const brim_dataset *dataset, uint64_t row, int32_t outputs, brim_outcome *out,
                        brim_error *err) BRIM_CHECK;

#endif
