/* train_slices.c: with slices the weights have the same bits for any number of ranks, threads, and tokens computed at once. Ranks
 * are threads here. */
#include "rank_case.h"
#include "train_case.h"

enum { SLICES = 24 };

typedef struct setting {
  const char *name, *model, *cpu; /* cpu NULL: the best */
  brim_precision precision;
  void (*change)(brim_train_options *options);
  int words; /* one of so many of the vocabulary occurs */
  bool all;  /* all numbers of ranks are tried */
} setting;

typedef struct rank_run {
  member member;
  const setting *of;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  int status, threads;
  int64_t cancel_at, size;
  brim_runtime *runtime;
  float *weights;
} rank_run;

static int listen(void *context, const brim_event *event) {
  rank_run *run = context;
  if (run->cancel_at > 0 && strcmp(event->kind, "step") == 0 && brim_event_field(event, "step")->integer == run->cancel_at)
    brim_runtime_cancel(run->runtime);
  return 0;
}

static void *run_rank(void *context) {
  rank_run *run = context;
  case_job job;
  if (case_open_with(&job, run->of->model, run->threads, NULL, run->of->cpu, &run->err)) {
    printf("Bail out! %s\n", run->err.message);
    exit(99);
  }
  job.train = case_dataset(job.runtime, 44, 30, brim_model_vocab_size(job.model) / run->of->words, brim_model_outputs(job.model),
                           1);
  run->runtime = job.runtime;
  run->options.group = meeting_group(&run->member);
  run->options.event = listen, run->options.event_context = run;
  run->status = case_train(&job, &run->options, &run->result, &run->err);
  run->weights = case_weights(&job);
  run->size = brim_model_flat_size(job.model);
  case_close(&job);
  return NULL;
}

/* Rank 0's run, with its weights. */
static rank_run train(const setting *of, int32_t world, int threads, const brim_train_options *options, int64_t cancel_at) {
  static rank_run runs[MOST_RANKS];
  meeting all = {.world = world};
  pthread_t thread[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){.member = {&all, r}, .of = of, .options = *options, .threads = threads, .cancel_at = cancel_at};
    if (pthread_create(&thread[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(thread[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  for (int32_t r = 1; r < world; r++) {
    if (memcmp(runs[r].weights, runs[0].weights, (size_t)runs[0].size * sizeof(float)) != 0)
      runs[0].status = brim_error_set(&runs[0].err, BRIM_E_INTERNAL, "rank %d has other weights than rank 0", (int)r);
    free(runs[r].weights);
  }
  return runs[0];
}

static brim_train_options options_of(const setting *of, const char *output) {
  brim_train_options options = case_options(output);
  options.plan.slices = SLICES;
  options.plan.batch_size = 20;
  options.precision = of->precision;
  options.lr = 1e-3;
  if (of->change)
    of->change(&options);
  return options;
}

static bool same(const rank_run *run, const rank_run *want) {
  return run->status == want->status && run->result.steps == want->result.steps && run->result.rows == want->result.rows &&
         memcmp(run->weights, want->weights, (size_t)want->size * sizeof(float)) == 0;
}

/* ---- settings --------------------------------------------------------------------------------------------- */

static void batches_of_tokens(brim_train_options *o) {
  o->plan.batch_size = 0;
  o->plan.max_tokens = 200;
  o->plan.accumulate = 2;
}

static void few_rows(brim_train_options *o) {
  o->plan.batch_size = 3; /* most slices are empty, and with more than 3 ranks some ranks have nothing to do */
}

static void many_rows(brim_train_options *o) {
  o->plan.batch_size = 44;
  o->epochs = 4;
  o->clip = 0.1;
}

static void padded(brim_train_options *o) {
  o->plan.padding = BRIM_PAD_LONGEST;
  o->plan.batching = BRIM_SORTED;
}

static void late(brim_train_options *o) {
  o->weight_decay = 0.1;
  o->epochs = 12;
}

static void methods(brim_train_options *o) {
  o->freeze = "layers:1";
  o->class_weights = "balanced";
  o->label_smoothing = 0.1;
  o->layer_lr_decay = 0.9;
  o->swa_start = 0.5;
  o->checkpoint_activations = true;
  o->plan.accumulate = 4;
}

static void named(brim_train_options *o) {
  o->train_only = "*query*,*position*,*LayerNorm*,*layer.1.*bias,classifier.*";
}

/* Rules with one state and two, that look at the weights at the start or do not; rows of embeddings are late with each. */
static void momentum(brim_train_options *o) {
  o->optimizer = "sgd";
  o->lr = 3e-3;
  o->weight_decay = 0.1;
  o->mixout = 0.2;
}

static void dual(brim_train_options *o) {
  o->optimizer = "madgrad";
  o->eps = 1e-4; /* a cube root of nearly nothing would show every rounding */
  o->weight_decay = 0.1;
  o->decay_towards = "pretrained";
}

static void uncorrected(brim_train_options *o) {
  o->optimizer = "bert_adam";
  o->weight_decay = 0.1;
  o->decay_towards = "pretrained";
  o->mixout = 0.1;
}

static void whole(brim_train_options *o) {
  o->plan.slices = 7;
  o->plan.batching = BRIM_SEQUENTIAL;
}

static void compare(const setting *of) {
  const brim_train_options options = options_of(of, NULL);
  brim_train_options tight = options, plain = options;
  rank_run one = train(of, 1, 1, &options, 0);
  ok(one.status == BRIM_OK && one.result.rows > 0, "%s: one rank trains %s", of->name, one.err.message);
  for (int32_t world = 2; world <= MOST_RANKS; world++) {
    if (!of->all && world != 2 && world != 3 && world != 4 && world != 8)
      continue;
    rank_run many = train(of, world, world == 3 ? 2 : 1, &options, 0);
    ok(same(&many, &one), "%s: %d ranks have its bits %s", of->name, (int)world, many.err.message);
    free(many.weights);
  }
  if (options.plan.batch_size > 0 && options.plan.max_tokens == 0) {
    tight.plan.max_tokens = 200; /* more than any slice takes */
    rank_run small = train(of, 2, 1, &tight, 0);
    ok(same(&small, &one), "%s: so does a limit of tokens computed at once %s", of->name, small.err.message);
    free(small.weights);
  }
  plain.plan.slices = 0;
  rank_run other = train(of, 1, 2, &plain, 0);
  const double apart = case_distance(other.weights, one.weights, one.size),
               most = of->precision == BRIM_PRECISION_BF16 ? 1e-3 : 1e-4;
  ok(other.result.rows == one.result.rows && apart > 0 && apart < most,
     "%s: without slices it is the same but for rounding (%.1e)", of->name, apart);
  free(other.weights);
  free(one.weights);
}

/* ---- other numbers of ranks ------------------------------------------------------------------------------- */

/* 4 ranks to step 3, 1 to step 7, 3 to the end. */
static void elastic(const setting *of) {
  const char *output = scratch_file("elastic");
  brim_train_options options = options_of(of, output), straight = options_of(of, NULL);
  options.epochs = straight.epochs = 4;
  options.save_every = 100;
  rank_run want = train(of, 1, 2, &straight, 0);
  const int32_t worlds[] = {4, 1, 3};
  const int64_t until[] = {3, 7, 0};
  rank_run run = {0};
  for (int i = 0; i < 3; i++) {
    options.resume = i > 0;
    free(run.weights);
    run = train(of, worlds[i], 1, &options, until[i]);
    ok(run.status == (until[i] ? BRIM_E_CANCELLED : BRIM_OK), "%s: %d ranks continue %s", of->name, (int)worlds[i],
       run.err.message);
  }
  ok(same(&run, &want), "%s: 4, 1 and 3 ranks, one after another, have the bits of one", of->name);
  free(run.weights), free(want.weights);
  case_remove(output);
}

/* ---- refusals --------------------------------------------------------------------------------------------- */

static void refused(const setting *of, void (*change)(brim_train_options *), const char *why) {
  brim_train_options options = options_of(of, NULL);
  change(&options);
  rank_run run = train(of, 2, 1, &options, 0);
  ok(run.status != BRIM_OK && strstr(run.err.message, why), "refused: %s", run.err.message);
  free(run.weights);
}

static void too_few(brim_train_options *o) {
  o->plan.slices = 2;
  o->plan.max_tokens = 60;
}

static void too_few_rows(brim_train_options *o) {
  o->plan.slices = 2;
  o->plan.max_rows = 4;
}

static void too_many(brim_train_options *o) {
  o->plan.slices = BRIM_MOST_SLICES + 1;
}

static void no_memory(brim_train_options *o) {
  o->memory_limit = 1000000;
}

int main(void) {
  const char *bert = case_model_folder("bert-pair-3");
  if (!bert) {
    tap_skip("slices", "there are no golden models");
    return tap_done();
  }
  const char *albert = case_model_folder("albert-regression");
  if (!albert)
    albert = bert;
  const char *stream = case_model_folder("modernbert-cls");
  const setting settings[] = {
      {"batches of 20", bert, NULL, BRIM_PRECISION_FP32, NULL, 1, true},
      {"batches of tokens", bert, NULL, BRIM_PRECISION_FP32, batches_of_tokens, 1, false},
      {"3 rows a step", bert, NULL, BRIM_PRECISION_FP32, few_rows, 1, false},
      {"44 rows a step, clipped", bert, NULL, BRIM_PRECISION_FP32, many_rows, 1, false},
      {"padded", bert, NULL, BRIM_PRECISION_FP32, padded, 1, false},
      {"late rows", bert, NULL, BRIM_PRECISION_FP32, late, 8, false},
      {"freezing, weights, averaging", bert, NULL, BRIM_PRECISION_FP32, methods, 1, false},
      {"tensors by name", bert, NULL, BRIM_PRECISION_BF16, named, 1, false},
      {"sgd, mixout", bert, NULL, BRIM_PRECISION_FP32, momentum, 8, false},
      {"madgrad, decay towards the start", bert, NULL, BRIM_PRECISION_FP32, dual, 8, false},
      {"bert_adam, both, bf16", bert, NULL, BRIM_PRECISION_BF16, uncorrected, 8, false},
      {"7 slices, in order", bert, NULL, BRIM_PRECISION_FP32, whole, 1, false},
      {"layers that share weights", albert, NULL, BRIM_PRECISION_FP32, NULL, 1, false},
      {"bf16", bert, NULL, BRIM_PRECISION_BF16, NULL, 1, false},
      {"a residual stream, bf16", stream ? stream : bert, NULL, BRIM_PRECISION_BF16, NULL, 1, false},
      {"plain kernels", bert, "plain", BRIM_PRECISION_FP32, NULL, 1, false},
      {"plain kernels, bf16", bert, "plain", BRIM_PRECISION_BF16, NULL, 1, false},
#if defined __x86_64__
      {"AVX2", bert, "avx2", BRIM_PRECISION_FP32, NULL, 1, false},
#endif
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    compare(&settings[i]);
  elastic(&settings[0]);
  elastic(&settings[6]);
  elastic(&settings[9]);
  refused(&settings[0], too_few, "one of the 2 slices of a step takes");
  refused(&settings[0], too_few_rows, "only 4 may be computed at once: take more slices");
  refused(&settings[0], too_many, "slices is 257: it must be from 0 to 256");
  refused(&settings[0], no_memory, "which are computed whole: take more slices");
  return tap_done();
}
