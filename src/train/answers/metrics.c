/* metrics.c: what outputs are worth over the labels of a data set; how is the task's affair. */
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "brim/train.h"
#include "model/run/ask.h"
#include "target/target.h"
#include "task/task.h"
#include "train/answers/evaluate.h"

/* The labels of all rows are one after another. */
static brim_scored scored_of(brim_runtime *runtime, brim_task task, int32_t outputs, const float *logits,
                             const brim_dataset *dataset) {
  brim_scored s = {.runtime = runtime, .task = task, .rows = brim_dataset_rows(dataset), .outputs = outputs, .logits = logits};
  brim_sample first;
  if (s.rows == 0)
    return s;
  brim_dataset_sample(dataset, 0, &first);
  s.labels = first.labels;
  s.width = first.label_width;
  return s;
}

int brim_outcomes_judge(brim_runtime *runtime, const brim_labels *labels, const brim_outcome *outcomes,
                        const brim_dataset *dataset, brim_metrics *out, brim_error *err) {
  const brim_outcomes all = {.runtime = runtime,
                             .outputs = labels->count,
                             .at = outcomes,
                             .count = brim_outcome_count(dataset),
                             .rows = brim_dataset_rows(dataset),
                             .firsts = brim_dataset_token_labels(dataset),
                             .names = (const char *const *)labels->names};
  return brim_judge_outcomes(labels->task, &all, out, err);
}

/* Of logits [tokens, outputs]. */
static int measure_tokens(brim_runtime *runtime, const brim_labels *labels, const float *logits, const brim_dataset *dataset,
                          brim_metrics *out, brim_error *err) {
  brim_outcome *outcomes = brim_alloc_array(runtime, (size_t)brim_outcome_count(dataset) + 1, sizeof *outcomes), *to = outcomes;
  int status = outcomes ? BRIM_OK : BRIM_NOMEM(err);
  for (uint64_t row = 0; row < brim_dataset_rows(dataset) && !status; row++) {
    brim_sample sample;
    const brim_row_name name = {.row = row};
    brim_dataset_sample(dataset, row, &sample);
    if (!sample.token_labels)
      status = brim_label_fits(labels->task, labels->count, NULL, 0, false, name, err);
    else
      status = brim_token_labels_fit(labels->task, labels->count, sample.token_labels, sample.length, name, err);
    for (int32_t i = 0; i < sample.length && !status; i++, logits += labels->count)
      if (sample.token_labels[i] != BRIM_NO_LABEL)
        *to++ = brim_outcome_of(logits, labels->count, sample.token_labels[i]);
  }
  if (!status)
    status = brim_outcomes_judge(runtime, labels, outcomes, dataset, out, err);
  brim_release(runtime, outcomes);
  return status;
}

/* Of rows that came as tokens, the first text with the separator after it: what is before the first token that is also the last
 * one. */
uint64_t brim_row_query(const brim_sample *sample) {
  if (sample->query)
    return sample->query;
  const int32_t last = sample->ids[sample->length - 1];
  int32_t end = 1;
  while (end < sample->length && sample->ids[end] != last)
    end++;
  return brim_hash64(sample->ids, (size_t)end * sizeof *sample->ids, 0);
}

/* Of each text; returns where the next row's go. */
static uint64_t *hash_texts(const brim_sample *sample, uint64_t *to) {
  const int32_t texts = sample->text_lengths ? sample->text_count : 1, *ids = sample->ids;
  for (int32_t t = 0; t < texts; t++) {
    const int32_t length = sample->text_lengths ? sample->text_lengths[t] : sample->length;
    *to++ = brim_hash64(ids, (size_t)length * sizeof *ids, 0);
    ids += length;
  }
  return to;
}

/* The rows' texts: where they begin, which are equal, and which rows are of one query. *hashes is to be released. */
static int add_texts(brim_scored *s, const brim_dataset *dataset, uint64_t **hashes, brim_error *err) {
  const size_t texts = (size_t)brim_dataset_texts(dataset);
  uint64_t *same = *hashes = brim_alloc_array(s->runtime, texts + (size_t)s->rows, sizeof *same), *groups = same + texts;
  if (!same)
    return BRIM_NOMEM(err);
  s->firsts = brim_dataset_firsts(dataset);
  s->groups = groups;
  s->same = same;
  for (uint64_t row = 0; row < s->rows; row++) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    groups[row] = brim_row_query(&sample);
    same = hash_texts(&sample, same);
  }
  return BRIM_OK;
}

/* Without outputs only whether it can be measured. */
static int measure_texts(const brim_task_rules *rules, const brim_scored *scored, const brim_dataset *dataset, brim_metrics *out,
                         brim_error *err) {
  brim_scored s = *scored;
  uint64_t *hashes;
  s.firsts = brim_dataset_firsts(dataset);
  BRIM_TRY(rules->check(&s, err));
  if (!s.logits)
    return out && rules->possible ? rules->possible(&s, out, err) : BRIM_OK;
  BRIM_TRY(add_texts(&s, dataset, &hashes, err));
  const int status = rules->measure(&s, out, err);
  brim_release(s.runtime, hashes);
  return status;
}

static int measure(brim_scored *s, const brim_dataset *dataset, brim_metrics *out, brim_error *err) {
  *out = brim_metrics_none(s->rows);
  out->tokens = brim_dataset_tokens(dataset);
  if (s->rows == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows to evaluate");
  const brim_task_rules *rules = brim_task_rules_of(s->task);
  const brim_labels *mapping = brim_dataset_labels(dataset), unnamed = {.task = s->task, .count = s->outputs};
  if (rules && rules->shape.outputs == BRIM_OUTPUTS_OF_TOKENS)
    return measure_tokens(s->runtime, mapping && mapping->count == s->outputs ? mapping : &unnamed, s->logits, dataset, out, err);
  if (!rules || !rules->measure)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "there are no metrics of data sets for the task \"%s\"",
                          brim_task_name(s->task));
  return rules->check ? measure_texts(rules, s, dataset, out, err) : rules->measure(s, out, err);
}

int brim_metrics_compute(brim_runtime *runtime, brim_task task, int32_t outputs, brim_meaning meaning, const float *logits,
                         const brim_dataset *dataset, brim_metrics *out, brim_error *err) {
  brim_scored s = scored_of(runtime, task, outputs, logits, dataset);
  s.meaning = meaning;
  return measure(&s, dataset, out, err);
}

int brim_model_metrics(brim_runtime *runtime, const brim_model *model, const float *logits, const brim_dataset *dataset,
                       brim_metrics *out, brim_error *err) {
  return brim_metrics_compute(runtime, brim_model_task(model), brim_model_outputs(model), brim_model_meaning(model), logits,
                              dataset, out, err);
}

/* ---- single rows ------------------------------------------------------------------------------------------- */

bool brim_finds_rows(brim_task task) {
  return brim_target_of(task) && brim_target_of(task)->find;
}

int brim_found_open(brim_runtime *runtime, brim_task task, int32_t outputs, brim_meaning meaning, const float *logits,
                    const brim_dataset *dataset, uint64_t most, brim_found_rows *out, brim_error *err) {
  const brim_target *target = brim_target_of(task);
  *out = (brim_found_rows){.scored = scored_of(runtime, task, outputs, logits, dataset), .every = 1};
  out->scored.meaning = meaning;
  out->every = out->scored.rows > most ? (out->scored.rows + most - 1) / most : 1;
  out->count = (out->scored.rows + out->every - 1) / out->every;
  int status = add_texts(&out->scored, dataset, &out->hashes, err);
  if (!status && !(out->rows = brim_alloc_array(runtime, (size_t)out->count + 1, sizeof *out->rows)))
    status = BRIM_NOMEM(err);
  if (!status)
    status = brim_task_rules_of(task)->check(&out->scored, err);
  return status ? status : target->find(&out->scored, out->every, out->rows, err);
}

void brim_found_close(brim_found_rows *found) {
  if (!found->scored.runtime)
    return;
  brim_release(found->scored.runtime, found->hashes);
  brim_release(found->scored.runtime, found->rows);
}

/* ---- before there are outputs ------------------------------------------------------------------------------- */

/* Scores that differ from text to text. */
static int make_up(const brim_dataset *dataset, brim_runtime *runtime, float **out, brim_error *err) {
  const size_t texts = (size_t)brim_dataset_texts(dataset);
  float *logits = *out = brim_alloc_array(runtime, texts, sizeof *logits);
  for (size_t i = 0; logits && i < texts; i++)
    logits[i] = (float)i;
  return logits ? BRIM_OK : BRIM_NOMEM(err);
}

bool brim_metrics_tried(brim_task task) {
  return brim_task_rules_of(task)->check;
}

int brim_metrics_possible(brim_runtime *runtime, brim_task task, const brim_dataset *dataset, const char *name, brim_metrics *out,
                          brim_error *err) {
  brim_scored s = scored_of(runtime, task, 1, NULL, dataset);
  float *logits = NULL;
  if (out)
    *out = brim_metrics_none(s.rows);
  const brim_task_rules *rules = brim_task_rules_of(task);
  if (s.rows == 0 || !rules->check)
    return BRIM_OK;
  if (out && !rules->possible)
    BRIM_TRY(make_up(dataset, runtime, &logits, err));
  s.set = name, s.logits = logits;
  const int status = measure_texts(rules, &s, dataset, out, err);
  brim_release(runtime, logits);
  return status;
}

int brim_confusion_count(brim_task task, int32_t outputs, const float *logits, const brim_dataset *dataset, uint64_t *counts,
                         brim_error *err) {
  BRIM_GIVEN(err, logits, dataset, counts);
  const brim_task_rules *rules = brim_task_rules_of(task);
  const brim_scored s = scored_of(NULL, task, outputs, logits, dataset);
  if (!rules || !rules->confuse)
    return brim_error_set(err, BRIM_E_USAGE, "the task \"%s\" has no confusion matrix", brim_task_name(task));
  return rules->confuse(&s, counts, err);
}
