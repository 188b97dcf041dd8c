/* metric.c: the metrics by name. */
#include <stdio.h>
#include <string.h>

#include "task/task.h"

#define METRIC(name, small) {#name, offsetof(brim_metrics, name), small}
static const brim_metric metrics[] = {
    METRIC(loss, true),
    METRIC(accuracy, false),
    METRIC(f1, false),
    METRIC(matthews, false),
    METRIC(f1_micro, false),
    METRIC(f1_macro, false),
    METRIC(perplexity, true),
    METRIC(rmse, true),
    METRIC(pearson, false),
    METRIC(spearman, false),
    METRIC(entity_precision, false),
    METRIC(entity_recall, false),
    METRIC(entity_f1, false),
    METRIC(spearman_dot, false),
    METRIC(spearman_euclidean, false),
    METRIC(spearman_manhattan, false),
    METRIC(average_precision, false),
    METRIC(mrr, false),
    METRIC(ndcg, false),
    METRIC(map, false),
};
enum { METRICS = sizeof metrics / sizeof *metrics };

static bool has_metric(brim_task task, const brim_metric *metric) {
  const brim_task_rules *r = brim_task_rules_of(task);
  for (int i = 0; r && i < BRIM_METRIC_FIELDS; i++)
    if (r->metrics[i] && strcmp(r->metrics[i], metric->name) == 0)
      return true;
  return !r;
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

const char *brim_task_best_metric(brim_task task) {
  const brim_task_rules *r = brim_task_rules_of(task);
  return r ? r->best : NULL;
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
      fields[count++] = (brim_field){
          .name = metrics[i].name, .kind = BRIM_VALUE_REAL, .real = brim_metric_value(&metrics[i], of)};
  return count;
}

brim_metrics brim_metrics_none(uint64_t rows) {
  double none = (double)NAN;
  return (brim_metrics){.rows = rows,
                        .loss = none,
                        .accuracy = none,
                        .f1 = none,
                        .matthews = none,
                        .f1_micro = none,
                        .f1_macro = none,
                        .perplexity = none,
                        .rmse = none,
                        .pearson = none,
                        .spearman = none,
                        .entity_precision = none,
                        .entity_recall = none,
                        .entity_f1 = none,
                        .spearman_dot = none,
                        .spearman_euclidean = none,
                        .spearman_manhattan = none,
                        .average_precision = none,
                        .mrr = none,
                        .ndcg = none,
                        .map = none};
}
