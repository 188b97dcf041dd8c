/* The result does not depend on how it is executed: padding, cuts, micro-batches, threads, ranks; with dropout on. */

#include "model/run/flat.h"
#include "model/run/model.h"
#include "rank_case.h"
#include "train_case.h"

static const char *model_folder;

/* ---- one gradient, executed in many ways -------------------------------------------------------------------- */

typedef struct way {
  const char *name;
  brim_padding padding;
  int64_t max_tokens, max_rows;
  int threads, pad_to;
  bool bits; /* bit-equal to the first, not only near */
  bool checkpoints;
  brim_precision precision;
} way;

/* Loss and gradient of the first step of an epoch. */
static double first_gradient(case_job *job, const way *w, float *gradient) {
  brim_plan_options options = {.batching = BRIM_RANDOM,
                               .padding = w->padding,
                               .batch_size = 16,
                               .max_tokens = w->max_tokens,
                               .max_rows = w->max_rows,
                               .max_length = 40,
                               .pad_to_multiple_of = w->pad_to,
                               .seed = 42};
  brim_plan *plan;
  brim_batch batch = {0};
  brim_error err = {0};
  const brim_model_limits limits = {.max_slots = 16 * 40,
                                    .max_sequences = 16,
                                    .max_length = 40,
                                    .training = true,
                                    .checkpoint_activations = w->checkpoints,
                                    .precision = w->precision};
  const brim_pass pass = {.training = true, .dropout = true, .seed = 5, .optimizer_step = 3};
  double loss = 0;
  int parts = 0;
  int status = brim_plan_new(job->runtime, brim_dataset_lengths(job->train), 44, &options, 0, &plan, &err);
  if (!status)
    status = brim_model_prepare(job->model, &limits, &err);
  for (uint64_t i = 0; !status && i < brim_plan_parts(plan); i++) {
    brim_planned part;
    double share;
    brim_plan_part(plan, 0, i, &part);
    if (part.step > 0)
      break;
    parts++;
    status = brim_batch_fill(&batch, job->runtime, job->train, &part, &err);
    if (!status)
      status = brim_model_forward(job->model, &batch, &pass, &share, NULL, &err);
    if (!status)
      status = brim_model_backward(job->model, &batch, &pass, &err);
    if (!status)
      loss += share;
  }
  if (status)
    printf("# %s\n", err.message);
  printf("# %s: %d parts, loss %.9g\n", w->name, parts, loss);
  memcpy(gradient, brim_model_gradients(job->model), (size_t)brim_model_flat_size(job->model) * sizeof *gradient);
  brim_plan_free(plan);
  brim_batch_free(&batch);
  return loss;
}

/* Key biases have a true gradient of zero, so what they hold is rounding: they are compared absolutely. */
static double worst_tensor(const brim_model *model, const float *a, const float *b) {
  double worst = 0;
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    double apart = case_distance(a + p->offset, b + p->offset, p->count);
    if (strstr(p->name, "key.bias")) {
      apart = 0;
      for (int64_t j = 0; j < p->count; j++)
        apart = fmax(apart, 10 * fabs((double)a[p->offset + j] - (double)b[p->offset + j]));
    }
    worst = fmax(worst, apart);
  }
  return worst;
}

/* Each against the first: gradients `near`, relatively, and losses `loss_near`. */
static void compare_ways(const way *all, size_t count, double near, double loss_near) {
  case_job job = case_open(model_folder, 1);
  int64_t size = brim_model_flat_size(job.model);
  float *first = calloc((size_t)size, sizeof *first), *other = calloc((size_t)size, sizeof *other);
  double loss = first_gradient(&job, &all[0], first);
  case_close(&job);
  for (size_t i = 1; i < count; i++) {
    job = case_open(model_folder, all[i].threads);
    double same = first_gradient(&job, &all[i], other), apart = worst_tensor(job.model, other, first);
    if (all[i].bits)
      ok(same == loss && memcmp(first, other, (size_t)size * sizeof *first) == 0, "%s: the same bits", all[i].name);
    else
      ok(fabs(same - loss) <= loss_near * loss && apart <= near, "%s: the same loss and gradient (%.1e apart)", all[i].name,
         apart);
    case_close(&job);
  }
  free(first), free(other);
}

static void ways(void) {
  static const way all[] = {
      {"ragged at once", BRIM_PAD_NONE, 0, 0, 1, 0, true, false, BRIM_PRECISION_FP32},
      {"two threads", BRIM_PAD_NONE, 0, 0, 2, 0, true, false, BRIM_PRECISION_FP32},
      {"three threads", BRIM_PAD_NONE, 0, 0, 3, 0, true, false, BRIM_PRECISION_FP32},
      {"checkpoints", BRIM_PAD_NONE, 0, 0, 2, 0, true, true, BRIM_PRECISION_FP32},
      {"padded to the longest", BRIM_PAD_LONGEST, 0, 0, 2, 0, false, false, BRIM_PRECISION_FP32},
      {"padded to multiples of 8", BRIM_PAD_LONGEST, 0, 0, 2, 8, false, false, BRIM_PRECISION_FP32},
      {"padded to max_length", BRIM_PAD_MAX_LENGTH, 0, 0, 2, 0, false, false, BRIM_PRECISION_FP32},
      {"cut at 100 tokens", BRIM_PAD_NONE, 100, 0, 2, 0, false, false, BRIM_PRECISION_FP32},
      {"cut at 31 tokens", BRIM_PAD_NONE, 31, 0, 1, 0, false, false, BRIM_PRECISION_FP32},
      {"row by row", BRIM_PAD_NONE, 0, 1, 2, 0, false, false, BRIM_PRECISION_FP32},
      {"padded and cut", BRIM_PAD_LONGEST, 90, 0, 2, 0, false, false, BRIM_PRECISION_FP32},
      {"padded, cut, checkpoints", BRIM_PAD_LONGEST, 90, 0, 3, 0, false, true, BRIM_PRECISION_FP32},
  };
  compare_ways(all, sizeof all / sizeof *all, 1e-5, 1e-6);
}

/* In bf16 a part is near the whole, and threads and checkpoints change no bit. */
static void half_ways(void) {
  static const way all[] = {
      {"bf16", BRIM_PAD_NONE, 0, 0, 1, 0, true, false, BRIM_PRECISION_BF16},
      {"bf16, three threads", BRIM_PAD_NONE, 0, 0, 3, 0, true, false, BRIM_PRECISION_BF16},
      {"bf16, checkpoints", BRIM_PAD_NONE, 0, 0, 2, 0, true, true, BRIM_PRECISION_BF16},
      {"bf16, padded", BRIM_PAD_LONGEST, 0, 0, 2, 0, false, false, BRIM_PRECISION_BF16},
      {"bf16, cut", BRIM_PAD_NONE, 31, 0, 2, 0, false, false, BRIM_PRECISION_BF16},
      {"fp32", BRIM_PAD_NONE, 0, 0, 2, 0, false, false, BRIM_PRECISION_FP32},
  };
  compare_ways(all, sizeof all / sizeof *all, 3e-2, 1e-2);
}

/* Without dropout the gradient is another one: the comparison above has something to lose. */
static void dropout_matters(void) {
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result one, two;
  options.max_steps = 1;
  int status = case_train(&job, &options, &one, NULL);
  options.seed = 43;
  case_job again = case_open(model_folder, 2);
  status |= case_train(&again, &options, &two, NULL);
  ok(status == BRIM_OK && fabs(one.loss - two.loss) > 1e-3, "another dropout seed gives another loss (%.4f, %.4f)", one.loss,
     two.loss);
  case_close(&job);
  case_close(&again);
}

static int note_loss(void *context, const brim_event *event) {
  double *losses = context;
  if (strcmp(event->kind, "step") == 0)
    losses[brim_event_field(event, "step")->integer] = brim_event_field(event, "loss")->real;
  return 0;
}

/* With a learning rate of 0 only the masks can make a difference between two steps over the same rows. */
static void dropout_is_fresh(void) {
  double losses[4] = {0};
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  options.plan.batching = BRIM_SEQUENTIAL;
  options.plan.batch_size = 44;
  options.epochs = 3;
  options.lr = 0;
  options.event = note_loss;
  options.event_context = losses;
  ok(case_train(&job, &options, &result, NULL) == BRIM_OK && fabs(losses[1] - losses[2]) > 1e-4 &&
         fabs(losses[2] - losses[3]) > 1e-4 && fabs(losses[1] - losses[3]) > 1e-4,
     "every step has masks of its own (%.4f, %.4f, %.4f)", losses[1], losses[2], losses[3]);
  case_close(&job);
}

/* ---- whole runs --------------------------------------------------------------------------------------------- */

static bool many_labels; /* rows have several labels, not one */

/* The same texts and a new head; a row's labels are two of three, or none. */
static void give_many_labels(case_job *job) {
  static const char *const names[] = {"a", "b", "c"};
  brim_labels labels;
  brim_error err = {0};
  brim_dataset **sets[] = {&job->train, &job->eval};
  brim_model_free(job->model);
  int status = brim_labels_make(job->runtime, BRIM_TASK_MULTI_LABEL, names, 3, &labels, &err);
  const brim_model_options options = {.labels = &labels, .seed = 1};
  if (!status)
    status = brim_model_load(job->runtime, model_folder, &options, &job->model, &err);
  for (int i = 0; !status && i < 2; i++) {
    const uint64_t rows = brim_dataset_rows(*sets[i]);
    brim_sample *samples = calloc(rows, sizeof *samples);
    float (*values)[3] = calloc(rows, sizeof *values);
    for (uint64_t r = 0; r < rows; r++) {
      brim_dataset_sample(*sets[i], r, &samples[r]);
      for (int k = 0; k < 3; k++)
        values[r][k] = samples[r].label != (float)k && r % 5 > 0;
      samples[r].labels = values[r], samples[r].label_width = 3;
    }
    brim_dataset *given;
    status = brim_dataset_from_samples(job->runtime, samples, rows, &labels, &given, &err);
    brim_dataset_free(*sets[i]);
    *sets[i] = given;
    free(samples), free(values);
  }
  if (status) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  brim_labels_free(&labels);
}

static case_job open_job(int threads) {
  case_job job = case_open(model_folder, threads);
  if (many_labels)
    give_many_labels(&job);
  return job;
}

/* The gradient of a run's one step, which its first moments are a tenth of. */
static float *first_moments(const case_job *job) {
  size_t bytes = (size_t)brim_model_flat_size(job->model) * sizeof(float);
  float *copy = malloc(bytes);
  if (brim_model_moment1(job->model)) /* or nothing was trained */
    memcpy(copy, brim_model_moment1(job->model), bytes);
  return copy;
}

static float *trained(const brim_train_options *options, int threads, brim_train_result *result) {
  case_job job = case_open(model_folder, threads);
  brim_error err = {0};
  if (!ok(case_train(&job, options, result, &err) == BRIM_OK, "a run"))
    printf("# %s\n", err.message);
  float *weights = case_weights(&job);
  case_close(&job);
  return weights;
}

static void runs(void) {
  brim_train_options options = case_options(NULL);
  brim_train_result one, other;
  case_job job = case_open(model_folder, 1);
  int64_t size = brim_model_flat_size(job.model);
  case_close(&job);
  float *weights = trained(&options, 1, &one);
  float *threads = trained(&options, 3, &other);
  ok(memcmp(weights, threads, (size_t)size * sizeof *weights) == 0 && one.loss == other.loss,
     "three threads: the same run, bit for bit");
  options.checkpoint_activations = true;
  float *again = trained(&options, 2, &other);
  ok(memcmp(weights, again, (size_t)size * sizeof *weights) == 0, "checkpoints of activations: the same run, bit for bit");
  options.plan.max_tokens = 60;
  float *cut = trained(&options, 2, &other);
  ok(one.rows == other.rows && one.tokens == other.tokens && one.steps == other.steps, "cut steps: the same rows and steps");
  double apart = case_distance(cut, weights, size);
  ok(apart < 1e-4 && fabs(one.loss - other.loss) < 1e-4, "cut steps: the same weights up to rounding (%.1e apart)", apart);
  options.plan.max_tokens = 0;
  options.plan.padding = BRIM_PAD_LONGEST;
  float *padded = trained(&options, 2, &other);
  apart = case_distance(padded, weights, size);
  ok(apart < 1e-4 && other.slots > one.slots, "padded: the same weights up to rounding (%.1e apart), more slots", apart);
  free(weights), free(threads), free(again), free(cut), free(padded);
}

/* ---- ranks as threads --------------------------------------------------------------------------------------- */

typedef struct rank_run {
  member member;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  float *weights, *moments;
  int status;
  int64_t cancel_at; /* rank 1 cancels in this step; 0: never */
} rank_run;

/* Before the first step: no rank has a gradient, or rank 1 has other options; and rank 0 cannot put back what it replaced. */
static bool ranks_diverge, second_refuses, aside_broken;

typedef struct rank_cancel {
  brim_runtime *runtime;
  int64_t step;
} rank_cancel;

static int cancel_in_step(void *context, const brim_event *event) {
  const rank_cancel *c = context;
  if (strcmp(event->kind, "step") == 0 && brim_event_field(event, "step")->integer == c->step)
    brim_runtime_cancel(c->runtime);
  return 0;
}

/* A folder lies where the log of the run that was moved aside was. */
static int break_aside(void *context, const brim_event *event) {
  char log[600];
  snprintf(log, sizeof log, "%s/replaced-run/log.jsonl", (const char *)context);
  if (strcmp(event->kind, "start") == 0 && (remove(log) || mkdir(log, 0777)))
    abort();
  return 0;
}

/* All weights are NaN. */
static void spoil(brim_model *model) {
  const int64_t count = brim_model_flat_size(model);
  float *values = malloc((size_t)count * sizeof *values);
  brim_error err;
  memset(values, 0xff, (size_t)count * sizeof *values);
  if (brim_model_write(model, BRIM_VALUES, 0, count, values, &err))
    abort();
  free(values);
}

static void *run_rank(void *context) {
  rank_run *run = context;
  case_job job = open_job(1);
  rank_cancel cancel = {job.runtime, run->cancel_at};
  run->options.group = meeting_group(&run->member);
  if (ranks_diverge)
    spoil(job.model);
  if (second_refuses && run->member.rank == 1)
    run->options.best_metric = "none";
  if (run->cancel_at)
    run->options.event = cancel_in_step, run->options.event_context = &cancel;
  else if (aside_broken)
    run->options.event = break_aside, run->options.event_context = (void *)(uintptr_t)run->options.output;
  run->status = case_train(&job, &run->options, &run->result, &run->err);
  run->weights = case_weights(&job);
  run->moments = first_moments(&job);
  case_close(&job);
  return NULL;
}

static void run_ranks(int32_t world, const brim_train_options *options, int64_t cancel_at, rank_run runs[MOST_RANKS]) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){.member = {&all, r}, .options = *options, .cancel_at = r == 0 ? cancel_at : 0};
    pthread_create(&threads[r], NULL, run_rank, &runs[r]);
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
}

static void free_ranks(int32_t world, rank_run runs[MOST_RANKS]) {
  for (int32_t r = 0; r < world; r++)
    free(runs[r].weights), free(runs[r].moments);
}

/* The first step's update has the gradient in it: with plain values of beta and one step, moment1 would do; weights do as well.
 */
static void ranks(int32_t world) {
  rank_run runs[MOST_RANKS];
  brim_train_options options = case_options(NULL);
  brim_train_result one;
  case_job job = case_open(model_folder, 1);
  int64_t size = brim_model_flat_size(job.model);
  size_t bytes = (size_t)size * sizeof(float);
  case_close(&job);
  options.best_metric = "loss";
  float *alone = trained(&options, 1, &one);
  run_ranks(world, &options, 0, runs);
  bool fine = true, same = true;
  for (int32_t r = 0; r < world; r++) {
    fine = fine && runs[r].status == BRIM_OK && runs[r].result.steps == one.steps && runs[r].result.rows == one.rows &&
           runs[r].result.tokens == one.tokens;
    same = same && memcmp(runs[r].weights, runs[0].weights, bytes) == 0;
  }
  if (!ok(fine, "%d ranks take the same steps over the same rows", (int)world))
    printf("# %s\n", runs[0].err.message);
  ok(same, "all of %d ranks end with the same bits", (int)world);
  double apart = case_distance(runs[0].weights, alone, size);
  ok(apart < 1e-4 && fabs(runs[0].result.loss - one.loss) < 1e-4, "%d ranks train what one does (%.1e apart)", (int)world, apart);
  ok_near(runs[0].result.best_metric, one.best_metric, 1e-4, "and evaluate what one does");
  free_ranks(world, runs);
  free(alone);
}

/* One step of seven rows, shared by some ranks or taken by one: the divisor of its loss is that of all of them. */
static void ranks_loss(int32_t world, const char *weights, double smoothing, const char *what) {
  rank_run runs[MOST_RANKS];
  brim_train_options options = case_options(NULL);
  brim_train_result one;
  brim_error err = {0};
  options.plan.batch_size = 7;
  options.max_steps = 1;
  options.clip = 0;
  options.best_metric = "loss";
  options.class_weights = weights, options.label_smoothing = smoothing;
  case_job job = open_job(2);
  int status = case_train(&job, &options, &one, &err);
  float *moments = first_moments(&job);
  run_ranks(world, &options, 0, runs);
  bool fine = status == BRIM_OK;
  for (int32_t r = 0; r < world; r++)
    fine = fine && runs[r].status == BRIM_OK && runs[r].result.rows == 7;
  if (!ok(fine, "%s, %d ranks: a step of 7 rows", what, (int)world))
    printf("# %s %s\n", err.message, runs[0].err.message);
  double apart = worst_tensor(job.model, runs[0].moments, moments);
  ok(apart < 1e-5 && fabs(runs[0].result.loss - one.loss) < 1e-6 * one.loss,
     "%s, %d ranks: the gradient and the loss of one (%.1e apart; %.7f, %.7f)", what, (int)world, apart, runs[0].result.loss,
     one.loss);
  free_ranks(world, runs);
  free(moments);
  case_close(&job);
}

static void ranks_losses(void) {
  for (int32_t world = 2; world <= 4; world++) {
    ranks_loss(world, NULL, 0, "cross entropy");
    ranks_loss(world, "0=0.25,2=4", 0, "class weights");
    ranks_loss(world, "0=0.25,2=4", 0.2, "class weights and smoothing");
    many_labels = true;
    ranks_loss(world, NULL, 0, "many labels");
    ranks_loss(world, "balanced", 0, "many labels, balanced");
    many_labels = false;
  }
}

/* One rank is cancelled: all stop after the same step, and one process continues from there. */
static void ranks_resume(void) {
  rank_run runs[MOST_RANKS];
  const char *output = scratch_file("ranks");
  brim_train_options options = case_options(output);
  brim_train_result one, rest;
  run_ranks(2, &options, 5, runs);
  ok(runs[0].status == BRIM_E_CANCELLED && runs[1].status == BRIM_E_CANCELLED && runs[1].result.steps == runs[0].result.steps,
     "both ranks stop after step %d", (int)runs[1].result.steps);
  free_ranks(2, runs);
  options.resume = true;
  float *weights = trained(&options, 2, &rest);
  ok(rest.resumed && rest.steps == 12 && rest.rows == 88, "one process resumes what two began");
  options.output = NULL;
  options.resume = false;
  float *alone = trained(&options, 1, &one);
  case_job job = case_open(model_folder, 1);
  double apart = case_distance(weights, alone, brim_model_flat_size(job.model));
  ok(apart < 1e-4, "and ends where one process alone does (%.1e apart)", apart);
  case_close(&job);
  free(weights), free(alone);
}

/* What was to be replaced is as it was, whichever rank is the first to fail. */
static void ranks_fail(bool *failing, const char *what) {
  rank_run runs[MOST_RANKS];
  const char *output = scratch_file("kept");
  brim_train_options options = case_options(output);
  options.max_steps = 2;
  run_ranks(2, &options, 0, runs);
  free_ranks(2, runs);
  char *log = case_log(output), *names = strdup(case_names(output)),
       *steps = strdup(case_names(case_path(output, "checkpoints")));
  options.overwrite = *failing = true;
  run_ranks(2, &options, 0, runs);
  *failing = false;
  ok(runs[0].status && runs[1].status && runs[0].result.steps == 0, "%s: both ranks fail before their first step", what);
  ok_string(case_names(output), names, "the run that was there is there");
  ok_string(case_names(case_path(output, "checkpoints")), steps, "with its checkpoints");
  char *after = case_log(output);
  case_same_text(after, log, "and its log");
  free(log), free(names), free(steps), free(after);
  free_ranks(2, runs);
  case_remove(output);
}

/* No rank waits for one that has nothing more to say. */
static void ranks_keep_step(void) {
  rank_run runs[MOST_RANKS];
  brim_train_options options = case_options(scratch_file("kept"));
  options.max_steps = 2;
  run_ranks(2, &options, 0, runs);
  free_ranks(2, runs);
  options.overwrite = ranks_diverge = aside_broken = true;
  run_ranks(2, &options, 0, runs);
  ranks_diverge = aside_broken = false;
  ok(runs[0].status == BRIM_E_DIVERGED && runs[1].status == BRIM_E_DIVERGED, "both ranks end where one cannot put back");
  ok(case_exists(case_path(options.output, "replaced-run/checkpoints")), "what it cannot put back stays aside");
  free_ranks(2, runs);
  case_remove(options.output);
}

/* ---- no padding computed -------------------------------------------------------------------------------------- */

/* The most real tokens that a step had. */
static int note_tokens(void *context, const brim_event *event) {
  int64_t *most = context;
  if (strcmp(event->kind, "step") == 0 && brim_event_field(event, "tokens")->integer > *most)
    *most = brim_event_field(event, "tokens")->integer;
  return 0;
}

/* Most rows of any matrix product of a run, which also evaluates at the end of each epoch. */
static int64_t tallest_product(brim_padding padding, int64_t *tokens) {
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  brim_error err = {0};
  options.plan.padding = padding;
  options.event = note_tokens;
  options.event_context = tokens;
  if (!ok(case_train(&job, &options, &result, &err) == BRIM_OK, "a run"))
    printf("# %s\n", err.message);
  int64_t rows = job.model->context.stats.gemm_max_rows;
  case_close(&job);
  return rows;
}

static void no_padding_computed(void) {
  int64_t tokens = 0, padded = 0;
  int64_t rows = tallest_product(BRIM_PAD_NONE, &tokens);
  ok(rows > 0 && rows <= tokens, "a run without padding: no product has more rows than its batch has tokens (%lld, %lld)",
     (long long)rows, (long long)tokens);
  rows = tallest_product(BRIM_PAD_LONGEST, &padded);
  ok(padded == tokens && rows > tokens, "padding is computed when it is asked for (%lld, %lld)", (long long)rows,
     (long long)tokens);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("invariance", "there are no golden models");
    return tap_done();
  }
  static const char *const gated[] = {"modernbert-cls", "gte-cls"};
  ways();
  half_ways();
  for (int i = 0; i < 2; i++)
    if ((model_folder = case_model_folder(gated[i])))
      half_ways();
  model_folder = case_model_folder("bert-pair-3");
  dropout_matters();
  dropout_is_fresh();
  runs();
  ranks(2);
  ranks(4);
  ranks_losses();
  ranks_resume();
  ranks_fail(&ranks_diverge, "a loss that is no number");
  ranks_fail(&second_refuses, "options of one rank that do not exist");
  ranks_keep_step();
  no_padding_computed();
  return tap_done();
}
