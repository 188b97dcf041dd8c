/* start.c: everything that happens once, before the first step. What can be refused is refused before anything is written. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/process.h"
#include "base/status.h"
#include "batch/collate.h"
#include "data/facts.h"
#include "dist/group.h"
#include "feed/steps.h"
#include "model/run/ask.h"
#include "model/run/flat.h"
#include "model/run/model.h"
#include "model/run/queue.h"
#include "train/agreement.h"
#include "train/answers/evaluate.h"
#include "train/answers/fit.h"
#include "train/average.h"
#include "train/class_weights.h"
#include "train/folder/folds_mark.h"
#include "train/folder/hashes.h"
#include "train/loss_choice.h"
#include "train/options.h"
#include "train/trainer.h"
#include "train/turn.h"

/* ---- options ---------------------------------------------------------------------------------------------- */

/* A label is one class: what becomes of it is an outcome, and no logits are kept. */
static bool start_has_outcomes(const brim_trainer *t) {
  return brim_model_shape(t->model)->one_class;
}

/* What is as ever is recorded as not given: older runs say nothing of it. */
static void start_optimizer(brim_trainer *t) {
  brim_train_options *o = &t->options;
  const brim_optimizer_options optimizer = brim_train_optimizer(o);
  o->optimizer = brim_model_optimizer(t->model);
  if (!t->model->optimizer->momentum)
    o->momentum = 0;
  if (t->model->optimizer == brim_optimizer_find(NULL))
    o->optimizer = NULL;
  if (!optimizer.returns)
    o->decay_towards = NULL;
}

/* What was left open gets its value, so that it can be recorded and compared. */
static int start_options(brim_trainer *t, int eval_count, brim_error *err) {
  brim_train_options *o = &t->options;
  if (o->group.world_size <= 0)
    o->group = brim_group_single();
  BRIM_TRY(brim_train_options_check(o, err));
  BRIM_TRY(brim_options_json_check(t->runtime, o, err));
  BRIM_TRY(brim_train_prepare_model(t->model, o, err));
  o->freeze = brim_model_frozen(t->model);
  o->train_only = *brim_model_trained_only(t->model) ? brim_model_trained_only(t->model) : NULL;
  start_optimizer(t);
  o->plan.world_size = o->group.world_size;
  if (o->plan.batch_size == 0 && o->plan.accumulate == 0)
    o->plan.accumulate = o->plan.slices > 0 ? 1 : o->group.world_size;
  if (o->log_every == 0)
    o->log_every = 1;
  if (o->max_steps > 0)
    o->epochs = 0.0;
  const bool wanted = o->best_metric || o->patience > 0;
  if (o->final == BRIM_FINAL_AUTO)
    o->final = wanted && eval_count > 0 && o->eval_when != BRIM_NEVER && o->swa_start <= 0.0 ? BRIM_FINAL_BEST : BRIM_FINAL_LAST;
  if (o->final == BRIM_FINAL_BEST && (eval_count == 0 || o->eval_when == BRIM_NEVER))
    return brim_error_set(err, BRIM_E_USAGE, "which weights are the best (keep), an evaluation says: give an evaluation set");
  if (o->label_smoothing > 0.0 && !start_has_outcomes(t))
    return brim_error_set(err, BRIM_E_USAGE, "label_smoothing needs a classification with one class per row or token");
  return BRIM_OK;
}

/* "loss, accuracy": what rows have that have these. */
static void possible_names(brim_task task, const brim_metrics *possible, char names[BRIM_METRIC_NAMES]) {
  brim_field fields[BRIM_METRIC_FIELDS];
  const int count = brim_metrics_fields(task, possible, fields);
  size_t used = 0;
  names[0] = 0;
  for (int i = 0; i < count && used < BRIM_METRIC_NAMES; i++)
    if (!isnan(fields[i].real))
      used += (size_t)snprintf(names + used, BRIM_METRIC_NAMES - used, "%s%s", used ? ", " : "", fields[i].name);
}

/* Which set and which metric decide what is best: "accuracy" of the first set, or "SET/accuracy". */
static int start_metric(brim_trainer *t, const brim_named_dataset *evals, int count, brim_error *err) {
  brim_train_options *o = &t->options;
  const bool given = o->best_metric;
  BRIM_TRY(brim_sets_check(evals, count, err));
  if (!given)
    BRIM_TRY(brim_best_metric_of(t->runtime, t->model, count > 0 ? evals[0].dataset : NULL, &o->best_metric, err));
  const char *slash = strrchr(o->best_metric, '/'), *name = slash ? slash + 1 : o->best_metric;
  size_t set = slash ? (size_t)(slash - o->best_metric) : 0;
  char names[BRIM_METRIC_NAMES];
  t->metric = brim_metric_find(brim_model_task(t->model), name);
  t->small = t->metric ? t->metric->small : o->best_is_small;
  if (!t->metric && !o->own_metrics) {
    brim_metric_names(brim_model_task(t->model), names, sizeof names);
    return brim_error_set(err, BRIM_E_USAGE, "best_metric is \"%s\", which this model's task does not have: use one of %s%s",
                          o->best_metric, names, strstr(names, "matthews") ? " (f1: the mean; of two classes the second's)" : "");
  }
  while (slash && t->metric_set < count &&
         !(strlen(evals[t->metric_set].name) == set && memcmp(evals[t->metric_set].name, o->best_metric, set) == 0))
    t->metric_set++;
  if (slash && t->metric_set == count)
    return brim_error_set(err, BRIM_E_USAGE, "best_metric is \"%s\", but no evaluation set is named \"%.*s\"", o->best_metric,
                          (int)set, o->best_metric);
  t->decides = given || o->patience > 0 || o->final == BRIM_FINAL_BEST;
  if (!t->turns && (count == 0 || o->eval_when == BRIM_NEVER)) /* options of a turn are those of the last one */
    BRIM_TRY(brim_options_check_unevaluated(o, given, err));
  for (int i = 0; i < count; i++)
    for (int k = 0; k < i; k++)
      if (strcmp(evals[i].name, evals[k].name) == 0)
        return brim_error_set(err, BRIM_E_USAGE, "two evaluation sets are named \"%s\": give each its own name", evals[i].name);
  return BRIM_OK;
}

/* ---- masked words ------------------------------------------------------------------------------------------ */

/* What a vocabulary of outputs has no use for. */
static int refuse_with_masks(const brim_train_options *o, brim_error *err) {
  if (o->label_smoothing > 0.0)
    return brim_error_set(err, BRIM_E_USAGE, "label_smoothing is for classes: masked words have none");
  if (o->class_weights)
    return brim_error_set(err, BRIM_E_USAGE, "class_weights are for classes: masked words have none");
  if (o->own_metrics)
    return brim_error_set(err, BRIM_E_USAGE,
                          "metrics of one's own (compute_metrics in Python) are made from logits, which masked words have not");
  return BRIM_OK;
}

static int start_masks(brim_trainer *t, brim_error *err) {
  brim_train_options *o = &t->options;
  if (!brim_model_shape(t->model)->made)
    return o->mask_rate ? brim_error_set(err, BRIM_E_USAGE, "mask_rate is for masked words, and the model's task is %s",
                                         brim_task_name(brim_model_task(t->model)))
                        : BRIM_OK;
  BRIM_TRY(refuse_with_masks(o, err));
  if (!t->supply.feed && !brim_dataset_is_numbered(t->supply.dataset) && brim_dataset_token_labels(t->supply.dataset))
    return BRIM_OK; /* they are masked already */
  BRIM_TRY(brim_masks_init(&t->supply.masks, t->runtime, t->tokenizer, brim_model_outputs(t->model), o->mask_rate, err));
  t->supply.masks.seed = o->seed;
  return BRIM_OK;
}

/* Evaluation sees rows that are masked once and for all: they are in the place of those that were given, which are borrowed. */
static int start_masked_evals(brim_trainer *t, brim_named_dataset *evals, int count, brim_error *err) {
  t->masked = brim_alloc_array_zero(t->runtime, (size_t)count + 1, sizeof *t->masked);
  if (!t->masked)
    return BRIM_NOMEM(err);
  for (; t->masked_count < count; t->masked_count++) {
    brim_named_dataset *set = &evals[t->masked_count];
    BRIM_TRY(brim_masks_dataset(&t->supply.masks, set->dataset, set->name, &t->masked[t->masked_count], err));
    set->dataset = t->masked[t->masked_count];
  }
  return BRIM_OK;
}

/* ---- evaluation sets -------------------------------------------------------------------------------------- */

/* Of BRIM_PAD_MAX_LENGTH; 0: the data set's longest row. */
static int32_t eval_width(const brim_trainer *t) {
  return t->options.eval.max_length > 0 ? t->options.eval.max_length : t->options.plan.max_length;
}

/* Tokens of the longest row, cut as it will be. */
static int32_t eval_longest(const brim_trainer *t, const brim_dataset *dataset) {
  const int32_t longest = brim_dataset_longest(dataset), cut = eval_width(t);
  return cut > 0 && longest > cut ? cut : longest;
}

/* Rows computed at once, of which memory_limit allows what training has. */
static int64_t eval_rows(const brim_trainer *t) {
  const int64_t chosen = t->options.eval.batch_size, trained = t->outlook.limits.max_sequences;
  if (t->options.memory_limit && (chosen == 0 || chosen > trained))
    return trained;
  return chosen > 0 ? chosen : 4 * trained;
}

/* Unless it was said otherwise, evaluation computes at once what training computes at once: it needs no memory besides. */
static int start_eval_plan(brim_trainer *t, brim_eval_set *set, brim_error *err) {
  const brim_eval_options *o = &t->options.eval;
  int64_t longest = eval_longest(t, set->dataset), most = t->outlook.limits.max_slots;
  bool chosen = o->batch_size > 0 || o->max_tokens > 0;
  int32_t width = eval_width(t);
  const brim_plan_options plan = {
      .batching = o->batching,
      .padding = o->padding,
      .max_tokens = chosen && !t->options.memory_limit ? (o->max_tokens > 0 ? o->max_tokens : INT32_MAX)
                    : most > longest                   ? most
                                                       : longest,
      .max_rows = eval_rows(t),
      .accumulate = t->options.group.world_size,
      .max_length = o->padding == BRIM_PAD_MAX_LENGTH && width == 0 ? (int32_t)longest : width,
      .pad_to_multiple_of = t->options.plan.pad_to_multiple_of,
      .oversize = BRIM_OVERSIZE_ALONE,
      .seed = t->options.plan.seed,
      .world_size = t->options.group.world_size,
  };
  const brim_lengths lengths = brim_lengths_of(set->dataset);
  return brim_plan_new_of(t->runtime, &lengths, &plan, 0, &set->plan, err);
}

/* Outcomes, or rows of logits. */
static uint64_t eval_outputs(const brim_dataset *dataset) {
  const uint64_t outcomes = brim_outcome_count(dataset), texts = brim_dataset_texts(dataset);
  return texts > outcomes ? texts : outcomes;
}

/* What the first evaluation would refuse, and what its rows do not allow: a best metric that would never be better. */
static int check_rows(const brim_trainer *t, const brim_eval_set *set, brim_error *err) {
  const brim_task task = brim_model_task(t->model);
  const bool measured = t->decides && t->metric && t->eval_count == t->metric_set && brim_metrics_tried(task);
  brim_metrics possible;
  char names[BRIM_METRIC_NAMES];
  BRIM_TRY(brim_metrics_possible(t->runtime, task, set->dataset, set->name, measured ? &possible : NULL, err));
  if (!measured || !isnan(brim_metric_value(t->metric, &possible)))
    return BRIM_OK;
  possible_names(task, &possible, names);
  const char *why = brim_task_rules_of(task)->possible
                        ? ""
                        : " (an order needs queries with a relevant document and another, a correlation labels that differ, "
                          "accuracy labels of 0 and 1)";
  return brim_error_set(err, BRIM_E_USAGE, "best_metric is \"%s\", which the labels of \"%s\" do not allow%s: use %s",
                        t->options.best_metric, set->name, why, *names ? names : "other rows");
}

static int start_evals(brim_trainer *t, const brim_named_dataset *evals, int count, brim_error *err) {
  if (count == 0)
    return BRIM_OK;
  t->evals = brim_alloc_array_zero(t->runtime, (size_t)count, sizeof *t->evals);
  if (!t->evals)
    return BRIM_NOMEM(err);
  t->eval_room = count;
  const bool outcomes = start_has_outcomes(t);
  brim_model_limits limits = {.chosen_share = t->outlook.limits.chosen_share};
  uint64_t most = 0;
  for (; t->eval_count < count; t->eval_count++) {
    brim_eval_set *set = &t->evals[t->eval_count];
    *set = (brim_eval_set){.name = evals[t->eval_count].name, .dataset = evals[t->eval_count].dataset};
    BRIM_TRY(brim_dataset_fit_of(t->runtime, t->model, set->dataset, brim_supply_pairs(&t->supply), t->options.plan.max_length,
                                 true, set->name, &set->mapped, err));
    set->dataset = set->mapped ? set->mapped : set->dataset;
    BRIM_TRY(brim_refuse_cut(t->model, set->dataset, t->options.plan.max_length, set->name, err));
    BRIM_TRY(check_rows(t, set, err));
    BRIM_TRY(start_eval_plan(t, set, err));
    brim_limits_widen(&limits, set->plan, t->options.group.world_size);
    if (!outcomes)
      BRIM_TRY(brim_logit_firsts(t->runtime, t->model, set->dataset, &set->firsts, err));
    if (eval_outputs(set->dataset) > most)
      most = eval_outputs(set->dataset);
  }
  t->eval_limits = limits;
  size_t row = (size_t)brim_model_outputs(t->model) * sizeof(float);
  const bool logits = !outcomes || t->options.own_metrics;
  if (outcomes)
    t->outcomes = brim_alloc_array(t->runtime, (size_t)most + 1, sizeof *t->outcomes);
  if (logits)
    t->logits = brim_alloc_array(t->runtime, (size_t)most, row);
  t->part_logits = brim_logits_alloc(t->runtime, t->model, &limits);
  return (!outcomes || t->outcomes) && (!logits || t->logits) && t->part_logits ? BRIM_OK : BRIM_NOMEM(err);
}

/* ---- where to begin --------------------------------------------------------------------------------------- */

static void start_fresh(brim_trainer *t) {
  brim_model_catch_up(t->model);
  for (int i = 0; i < brim_optimizer_states(t->model->optimizer); i++)
    brim_flat_clear(t->model, (brim_flat)(BRIM_STATE0 + i));
  brim_model_mark_start(t->model);
  brim_model_state_written(t->model);
  t->state = (brim_train_state){.best = (double)NAN, .last_loss = (double)NAN, .reference = (double)NAN};
}

/* This run may replace a run in folds, but not resume it. */
static int start_over_folds(brim_trainer *t, brim_error *err) {
  bool there;
  if (!t->folder.output || !t->options.resume)
    return BRIM_OK;
  BRIM_TRY(brim_folds_files_in(t->runtime, t->folder.output, &there, err));
  if (!there || brim_path_exists(t->folder.checkpoints))
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_USAGE, t->folder.output, 0, -1,
      "the folder holds a run in folds: resume it in the same folds, replace it (overwrite), or name another folder");
}

static int start_position(brim_trainer *t, brim_error *err) {
  const brim_train_options *o = &t->options;
  if (o->group.rank == 0) {
    BRIM_TRY(brim_run_folder_open(t->runtime, o->output, o->resume, o->overwrite, &t->folder, err));
    BRIM_TRY(start_over_folds(t, err));
  } else {
    BRIM_TRY(brim_run_folder_watch(t->runtime, o->output, &t->folder, err));
  }
  start_fresh(t);
  if (o->output && o->resume) /* first: what is there may be of a run of another task */
    BRIM_TRY(brim_trainer_resume(t, err));
  const bool best = t->eval_count > 0 || t->state.best_step > 0;
  BRIM_TRY(o->group.rank > 0 ? BRIM_OK : brim_checkpoint_room(&t->folder, t->state.step, best, err));
  return o->group.rank > 0 ? BRIM_OK : brim_run_folder_look(&t->folder, t->model, t->tokenizer, o->overwrite, &t->found, err);
}

/* The divisor of a step of classification is the sum of its rows' weights; that of many labels is their number. */
static int start_class_weights(brim_trainer *t, brim_error *err) {
  brim_class_rows rows = {.dataset = t->supply.dataset};
  if (t->supply.feed) {
    const brim_feed_options *how = brim_feed_how(t->supply.feed);
    rows.counted = how->labels && !how->weights ? how->labels->rows : NULL; /* a mixture does not have its files' shares */
  }
  BRIM_TRY(brim_class_weights_make(t->runtime, t->model, &rows, t->options.class_weights, &t->class_weights, err));
  if (!t->class_weights || !start_has_outcomes(t))
    return BRIM_OK;
  BRIM_TRY(brim_class_counter_weigh(&t->supply.counter, t->runtime, t->class_weights, brim_model_outputs(t->model), err));
  return t->supply.feed ? brim_feed_weigh(t->supply.feed, t->class_weights, err) : BRIM_OK;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

/* Whether the best weights are kept in memory: no checkpoint has them. */
static bool start_holds_best(const brim_trainer *t) {
  return t->options.final == BRIM_FINAL_BEST && (!t->options.output || t->options.save_when == BRIM_NEVER);
}

static brim_reduce_how reduce_how(const brim_trainer *t) {
  return (brim_reduce_how){.runtime = t->runtime,
                           .model = t->model,
                           .group = &t->options.group,
                           .plan = &t->options.plan,
                           .profile = t->options.profile,
                           .host_losses = t->host_loss.target->scope != BRIM_LOSS_ON_DEVICE};
}

/* Of the batch that parts are read into: what it has besides the label. */
static uint64_t blocks_memory(const brim_trainer *t) {
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
  const int count = brim_supply_blocks(&t->supply, shapes);
  const uint64_t texts = (uint64_t)t->outlook.limits.max_sequences;
  return brim_blocks_memory(shapes + 1, count - 1, texts, texts, (uint64_t)t->outlook.limits.max_slots);
}

/* Besides what is computed at once: results and sorting of the largest evaluation set, an epoch's plan, windows, the average. */
static uint64_t other_memory(const brim_trainer *t, const brim_named_dataset *evals, int count, bool cut) {
  const brim_reduce_how how = reduce_how(t);
  uint64_t most = 0, bytes = t->supply.feed ? brim_feed_memory(t->supply.feed) : 0;
  uint64_t outputs = (uint64_t)brim_model_outputs(t->model);
  for (int i = 0; i < count; i++) {
    const uint64_t outcomes = eval_outputs(evals[i].dataset);
    most = outcomes > most ? outcomes : most;
    bytes += brim_dataset_rows(evals[i].dataset) * (brim_finds_rows(brim_model_task(t->model)) ? 96 : 32);
    if (t->supply.masks.runtime) /* ids, labels and where they begin, which are masked copies */
      bytes += brim_dataset_tokens(evals[i].dataset) * 2 * sizeof(int32_t) + brim_dataset_rows(evals[i].dataset) * 24;
  }
  if (!t->supply.feed)
    bytes += brim_dataset_rows(t->supply.dataset) * 32;
  const brim_task_rules *task = brim_task_rules_of(brim_model_task(t->model));
  const bool outcomes = start_has_outcomes(t);
  bytes += most * ((outcomes ? sizeof(brim_outcome) : 0) + task->measuring);
  if (!outcomes || t->options.own_metrics)
    bytes += most * outputs * (sizeof(float) + task->measuring_output);
  bytes += brim_reduce_memory(&how, cut) + blocks_memory(t);
  bytes += brim_host_loss_memory(&t->host_loss, t->outlook.step_rows, t->outlook.step_parts, &t->outlook.limits);
  if (t->options.swa_start > 0.0 || start_holds_best(t))
    bytes += (uint64_t)brim_model_flat_size(t->model) * sizeof(float);
  return bytes;
}

/* A resumed run keeps its parts: their size is in its checkpoint. */
static int fit_as_begun(brim_trainer *t, bool *found, brim_error *err) {
  brim_checkpoint_info info = {0};
  *found = false;
  if (!t->options.resume || !t->options.output)
    return BRIM_OK;
  BRIM_TRY(brim_checkpoint_find(t->runtime, t->options.output, &info, err));
  *found = info.folder != NULL;
  if (*found)
    t->options.plan.max_tokens = info.max_tokens;
  brim_checkpoint_info_free(&info);
  return BRIM_OK;
}

/* Slots of the largest row, as it will be computed. */
static int64_t eval_row(const brim_trainer *t, const brim_dataset *dataset) {
  const int32_t *lengths = brim_dataset_lengths(dataset);
  int64_t largest = eval_longest(t, dataset);
  if (!brim_dataset_firsts(dataset))
    return largest;
  if (t->options.eval.padding != BRIM_PAD_NONE)
    return largest * brim_dataset_most_texts(dataset);
  for (uint64_t i = 0; i < brim_dataset_rows(dataset); i++)
    largest = lengths[i] > largest ? lengths[i] : largest;
  return largest;
}

/* The longest row of all evaluation sets, as it will be computed. */
static brim_memory_eval longest_eval(const brim_trainer *t, const brim_named_dataset *evals, int count) {
  const bool padded = t->options.eval.padding != BRIM_PAD_NONE && t->options.plan.pad_to_multiple_of > 1;
  brim_memory_eval eval = {.multiple = padded ? t->options.plan.pad_to_multiple_of : 1};
  for (int i = 0; i < count; i++) {
    const int32_t longest = eval_longest(t, evals[i].dataset);
    const int64_t row = eval_row(t, evals[i].dataset);
    if (row > eval.row)
      eval.name = evals[i].name, eval.row = row;
    eval.longest = longest > eval.longest ? longest : eval.longest;
  }
  if (t->options.eval.padding == BRIM_PAD_MAX_LENGTH && eval.row > 0 && eval_width(t) > eval.row)
    eval.row = eval_width(t);
  eval.row = (eval.row + eval.multiple - 1) / eval.multiple * eval.multiple;
  return eval;
}

static int32_t shortest_text(const brim_dataset *dataset) {
  const int32_t *lengths = brim_dataset_text_lengths(dataset);
  int32_t shortest = lengths[0];
  for (uint64_t i = 1; i < brim_dataset_texts(dataset); i++)
    shortest = lengths[i] < shortest ? lengths[i] : shortest;
  return shortest;
}

/* Wider rows than the model reads come of rounding alone: rows themselves fit. */
static int check_width(const brim_trainer *t, brim_error *err) {
  const int32_t most = brim_model_max_length(t->model), multiple = t->options.plan.pad_to_multiple_of;
  if (multiple <= 1 || t->outlook.limits.max_length <= most)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE,
                        "pad_to_multiple_of is %d: rows would be %d tokens wide, more than the %d that the model reads", multiple,
                        t->outlook.limits.max_length, most);
}

static int outlook(brim_trainer *t, brim_error *err) {
  BRIM_TRY(brim_supply_outlook(&t->supply, &t->outlook, err));
  BRIM_TRY(check_width(t, err));
  t->outlook.limits.checkpoint_activations = t->options.checkpoint_activations;
  t->outlook.limits.precision = t->options.precision;
  t->outlook.limits.chosen_share = t->supply.masks.runtime ? brim_masks_highest(&t->supply.masks) : 0;
  t->outlook.limits.slices = brim_model_joins_slices(t->model) ? t->options.plan.slices : 0;
  return BRIM_OK;
}

/* Cuts steps into parts that fit into memory_limit. A resumed run keeps its parts, whatever else is held now. */
static int start_fit(brim_trainer *t, const brim_named_dataset *evals, int count, brim_error *err) {
  const brim_memory_eval eval = longest_eval(t, evals, count);
  brim_memory_question question = {.model = t->model,
                                   .widest = &t->outlook.limits,
                                   .eval = &eval,
                                   .shortest = t->supply.feed ? 1 : shortest_text(t->supply.dataset),
                                   .held = t->memory.held + t->memory.besides,
                                   .other = other_memory(t, evals, count, false),
                                   .limit = t->options.memory_limit};
  bool begun = false;
  if (t->options.memory_limit == 0)
    return BRIM_OK;
  BRIM_TRY(fit_as_begun(t, &begun, err));
  if (begun)
    return outlook(t, err);
  const uint64_t needed = brim_memory_needed(&question, &t->outlook.limits);
  if (needed <= question.limit) { /* what is not planned ahead keeps within it too */
    if (t->outlook.open && t->options.plan.slices == 0 && t->options.plan.batch_size > 0 && t->options.plan.max_tokens == 0)
      t->options.plan.max_tokens = t->outlook.limits.max_slots;
    return BRIM_OK;
  }
  if (t->supply.feed || t->options.plan.batch_size == 0) {
    BRIM_TRY(brim_memory_check_eval(&question, err));
    return brim_error_set(err, BRIM_E_USAGE,
                          "memory_limit: this run needs %.1f MB; steps can be cut into smaller parts only with a "
                          "batch_size and rows in memory, so give a smaller max_tokens",
                          brim_memory_advised(&question, needed));
  }
  question.other = other_memory(t, evals, count, t->options.plan.slices > 0);
  int status = brim_memory_fit(&question, &t->options.plan.max_tokens, err);
  if (!status)
    status = outlook(t, err);
  if (t->options.plan.slices > 0 && (status == BRIM_E_USAGE || status == BRIM_E_MISMATCH))
    return brim_error_set(
        err, BRIM_E_USAGE,
        "memory_limit: this run needs %.1f MB, and %.1f MB do not hold each of its %d slices, which are computed "
        "whole: take more slices",
        brim_memory_advised(&question, needed), brim_memory_limit_said(question.limit), (int)t->options.plan.slices);
  return status;
}

/* The plan that has come out, as it is printed and kept to. */
static int start_memory_plan(brim_trainer *t, const brim_named_dataset *evals, int count, brim_error *err) {
  const uint64_t limit = t->options.memory_limit, other = other_memory(t, evals, count, false);
  const brim_reduce_how how = reduce_how(t);
  brim_model_limits whole = t->outlook.limits;
  whole.slices = 0;
  t->memory.training = brim_memory_of_limits(t->model, &t->outlook.limits, &t->eval_limits, other);
  t->memory.slices = t->memory.training -
                     brim_memory_of_limits(t->model, &whole, &t->eval_limits, other - brim_reduce_memory(&how, false));
  const uint64_t all = t->memory.held + t->memory.besides + t->memory.training;
  if (limit == 0 || all <= limit || t->options.resume)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "memory_limit: %.1f MB are too few: this run fits into %.1f MB",
                        brim_memory_limit_said(limit), brim_memory_said(all));
}

/* What parts of steps and of evaluations are computed in. */
static int start_limits(brim_trainer *t, brim_error *err) {
  const brim_model_limits *train = &t->outlook.limits, *eval = &t->eval_limits;
  int64_t slots = train->max_slots > eval->max_slots ? train->max_slots : eval->max_slots;
  int32_t rows = train->max_sequences > eval->max_sequences ? train->max_sequences : eval->max_sequences;
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
  const int blocks = brim_supply_blocks(&t->supply, shapes);
  BRIM_TRY(brim_batch_reserve(&t->batch, t->runtime, slots, rows, t->host_loss.most_texts > 1, shapes, blocks, err));
  BRIM_TRY(brim_model_prepare(t->model, train, err));
  return t->eval_count > 0 ? brim_model_prepare(t->model, eval, err) : BRIM_OK;
}

/* Everything that steps and evaluations work in. Gradients are touched now, so that the memory is there, or the run ends here. */
static int start_memory(brim_trainer *t, brim_error *err) {
  BRIM_TRY(start_limits(t, err));
  brim_model_zero_gradients(t->model);
  brim_flat_clear(t->model, BRIM_GRADIENTS);
  if (start_holds_best(t)) {
    t->best = brim_alloc_array(t->runtime, (size_t)brim_model_flat_size(t->model), sizeof *t->best);
    if (!t->best)
      return BRIM_NOMEM(err);
  }
  t->average_first = brim_average_first(&t->options, t->outlook.total_steps);
  if (t->average_first == 0)
    return BRIM_OK;
  t->average_every = brim_average_every(&t->options, t->outlook.total_steps);
  t->average = brim_alloc_array_zero(t->runtime, (size_t)brim_model_flat_size(t->model), sizeof *t->average);
  return t->average ? BRIM_OK : BRIM_NOMEM(err);
}

/* Everything of this rank alone: nothing is written, and no other rank asked. */
static int start_alone(brim_trainer *t, brim_named_dataset *evals, int eval_count, brim_error *err) {
  BRIM_TRY(start_options(t, eval_count, err));
  BRIM_TRY(start_masks(t, err));
  BRIM_TRY(brim_trainer_choose_loss(t, err));
  t->supply.model = t->model;
  t->supply.options = &t->options;
  t->supply.batch = &t->batch;
  BRIM_TRY(start_metric(t, evals, eval_count, err));
  BRIM_TRY(brim_model_take_tokenizer(t->model, t->tokenizer, err));
  BRIM_TRY(brim_supply_check(&t->supply, err));
  if (t->supply.masks.runtime) {
    BRIM_TRY(brim_supply_mask(&t->supply, err));
    BRIM_TRY(start_masked_evals(t, evals, eval_count, err));
  }
  BRIM_TRY(outlook(t, err));
  BRIM_TRY(start_class_weights(t, err));
  BRIM_TRY(start_fit(t, evals, eval_count, err));
  t->warmup = brim_warmup_steps(&t->options, t->outlook.total_steps);
  BRIM_TRY(start_evals(t, evals, eval_count, err));
  t->identity = (brim_train_identity){.options = &t->options,
                                      .model_type = brim_model_type(t->model),
                                      .model = t->model,
                                      .kernels = brim_model_kernels_for(t->model, t->options.precision),
                                      .type_ids = brim_model_reads_types(t->model)};
  char layers[BRIM_LAYERS_NAME];
  brim_pooling_name(brim_model_pooling(t->model), t->identity.pooling);
  if (strcmp(brim_model_layers(t->model, layers), "last") != 0)
    snprintf(t->identity.pooling + strlen(t->identity.pooling), 16 + sizeof layers, " of layers %s", layers);
  BRIM_TRY(brim_model_weights_hash(t->model, &t->identity.initial_weights, err));
  brim_supply_identity(&t->supply, &t->identity.data_rows, &t->identity.data_fingerprint);
  t->identity.judged_by = eval_count > 0 ? brim_dataset_fingerprint(evals[t->metric_set].dataset) : 0;
  BRIM_TRY(start_memory_plan(t, evals, eval_count, err));
  return start_memory(t, err);
}

static int open_sets(brim_trainer *t, brim_named_dataset *evals, int eval_count, brim_error *err) {
  t->saved_step = BRIM_NO_STEP;
  t->folder.log.file = -1;
  t->memory.held = t->turns ? t->turns->held : brim_process_resident();
  t->memory.besides = t->turns ? t->turns->besides : 0;
  BRIM_TRY(brim_group_largest(&t->options.group, t->runtime, &t->memory.held, err)); /* a memory_limit cuts alike everywhere */
  const bool known = brim_model_tokenizer(t->model) != 0;
  const int status = brim_group_agree(&t->options.group, start_alone(t, evals, eval_count, err), err);
  if (status && !known)
    brim_model_set_tokenizer(t->model, 0); /* it may be the tokenizer that is refused */
  BRIM_TRY(status);
  BRIM_TRY(brim_trainer_agree(t, err));
  BRIM_TRY(start_position(t, err));
  brim_model_set_pairs(t->model, brim_supply_pairs(&t->supply));
  t->safe = t->state;
  t->start = brim_seconds_now();
  return BRIM_OK;
}

int brim_trainer_open(brim_trainer *t, const brim_named_dataset *evals, int eval_count, brim_error *err) {
  brim_named_dataset *own = brim_alloc_array_zero(t->runtime, (size_t)eval_count + 1, sizeof *own);
  if (!own)
    return BRIM_NOMEM(err);
  if (eval_count > 0)
    memcpy(own, evals, (size_t)eval_count * sizeof *own);
  const int status = open_sets(t, own, eval_count, err);
  brim_release(t->runtime, own);
  return status;
}

int brim_trainer_open_reduce(brim_trainer *t, brim_error *err) {
  const brim_reduce_how how = reduce_how(t);
  return brim_reduce_open(&how, &t->reduce, err);
}

/* An epoch that was not planned ahead may have larger parts than those that were: memory grows then, between two steps. */
static int start_epoch(brim_trainer *t, brim_error *err) {
  const bool there = t->supply.plan && t->supply.plan_epoch == t->state.epoch;
  BRIM_TRY(brim_supply_open_epoch(&t->supply, t->state.epoch, t->state.epoch_step, err));
  if (!t->outlook.open || there || t->state.epoch < t->outlook.epochs)
    return BRIM_OK;
  brim_model_limits *all = &t->outlook.limits, limits = *all;
  brim_limits_widen(&limits, t->supply.plan, t->options.group.world_size);
  if (limits.max_slots == all->max_slots && limits.max_sequences == all->max_sequences && limits.max_length == all->max_length)
    return BRIM_OK;
  *all = limits;
  brim_model_catch_up(t->model);
  return start_limits(t, err);
}

int brim_trainer_open_epoch(brim_trainer *t, brim_error *err) {
  brim_profile_begin(t->options.profile, BRIM_WORK_DATA, "plan of an epoch");
  int status = start_epoch(t, err);
  brim_profile_end(t->options.profile, 0);
  return brim_group_agree(&t->options.group, status, err);
}

void brim_trainer_close(brim_trainer *t) {
  brim_host_loss_free(&t->host_loss);
  for (int i = 0; t->evals && i < t->eval_room; i++) {
    brim_plan_free(t->evals[i].plan);
    brim_release(t->runtime, t->evals[i].firsts);
    brim_dataset_free(t->evals[i].mapped);
  }
  brim_release(t->runtime, t->evals);
  for (int i = 0; i < t->masked_count; i++)
    brim_dataset_free(t->masked[i]);
  brim_release(t->runtime, t->masked);
  if (t->supply.feed && t->class_weights)
    (void)!brim_feed_weigh(t->supply.feed, NULL, NULL);
  brim_release(t->runtime, t->class_weights);
  brim_release(t->runtime, t->average);
  brim_release(t->runtime, t->best);
  brim_release(t->runtime, t->logits);
  brim_release(t->runtime, t->outcomes);
  brim_release(t->runtime, t->part_logits);
  brim_reduce_close(t->reduce);
  brim_supply_close(&t->supply);
  brim_batch_free(&t->batch);
  brim_run_found_free(&t->found);
  brim_run_folder_close(&t->folder);
}
