/* Ranks as threads: with any number of them every row is taken once an epoch. By messages or through shared memory they have the
 * same bits. */
#include "model/run/extents.h"
#include "rank_runs.h"

static const char *model_folder;

/* ---- any number of ranks ---------------------------------------------------------------------------------- */

/* Three epochs of 44 rows in steps of 8: 18 steps. What is computed does not depend on the number of ranks but for rounding. */
static void worlds(void) {
  rank_run one, runs[MOST_RANKS];
  brim_train_options options = case_options(NULL);
  options.epochs = 3;
  options.lr = 3e-4;
  by_messages = true;
  run_ranks(1, model_folder, &options, NULL, &one);
  case_job job = case_open(model_folder, 1);
  const int64_t size = brim_model_flat_size(job.model);
  /* A step of 8 rows has at most 240 tokens. */
  const brim_parameter *words = brim_model_parameter(job.model, 0);
  const int64_t rows_unused = words->shape[0] - 240, width = words->shape[1];
  case_close(&job);
  for (int32_t world = 2; world <= MOST_RANKS; world++) {
    if (!tap_takes("worlds", (uint64_t)world))
      continue;
    const int64_t summed = run_ranks(world, model_folder, &options, NULL, runs);
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
    free_runs(world, runs);
  }
  free_runs(1, &one);
  by_messages = false;
}

/* ---- during backward -------------------------------------------------------------------------------------- */

static void cancelled(case_job *job, rank_run *run) {
  (void)run;
  brim_runtime_cancel(job->runtime);
}

static void frozen_embeddings(brim_train_options *o) {
  o->freeze = "embeddings";
}

static void named(brim_train_options *o) {
  o->train_only = "*query*,*position*,*LayerNorm*,*layer.1.*bias,classifier.*";
}

static void sixteen_bits(brim_train_options *o) {
  o->precision = BRIM_PRECISION_BF16;
}

/* What looks at the weights at the start. */
static void mixed(brim_train_options *o) {
  o->optimizer = "sgd";
  o->decay_towards = "pretrained";
  o->weight_decay = 0.1;
  o->mixout = 0.3;
  o->precision = BRIM_PRECISION_BF16;
  o->epochs = 3;
}

static void in_parts(brim_train_options *o) {
  o->plan.accumulate = 4;
}

static void sliced(brim_train_options *o) {
  o->plan.slices = 24;
}

static void few_slices(brim_train_options *o) {
  o->plan.slices = 2; /* for three ranks */
}

static void sliced_in_parts(brim_train_options *o) {
  sliced(o);
  in_parts(o);
}

typedef struct during {
  const char *name;
  void (*change)(brim_train_options *options);
  int32_t world;
  bool sliced, after; /* after: gradients are summed when backward is over, in any case */
} during;

static void compare_during(const during *c, bool host) {
  rank_run runs[2][MOST_RANKS];
  brim_train_options options = case_options(NULL);
  options.epochs = 2;
  options.lr = 3e-4;
  if (c->change)
    c->change(&options);
  by_messages = true;
  const int64_t summed = run_ranks(c->world, model_folder, &options, NULL, runs[0]);
  sums_apart = true;
  bool same = run_ranks(c->world, model_folder, &options, NULL, runs[1]) == summed, threads = true;
  sums_apart = by_messages = false;
  case_job job = case_open(model_folder, 1);
  const size_t size = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  for (int32_t r = 0; r < c->world; r++) {
    same = same && !runs[0][r].status && memcmp(runs[0][r].weights, runs[1][0].weights, size) == 0;
    threads = threads && runs[0][r].elsewhere == (host && !c->after) && !runs[1][r].elsewhere;
  }
  ok(same, "%s: gradients that are summed during backward have the bits of a sum after it %s", c->name, runs[0][0].err.message);
  ok(threads, "%s: a thread beside backward %s", c->name, c->after ? "sums nothing" : "sums them");
  free_runs(c->world, runs[0]), free_runs(c->world, runs[1]);
}

/* Sums of pieces that backward has just completed have the bits of a sum afterwards. */
static void during_backward(bool host) {
  static const during cases[] = {
      {"as it is", NULL, 3, false, false},
      {"frozen", frozen_embeddings, 3, false, false},
      {"tensors by name", named, 3, false, false},
      {"bf16", sixteen_bits, 3, false, false},
      {"several parts a step", in_parts, 3, false, false},
      {"mixout", mixed, 3, false, false},
      {"slices", sliced, 3, true, false},
      {"slices, two nodes a rank", sliced, 2, true, false},
      {"slices, and a rank without any", few_slices, 3, true, false},
      {"slices that are added to one another", sliced_in_parts, 2, true, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if ((host || !cases[i].sliced) && tap_takes("during backward", i)) /* another device has no slices */
      compare_during(&cases[i], host);
}

/* ---- rows of embeddings ----------------------------------------------------------------------------------- */

/* Each rank's own rows, or sums of those that any rank has. */
static void gathered(bool host, void (*change)(brim_train_options *)) {
  case_job job = case_open(model_folder, 1);
  const size_t size = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  by_messages = true;
  for (int32_t world = 2; world <= MOST_RANKS; world++) {
    if (!tap_takes(change ? "frozen" : "gathered", (uint64_t)world))
      continue;
    rank_run runs[2][MOST_RANKS];
    brim_train_options options = case_options(NULL);
    int64_t sent[2];
    bool same = true;
    options.lr = 3e-4;
    if (change)
      change(&options);
    for (int k = 0; k < 2; k++) {
      by_sums = k == 0;
      sent[k] = run_ranks(world, model_folder, &options, NULL, runs[k]);
    }
    for (int32_t r = 0; r < world; r++)
      same = same && !runs[1][r].status && memcmp(runs[1][r].weights, runs[0][0].weights, size) == 0;
    ok(same && (world == 2 && !change ? sent[1] < sent[0] : sent[1] <= sent[0]),
       "%d ranks that gather rows of %sembeddings have the bits of sums%s: %lld, %lld floats %s", (int)world,
       change ? "frozen " : "", host ? "" : " on a device", (long long)sent[1], (long long)sent[0], runs[1][0].err.message);
    free_runs(world, runs[0]), free_runs(world, runs[1]);
  }
  by_messages = by_sums = false;
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

static void half(brim_train_options *o) {
  o->precision = BRIM_PRECISION_BF16;
  o->plan.accumulate = 4;
}

static void late_and_averaged(brim_train_options *o) {
  o->weight_decay = 0.1;
  o->epochs = 12;
  o->swa_start = 0.5;
}

/* Two states, and where the weights began. */
static void dual(brim_train_options *o) {
  o->optimizer = "madgrad";
  o->weight_decay = 0.1;
  o->decay_towards = "pretrained";
}

/* The optimizer's states are brought together in between. */
static void saved(brim_train_options *o) {
  o->output = scratch_file("shared");
  o->overwrite = true;
  o->save_every = 5;
}

static bool same_state(const rank_run *a, const rank_run *b, int64_t size) {
  return memcmp(a->weights, b->weights, (size_t)size * sizeof(float)) == 0 &&
         memcmp(a->states, b->states, (size_t)(BRIM_MOST_STATES * size) * sizeof(float)) == 0;
}

/* Ranks that read one another's gradients have the bits of messages: weights, and on every rank all states of the optimizer. */
static void shared(void) {
  static void (*const changes[])(brim_train_options *) = {plain, frozen, named, half, late_and_averaged, saved, mixed, dual};
  enum { CHANGES = sizeof changes / sizeof *changes };
  case_job job = case_open(model_folder, 1);
  const int64_t size = brim_model_flat_size(job.model);
  const bool can = brim_extents_can(job.model);
  case_close(&job);
  for (int32_t world = 2; world <= MOST_RANKS; world++)
    for (int i = 0; i < (world > 4 ? 1 : CHANGES); i++) {
      if (!tap_takes("shared", (uint64_t)(world * CHANGES + i)))
        continue;
      rank_run runs[2][MOST_RANKS];
      brim_train_options options = case_options(NULL);
      int64_t sent[2];
      bool fine = true;
      options.lr = 3e-4;
      changes[i](&options);
      for (int k = 0; k < 2; k++) {
        by_messages = k == 0;
        sent[k] = run_ranks(world, model_folder, &options, NULL, runs[k]);
      }
      for (int32_t r = 0; r < world; r++)
        fine = fine && runs[1][r].status == BRIM_OK && same_state(&runs[1][r], &runs[0][0], size) &&
               same_state(&runs[0][r], &runs[0][0], size);
      ok(fine && (!can || sent[1] < sent[0]),
         "%d ranks that share memory have the bits of messages (%d), and send less: %lld of %lld floats %s", (int)world, i,
         (long long)sent[1], (long long)sent[0], runs[1][0].err.message);
      free_runs(world, runs[0]), free_runs(world, runs[1]);
    }
}

/* The others have begun to sum: the one that stops takes part to the end of the step. */
static void one_stops(void) {
  rank_run runs[MOST_RANKS];
  brim_train_options options = case_options(NULL);
  run_ranks(3, model_folder, &options, cancelled, runs);
  bool all = true;
  for (int32_t r = 0; r < 3; r++)
    all = all && runs[r].status == BRIM_E_CANCELLED;
  free_runs(3, runs);
  ok(all, "a rank that is cancelled stops all: %s", runs[0].err.message);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("ranks", "there are no golden models");
    return tap_done();
  }
  case_job job = case_open(model_folder, 1);
  const bool host = brim_extents_can(job.model);
  case_close(&job);
  worlds();
  gathered(host, NULL);
  gathered(host, frozen_embeddings);
  during_backward(host);
  shared();
  one_stops();
  return tap_done();
}
