/* compare.c: the same job under several kinds of batches and padding, from the same weights, in turns.
 *
 * What is measured has to be measured side by side: a machine that others use too is never twice the same. So every mode's run is
 * cut into as many shares, and modes take turns. Each has its own weights and moments, which wait in memory, so that its
 * losses are those of a run that nothing interrupts; nothing is computed twice for the clock's sake. */
#include <string.h>

#include "base/event.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/status.h"
#include "brim/study.h"
#include "data/facts.h"
#include "model/run/ask.h"
#include "model/run/model.h"
#include "study/rounds.h"
#include "train/answers/evaluate.h"
#include "train/answers/fit.h"
#include "train/folder/fields.h"
#include "train/loss_choice.h"
#include "train/schedule.h"
#include "train/turn.h"

enum { KINDS = 2 * (BRIM_PRECISION_INT8 + 1) }; /* of runs that take memory alike: a precision, activations kept or not */

typedef struct compare_run {
  brim_turns turns;
  uint64_t steps; /* of the whole run */
} compare_run;

typedef struct compare_job {
  brim_runtime *runtime;
  brim_model *model;
  const brim_dataset *train, *eval;
  brim_dataset *mapped[2]; /* the two as the model numbers their labels; NULL: they were so */
  const brim_train_options *options;
  const brim_mode *modes;
  int count;
  brim_mode_result *results;
  float *weights;    /* every mode starts from these */
  compare_run *runs; /* [count] */
  int rounds;
  bool fits;                       /* what waits fits into memory */
  uint64_t held, kept, loss;       /* bytes: before anything is taken; of all that wait; of a loss on the host */
  brim_model_limits limits[KINDS]; /* of all modes of a kind; max_slots 0: there are none */
  int largest[KINDS];              /* the mode that computes the most at once */
} compare_job;

static uint64_t compare_bytes(const brim_model *model) {
  return (uint64_t)brim_model_flat_size(model) * sizeof(float);
}

/* Training itself begins with moments of zero. */
static int compare_restore(const compare_job *job, brim_error *err) {
  return brim_model_write(job->model, BRIM_VALUES, 0, brim_model_flat_size(job->model), job->weights, err);
}

static brim_train_options compare_options(const compare_job *job, const brim_mode *mode) {
  brim_train_options options = mode->options ? *mode->options : *job->options;
  options.plan.batching = mode->batching;
  options.plan.padding = mode->padding;
  options.event = job->options->event, options.event_context = job->options->event_context;
  if (mode->padding == BRIM_PAD_MAX_LENGTH && options.plan.max_length == 0)
    options.plan.max_length = brim_dataset_longest(job->train);
  if (options.group.world_size <= 0)
    options.group = brim_group_single();
  options.plan.world_size = options.group.world_size;
  options.output = NULL;
  options.resume = options.overwrite = false;
  return options;
}

static int compare_tell(const compare_job *job, const brim_event *event, brim_error *err) {
  return brim_tell(job->options->event, job->options->event_context, event, err);
}

/* ---- before the clock runs -------------------------------------------------------------------------------- */

static bool same_text(const char *one, const char *other) {
  return one == other || (one && other && strcmp(one, other) == 0);
}

/* What is kept of a mode that waits, and the model's memory, are those of one optimizer and one end that is trained. */
static int compare_check_mode(const compare_job *job, const brim_mode *mode, brim_error *err) {
  const brim_train_options *one = job->options, *other = mode->options ? mode->options : one;
  const struct {
    const char *name;
    bool same;
  } shared[] = {{"optimizer", same_text(one->optimizer, other->optimizer)},
                {"decay_towards", same_text(one->decay_towards, other->decay_towards)},
                {"mixout", one->mixout == other->mixout},
                {"freeze", same_text(one->freeze, other->freeze)},
                {"train_only", same_text(one->train_only, other->train_only)},
                {"swa_start", one->swa_start == other->swa_start},
                {"memory_limit", one->memory_limit == other->memory_limit},
                {"max_length", one->plan.max_length == other->plan.max_length},
                {"world_size", one->group.world_size == other->group.world_size}};
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
    if (!shared[i].same)
      return brim_error_set(err, BRIM_E_USAGE, "mode %s: %s is the same in all modes of a comparison", mode->name,
                            shared[i].name);
  return BRIM_OK;
}

static int compare_add_loss(compare_job *job, const brim_train_options *options, const brim_outlook *outlook, brim_error *err) {
  uint64_t bytes;
  BRIM_TRY(brim_loss_memory(job->runtime, job->model, job->train, &options->loss, outlook, &bytes, err));
  job->loss = bytes > job->loss ? bytes : job->loss;
  return BRIM_OK;
}

/* Steps of every mode, and what the largest part of each kind takes. */
static int compare_survey(compare_job *job, brim_error *err) {
  for (int i = 0; i < job->count; i++) {
    brim_train_options options = compare_options(job, &job->modes[i]);
    brim_outlook outlook;
    BRIM_TRY(compare_check_mode(job, &job->modes[i], err));
    BRIM_TRY(brim_train_options_check(&options, err));
    BRIM_TRY(brim_outlook_run(job->runtime, brim_lengths_of(job->train), &options, &outlook, NULL, err));
    BRIM_TRY(compare_add_loss(job, &options, &outlook, err));
    job->runs[i].steps = outlook.total_steps;
    const int kind = 2 * options.precision + options.checkpoint_activations;
    brim_model_limits *all = &job->limits[kind];
    if (outlook.limits.max_slots > all->max_slots) {
      all->max_slots = outlook.limits.max_slots;
      job->largest[kind] = i;
    }
    if (outlook.limits.max_sequences > all->max_sequences)
      all->max_sequences = outlook.limits.max_sequences;
    if (outlook.limits.max_length > all->max_length)
      all->max_length = outlook.limits.max_length;
    all->training = true, all->precision = options.precision;
    all->checkpoint_activations = options.checkpoint_activations;
  }
  return BRIM_OK;
}

/* Bytes that training comes to at the most. */
static uint64_t compare_training(const compare_job *job) {
  uint64_t most = 0;
  for (int kind = 0; kind < KINDS; kind++)
    if (job->limits[kind].max_slots > 0 && brim_model_memory(job->model, &job->limits[kind]) > most)
      most = brim_model_memory(job->model, &job->limits[kind]);
  return most + job->loss;
}

/* How many rounds there are: one where what waits has no room, on any rank. */
static int compare_plan(compare_job *job, brim_error *err) {
  const brim_group group = compare_options(job, &job->modes[0]).group;
  const uint64_t limit = job->options->memory_limit;
  uint64_t each, fewest = job->count > 1 ? BRIM_MOST_ROUNDS : 1;
  for (int i = 0; i < job->count; i++)
    fewest = job->runs[i].steps < fewest ? job->runs[i].steps : fewest;
  BRIM_TRY(brim_turns_size(job->model, job->options, &each, err));
  const uint64_t needed = compare_bytes(job->model) + (uint64_t)job->count * each + compare_training(job);
  double lacking = limit > 0 ? job->held + needed > limit : needed > brim_process_room();
  BRIM_TRY(group.sum_double(group.context, &lacking, 1, err));
  job->fits = fewest < 2 || lacking == 0;
  job->rounds = job->fits ? (int)fewest : 1;
  job->kept = job->rounds > 1 ? (uint64_t)job->count * each : 0;
  return BRIM_OK;
}

static int compare_say_plan(const compare_job *job, brim_error *err) {
  uint64_t steps = 0;
  for (int i = 0; i < job->count; i++)
    steps += job->runs[i].steps;
  const brim_field fields[] = {BRIM_FIELD_INT("modes", job->count), BRIM_FIELD_INT("rounds", job->rounds),
                               BRIM_FIELD_INT("steps", steps), BRIM_FIELD_INT("memory_kept", job->kept),
                               BRIM_FIELD_BOOL("fits", job->fits)};
  return compare_tell(job, &(brim_event){"rounds", fields, BRIM_FIELD_COUNT(fields)}, err);
}

static int compare_reserve(compare_job *job, brim_error *err) {
  for (int i = 0; i < job->count; i++) {
    brim_turns *turns = &job->runs[i].turns;
    *turns = (brim_turns){.runtime = job->runtime,
                          .options = compare_options(job, &job->modes[i]),
                          .held = job->held,
                          .besides = compare_bytes(job->model) + job->kept};
    if (job->rounds > 1)
      BRIM_TRY(brim_turns_reserve(turns, job->model, err));
  }
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

/* Takes the memory of all modes at once, and writes to it: later steps are larger than the one that warms up. Under a
 * memory_limit modes take what they cut their steps to. */
static int compare_prepare(const compare_job *job, brim_error *err) {
  for (int kind = 0; kind < KINDS && job->options->memory_limit == 0; kind++)
    if (job->limits[kind].max_slots > 0)
      BRIM_TRY(brim_model_prepare(job->model, &job->limits[kind], err));
  brim_model_touch_memory(job->model);
  for (int kind = 0; kind < KINDS; kind++)
    if (job->limits[kind].max_slots > 0)
      BRIM_TRY(compare_warm_up(job, &job->modes[job->largest[kind]], err));
  return BRIM_OK;
}

/* ---- the modes -------------------------------------------------------------------------------------------- */

static int compare_announce(const compare_job *job, int index, int round, brim_error *err) {
  const brim_mode *mode = &job->modes[index];
  const brim_field fields[] = {BRIM_FIELD_TEXT("name", mode->name),
                               BRIM_FIELD_TEXT("batching", brim_batching_name(mode->batching)),
                               BRIM_FIELD_TEXT("padding", brim_padding_name(mode->padding)),
                               BRIM_FIELD_INT("index", index),
                               BRIM_FIELD_INT("count", job->count),
                               BRIM_FIELD_INT("round", round),
                               BRIM_FIELD_INT("rounds", job->rounds)};
  return compare_tell(job, &(brim_event){"mode", fields, BRIM_FIELD_COUNT(fields)}, err);
}

static int compare_evaluate(const compare_job *job, brim_mode_result *result, brim_error *err) {
  brim_eval_options evaluation;
  brim_eval_options_init(&evaluation);
  evaluation.max_length = job->options->plan.max_length;
  evaluation.event = job->options->event;
  evaluation.event_context = job->options->event_context;
  result->evaluated = true;
  return brim_evaluate(job->runtime, job->model, job->eval, &evaluation, &result->metrics, err);
}

/* `run` is what all turns so far come to, *result what those before came to. */
static void compare_note(brim_mode_result *result, const brim_train_result *run) {
  result->rounds[result->round_count++] = (brim_mode_round){.steps = run->steps - result->steps,
                                                            .tokens = run->tokens - result->tokens,
                                                            .slots = run->slots - result->slots,
                                                            .seconds = run->seconds - result->seconds};
  result->steps = run->steps;
  result->rows = run->rows;
  result->tokens = run->tokens;
  result->slots = run->slots;
  result->seconds = run->seconds;
  result->padding_share = 1.0 - (double)run->tokens / (double)run->slots;
  result->loss = run->loss;
}

static int compare_turn(const compare_job *job, int index, int round, brim_error *err) {
  compare_run *run = &job->runs[index];
  brim_mode_result *result = &job->results[index];
  brim_train_result so_far;
  run->turns.until = run->steps * (uint64_t)(round + 1) / (uint64_t)job->rounds;
  if (round == 0) {
    *result = (brim_mode_result){.mode = job->modes[index]};
    BRIM_TRY(compare_restore(job, err));
  }
  BRIM_TRY(compare_announce(job, index, round, err));
  BRIM_TRY(brim_train_turn(job->runtime, job->model, job->train, &run->turns, &so_far, err));
  compare_note(result, &so_far);
  return run->turns.over && job->eval ? compare_evaluate(job, result, err) : BRIM_OK;
}

static int compare_check(compare_job *job, brim_error *err) {
  const int32_t cut = job->options->plan.max_length;
  BRIM_TRY(brim_dataset_fit_of(job->runtime, job->model, job->train, -1, cut, true, "training data", &job->mapped[0], err));
  job->train = job->mapped[0] ? job->mapped[0] : job->train;
  if (job->eval) {
    BRIM_TRY(brim_dataset_fit_of(job->runtime, job->model, job->eval, brim_dataset_pairs_known(job->train), cut, true,
                                 "evaluation data", &job->mapped[1], err));
    job->eval = job->mapped[1] ? job->mapped[1] : job->eval;
  }
  BRIM_TRY(compare_survey(job, err));
  return compare_plan(job, err);
}

static int compare_run_all(compare_job *job, brim_error *err) {
  BRIM_TRY(compare_reserve(job, err));
  BRIM_TRY(compare_say_plan(job, err));
  BRIM_TRY(compare_prepare(job, err));
  for (int round = 0; round < job->rounds; round++)
    for (int turn = 0; turn < job->count; turn++)
      BRIM_TRY(compare_turn(job, brim_rounds_order(job->count, round, turn), round, err));
  brim_rounds_judge(job->results, job->count);
  return BRIM_OK;
}

static int compare_restored(compare_job *job, brim_error *err) {
  brim_error ignored;
  BRIM_TRY(brim_model_read(job->model, BRIM_VALUES, 0, brim_model_flat_size(job->model), job->weights, err));
  const int pairs = brim_model_pairs(job->model);
  const int status = compare_run_all(job, err), restored = compare_restore(job, status ? &ignored : err);
  brim_model_set_pairs(job->model, pairs);
  return status ? status : restored;
}

int brim_compare(brim_runtime *runtime, brim_model *model, const brim_dataset *train, const brim_dataset *eval,
                 const brim_train_options *options, const brim_mode *modes, int mode_count, brim_mode_result *results,
                 brim_error *err) {
  BRIM_GIVEN(err, runtime, model, train, options);
  BRIM_ARRAY(err, modes, mode_count);
  BRIM_ARRAY(err, results, mode_count);
  compare_job job = {.runtime = runtime,
                     .model = model,
                     .train = train,
                     .eval = eval,
                     .options = options,
                     .modes = modes,
                     .count = mode_count,
                     .results = results,
                     .held = brim_process_resident()};
  if (mode_count <= 0)
    return brim_error_set(err, BRIM_E_USAGE, "no modes are given: name at least one");
  job.runs = brim_alloc_array_zero(runtime, (size_t)mode_count, sizeof *job.runs);
  job.weights = brim_alloc(runtime, (size_t)compare_bytes(model));
  int status = job.runs && job.weights ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    status = compare_check(&job, err);
  if (!status)
    status = compare_restored(&job, err);
  for (int i = 0; i < mode_count && job.runs; i++)
    if (job.runs[i].turns.runtime)
      brim_turns_free(&job.runs[i].turns);
  brim_dataset_free(job.mapped[0]);
  brim_dataset_free(job.mapped[1]);
  brim_release(runtime, job.runs);
  brim_release(runtime, job.weights);
  return status;
}
