/* Ranks as threads: they agree before the first step on what they train, and with any number of them every row is taken once an
 * epoch. By messages or through shared memory they have the same bits. */
#include "model/portion.h"
#include "rank_case.h"
#include "train_case.h"

static const char *model_folder;

typedef struct rank_run rank_run;
typedef void (*change_fn)(case_job *job, rank_run *run);

struct rank_run {
  member member;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  change_fn change;
  int status;
  float *weights, *moments; /* both, one after the other */
};

static bool sums_apart;  /* gradients are summed after backward */
static bool by_messages; /* ranks share no memory */

static float *case_moments(case_job *job) {
  const int64_t from = brim_model_trained_offset(job->model), count = brim_model_flat_size(job->model) - from;
  float *both = calloc((size_t)(2 * brim_model_flat_size(job->model)), sizeof *both);
  brim_error ignored;
  if (brim_model_read(job->model, BRIM_MOMENT1, from, count, both, &ignored) ||
      brim_model_read(job->model, BRIM_MOMENT2, from, count, both + count, &ignored))
    both[0] = NAN; /* it was not prepared for training */
  return both;
}

static void *run_rank(void *context) {
  rank_run *run = context;
  case_job job = case_open(model_folder, 1);
  run->options.group = meeting_group(&run->member);
  run->options.group.apart = sums_apart;
  run->options.group.messages = by_messages;
  if (run->change)
    run->change(&job, run);
  run->status = case_train(&job, &run->options, &run->result, &run->err);
  run->weights = case_weights(&job);
  run->moments = case_moments(&job);
  case_close(&job);
  return NULL;
}

static void free_run(rank_run *run) {
  free(run->weights), free(run->moments);
}

/* The last rank is changed. Returns how many floats were summed. */
static int64_t run_ranks(int32_t world, const brim_train_options *options, change_fn change, rank_run *runs) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){.member = {&all, r}, .options = *options, .change = r == world - 1 ? change : NULL};
    if (pthread_create(&threads[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  return all.summed;
}

/* ---- agreement -------------------------------------------------------------------------------------------- */

static void other_seed(case_job *job, rank_run *run) {
  (void)job;
  run->options.seed = 43;
}

static void other_batch(case_job *job, rank_run *run) {
  (void)job;
  run->options.plan.batch_size = 4;
}

static void other_text(case_job *job, rank_run *run) {
  (void)run;
  brim_dataset_free(job->train);
  job->train = case_dataset(job->runtime, 44, 30, brim_model_vocab_size(job->model), brim_model_outputs(job->model), 3);
}

static void fewer_rows(case_job *job, rank_run *run) {
  (void)run;
  brim_dataset_free(job->train);
  job->train = case_dataset(job->runtime, 40, 30, brim_model_vocab_size(job->model), brim_model_outputs(job->model), 1);
}

static void other_eval(case_job *job, rank_run *run) {
  (void)run;
  brim_dataset_free(job->eval);
  job->eval = case_dataset(job->runtime, 30, 20, brim_model_vocab_size(job->model), brim_model_outputs(job->model), 5);
}

static void no_eval(case_job *job, rank_run *run) {
  (void)run;
  brim_dataset_free(job->eval);
  job->eval = NULL;
}

static void other_weight(case_job *job, rank_run *run) {
  (void)run;
  float weight;
  brim_error err;
  if (brim_model_read(job->model, BRIM_VALUES, 7, 1, &weight, &err))
    abort();
  weight += 1e-3f;
  if (brim_model_write(job->model, BRIM_VALUES, 7, 1, &weight, &err))
    abort();
}

static void other_freeze(case_job *job, rank_run *run) {
  (void)job;
  run->options.freeze = "embeddings";
}

static void other_resume(case_job *job, rank_run *run) {
  (void)job;
  run->options.resume = true;
}

static void other_slices(case_job *job, rank_run *run) {
  (void)job;
  run->options.plan.slices = 4;
}

static void anyway(case_job *job, rank_run *run) {
  (void)job;
  run->options.resume_anyway = true;
}

static void over(case_job *job, rank_run *run) {
  (void)job;
  run->options.overwrite = true;
}

static void no_folder(case_job *job, rank_run *run) {
  (void)job;
  run->options.output = NULL;
}

static void sums_after(case_job *job, rank_run *run) {
  (void)job;
  run->options.group.apart = true;
}

static void plain_kernels(case_job *job, rank_run *run) {
  case_close(job);
  if (case_open_with(job, model_folder, 1, NULL, "plain", &run->err))
    abort();
  job->train = case_dataset(job->runtime, 44, 30, brim_model_vocab_size(job->model), brim_model_outputs(job->model), 1);
  job->eval = case_dataset(job->runtime, 30, 20, brim_model_vocab_size(job->model), brim_model_outputs(job->model), 2);
}

static void agree(int32_t world, change_fn change, const char *what, const char *value) {
  rank_run runs[MOST_RANKS];
  const char *output = scratch_file("agree");
  brim_train_options options = case_options(output);
  char who[64];
  snprintf(who, sizeof who, "on rank %d,", (int)world - 1);
  run_ranks(world, &options, change, runs);
  bool same = true, named = true;
  for (int32_t r = 0; r < world; r++) {
    same = same && runs[r].status == BRIM_E_MISMATCH && runs[r].result.steps == 0;
    named = named && strstr(runs[r].err.message, what) && strstr(runs[r].err.message, who) &&
            strstr(runs[r].err.message, value) && strcmp(runs[r].err.message, runs[0].err.message) == 0;
    free_run(&runs[r]);
  }
  ok(same && named, "%s, on one of %d ranks: %s", what, (int)world, runs[0].err.message);
  ok(!case_exists(output), "%s: nothing is written", what);
  case_remove(output);
}

static void agreements(void) {
  agree(2, other_seed, ": seed: 43", "42 on rank 0");
  agree(3, other_batch, ": batch_size: 4", "8 on rank 0");
  agree(2, other_text, "texts or labels of the training data", "");
  agree(3, fewer_rows, "rows of the training data: 40", "44 on rank 0");
  agree(2, other_eval, "texts or labels of the evaluation set dev", "");
  agree(2, no_eval, "number of evaluation sets: 0", "1 on rank 0");
  agree(4, other_weight, "weights of the model", "");
  agree(2, other_freeze, ": freeze: \"embeddings\"", "null on rank 0");
  agree(2, other_resume, "resume: true", "false on rank 0");
  agree(2, anyway, "resume_anyway: true", "false on rank 0");
  agree(3, over, "overwrite: true", "false on rank 0");
  agree(2, no_folder, "folder of the run: not given", "given on rank 0");
  agree(2, sums_after, "sums of gradients: after backward", "during backward on rank 0");
  case_job job = case_open(model_folder, 1);
  const bool plain = strcmp(brim_model_kernels(job.model), "plain") == 0, host = brim_portion_can(job.model);
  case_close(&job);
  if (host) /* another device has no slices, and says so first */
    agree(2, other_slices, ": slices: 4", "on rank 0");
  if (plain)
    tap_skip("kernels", "this machine has plain ones only");
  else
    agree(2, plain_kernels, ": kernels: cpu-plain", "");
}

/* ---- any number of ranks ---------------------------------------------------------------------------------- */

/* Three epochs of 44 rows in steps of 8: 18 steps. What is computed does not depend on the number of ranks but for rounding. */
static void worlds(void) {
  rank_run one, runs[MOST_RANKS];
  brim_train_options options = case_options(NULL);
  options.epochs = 3;
  options.lr = 3e-4;
  by_messages = true;
  run_ranks(1, &options, NULL, &one);
  case_job job = case_open(model_folder, 1);
  const int64_t size = brim_model_flat_size(job.model);
  /* A step of 8 rows has at most 240 tokens. */
  const brim_parameter *words = brim_model_parameter(job.model, 0);
  const int64_t rows_unused = words->shape[0] - 240, width = words->shape[1];
  case_close(&job);
  for (int32_t world = 2; world <= MOST_RANKS; world++) {
    const int64_t summed = run_ranks(world, &options, NULL, runs);
    bool fine = true, same = true;
    for (int32_t r = 0; r < world; r++) {
      fine = fine && runs[r].status == BRIM_OK && runs[r].result.rows == 3 * 44 && runs[r].result.steps == 18 &&
             runs[r].result.tokens == one.result.tokens;
      same = same && memcmp(runs[r].weights, runs[0].weights, (size_t)size * sizeof(float)) == 0;
    }
    const double apart = case_distance(runs[0].weights, one.weights, size);
    ok(fine && same, "%d ranks: 3 epochs of 44 rows, and the same bits on all %s", (int)world, runs[0].err.message);
    ok(apart < 1e-5, "%d ranks train what one does (%.1e apart)", (int)world, apart);
    ok(summed > 0 && summed < 18 * (size - rows_unused * width), "%d ranks send only rows of embeddings that their texts have",
       (int)world);
    for (int32_t r = 0; r < world; r++)
      free_run(&runs[r]);
  }
  free_run(&one);
  by_messages = false;
}

/* ---- during backward -------------------------------------------------------------------------------------- */

static void cancelled(case_job *job, rank_run *run) {
  (void)run;
  brim_runtime_cancel(job->runtime);
}

/* Sums of pieces that backward has just completed have the bits of a sum afterwards. */
static void during_backward(void) {
  for (int i = 0; i < 4; i++) {
    rank_run runs[2][MOST_RANKS];
    brim_train_options options = case_options(NULL);
    options.epochs = 2;
    options.lr = 3e-4;
    options.freeze = i == 1 ? "embeddings" : NULL;
    options.precision = i == 2 ? BRIM_PRECISION_BF16 : BRIM_PRECISION_FP32;
    options.plan.accumulate = i == 3 ? 4 : 0; /* several parts a step */
    by_messages = true;
    const int64_t during = run_ranks(3, &options, NULL, runs[0]);
    sums_apart = true;
    const int64_t after = run_ranks(3, &options, NULL, runs[1]);
    sums_apart = by_messages = false;
    case_job job = case_open(model_folder, 1);
    const size_t size = (size_t)brim_model_flat_size(job.model) * sizeof(float);
    case_close(&job);
    ok(!runs[0][0].status && !runs[1][0].status && memcmp(runs[0][0].weights, runs[1][0].weights, size) == 0 && during == after,
       "3 ranks: gradients that are summed during backward have the bits of a sum after it (%d) %s", i, runs[0][0].err.message);
    for (int32_t r = 0; r < 6; r++)
      free_run(&runs[r / 3][r % 3]);
  }
}

/* ---- shared memory ---------------------------------------------------------------------------------------- */

static void plain(brim_train_options *o) {
  o->epochs = 3;
}

static void frozen(brim_train_options *o) {
  o->freeze = "layers:1";
  o->clip = 0.1;
  o->layer_lr_decay = 0.9;
}

static void narrow(brim_train_options *o) {
  o->precision = BRIM_PRECISION_BF16;
  o->plan.accumulate = 4;
}

static void late_and_averaged(brim_train_options *o) {
  o->weight_decay = 0.1;
  o->epochs = 12;
  o->swa_start = 0.5;
}

static bool same_state(const rank_run *a, const rank_run *b, int64_t size) {
  return memcmp(a->weights, b->weights, (size_t)size * sizeof(float)) == 0 &&
         memcmp(a->moments, b->moments, (size_t)(2 * size) * sizeof(float)) == 0;
}

/* Ranks that read one another's gradients have the bits of messages: weights, and on every rank all moments. */
static void shared(void) {
  static void (*const changes[])(brim_train_options *) = {plain, frozen, narrow, late_and_averaged};
  case_job job = case_open(model_folder, 1);
  const int64_t size = brim_model_flat_size(job.model);
  const bool can = brim_portion_can(job.model);
  case_close(&job);
  for (int32_t world = 2; world <= MOST_RANKS; world++)
    for (int i = 0; i < 4; i++) {
      rank_run runs[2][MOST_RANKS];
      brim_train_options options = case_options(NULL);
      int64_t sent[2];
      bool fine = true;
      options.lr = 3e-4;
      changes[i](&options);
      for (int k = 0; k < 2; k++) {
        by_messages = k == 0;
        sent[k] = run_ranks(world, &options, NULL, runs[k]);
      }
      for (int32_t r = 0; r < world; r++)
        fine = fine && runs[1][r].status == BRIM_OK && same_state(&runs[1][r], &runs[0][0], size) &&
               same_state(&runs[0][r], &runs[0][0], size);
      ok(fine && (!can || sent[1] < sent[0]),
         "%d ranks that share memory have the bits of messages (%d), and send less: %lld of %lld floats %s", (int)world, i,
         (long long)sent[1], (long long)sent[0], runs[1][0].err.message);
      for (int32_t r = 0; r < 2 * world; r++)
        free_run(&runs[r / world][r % world]);
      if (world > 4)
        break;
    }
}

/* The others have begun to sum: the one that stops takes part to the end of the step. */
static void one_stops(void) {
  rank_run runs[MOST_RANKS];
  brim_train_options options = case_options(NULL);
  run_ranks(3, &options, cancelled, runs);
  bool all = true;
  for (int32_t r = 0; r < 3; r++) {
    all = all && runs[r].status == BRIM_E_CANCELLED;
    free_run(&runs[r]);
  }
  ok(all, "a rank that is cancelled stops all: %s", runs[0].err.message);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("ranks", "there are no golden models");
    return tap_done();
  }
  agreements();
  worlds();
  during_backward();
  shared();
  one_stops();
  return tap_done();
}
