/* Masked words trained: with any number of ranks, in any parts, from rows in memory or a stream, and when it is resumed, the same
 * words are to be found. */
#include "model/run/model.h"
#include "rank_case.h"
#include "train_case.h"

enum { ROWS = 44, HELD = 12, STEPS = 12 };

static const char *folder;

/* ---- texts ---------------------------------------------------------------------------------------------------- */

static char texts[ROWS + HELD][120];

static void make_texts(void) {
  static const char *const words[] = {"the", "film", "is", "a", "quiet", "triumph", "unbelievable", "twice", "and"};
  uint64_t state = 5;
  for (int r = 0; r < ROWS + HELD; r++)
    for (int w = 0; w < 1 + r % 11; w++)
      snprintf(texts[r] + strlen(texts[r]), 16, "%s%s", w ? " " : "", words[(int)(case_unit(&state) * 9)]);
}

static int get_text(void *context, uint64_t row, brim_text_row *out, brim_error *err) {
  const char *text = texts[*(const int *)context + (int)row];
  (void)err;
  *out = (brim_text_row){.text = text, .text_length = strlen(text)};
  return BRIM_OK;
}

static void stop_at(brim_error *err) {
  printf("Bail out! %s\n", err->message);
  exit(99);
}

static brim_dataset *encode_as(brim_runtime *runtime, const brim_tokenizer *tokenizer, int first, int count,
                               brim_numbering numbering) {
  brim_dataset *dataset;
  brim_error err;
  const brim_dataset_options options = {.encode = {.max_length = 30, .numbering = numbering}};
  if (brim_dataset_from_texts(runtime, get_text, &first, (uint64_t)count, tokenizer, &options, &dataset, &err))
    stop_at(&err);
  return dataset;
}

static brim_dataset *encode(brim_runtime *runtime, const brim_tokenizer *tokenizer, int first, int count) {
  return encode_as(runtime, tokenizer, first, count, BRIM_NUMBER_WORDS);
}

/* ---- runs ----------------------------------------------------------------------------------------------------- */

typedef struct masked_run {
  member member;
  brim_train_options options;
  brim_feed_options feed;
  const char *stream; /* a file; NULL: rows in memory */
  uint64_t cancel_at;
  int threads;
  int32_t by_tokens; /* the rank that chooses tokens; 0: all choose words */
  int status;
  brim_train_result result;
  brim_error err;
  double losses[STEPS + 1], evals[4];
  int eval_count;
  float *weights;
  int64_t size;
  brim_runtime *runtime;
} masked_run;

static int watch(void *context, const brim_event *event) {
  masked_run *run = context;
  const brim_field *step = brim_event_field(event, "step");
  if (strcmp(event->kind, "step") == 0 && step->integer <= STEPS)
    run->losses[step->integer] = brim_event_field(event, "loss")->real;
  if (strcmp(event->kind, "step") == 0 && (uint64_t)step->integer == run->cancel_at)
    brim_runtime_cancel(run->runtime);
  if (strcmp(event->kind, "eval") == 0 && run->eval_count < 4)
    run->evals[run->eval_count++] = brim_event_field(event, "perplexity")->real;
  return 0;
}

static int train(masked_run *run, const brim_tokenizer *tokenizer, brim_model *model) {
  const bool tokens = run->by_tokens > 0 && run->by_tokens == run->member.rank;
  brim_dataset *rows = encode_as(run->runtime, tokenizer, 0, ROWS, tokens ? BRIM_NUMBER_TOKENS : BRIM_NUMBER_WORDS),
               *held = encode(run->runtime, tokenizer, ROWS, HELD);
  const brim_named_dataset eval = {"dev", held};
  brim_feed *feed = NULL;
  int status = BRIM_OK;
  run->options.event = watch, run->options.event_context = run;
  if (run->stream) {
    status = brim_feed_open(run->runtime, &run->stream, 1, tokenizer, &run->feed, &feed, &run->err);
    if (!status)
      status = brim_train_feed(run->runtime, model, tokenizer, feed, &eval, 1, &run->options, &run->result, &run->err);
  } else {
    status = brim_train(run->runtime, model, tokenizer, rows, &eval, 1, &run->options, &run->result, &run->err);
  }
  brim_feed_close(feed);
  brim_dataset_free(held);
  brim_dataset_free(rows);
  return status;
}

static void *run_one(void *context) {
  masked_run *run = context;
  brim_tokenizer *tokenizer;
  brim_model *model;
  const brim_runtime_options threads = {.threads = run->threads ? run->threads : 1};
  const brim_model_options options = {.seed = 1};
  if (brim_runtime_new(&threads, &run->runtime, &run->err) || brim_tokenizer_load(run->runtime, folder, &tokenizer, &run->err) ||
      brim_model_load(run->runtime, folder, &options, &model, &run->err))
    stop_at(&run->err);
  run->status = train(run, tokenizer, model);
  run->size = brim_model_flat_size(model);
  run->weights = malloc((size_t)run->size * sizeof *run->weights);
  memcpy(run->weights, brim_model_values(model), (size_t)run->size * sizeof *run->weights);
  brim_model_free(model);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(run->runtime);
  return NULL;
}

static masked_run alone(const brim_train_options *options) {
  masked_run run = {.options = *options};
  run_one(&run);
  return run;
}

static void with_ranks(int32_t world, const masked_run *like, masked_run *runs) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = *like;
    runs[r].member = (member){&all, r};
    runs[r].options.group = meeting_group(&runs[r].member);
    runs[r].options.plan.world_size = runs[r].feed.plan.world_size = world;
    runs[r].feed.rank = r;
    if (pthread_create(&threads[r], NULL, run_one, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
}

static brim_train_options masked_options(const char *output) {
  brim_train_options options = case_options(output);
  options.mask_rate = "0.4:0.2";
  return options;
}

/* The largest relative difference of the losses of all steps. */
static double apart(const masked_run *a, const masked_run *b) {
  double most = 0;
  for (int i = 1; i <= STEPS; i++)
    most = fmax(most, fabs(a->losses[i] - b->losses[i]) / fabs(b->losses[i]));
  return most;
}

static bool same_weights(const masked_run *a, const masked_run *b) {
  return memcmp(a->weights, b->weights, (size_t)a->size * sizeof(float)) == 0;
}

/* ---- what changes nothing --------------------------------------------------------------------------------------- */

static void ways(const masked_run *one) {
  brim_train_options options = masked_options(NULL);
  masked_run runs[4];
  options.plan.accumulate = 3;
  masked_run parts = alone(&options);
  ok(parts.status == BRIM_OK && apart(&parts, one) < 1e-5, "in parts: %.1e apart %s", apart(&parts, one), parts.err.message);
  free(parts.weights);
  options = masked_options(NULL);
  masked_run threads = {.options = options, .threads = 3};
  run_one(&threads);
  ok(threads.status == BRIM_OK && same_weights(&threads, one), "with three threads: the same bits");
  free(threads.weights);
  for (int32_t world = 2; world <= 4; world++) {
    const masked_run like = {.options = options};
    with_ranks(world, &like, runs);
    bool fine = true;
    for (int32_t r = 0; r < world; r++)
      fine = fine && runs[r].status == BRIM_OK && same_weights(&runs[r], &runs[0]);
    ok(fine && apart(&runs[0], one) < 1e-5 && fabs(runs[0].evals[1] / one->evals[1] - 1) < 1e-5,
       "%d ranks: %.1e apart, and the same evaluation %s", (int)world, apart(&runs[0], one), runs[0].err.message);
    for (int32_t r = 0; r < world; r++)
      free(runs[r].weights);
  }
}

static void resumed(const masked_run *one) {
  char output[1024];
  snprintf(output, sizeof output, "%s/resumed", scratch_folder());
  masked_run first = {.options = masked_options(output), .cancel_at = 7}, second = {.options = masked_options(output)};
  run_one(&first);
  second.options.resume = true;
  run_one(&second);
  ok(first.status == BRIM_E_CANCELLED && first.result.interrupted && second.status == BRIM_OK && second.result.resumed &&
         same_weights(&second, one),
     "a run that is resumed finds the same words %s", second.err.message);
  free(first.weights);
  free(second.weights);
  second.options.mask_rate = "0.4";
  run_one(&second);
  ok(second.status == BRIM_E_MISMATCH, "with another mask_rate it is not resumed: %s", second.err.message);
  free(second.weights);
}

/* Steps of a stream, whose ranks read all rows, or slices of them. */
static void streams(void) {
  char path[1024], all[(ROWS + HELD) * 120] = "";
  for (int r = 0; r < ROWS; r++)
    strcat(strcat(all, texts[r]), "\n");
  snprintf(path, sizeof path, "%s/texts.txt", scratch_folder());
  case_write(path, all, strlen(all));
  masked_run like = {.options = masked_options(NULL),
                     .stream = path,
                     .feed = {.plan = {.batching = BRIM_RANDOM, .batch_size = 8, .seed = 42},
                              .encode = {.max_length = 30, .numbering = BRIM_NUMBER_TOKENS}}};
  like.options.max_steps = STEPS;
  masked_run one = like, runs[4];
  run_one(&one);
  ok(one.status == BRIM_OK && one.result.steps == STEPS && one.losses[STEPS] > 0, "a stream is trained on %s", one.err.message);
  for (int32_t slices = 0; slices < 2; slices++) {
    like.feed.rank_slices = slices;
    with_ranks(2, &like, runs);
    ok(runs[0].status == BRIM_OK && runs[1].status == BRIM_OK && same_weights(&runs[0], &runs[1]) &&
           (slices || apart(&runs[0], &one) < 1e-5),
       "two ranks of a stream%s: %.1e apart %s", slices ? ", each with its slice" : "", apart(&runs[0], &one),
       runs[0].err.message);
    free(runs[0].weights);
    free(runs[1].weights);
  }
  free(one.weights);
}

/* ---- evaluation, and what is refused ------------------------------------------------------------------------------ */

static void evaluated(void) {
  brim_train_options options = masked_options(NULL);
  options.lr = 0;
  options.eval_every = 5;
  masked_run still = alone(&options);
  ok(still.eval_count == 4 && still.evals[0] == still.evals[1] && still.evals[1] == still.evals[3] && still.evals[0] > 1,
     "the same words are masked at every evaluation: perplexity %.1f", still.evals[0]);
  free(still.weights);
}

static void refused(void) {
  brim_train_options options = masked_options(NULL);
  options.label_smoothing = 0.1;
  masked_run smooth = alone(&options);
  options = masked_options(NULL);
  options.class_weights = "balanced";
  masked_run weighed = alone(&options);
  options = masked_options(NULL);
  options.mask_rate = "2";
  masked_run rate = alone(&options);
  ok(smooth.status == BRIM_E_USAGE && weighed.status == BRIM_E_USAGE && rate.status == BRIM_E_USAGE, "%s; %s; %s",
     smooth.err.message, weighed.err.message, rate.err.message);
  free(smooth.weights), free(weighed.weights), free(rate.weights);
}

/* Ranks that choose tokens otherwise: the option is named, rather than what became of it. */
static void differing(void) {
  const masked_run like = {.options = masked_options(NULL), .by_tokens = 1};
  masked_run runs[2];
  with_ranks(2, &like, runs);
  for (int r = 0; r < 2; r++) {
    ok(runs[r].status == BRIM_E_MISMATCH && strstr(runs[r].err.message, ": whole_words: false on rank 1, true on rank 0"),
       "rank %d: %s", r, runs[r].err.message);
    free(runs[r].weights);
  }
}

int main(void) {
  folder = case_path(tap_source(), "tests/golden/tasks/folders/fill-mask");
  make_texts();
  const brim_train_options options = masked_options(NULL);
  masked_run one = alone(&options);
  ok(one.status == BRIM_OK && one.losses[STEPS] < one.losses[1], "the loss falls from %.3f to %.3f %s", one.losses[1],
     one.losses[STEPS], one.err.message);
  ways(&one);
  resumed(&one);
  streams();
  evaluated();
  refused();
  differing();
  free(one.weights);
  return tap_done();
}
