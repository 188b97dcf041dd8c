/* Embeddings, also with all six ways of pooling side by side, and rerankers through whole runs, with dropout on: the loss of a
 * step, and with slices the weights, have the same bits whatever a step is cut into and however many ranks compute it; runs
 * resume at every step; memory is what was planned. Equal texts in a step are no negatives of each other. Ranks are threads here.
 */
#include "base/process.h"
#include "brim/study.h"
#include "rank_case.h"
#include "train/loss_choice.h"
#include "train_case.h"

enum { ROWS = 26, MOST_TEXTS = 4, MOST_TOKENS = 12, SLICES = 8, STEPS = 3 };

/* ---- data ---------------------------------------------------------------------------------------------------- */

/* Rows of 2 to 4 texts; every fifth has the positive of the row before. With `labelled` pairs with a score. */
static brim_dataset *make_rows(brim_runtime *runtime, int vocab, bool labelled, bool equal) {
  int32_t ids[ROWS][MOST_TEXTS * MOST_TOKENS], lengths[ROWS][MOST_TEXTS];
  brim_sample samples[ROWS];
  uint64_t seed = 11;
  brim_dataset *dataset;
  brim_error err = {0};
  for (int r = 0; r < ROWS; r++) {
    const int32_t texts = labelled ? 2 : 2 + (int32_t)(case_unit(&seed) * (MOST_TEXTS - 1));
    int32_t at = 0;
    for (int32_t t = 0; t < texts; t++) {
      const bool again = equal && r % 5 == 4 && t == 1;
      lengths[r][t] = again ? lengths[r - 1][1] : 2 + (int32_t)(case_unit(&seed) * (MOST_TOKENS - 2));
      for (int32_t i = 0; i < lengths[r][t]; i++)
        ids[r][at + i] = again ? ids[r - 1][lengths[r - 1][0] + i] : 1 + (int32_t)(case_unit(&seed) * (vocab - 1));
      at += lengths[r][t];
    }
    samples[r] = (brim_sample){.ids = ids[r],
                               .length = at,
                               .text_lengths = lengths[r],
                               .text_count = texts,
                               .label = labelled ? (float)case_unit(&seed) : NAN};
  }
  if (brim_dataset_from_samples(runtime, samples, ROWS, NULL, &dataset, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return dataset;
}

/* ---- runs ---------------------------------------------------------------------------------------------------- */

typedef struct rank_run {
  member member;
  const char *model;
  brim_task task;
  const char *pooling, *layers; /* NULL: the folder's */
  bool labelled, equal, judged; /* judged: on the rows that it is trained on, after each step */
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  int status, threads;
  int64_t cancel_at, size, negatives, left_out;
  double losses[STEPS];
  int evaluations, cosines; /* events; of cosines those of some rows */
  double metric;
  brim_runtime *runtime;
  float *weights;
} rank_run;

static int listen(void *context, const brim_event *event) {
  rank_run *run = context;
  const brim_field *step = brim_event_field(event, "step"), *left_out = brim_event_field(event, "equal_texts"),
                   *negatives = brim_event_field(event, "negatives");
  run->cosines += strcmp(event->kind, "cosines") == 0 && brim_event_field(event, "rows")->integer > 0;
  if (strcmp(event->kind, "eval") == 0) {
    run->evaluations++;
    run->metric = brim_event_field(event, "mrr")->real;
  }
  if (strcmp(event->kind, "step") != 0)
    return BRIM_OK;
  if (step->integer <= STEPS)
    run->losses[step->integer - 1] = brim_event_field(event, "loss")->real;
  run->left_out += left_out ? left_out->integer : 0;
  run->negatives += negatives ? negatives->integer : 0;
  if (run->cancel_at > 0 && step->integer == run->cancel_at)
    brim_runtime_cancel(run->runtime);
  return BRIM_OK;
}

/* The rows of at most so many texts. */
static int pairs_of(brim_runtime *runtime, const brim_dataset *rows, uint64_t most, brim_dataset **out, brim_error *err) {
  const uint64_t *firsts = brim_dataset_firsts(rows);
  uint64_t chosen[ROWS], count = 0;
  for (uint64_t r = 0; r < ROWS; r++)
    if (firsts[r + 1] - firsts[r] <= most)
      chosen[count++] = r;
  return brim_dataset_subset(runtime, rows, chosen, count, out, err);
}

static void *run_rank(void *context) {
  rank_run *run = context;
  brim_labels labels = {0};
  brim_model *model = NULL;
  brim_dataset *rows = NULL, *pairs = NULL;
  const brim_runtime_options options = {.threads = run->threads};
  brim_model_options how = {.labels = &labels, .seed = 1, .layers = run->layers};
  if (run->pooling && !brim_pooling_parse(run->pooling, &how.pooling))
    abort();
  run->status = brim_runtime_new(&options, &run->runtime, &run->err);
  if (!run->status)
    run->status = brim_labels_make(run->runtime, run->task, NULL, 1, &labels, &run->err);
  if (!run->status)
    run->status = brim_model_load(run->runtime, run->model, &how, &model, &run->err);
  if (run->status)
    return NULL;
  rows = make_rows(run->runtime, brim_model_vocab_size(model), run->labelled, run->equal);
  run->options.group = meeting_group(&run->member);
  run->options.event = listen, run->options.event_context = run;
  if (run->judged)
    run->status = pairs_of(run->runtime, rows, run->task == BRIM_TASK_EMBEDDING ? 2 : MOST_TEXTS, &pairs, &run->err);
  const brim_named_dataset judged = {"rows", pairs};
  if (!run->status)
    run->status = brim_train(run->runtime, model, NULL, rows, &judged, run->judged, &run->options, &run->result, &run->err);
  brim_dataset_free(pairs);
  run->size = brim_model_flat_size(model);
  run->weights = malloc((size_t)run->size * sizeof(float));
  memcpy(run->weights, brim_model_values(model), (size_t)run->size * sizeof(float));
  brim_dataset_free(rows);
  brim_model_free(model);
  brim_labels_free(&labels);
  brim_runtime_free(run->runtime);
  return NULL;
}

static rank_run train(const rank_run *how, int32_t world, int threads, int64_t max_tokens, int32_t slices) {
  static rank_run runs[MOST_RANKS];
  meeting all = {.world = world};
  pthread_t thread[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = *how;
    runs[r].member = (member){&all, r};
    runs[r].threads = threads;
    runs[r].options.plan.max_tokens = max_tokens;
    runs[r].options.plan.slices = slices;
    if (pthread_create(&thread[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(thread[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  for (int32_t r = 1; r < world; r++) {
    if (runs[r].status != runs[0].status || memcmp(runs[r].weights, runs[0].weights, (size_t)runs[0].size * sizeof(float)) != 0)
      runs[0].status = brim_error_set(&runs[0].err, BRIM_E_INTERNAL, "rank %d ended otherwise than rank 0", (int)r);
    free(runs[r].weights);
  }
  return runs[0];
}

static bool same_weights(const rank_run *a, const rank_run *b) {
  return memcmp(a->weights, b->weights, (size_t)a->size * sizeof(float)) == 0;
}

/* ---- checks -------------------------------------------------------------------------------------------------- */

static rank_run job(const char *model, brim_task task, const char *loss) {
  rank_run how = {.model = model, .task = task, .options = case_options(NULL)};
  how.options.plan.batch_size = 13;
  how.options.epochs = 0, how.options.max_steps = STEPS;
  how.options.loss.name = loss;
  return how;
}

static void check_cuts(rank_run how) {
  const int64_t cuts[] = {150, 90, 60};
  const char *name = how.options.loss.name;
  const rank_run whole = train(&how, 1, 1, 0, 0), sliced = train(&how, 1, 2, 0, SLICES);
  ok(whole.status == BRIM_OK && sliced.status == BRIM_OK, "%s: a step at once: %s%s", name, whole.err.message,
     sliced.err.message);
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
    for (int32_t world = 1; world <= 4; world++) {
      const rank_run cut = train(&how, world, 1 + (int)i, cuts[i], 0);
      const double apart = case_distance(cut.weights, whole.weights, whole.size);
      ok(cut.status == BRIM_OK && fabs(cut.losses[0] / whole.losses[0] - 1) < 1e-15 && apart < (how.pooling ? 2e-5 : 1e-5),
         "%s: in parts of %d tokens on %d ranks: the first loss is the same, and weights to %.1e %s", name, (int)cuts[i],
         (int)world, apart, cut.err.message);
      free(cut.weights);
    }
  for (int32_t world = 1; world <= 4; world++) {
    const rank_run other = train(&how, world, 1, world == 1 ? 90 : 0, SLICES);
    ok(other.status == BRIM_OK && same_weights(&sliced, &other), "%s: with slices the same bits on %d ranks %s", name, (int)world,
       other.err.message);
    free(other.weights);
  }
  free(whole.weights), free(sliced.weights);
}

static void check_resume(rank_run how) {
  how.options.output = case_path(scratch_folder(), "run");
  how.options.overwrite = true;
  const rank_run whole = train(&how, 1, 1, 90, 0);
  for (int64_t at = 1; at < STEPS; at++) {
    how.options.overwrite = true, how.options.resume = false, how.cancel_at = at;
    const rank_run cut = train(&how, 1, 1, 90, 0);
    how.options.overwrite = false, how.options.resume = true, how.cancel_at = 0;
    const rank_run rest = train(&how, 1, 1, 90, 0);
    ok(cut.status == BRIM_E_CANCELLED && rest.status == BRIM_OK && same_weights(&whole, &rest), "resumed after step %d: %s",
       (int)at, rest.err.message);
    free(cut.weights), free(rest.weights);
  }
  how.options.loss.name = "triplet";
  const rank_run other = train(&how, 1, 1, 90, 0);
  ok(other.status == BRIM_E_MISMATCH, "another loss is refused: %s", other.err.message);
  free(whole.weights), free(other.weights);
}

/* Each row of a step of B rows and D documents has D - 1 negatives, less those that repeat its texts. */
static void check_negatives(rank_run how) {
  const rank_run plain = train(&how, 1, 1, 0, 0);
  how.equal = true;
  const rank_run equal = train(&how, 1, 1, 60, 0), ranks = train(&how, 3, 1, 0, 0);
  ok(plain.left_out == 0 && plain.negatives > 0, "no equal texts: %d negatives", (int)plain.negatives);
  ok(equal.left_out > 0 && equal.left_out == ranks.left_out && equal.negatives == ranks.negatives,
     "%d equal texts are left out, on any number of ranks", (int)equal.left_out);
  free(plain.weights), free(equal.weights), free(ranks.weights);
}

/* ---- compared ----------------------------------------------------------------------------------------------- */

uint64_t __wrap_brim_process_resident(void);
uint64_t __wrap_brim_process_resident(void) {
  return 0;
}

static bool together; /* whether what waits had room */

static int hear(void *context, const brim_event *event) {
  (void)context;
  if (strcmp(event->kind, "rounds") == 0)
    together = brim_event_field(event, "fits")->integer == 1;
  return BRIM_OK;
}

/* The least memory_limit with which two modes wait at the same time. */
static uint64_t room_for_two(brim_runtime *runtime, brim_model *model, const brim_dataset *rows, const char *loss) {
  static const brim_mode modes[] = {{"one", BRIM_RANDOM, BRIM_PAD_NONE, NULL}, {"other", BRIM_RANDOM, BRIM_PAD_NONE, NULL}};
  brim_train_options options = case_options(NULL);
  uint64_t low = 0, high = (uint64_t)1 << 32;
  options.plan.batch_size = 13;
  options.epochs = 0, options.max_steps = 2;
  options.loss.name = loss;
  options.event = hear;
  while (low + 1 < high) {
    brim_mode_result results[2];
    brim_error err = {0};
    options.memory_limit = low + (high - low) / 2;
    together = false;
    const int status = brim_compare(runtime, model, rows, NULL, &options, modes, 2, results, &err);
    *(status == BRIM_OK && together ? &high : &low) = options.memory_limit;
  }
  return high;
}

/* What a comparison plans for has the loss's memory, which the host takes: that of all pairs of texts is larger. */
static void check_compare(const char *folder) {
  brim_labels labels = {0};
  brim_model *model = NULL;
  brim_runtime *runtime = NULL;
  brim_error err = {0};
  brim_outlook outlook = {.step_rows = 13, .step_parts = 1, .limits = {.max_slots = 26 * MOST_TOKENS, .max_sequences = 26}};
  uint64_t plain, paired;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err) ||
      brim_labels_make(runtime, BRIM_TASK_EMBEDDING, NULL, 1, &labels, &err) ||
      brim_model_load(runtime, folder, &(brim_model_options){.labels = &labels, .seed = 1}, &model, &err))
    exit(99);
  brim_dataset *rows = make_rows(runtime, brim_model_vocab_size(model), true, false);
  const uint64_t cosent = room_for_two(runtime, model, rows, "cosent"), in_batch = room_for_two(runtime, model, rows, "in-batch");
  ok(brim_loss_memory(runtime, model, rows, &(brim_loss_options){.name = "cosent"}, &outlook, &plain, &err) == BRIM_OK &&
         brim_loss_memory(runtime, model, rows, &(brim_loss_options){.name = "in-batch"}, &outlook, &paired, &err) == BRIM_OK,
     "memory of losses %s", err.message);
  ok(plain != paired && in_batch - cosent == paired - plain,
     "two modes of in-batch wait in %llu bytes, of cosent in %llu: %llu and %llu are the losses'", (unsigned long long)in_batch,
     (unsigned long long)cosent, (unsigned long long)paired, (unsigned long long)plain);
  brim_dataset_free(rows);
  brim_model_free(model);
  brim_labels_free(&labels);
  brim_runtime_free(runtime);
}

/* Ranks do the same in the same order while a set is judged, and one of them says what it found. */
static void check_judged(rank_run how, bool finds_cosines) {
  how.judged = true, how.options.eval_every = 1;
  const rank_run alone = train(&how, 1, 1, 0, SLICES), ranks = train(&how, 3, 1, 0, SLICES);
  ok(alone.status == BRIM_OK && ranks.status == BRIM_OK && alone.evaluations >= STEPS && ranks.evaluations == alone.evaluations &&
         ranks.cosines == alone.cosines && (alone.cosines > 0) == finds_cosines && ranks.metric == alone.metric,
     "%s: judged by three ranks as by one: %d evaluations, %d of cosines, mrr %g and %g %s", how.options.loss.name,
     ranks.evaluations, ranks.cosines, alone.metric, ranks.metric, ranks.err.message);
  free(alone.weights), free(ranks.weights);
}

int main(void) {
  const char *classes = case_model_folder("bert-pair-3");
  rank_run in_batch = job(classes, BRIM_TASK_EMBEDDING, "in-batch"), cosent = job(classes, BRIM_TASK_EMBEDDING, "cosent"),
           contrastive = job(classes, BRIM_TASK_EMBEDDING, "contrastive"), group = job(classes, BRIM_TASK_RERANK, "in-group"),
           bce = job(classes, BRIM_TASK_RERANK, "bce");
  cosent.labelled = contrastive.labelled = true;
  rank_run joined = in_batch, layers = in_batch;
  joined.pooling = "cls,max,mean,mean-sqrt,weighted-mean,last";
  check_cuts(in_batch);
  layers.layers = "weighted:2";
  check_cuts(joined);
  check_cuts(layers);
  check_cuts(cosent);
  check_cuts(contrastive);
  check_cuts(group);
  check_cuts(bce);
  check_resume(in_batch);
  check_resume(joined);
  check_resume(layers);
  check_negatives(in_batch);
  check_judged(in_batch, true);
  check_judged(group, false);
  check_compare(classes);
  return tap_done();
}
