/* metric.c: the table of metrics. */
#include "train/metric.h"

#include <stdio.h>
#include <string.h>

#include "train/fields.h"

#define CLASSES (1u << BRIM_TASK_CLASSIFICATION)
#define VALUES  (1u << BRIM_TASK_REGRESSION)
#define MANY    (1u << BRIM_TASK_MULTI_LABEL)

#define METRIC(name, small, tasks) {#name, offsetof(brim_metrics, name), small, tasks}
static const brim_metric metrics[] = {
    METRIC(loss, true, CLASSES | VALUES | MANY),
    METRIC(accuracy, false, CLASSES | MANY),
    METRIC(f1, false, CLASSES),
    METRIC(matthews, false, CLASSES),
    METRIC(f1_micro, false, MANY),
    METRIC(f1_macro, false, MANY),
    METRIC(rmse, true, VALUES),
    METRIC(pearson, false, VALUES),
    METRIC(spearman, false, VALUES),
};
enum { METRICS = sizeof metrics / sizeof *metrics };

static bool has_metric(brim_task task, const brim_metric *metric) {
  return task == BRIM_TASK_AUTO || (metric->tasks >> task & 1);
}

const brim_metric *brim_metric_find(brim_task task, const char *name) {
  for (int i = 0; i < METRICS; i++)
    if (has_metric(task, &metrics[i]) && strcmp(metrics[i].name, name) == 0)
      return &metrics[i];
  return NULL;
}

double brim_metric_value(const brim_metric *metric, const brim_metrics *of) {
  double value;
  memcpy(&value, (const char *)of + metric->offset, sizeof value);
  return value;
}

void brim_metric_names(brim_task task, char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < METRICS && used < size; i++)
    if (has_metric(task, &metrics[i]))
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", metrics[i].name);
}

int brim_metrics_fields(brim_task task, const brim_metrics *of, brim_field fields[BRIM_METRIC_FIELDS]) {
  int count = 0;
  for (int i = 0; i < METRICS; i++)
    if (has_metric(task, &metrics[i]) && count < BRIM_METRIC_FIELDS)
      fields[count++] = BRIM_FIELD_REAL(metrics[i].name, brim_metric_value(&metrics[i], of));
  return count;
}
