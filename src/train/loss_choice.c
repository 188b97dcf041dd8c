#include "train/loss_choice.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "data/empty_texts.h"
#include "data/facts.h"
#include "feed/steps.h"
#include "model/run/ask.h"
#include "target/target.h"
#include "task/task.h"
#include "train/answers/evaluate.h"

/* ---- facts of rows ------------------------------------------------------------------------------------------- */

static void add_row(brim_row_facts *facts, uint64_t row, int32_t texts, const float *labels, int32_t width) {
  if (facts->least_texts == 0 || texts < facts->least_texts)
    facts->least_texts = texts, facts->least_row = row;
  facts->most_texts = texts > facts->most_texts ? texts : facts->most_texts;
  for (int32_t i = 0; labels && i < width; i++)
    if (!isnan(labels[i]))
      facts->labels = brim_label_range_with(facts->labels, labels[i]);
}

static brim_row_facts facts_of(const brim_dataset *dataset) {
  const brim_block_shape *shapes;
  brim_row_facts facts = {.block_count = brim_dataset_blocks(dataset, &shapes)};
  memcpy(facts.shapes, shapes, (size_t)facts.block_count * sizeof *shapes);
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    add_row(&facts, brim_dataset_origin(dataset, row), sample.text_lengths ? sample.text_count : 1, sample.labels,
            sample.label_width);
  }
  return facts;
}

int brim_count_empty(brim_runtime *runtime, const brim_dataset *dataset, const brim_tokenizer *tokenizer, uint64_t *out,
                     brim_error *err) {
  brim_empty_texts empty;
  const int status = brim_empty_texts_init(runtime, tokenizer, &empty, err);
  *out = status ? 0 : brim_empty_texts_count(&empty, dataset, 0);
  brim_empty_texts_free(&empty);
  return status;
}

uint64_t brim_equal_pairs(const brim_dataset *dataset) {
  uint64_t count = 0;
  for (uint64_t row = 0; brim_dataset_firsts(dataset) && row < brim_dataset_rows(dataset); row++) {
    brim_sample s;
    brim_dataset_sample(dataset, row, &s);
    count += s.text_count > 1 && s.text_lengths[0] == s.text_lengths[1] &&
             memcmp(s.ids, s.ids + s.text_lengths[0], (size_t)s.text_lengths[0] * sizeof *s.ids) == 0;
  }
  return count;
}

uint64_t brim_ignored_labels(const brim_dataset *dataset) {
  uint64_t count = 0;
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    brim_sample s;
    brim_dataset_sample(dataset, row, &s);
    count += s.labels && !isnan(s.labels[0]) && s.labels[0] != 1;
  }
  return count;
}

bool brim_equal_labels(const brim_dataset *dataset) {
  brim_sample first, s;
  bool equal = brim_dataset_rows(dataset) > 0;
  for (uint64_t row = 0; equal && row < brim_dataset_rows(dataset); row++) {
    brim_dataset_sample(dataset, row, row ? &s : &first);
    equal = first.labels && (row == 0 || s.labels[0] == first.labels[0]);
  }
  return equal;
}

/* ---- the loss ------------------------------------------------------------------------------------------------ */

/* A stream's rows are not known: what they lack is found when they come. */
static int facts_of_feed(const brim_trainer *t, brim_row_facts *facts, brim_error *err) {
  const brim_feed_options *how = brim_feed_how(t->supply.feed);
  if (!t->options.loss.name)
    return brim_error_set(err, BRIM_E_USAGE, "loss: a stream's rows are not looked at before training, so name it");
  const brim_source_options *source = &how->source;
  const int32_t most = brim_supply_most_texts(&t->supply), least = source->text_column_count == 0 ? 1
                                                                   : source->least_columns        ? source->least_columns
                                                                                                  : source->text_column_count;
  *facts = (brim_row_facts){.least_texts = source->paired ? least - 1 : least,
                            .most_texts = most,
                            .possible = true,
                            .labels = how->source.need_label ? BRIM_RANGE_BINARY : BRIM_RANGE_NONE};
  facts->block_count = brim_feed_blocks(t->supply.feed, facts->shapes);
  return BRIM_OK;
}

/* An option that is given; NULL: none is. */
static const char *first_given(const brim_loss_options *o) {
  const struct {
    const char *name;
    bool given;
  } all[] = {{"loss", o->name},
             {"scale", o->scale != 0},
             {"margin", o->margin != 0},
             {"temperature", o->temperature != 0},
             {"positive_weight", o->positive_weight != 0},
             {"distance", o->distance},
             {"directions", o->directions},
             {"partition", o->partition},
             {"similarity", o->similarity},
             {"hardness", o->hardness},
             {"hardness_strength", o->hardness_strength != 0},
             {"matryoshka", o->matryoshka},
             {"matryoshka_weights", o->matryoshka_weights}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].given)
      return all[i].name;
  return NULL;
}

static int choose(const brim_model *model, const brim_row_facts *of_rows, const brim_loss_options *options, brim_loss_how *how,
                  const brim_target **target, brim_error *err) {
  brim_row_facts all = *of_rows, *facts = &all;
  all.width = brim_model_outputs(model);
  *how = (brim_loss_how){.normalized = brim_model_normalizes(model)};
  if ((*target)->choose)
    return (*target)->choose(options, facts, how, target, err);
  const char *given = first_given(options);
  return !given ? BRIM_OK
                : brim_error_set(err, BRIM_E_USAGE, "%s is of losses of embeddings and rerankers: the task %s has one loss",
                                 given, brim_task_name(brim_model_task(model)));
}

/* Of rows whose answer is the mean of their windows the loss is computed on the host. */
static int find_target(const brim_trainer *t, const brim_target **target, brim_error *err) {
  const brim_task task = brim_model_task(t->model);
  const bool several = brim_supply_windows(&t->supply).most > 1, windows = several && brim_target_of_windows(task);
  *target = windows ? brim_target_of_windows(task) : brim_target_of(task);
  if (several && !brim_target_has_windows(task))
    return brim_error_set(err, BRIM_E_MISMATCH, "the rows are windows, and the model is of %s, which has none: leave them out",
                          brim_task_name(task));
  if (windows && (t->options.class_weights || t->options.label_smoothing > 0.0))
    return brim_error_set(err, BRIM_E_USAGE,
                          "rows of windows have neither class_weights nor label_smoothing: leave out one of them");
  return BRIM_OK;
}

int brim_trainer_choose_loss(brim_trainer *t, brim_error *err) {
  const brim_target *target;
  brim_loss_how how;
  brim_row_facts facts = {0};
  BRIM_TRY(find_target(t, &target, err));
  if (target->choose && t->supply.feed)
    BRIM_TRY(facts_of_feed(t, &facts, err));
  else if (target->choose)
    facts = facts_of(t->supply.dataset);
  BRIM_TRY(choose(t->model, &facts, &t->options.loss, &how, &target, err));
  if (target->loss_name)
    t->options.loss.name = target->loss_name(&how);
  brim_host_loss_init(&t->host_loss, t->runtime, target, t->model, brim_supply_most_texts(&t->supply));
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
  brim_host_loss_expect(&t->host_loss, shapes, brim_supply_blocks(&t->supply, shapes));
  t->host_loss.how = how;
  if (target->gives_labels)
    brim_model_set_scores_bare(t->model, target->gives_labels(&how));
  const char *similarity = target->similarity ? target->similarity(&how) : NULL;
  return similarity ? brim_model_set_similarity(t->model, similarity, err) : BRIM_OK;
}

int brim_choose_loss(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset,
                     const brim_loss_options *options, brim_host_loss *out, brim_error *err) {
  const brim_target *target = brim_target_of(brim_model_task(model));
  const brim_row_facts facts = facts_of(dataset);
  brim_loss_how how;
  if (!target->choose)
    return brim_error_set(err, BRIM_E_USAGE, "the task %s has one loss, which the device computes",
                          brim_task_name(brim_model_task(model)));
  BRIM_TRY(choose(model, &facts, options, &how, &target, err));
  brim_host_loss_init(out, runtime, target, model, brim_dataset_most_texts(dataset));
  brim_host_loss_expect(out, facts.shapes, facts.block_count);
  out->how = how;
  return BRIM_OK;
}

/* ---- the best ------------------------------------------------------------------------------------------------ */

int brim_best_metric_of(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, const char **out,
                        brim_error *err) {
  const brim_task task = brim_model_task(model);
  const brim_target *target = brim_target_of(task);
  *out = brim_task_best_metric(task);
  if (dataset && target->best) {
    const brim_row_facts facts = facts_of(dataset);
    *out = target->best(&facts, brim_model_meaning(model).similarity);
  } else if (dataset && brim_task_rules_of(task)->check) { /* where its rows do not have it, there is the loss */
    brim_metrics possible;
    BRIM_TRY(brim_metrics_possible(runtime, task, dataset, NULL, &possible, err));
    *out = isnan(brim_metric_value(brim_metric_find(task, *out), &possible)) ? "loss" : *out;
  }
  return BRIM_OK;
}

int brim_loss_memory(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset,
                     const brim_loss_options *options, const brim_outlook *outlook, uint64_t *bytes, brim_error *err) {
  const brim_task task = brim_model_task(model);
  const bool windows = brim_dataset_has_windows(dataset);
  const brim_target *target = windows ? brim_target_of_windows(task) : brim_target_of(task);
  brim_host_loss loss;
  *bytes = 0;
  if (!target || (!target->choose && target->scope == BRIM_LOSS_ON_DEVICE))
    return BRIM_OK;
  if (target->choose)
    BRIM_TRY(brim_choose_loss(runtime, model, dataset, options, &loss, err));
  else
    brim_host_loss_init(&loss, runtime, target, model, brim_dataset_most_texts(dataset));
  *bytes = brim_host_loss_memory(&loss, outlook->step_rows, outlook->step_parts, &outlook->limits);
  brim_host_loss_free(&loss);
  return BRIM_OK;
}
