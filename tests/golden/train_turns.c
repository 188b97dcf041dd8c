/* A run in turns comes to the bits of one that is made at once, whatever the model does between them. */
#include "train/turn.h"

#include "model/run/flat.h"
#include "model/run/host.h"
#include "rank_case.h"
#include "train_case.h"

static const char *model_folder;

typedef void (*change_fn)(brim_train_options *options);

static void sixteen_bits(brim_train_options *o) {
  o->precision = BRIM_PRECISION_BF16;
}
static void frozen(brim_train_options *o) {
  o->freeze = "embeddings";
}
static void named(brim_train_options *o) {
  o->train_only = "*query*,*position*,*LayerNorm*,*layer.1.*bias,classifier.*";
}
static void averaged(brim_train_options *o) {
  o->swa_start = 0.3;
  o->swa_every = 2;
}
static void weighted(brim_train_options *o) {
  o->class_weights = "balanced";
  o->checkpoint_activations = true;
}
static void in_parts(brim_train_options *o) {
  o->plan.max_tokens = 60;
}
static void sliced(brim_train_options *o) {
  o->plan.slices = 24;
}
static void many_steps(brim_train_options *o) { /* more than a row of a table may be late by */
  o->epochs = 40;
  o->plan.batch_size = 4;
}

static int run_at_once(case_job *job, const brim_train_options *options, brim_train_result *result, brim_error *err) {
  return brim_train(job->runtime, job->model, NULL, job->train, NULL, 0, options, result, err);
}

/* Turns of one step, two, .. Between them another run, with another batch size, takes the model. */
static int run_in_turns(case_job *job, const brim_train_options *options, brim_train_result *result, int *count,
                        brim_error *err) {
  brim_turns turns = {.runtime = job->runtime, .options = *options};
  brim_train_options other = *options;
  other.plan.batch_size = 3, other.epochs = 0, other.max_steps = 2, other.precision = BRIM_PRECISION_FP32;
  int status = brim_turns_reserve(&turns, job->model, err);
  for (*count = 0; !status && !turns.over; ++*count) {
    turns.until += (uint64_t)*count + 1;
    status = brim_train_turn(job->runtime, job->model, job->train, &turns, result, err);
    if (!status && !turns.over)
      status = run_at_once(job, &other, NULL, err);
  }
  brim_turns_free(&turns);
  return status;
}

static bool same_result(const brim_train_result *a, const brim_train_result *b) {
  return a->steps == b->steps && a->rows == b->rows && a->tokens == b->tokens && a->slots == b->slots && a->loss == b->loss &&
         a->averaged == b->averaged;
}

static void alone(const char *name, change_fn change, int threads) {
  case_job jobs[2] = {case_open(model_folder, threads), case_open(model_folder, threads)};
  brim_train_options options = case_options(NULL);
  brim_train_result results[2];
  brim_error err = {0};
  uint64_t size;
  int count = 0;
  if (change)
    change(&options);
  int status = run_at_once(&jobs[0], &options, &results[0], &err);
  if (!status)
    status = brim_turns_size(jobs[1].model, &options, &size, &err);
  if (!status)
    status = run_in_turns(&jobs[1], &options, &results[1], &count, &err);
  float *weights = case_weights(&jobs[0]);
  ok(!status && count > 3 && case_same_weights(&jobs[1], weights) && same_result(&results[0], &results[1]),
     "%s, %d threads: %d turns have the bits of one run %s", name, threads, count, err.message);
  free(weights);
  case_close(&jobs[0]), case_close(&jobs[1]);
}

/* ---- ranks -------------------------------------------------------------------------------------------------- */

typedef struct rank_turns {
  member member;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  bool in_turns;
  int status, count;
  float *weights;
} rank_turns;

static void *run_rank(void *context) {
  rank_turns *run = context;
  case_job job = case_open(model_folder, 1);
  const brim_group how = run->options.group;
  run->options.group = meeting_group(&run->member);
  run->options.group.apart = how.apart, run->options.group.messages = how.messages;
  run->status = run->in_turns ? run_in_turns(&job, &run->options, &run->result, &run->count, &run->err)
                              : run_at_once(&job, &run->options, &run->result, &run->err);
  run->weights = case_weights(&job);
  case_close(&job);
  return NULL;
}

static void run_ranks(int32_t world, const brim_train_options *options, bool in_turns, rank_turns *runs) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_turns){.member = {&all, r}, .options = *options, .in_turns = in_turns};
    if (pthread_create(&threads[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
}

static void among_ranks(const char *name, change_fn change, bool messages, bool apart, int32_t world) {
  rank_turns runs[2][MOST_RANKS];
  brim_train_options options = case_options(NULL);
  options.lr = 3e-4;
  options.group.messages = messages, options.group.apart = apart;
  if (change)
    change(&options);
  run_ranks(world, &options, false, runs[0]);
  run_ranks(world, &options, true, runs[1]);
  case_job job = case_open(model_folder, 1);
  const size_t size = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  bool same = true;
  for (int32_t r = 0; r < world; r++) {
    same = same && !runs[0][r].status && !runs[1][r].status && same_result(&runs[0][r].result, &runs[1][r].result) &&
           memcmp(runs[0][r].weights, runs[1][r].weights, size) == 0 && runs[1][r].count > 3;
    free(runs[0][r].weights), free(runs[1][r].weights);
  }
  ok(same, "%s: %d ranks have the bits of one run %s%s", name, (int)world, runs[0][0].err.message, runs[1][0].err.message);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("turns", "there are no golden models");
    return tap_done();
  }
  case_job job = case_open(model_folder, 1);
  const bool host = brim_model_is_host(job.model);
  case_close(&job);
  alone("as it is", NULL, 2);
  alone("bf16", sixteen_bits, 1);
  alone("frozen", frozen, 1);
  alone("tensors by name", named, 1);
  alone("averaged", averaged, 1);
  alone("weights of classes, checkpoints of activations", weighted, 1);
  alone("steps in parts", in_parts, 2);
  alone("many steps", many_steps, 1);
  among_ranks("shared memory", NULL, false, false, 2);
  among_ranks("messages", NULL, true, false, 3);
  among_ranks("messages, summed after backward", averaged, true, true, 2);
  if (host) { /* another device has no slices */
    alone("slices", sliced, 1);
    among_ranks("slices in shared memory", sliced, false, false, 3);
    among_ranks("slices by messages", sliced, true, false, 2);
  }
  return tap_done();
}
