/* rank_runs.h: training runs of ranks that are threads, on small jobs. */
#ifndef BRIM_TESTS_RANK_RUNS_H
#define BRIM_TESTS_RANK_RUNS_H
#include "model/run/model.h"
#include "rank_case.h"
#include "train_case.h"

typedef struct rank_run rank_run;
typedef void (*change_fn)(case_job *job, rank_run *run);

struct rank_run {
  member member;
  const char *model, *eval; /* folder; name of the evaluation set */
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  change_fn change;
  int status;
  pthread_t thread;
  bool elsewhere;          /* a thread that is not the rank's has added up */
  float *weights, *states; /* of the optimizer, one after the other */
};

static bool sums_apart;  /* gradients are summed after backward */
static bool by_messages; /* ranks share no memory */
static bool by_sums;     /* and gather nothing */

static float *run_states(case_job *job) {
  const int64_t count = job->model->trained.size;
  float *states = calloc((size_t)(BRIM_MOST_STATES * brim_model_flat_size(job->model)), sizeof *states);
  brim_error ignored;
  for (int i = 0; i < brim_optimizer_states(job->model->optimizer); i++)
    for (int32_t k = 0; k < job->model->trained.count; k++) {
      const brim_trained_range *range = &job->model->trained.ranges[k];
      if (brim_model_read(job->model, (brim_flat)(BRIM_STATE0 + i), range->value, range->count,
                          states + i * count + range->offset, &ignored))
        states[0] = NAN; /* it was not prepared for training */
    }
  return states;
}

static int run_sum_double(void *context, double *values, int64_t count, brim_error *err) {
  rank_run *run = context;
  run->elsewhere |= !pthread_equal(pthread_self(), run->thread);
  return meeting_sum_double(&run->member, values, count, err);
}

static int run_sum(void *context, float *values, int64_t count, brim_error *err) {
  rank_run *run = context;
  return meeting_sum(&run->member, values, count, err);
}

static int run_gather(void *context, float *values, const int64_t *counts, brim_error *err) {
  rank_run *run = context;
  return meeting_gather(&run->member, values, counts, err);
}

static brim_group run_group(rank_run *run) {
  brim_group group = meeting_group(&run->member);
  group.sum = run_sum, group.sum_double = run_sum_double, group.context = run;
  group.gather_values = by_sums ? NULL : run_gather;
  group.apart = sums_apart;
  group.messages = by_messages;
  return group;
}

static void *run_rank(void *context) {
  rank_run *run = context;
  case_job job = case_open(run->model, 1);
  run->thread = pthread_self();
  run->options.group = run_group(run);
  if (run->change)
    run->change(&job, run);
  const brim_named_dataset eval = {run->eval, job.eval};
  run->status = brim_train(job.runtime, job.model, NULL, job.train, &eval, job.eval ? 1 : 0, &run->options, &run->result,
                           &run->err);
  run->weights = case_weights(&job);
  run->states = run_states(&job);
  case_close(&job);
  return NULL;
}

static void free_runs(int32_t count, rank_run *runs) {
  for (int32_t r = 0; r < count; r++)
    free(runs[r].weights), free(runs[r].states);
}

/* The last rank is changed. Returns how many floats were summed. */
static int64_t run_ranks(int32_t world, const char *model, const brim_train_options *options, change_fn change, rank_run *runs) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){
        .member = {&all, r}, .model = model, .eval = "dev", .options = *options, .change = r == world - 1 ? change : NULL};
    if (pthread_create(&threads[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  return all.summed;
}

#endif
