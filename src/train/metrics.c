/* metrics.c: what outputs are worth over the labels of a data set; how is the task's affair. */
#include "base/status.h"
#include "brim/train.h"
#include "task/task.h"

/* The labels of all rows are one after another. */
static brim_scored scored_of(brim_runtime *runtime, int32_t outputs, const float *logits, const brim_dataset *dataset) {
  brim_scored s = {.runtime = runtime, .rows = brim_dataset_rows(dataset), .outputs = outputs, .logits = logits};
  brim_sample first;
  if (s.rows == 0)
    return s;
  brim_dataset_sample(dataset, 0, &first);
  s.labels = first.labels;
  s.width = first.label_width;
  return s;
}

int brim_metrics_compute(brim_runtime *runtime, brim_task task, int32_t outputs, const float *logits, const brim_dataset *dataset,
                         brim_metrics *out, brim_error *err) {
  const brim_scored s = scored_of(runtime, outputs, logits, dataset);
  *out = brim_metrics_none(s.rows);
  out->tokens = brim_dataset_tokens(dataset);
  if (s.rows == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows to evaluate");
  const brim_task_rules *rules = brim_task_rules_of(task);
  if (!rules || !rules->measure)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "there are no metrics of data sets for the task \"%s\"", brim_task_name(task));
  return rules->measure(&s, out, err);
}

int brim_confusion_count(brim_task task, int32_t outputs, const float *logits, const brim_dataset *dataset, uint64_t *counts,
                         brim_error *err) {
  const brim_task_rules *rules = brim_task_rules_of(task);
  const brim_scored s = scored_of(NULL, outputs, logits, dataset);
  if (!rules || !rules->confuse)
    return brim_error_set(err, BRIM_E_USAGE, "the task \"%s\" has no confusion matrix", brim_task_name(task));
  return rules->confuse(&s, counts, err);
}
