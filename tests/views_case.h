/* views_case.h: rows with labels, and what a model might have made of them. */
#ifndef BRIM_TESTS_VIEWS_CASE_H
#define BRIM_TESTS_VIEWS_CASE_H
#include "brim/views.h"
#include "task/task.h"
#include "train_case.h"
#include "views/views.h"

/* Rows of two tokens with these labels, `width` of them a row; `names` NULL: values. */
__attribute__((unused)) static brim_dataset *views_rows(brim_runtime *runtime, brim_task task, const char *const *names,
                                                        int32_t count, const float *values, uint64_t rows, int32_t width) {
  static const int32_t ids[] = {1, 2};
  brim_labels labels;
  brim_dataset *dataset = NULL;
  brim_sample *samples = calloc(rows, sizeof *samples);
  for (uint64_t i = 0; i < rows; i++)
    samples[i] = (brim_sample){.ids = ids,
                               .length = 2,
                               .label = values[i * (uint64_t)width],
                               .labels = task == BRIM_TASK_CLASSIFICATION ? NULL : values + i * (uint64_t)width,
                               .label_width = task == BRIM_TASK_CLASSIFICATION ? 0 : width};
  brim_error err = {0};
  if (brim_labels_make(runtime, task, names, count, &labels, &err) ||
      brim_dataset_from_samples(runtime, samples, rows, &labels, &dataset, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  brim_labels_free(&labels);
  free(samples);
  return dataset;
}

/* Judges rows by logits [rows, count]. */
__attribute__((unused)) static int views_judge(brim_runtime *runtime, const char *name, const brim_dataset *dataset,
                                               const float *logits, brim_judged *out, brim_error *err) {
  const brim_labels *labels = brim_dataset_labels(dataset);
  const uint64_t rows = brim_dataset_rows(dataset);
  const bool one = labels->task == BRIM_TASK_CLASSIFICATION;
  brim_outcome *outcomes = calloc(rows, sizeof *outcomes);
  const brim_metrics metrics = {.rows = rows, .loss = 0.5, .accuracy = 0.25};
  for (uint64_t i = 0; one && i < rows; i++) {
    brim_sample sample;
    brim_dataset_sample(dataset, i, &sample);
    outcomes[i] = brim_outcome_of(logits + i * (uint64_t)labels->count, labels->count, (int32_t)sample.label);
  }
  const brim_verdict verdict = {.name = name,
                                .step = 7,
                                .task = labels->task,
                                .labels = labels,
                                .dataset = dataset,
                                .metrics = &metrics,
                                .logits = one ? NULL : logits,
                                .outcomes = one ? outcomes : NULL};
  const int status = brim_judge(runtime, &verdict, out, err);
  free(outcomes);
  return status;
}

#endif
