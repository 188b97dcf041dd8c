/* evaluate.c: outputs of every row, computed in whatever order is fast and handed back in the order of the input. */
#include "train/answers/evaluate.h"
#include "train/answers/evaluation_agreement.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "data/facts.h"
#include "dist/group.h"
#include "model/run/fits.h"
#include "model/run/logits.h"
#include "target/target.h"

void brim_eval_options_init(brim_eval_options *options) {
  *options = (brim_eval_options){.batching = BRIM_SORTED, .padding = BRIM_PAD_NONE, .batch_size = 32};
}

static void limits_hold(brim_model_limits *limits, const brim_planned *part) {
  const int32_t longest = part->width > part->longest ? part->width : part->longest;
  if (part->slots > limits->max_slots)
    limits->max_slots = part->slots;
  if ((int64_t)part->texts > limits->max_sequences)
    limits->max_sequences = (int32_t)part->texts;
  if (longest > limits->max_length)
    limits->max_length = longest;
}

void brim_limits_widen(brim_model_limits *limits, const brim_plan *plan, int32_t world_size) {
  for (uint64_t i = 0, parts = brim_plan_parts(plan); i < parts; i++)
    for (int32_t rank = 0; rank < world_size; rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, i, &part);
      limits_hold(limits, &part);
    }
}

static brim_outputs_of outputs_of(const brim_model *model) {
  return brim_model_shape(model)->outputs;
}

/* ---- what fits -------------------------------------------------------------------------------------------- */

int brim_refuse_cut(const brim_model *model, const brim_dataset *dataset, int32_t cut, const char *name, brim_error *err) {
  if (outputs_of(model) == BRIM_OUTPUTS_OF_TEXTS || cut <= 0 || brim_dataset_longest(dataset) <= cut)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE,
                        "%s: a row of %d tokens would be cut at max_length %d, and each token is to have its label: encode the "
                        "rows with that max_length",
                        name, (int)brim_dataset_longest(dataset), (int)cut);
}

float *brim_logits_alloc(brim_runtime *runtime, const brim_model *model, const brim_model_limits *limits) {
  const brim_outputs_of of = outputs_of(model);
  const size_t rows = of == BRIM_OUTPUTS_OF_TOKENS ? (size_t)limits->max_slots : (size_t)limits->max_sequences;
  const bool none = of == BRIM_OUTPUTS_OF_LABELLED;
  return brim_alloc_array(runtime, none ? 1 : rows, (none ? 1 : (size_t)brim_model_outputs(model)) * sizeof(float));
}

uint64_t brim_outcome_count(const brim_dataset *dataset) {
  const uint64_t rows = brim_dataset_rows(dataset), *firsts = brim_dataset_token_labels(dataset);
  return firsts ? firsts[rows] : rows;
}

uint64_t brim_row_logits(const brim_model *model, const brim_dataset *dataset, uint64_t row) {
  const uint64_t *firsts = brim_dataset_firsts(dataset);
  if (outputs_of(model) == BRIM_OUTPUTS_OF_TOKENS)
    return (uint64_t)brim_dataset_lengths(dataset)[row];
  if (brim_dataset_has_windows(dataset))
    return 1;
  return firsts ? firsts[row + 1] - firsts[row] : 1;
}

int brim_logit_firsts(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, uint64_t **out,
                      brim_error *err) {
  const uint64_t rows = brim_dataset_rows(dataset);
  *out = NULL;
  const bool several = brim_dataset_firsts(dataset) && !brim_dataset_has_windows(dataset);
  if (outputs_of(model) != BRIM_OUTPUTS_OF_TOKENS && !several)
    return BRIM_OK;
  uint64_t *firsts = *out = brim_alloc_array_zero(runtime, (size_t)rows + 1, sizeof *firsts);
  if (!firsts)
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < rows; row++)
    firsts[row + 1] = firsts[row] + brim_row_logits(model, dataset, row);
  return BRIM_OK;
}

/* ---- one pass --------------------------------------------------------------------------------------------- */

static int prediction_progress(const brim_prediction *p, uint64_t done, uint64_t tokens, double seconds, brim_error *err) {
  const brim_field fields[] = {
      {.name = "phase", .kind = BRIM_VALUE_TEXT, .text = "evaluate"},
      {.name = "done", .kind = BRIM_VALUE_INT, .integer = (int64_t)done},
      {.name = "total", .kind = BRIM_VALUE_INT, .integer = (int64_t)brim_dataset_rows(p->dataset)},
      {.name = "rate", .kind = BRIM_VALUE_REAL, .real = seconds > 0.0 ? (double)tokens / seconds : 0.0},
      {.name = "unit", .kind = BRIM_VALUE_TEXT, .text = "tokens/s"},
  };
  const brim_event event = {"progress", fields, sizeof fields / sizeof *fields};
  return brim_tell(p->event, p->event_context, &event, err);
}

/* `from`: the logits of the row's text, or texts. */
static void take_row(const brim_prediction *p, uint64_t row, const float *from, float *logits) {
  const size_t outputs = (size_t)brim_model_outputs(p->model);
  const uint64_t first = p->firsts ? p->firsts[row] : row, count = p->firsts ? p->firsts[row + 1] - first : 1;
  if (p->outcomes)
    p->outcomes[row] = brim_outcome_of(from, (int32_t)outputs, p->outcomes[row].label);
  if (logits)
    memcpy(logits + first * outputs, from, (size_t)count * outputs * sizeof *logits);
}

/* `from`: those of its tokens. */
static void take_tokens(const brim_prediction *p, uint64_t row, const float *from, float *logits) {
  const size_t outputs = (size_t)brim_model_outputs(p->model);
  brim_sample sample;
  brim_dataset_sample(p->dataset, row, &sample);
  if (!p->outcomes) {
    memcpy(logits + p->firsts[row] * outputs, from, (size_t)sample.length * outputs * sizeof *logits);
    return;
  }
  uint64_t to = brim_dataset_token_labels(p->dataset)[row];
  for (int32_t i = 0; i < sample.length; i++)
    if (sample.token_labels[i] != BRIM_NO_LABEL) {
      if (logits)
        memcpy(logits + to * outputs, from + (size_t)i * outputs, outputs * sizeof *logits);
      p->outcomes[to++] = brim_outcome_of(from + (size_t)i * outputs, (int32_t)outputs, sample.token_labels[i]);
    }
}

/* Those of a part's rows, where they are. */
static void take_there(const brim_prediction *p, const brim_planned *part) {
  const size_t outputs = (size_t)brim_model_outputs(p->model);
  const bool tokens = outputs_of(p->model) == BRIM_OUTPUTS_OF_TOKENS;
  for (uint32_t r = 0; r < part->count; r++) {
    const uint64_t row = part->rows[r];
    uint64_t to = p->firsts ? p->firsts[row] : row;
    int32_t first;
    const int32_t texts = brim_batch_texts(p->batch, (int32_t)r, &first);
    for (int32_t t = first; t < first + texts; t++) {
      brim_model_copy_logits(p->model, t, p->there + (size_t)to * outputs);
      to += tokens ? (uint64_t)(p->batch->offsets[t + 1] - p->batch->offsets[t]) : 1;
    }
  }
}

/* The model has found what became of each labelled token, in the order of the batch. */
static int predict_labelled(const brim_prediction *p, const brim_planned *part, brim_error *err) {
  const uint64_t *firsts = brim_dataset_token_labels(p->dataset);
  const brim_pass pass = {0};
  int32_t from = 0;
  BRIM_TRY(brim_batch_fill(p->batch, p->runtime, p->dataset, part, err));
  BRIM_TRY(brim_model_forward(p->model, p->batch, &pass, NULL, NULL, err));
  for (uint32_t r = 0; r < part->count; r++) {
    const uint64_t row = part->rows[r];
    const int32_t count = (int32_t)(firsts[row + 1] - firsts[row]);
    BRIM_TRY(brim_model_read_outcomes(p->model, from, count, p->outcomes + firsts[row], err));
    from += count;
  }
  return BRIM_OK;
}

/* A row's windows give one answer, in the place of the first. */
static void pool_windows(const brim_prediction *p, int32_t first, int32_t count) {
  const int32_t outputs = brim_model_outputs(p->model);
  float *logits = p->part_logits + (int64_t)first * outputs;
  for (int32_t k = 0; k < outputs; k++)
    logits[k] = (float)brim_mean_of_windows(logits + k, count, outputs);
}

static int prediction_part(const brim_prediction *p, const brim_planned *part, float *logits, brim_error *err) {
  const bool tokens = outputs_of(p->model) == BRIM_OUTPUTS_OF_TOKENS;
  const size_t outputs = (size_t)brim_model_outputs(p->model);
  const brim_pass pass = {0};
  if (outputs_of(p->model) == BRIM_OUTPUTS_OF_LABELLED)
    return predict_labelled(p, part, err);
  BRIM_TRY(brim_batch_fill(p->batch, p->runtime, p->dataset, part, err));
  BRIM_TRY(brim_model_forward(p->model, p->batch, &pass, NULL, p->there ? NULL : p->part_logits, err));
  if (p->there) {
    take_there(p, part);
    return BRIM_OK;
  }
  for (uint32_t r = 0; r < part->count; r++) {
    int32_t first;
    const int32_t texts = brim_batch_texts(p->batch, (int32_t)r, &first);
    if (!tokens && brim_dataset_has_windows(p->dataset))
      pool_windows(p, first, texts);
    const size_t at = (size_t)(tokens ? p->batch->offsets[first] : first);
    (tokens ? take_tokens : take_row)(p, part->rows[r], p->part_logits + at * outputs, logits);
  }
  return BRIM_OK;
}

static int prediction_parts(const brim_prediction *p, float *logits, brim_error *err) {
  double start = brim_seconds_now();
  uint64_t done = 0, tokens = 0;
  for (uint64_t i = 0, parts = brim_plan_parts(p->plan); i < parts; i++) {
    BRIM_TRY(brim_check_cancel(p->runtime, err));
    for (int32_t rank = 0; rank < p->group->world_size; rank++) {
      brim_planned part;
      brim_plan_part(p->plan, rank, i, &part);
      done += part.count, tokens += (uint64_t)part.tokens;
      if (rank == p->group->rank && part.count > 0)
        BRIM_TRY(prediction_part(p, &part, logits, err));
    }
    BRIM_TRY(prediction_progress(p, done, tokens, brim_seconds_now() - start, err));
  }
  return BRIM_OK;
}

/* Every rank's rows reach all; x + 0 is x. */
static int share_outcomes(const brim_prediction *p, brim_error *err) {
  enum { ROWS = 256, NUMBERS = 4 };
  double numbers[ROWS * NUMBERS];
  const uint64_t rows = brim_outcome_count(p->dataset);
  if (p->group->world_size <= 1)
    return BRIM_OK;
  for (uint64_t first = 0; first < rows; first += ROWS) {
    const uint64_t count = rows - first < ROWS ? rows - first : ROWS;
    for (uint64_t i = 0; i < count; i++) {
      const brim_outcome *o = &p->outcomes[first + i];
      const double of[NUMBERS] = {(double)o->predicted, o->loss, o->score, o->label_score};
      memcpy(numbers + i * NUMBERS, of, sizeof of);
    }
    BRIM_TRY(p->group->sum_double(p->group->context, numbers, (int64_t)(count * NUMBERS), err));
    for (uint64_t i = 0; i < count; i++) {
      const double *of = numbers + i * NUMBERS;
      brim_outcome *o = &p->outcomes[first + i];
      *o = (brim_outcome){.label = o->label, .predicted = (int32_t)of[0], .loss = of[1], .score = of[2], .label_score = of[3]};
    }
  }
  return BRIM_OK;
}

/* Labels, which fit; what others compute is 0 here. */
static void outcome_labels(const brim_prediction *p, uint64_t row) {
  const uint64_t *firsts = brim_dataset_token_labels(p->dataset);
  brim_sample sample;
  brim_dataset_sample(p->dataset, row, &sample);
  if (!firsts)
    p->outcomes[row] = (brim_outcome){.label = (int32_t)*sample.labels};
  brim_outcome *to = p->outcomes + (firsts ? firsts[row] : 0);
  for (int32_t i = 0; firsts && i < sample.length; i++)
    if (sample.token_labels[i] != BRIM_NO_LABEL)
      *to++ = (brim_outcome){.label = sample.token_labels[i]};
}

static int run_for_outcomes(const brim_prediction *p, float *logits, brim_error *err) {
  const size_t count = (size_t)brim_outcome_count(p->dataset) * (size_t)brim_model_outputs(p->model);
  for (uint64_t row = 0; row < brim_dataset_rows(p->dataset); row++)
    outcome_labels(p, row);
  if (logits)
    memset(logits, 0, count * sizeof *logits);
  BRIM_TRY(brim_group_agree(p->group, prediction_parts(p, logits, err), err));
  BRIM_TRY(share_outcomes(p, err));
  return logits ? p->group->sum(p->group->context, logits, (int64_t)count, err) : BRIM_OK;
}

int brim_prediction_run(const brim_prediction *p, float *logits, brim_error *err) {
  if (p->outcomes)
    return run_for_outcomes(p, logits, err);
  if (p->there) {
    BRIM_TRY(prediction_parts(p, NULL, err));
    return brim_model_settle(p->model, err);
  }
  const uint64_t rows = brim_dataset_rows(p->dataset);
  const size_t count = (size_t)(p->firsts ? p->firsts[rows] : rows) * (size_t)brim_model_outputs(p->model);
  memset(logits, 0, count * sizeof *logits);
  int status = prediction_parts(p, logits, err);
  BRIM_TRY(brim_group_agree(p->group, status, err));
  return p->group->sum(p->group->context, logits, (int64_t)count, err); /* x + 0 is x: every rank's rows reach all */
}

/* ---- a data set from scratch ------------------------------------------------------------------------------ */

static int evaluate_plan(brim_runtime *runtime, const brim_dataset *dataset, const brim_eval_options *options, brim_plan **plan,
                         brim_error *err) {
  bool wide = options->padding == BRIM_PAD_MAX_LENGTH && options->max_length <= 0;
  const brim_plan_options plan_options = {
      .batching = options->batching,
      .padding = options->padding,
      .batch_size = (options->batch_size > 0 ? options->batch_size : 32) * options->group.world_size,
      .max_tokens = options->max_tokens,
      .max_length = wide ? brim_dataset_longest(dataset) : options->max_length,
      .oversize = BRIM_OVERSIZE_ALONE,
      .world_size = options->group.world_size,
  };
  const brim_lengths lengths = brim_lengths_of(dataset);
  return brim_plan_new_of(runtime, &lengths, &plan_options, 0, plan, err);
}

static int evaluate_prepared(brim_prediction *p, const brim_model_limits *limits, float *logits, brim_error *err) {
  brim_batch batch = {0};
  p->batch = &batch;
  p->part_logits = brim_logits_alloc(p->runtime, p->model, limits);
  int status = p->part_logits ? brim_model_prepare(p->model, limits, err) : BRIM_NOMEM(err);
  if (!status)
    status = brim_prediction_run(p, logits, err);
  brim_release(p->runtime, p->part_logits);
  brim_batch_free(&batch);
  return status;
}

static int check_options(const brim_eval_options *o, brim_error *err) {
  if (o->batch_size < 0)
    return brim_error_set(err, BRIM_E_USAGE, "batch_size is %lld: it must be at least 0 (0: 32)", (long long)o->batch_size);
  if (o->max_length < 0)
    return brim_error_set(err, BRIM_E_USAGE, "max_length is %d: it must be at least 0 (0: the longest row's)",
                          (int)o->max_length);
  if ((unsigned)o->precision > BRIM_PRECISION_INT8)
    return brim_error_set(err, BRIM_E_USAGE, "precision %d does not exist: use one of brim/model.h", (int)o->precision);
  return BRIM_OK;
}

/* Where results are wanted: one of these. */
typedef struct wanted {
  float *logits, *there; /* there: in the device's memory */
  brim_outcome *outcomes;
} wanted;

/* Predicts, and counts what was computed into *out. */
static int evaluate_run(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *given,
                        const wanted *to, brim_metrics *out, brim_error *err) {
  brim_eval_options options;
  brim_eval_options_init(&options);
  if (given)
    options = *given;
  BRIM_TRY(brim_group_check(&options.group, err));
  if (options.group.world_size <= 0)
    options.group = brim_group_single();
  double start = brim_seconds_now();
  brim_plan *plan;
  BRIM_TRY(brim_group_agree(&options.group, check_options(&options, err), err));
  BRIM_TRY(brim_evaluation_agree(runtime, model, dataset, &options, err));
  BRIM_TRY(evaluate_plan(runtime, dataset, &options, &plan, err));
  brim_model_limits limits = {.precision = options.precision};
  brim_limits_widen(&limits, plan, options.group.world_size);
  brim_prediction p = {.runtime = runtime,
                       .model = model,
                       .dataset = dataset,
                       .plan = plan,
                       .group = &options.group,
                       .outcomes = to->outcomes,
                       .there = to->there,
                       .event = options.event,
                       .event_context = options.event_context};
  uint64_t *firsts = NULL;
  int status = BRIM_OK;
  if (!to->outcomes)
    status = brim_logit_firsts(runtime, model, dataset, &firsts, err);
  p.firsts = firsts;
  if (!status)
    status = evaluate_prepared(&p, &limits, to->logits, err);
  brim_release(runtime, firsts);
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  out->tokens = ledger.tokens, out->slots = ledger.slots;
  out->seconds = brim_seconds_now() - start;
  brim_plan_free(plan);
  return status;
}

static int check_data(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset,
                      const brim_eval_options *options, brim_error *err) {
  const int32_t cut = options ? options->max_length : 0;
  brim_dataset *mapped; /* no labels are looked at */
  if (outputs_of(model) == BRIM_OUTPUTS_OF_LABELLED)
    return brim_error_set(err, BRIM_E_USAGE,
                          "the model is of masked words, which have no predictions of a text: train it further for a task, or "
                          "measure it (brim evaluate)");
  BRIM_TRY(brim_dataset_fit(runtime, model, dataset, cut, false, "data", &mapped, err));
  return brim_refuse_cut(model, dataset, cut, "data", err);
}

int brim_predict(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                 float *logits, brim_error *err) {
  BRIM_GIVEN(err, runtime, model, dataset, logits);
  brim_metrics ignored;
  const int32_t outputs = brim_model_outputs(model);
  BRIM_TRY(check_data(runtime, model, dataset, options, err));
  BRIM_TRY(evaluate_run(runtime, model, dataset, options, &(wanted){.logits = logits}, &ignored, err));
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++)
    for (uint64_t i = brim_row_logits(model, dataset, row); i > 0; i--, logits += outputs)
      BRIM_TRY(brim_outputs_finite(logits, outputs, brim_dataset_origin(dataset, row), err));
  return BRIM_OK;
}

static uint64_t logit_count(const brim_model *model, const brim_dataset *dataset) {
  uint64_t count = 0;
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++)
    count += brim_row_logits(model, dataset, row);
  return count * (uint64_t)brim_model_outputs(model);
}

int brim_predict_gpu(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                     brim_gpu_memory **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, model, dataset);
  brim_metrics ignored;
  int32_t card;
  if (!brim_model_has_card(model, &card))
    return brim_error_set(err, BRIM_E_UNSUPPORTED,
                          "on_device: the model is not on a GPU, so that its logits are in the host's memory");
  if (brim_dataset_has_windows(dataset) && brim_target_of_windows(brim_model_task(model)))
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "logits of windows are put together on the host");
  if (options && options->group.world_size > 1)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "logits of several processes are put together on the host");
  BRIM_TRY(check_data(runtime, model, dataset, options, err));
  BRIM_TRY(brim_gpu_memory_new(runtime, card, NULL, (size_t)logit_count(model, dataset) * sizeof(float), out, err));
  const int status = evaluate_run(runtime, model, dataset, options, &(wanted){.there = brim_gpu_memory_at(*out)}, &ignored, err);
  if (status) {
    brim_gpu_memory_free(*out);
    *out = NULL;
  }
  return status;
}

/* Of classes outcomes are kept, of other tasks outputs. */
static int evaluate_classes(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset,
                            const brim_eval_options *options, brim_metrics *counts, brim_metrics *out, brim_error *err) {
  const uint64_t count = brim_outcome_count(dataset);
  const int32_t outputs = brim_model_outputs(model);
  brim_outcome *own = NULL, *outcomes = options ? options->outcomes : NULL;
  if (!outcomes)
    outcomes = own = brim_alloc_array(runtime, (size_t)count + 1, sizeof *own);
  if (!outcomes)
    return BRIM_NOMEM(err);
  int status = evaluate_run(runtime, model, dataset, options, &(wanted){.outcomes = outcomes}, counts, err);
  if (!status)
    status = brim_outcomes_judge(runtime, brim_model_labels(model), outcomes, dataset, out, err);
  uint64_t *confusion = options ? options->confusion : NULL;
  if (!status && confusion) {
    memset(confusion, 0, (size_t)outputs * (size_t)outputs * sizeof *confusion);
    for (uint64_t i = 0; i < count; i++)
      confusion[(size_t)outcomes[i].label * (size_t)outputs + (size_t)outcomes[i].predicted]++;
  }
  brim_release(runtime, own);
  return status;
}

static int evaluate_outputs(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset,
                            const brim_eval_options *options, brim_metrics *counts, brim_metrics *out, brim_error *err) {
  const brim_task task = brim_model_task(model);
  float *own = NULL, *logits = options ? options->logits : NULL;
  if (!logits)
    logits = own = brim_alloc_array(runtime, (size_t)logit_count(model, dataset), sizeof *logits);
  if (!logits)
    return BRIM_NOMEM(err);
  int status = evaluate_run(runtime, model, dataset, options, &(wanted){.logits = logits}, counts, err);
  if (!status)
    status = brim_model_metrics(runtime, model, logits, dataset, out, err);
  if (!status && options && options->confusion)
    status = brim_confusion_count(task, brim_model_outputs(model), logits, dataset, options->confusion, err);
  brim_release(runtime, own);
  return status;
}

static int evaluate_fitted(brim_runtime *runtime, brim_model *model, bool classes, const brim_dataset *dataset,
                           const brim_eval_options *options, brim_metrics *out, brim_error *err) {
  brim_metrics counts = {0};
  BRIM_TRY(brim_refuse_cut(model, dataset, options ? options->max_length : 0, "data", err));
  BRIM_TRY((classes ? evaluate_classes : evaluate_outputs)(runtime, model, dataset, options, &counts, out, err));
  out->tokens = counts.tokens, out->slots = counts.slots, out->seconds = counts.seconds;
  return BRIM_OK;
}

int brim_evaluate(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                  brim_metrics *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, model, dataset);
  brim_dataset *mapped;
  const bool classes = brim_model_shape(model)->one_class;
  if (!classes && options && options->outcomes)
    return brim_error_set(err, BRIM_E_USAGE, "outcomes need a classification with one class per row, or per token");
  if (classes && options && options->logits)
    return brim_error_set(err, BRIM_E_USAGE,
                          "a classification with one class per row or token has outcomes: take its logits from brim_predict");
  if (outputs_of(model) == BRIM_OUTPUTS_OF_LABELLED && options && options->confusion)
    return brim_error_set(err, BRIM_E_USAGE, "a vocabulary is too large for a table of what is taken for what");
  BRIM_TRY(brim_dataset_fit(runtime, model, dataset, options ? options->max_length : 0, true, "data", &mapped, err));
  const int status = evaluate_fitted(runtime, model, classes, mapped ? mapped : dataset, options, out, err);
  brim_dataset_free(mapped);
  return status;
}
