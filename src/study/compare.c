/* compare.c: the same job under several kinds of batches and padding, from the same weights. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "brim/study.h"
#include "model/model.h"
#include "train/evaluate.h"
#include "train/fields.h"
#include "train/schedule.h"

typedef struct compare_job {
  brim_runtime *runtime;
  brim_model *model;
  const brim_dataset *train, *eval;
  const brim_train_options *options;
  float *weights; /* every mode starts from these */
} compare_job;

static size_t compare_bytes(const brim_model *model) {
  return (size_t)brim_model_flat_size(model) * sizeof(float);
}

/* Training itself begins with moments of zero. */
static int compare_restore(const compare_job *job, brim_error *err) {
  return brim_model_write(job->model, BRIM_VALUES, 0, brim_model_flat_size(job->model), job->weights, err);
}

static brim_train_options compare_options(const compare_job *job, const brim_mode *mode) {
  brim_train_options options = *job->options;
  options.plan.batching = mode->batching;
  options.plan.padding = mode->padding;
  options.precision = mode->precision ? *mode->precision : options.precision;
  if (mode->padding == BRIM_PAD_MAX_LENGTH && options.plan.max_length == 0)
    options.plan.max_length = brim_dataset_longest(job->train);
  if (options.group.world_size <= 0)
    options.group = brim_group_single();
  options.plan.world_size = options.group.world_size;
  options.output = NULL;
  options.resume = options.overwrite = false;
  return options;
}

static int compare_announce(const compare_job *job, const brim_mode *mode, int index, int count, brim_error *err) {
  const brim_field fields[] = {BRIM_FIELD_TEXT("name", mode->name),
                               BRIM_FIELD_TEXT("batching", brim_batching_name(mode->batching)),
                               BRIM_FIELD_TEXT("padding", brim_padding_name(mode->padding)), BRIM_FIELD_INT("index", index),
                               BRIM_FIELD_INT("count", count)};
  const brim_event event = {"mode", fields, BRIM_FIELD_COUNT(fields)};
  int status = job->options->event ? job->options->event(job->options->event_context, &event) : BRIM_OK;
  return status ? brim_error_set(err, status, "the comparison was stopped by the program that started it") : BRIM_OK;
}

/* ---- before the clock runs -------------------------------------------------------------------------------- */

static brim_precision precision_of(const compare_job *job, const brim_mode *mode) {
  return mode->precision ? *mode->precision : job->options->precision;
}

/* Takes the memory of all modes of a precision at once and finds the mode that uses the most of it. */
static int compare_prepare(const compare_job *job, const brim_mode *modes, int count, brim_precision precision, int *largest,
                           brim_error *err) {
  brim_model_limits limits = {.training = true, .precision = precision};
  *largest = 0;
  for (int i = 0; i < count; i++) {
    brim_train_options options = compare_options(job, &modes[i]);
    if (options.precision != precision)
      continue;
    brim_outlook outlook;
    BRIM_TRY(brim_train_options_check(&options, err));
    BRIM_TRY(brim_outlook_run(job->runtime, brim_dataset_lengths(job->train), brim_dataset_rows(job->train), &options, &outlook,
                              NULL, err));
    if (outlook.limits.max_slots > limits.max_slots) {
      limits.max_slots = outlook.limits.max_slots;
      *largest = i;
    }
    if (outlook.limits.max_sequences > limits.max_sequences)
      limits.max_sequences = outlook.limits.max_sequences;
    if (outlook.limits.max_length > limits.max_length)
      limits.max_length = outlook.limits.max_length;
  }
  BRIM_TRY(brim_model_prepare(job->model, &limits, err));
  brim_model_touch_memory(job->model); /* later steps are larger than the one that warms up */
  return BRIM_OK;
}

/* One step that is forgotten: whoever comes first would otherwise pay for fresh pages and a cold processor. */
static int compare_warm_up(const compare_job *job, const brim_mode *mode, brim_error *err) {
  brim_train_options options = compare_options(job, mode);
  brim_train_result ignored;
  options.max_steps = 1;
  options.event = NULL;
  int status = brim_train(job->runtime, job->model, NULL, job->train, NULL, 0, &options, &ignored, err);
  return status ? status : compare_restore(job, err);
}

/* Whether memory of another precision was used last: an evaluation's is that of fp32. */
static bool changes_precision(const compare_job *job, const brim_mode *modes, int i) {
  const brim_precision precision = precision_of(job, &modes[i]);
  return i == 0 || precision != precision_of(job, &modes[i - 1]) || (job->eval && precision != BRIM_PRECISION_FP32);
}

/* ---- the modes -------------------------------------------------------------------------------------------- */

static int compare_mode(const compare_job *job, const brim_mode *mode, brim_mode_result *result, brim_error *err) {
  brim_train_options options = compare_options(job, mode);
  brim_train_result run;
  BRIM_TRY(compare_restore(job, err));
  BRIM_TRY(brim_train(job->runtime, job->model, NULL, job->train, NULL, 0, &options, &run, err));
  *result = (brim_mode_result){.mode = *mode,
                               .steps = run.steps,
                               .rows = run.rows,
                               .tokens = run.tokens,
                               .slots = run.slots,
                               .seconds = run.seconds,
                               .tokens_per_second = run.seconds > 0.0 ? (double)run.tokens / run.seconds : 0.0,
                               .padding_share = 1.0 - (double)run.tokens / (double)run.slots,
                               .loss = run.loss};
  if (!job->eval)
    return BRIM_OK;
  brim_eval_options evaluation;
  brim_eval_options_init(&evaluation);
  evaluation.max_length = job->options->plan.max_length;
  evaluation.event = job->options->event;
  evaluation.event_context = job->options->event_context;
  result->evaluated = true;
  return brim_evaluate(job->runtime, job->model, job->eval, &evaluation, &result->metrics, err);
}

static int compare_run(const compare_job *job, const brim_mode *modes, int count, brim_mode_result *results, brim_error *err) {
  int largest;
  BRIM_TRY(brim_dataset_fits(job->model, job->train, job->options->plan.max_length, true, "training data", err));
  if (job->eval)
    BRIM_TRY(brim_dataset_fits(job->model, job->eval, job->options->plan.max_length, true, "evaluation data", err));
  for (int i = 0; i < count; i++) {
    if (changes_precision(job, modes, i)) {
      BRIM_TRY(compare_prepare(job, modes, count, precision_of(job, &modes[i]), &largest, err));
      BRIM_TRY(compare_warm_up(job, &modes[largest], err));
    }
    BRIM_TRY(compare_announce(job, &modes[i], i, count, err));
    BRIM_TRY(compare_mode(job, &modes[i], &results[i], err));
  }
  return BRIM_OK;
}

int brim_compare(brim_runtime *runtime, brim_model *model, const brim_dataset *train, const brim_dataset *eval,
                 const brim_train_options *options, const brim_mode *modes, int mode_count, brim_mode_result *results,
                 brim_error *err) {
  compare_job job = {.runtime = runtime, .model = model, .train = train, .eval = eval, .options = options};
  if (mode_count <= 0)
    return brim_error_set(err, BRIM_E_USAGE, "no modes are given: name at least one");
  job.weights = brim_alloc(runtime, compare_bytes(model));
  if (!job.weights)
    return BRIM_NOMEM(err);
  int status = brim_model_read(model, BRIM_VALUES, 0, brim_model_flat_size(model), job.weights, err);
  if (!status) {
    brim_error ignored;
    status = compare_run(&job, modes, mode_count, results, err);
    const int restored = compare_restore(&job, status ? &ignored : err);
    status = status ? status : restored;
  }
  brim_release(runtime, job.weights);
  return status;
}
