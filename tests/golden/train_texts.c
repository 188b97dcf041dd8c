/* Rows of one to five texts, whose loss the host computes: of parts, where rows are whole, and of whole steps. Any cutting,
 * padding, strategy and number of ranks or threads gives the same; runs resume at every step; a row of several texts is worth
 * what its texts are as rows. Rows and texts have blocks of numbers, which come to the loss with them. The targets are the test's
 * own. Ranks are threads here. */
#include <malloc.h>
#include <math.h>

#include "rank_case.h"
#include "target/target.h"
#include "train_case.h"

enum { ROWS = 40, MOST_TEXTS = 5, MOST_TOKENS = 12, SLICES = 8, MOST = 8192, SMALL = 10000, TEACHER = 3 };

/* ---- data ---------------------------------------------------------------------------------------------------- */

/* `texts` of each row, or 0: 1 to 5, of which the row's class is made. With `apart` each text is a row. */
static brim_dataset *make_rows(brim_runtime *runtime, int vocab, int classes, int texts, bool apart) {
  int32_t ids[ROWS * MOST_TEXTS * MOST_TOKENS], lengths[ROWS * MOST_TEXTS];
  brim_sample samples[ROWS * MOST_TEXTS];
  float teacher[ROWS * MOST_TEXTS][TEACHER] = {{0}}, score[ROWS * MOST_TEXTS];
  static const brim_block_shape further[] = {{.name = "teacher", .per = BRIM_PER_TEXT, .width = TEACHER},
                                             {.name = "score", .per = BRIM_PER_ROW, .width = 1}};
  uint64_t seed = 7, count = 0;
  int32_t at = 0, text = 0;
  brim_dataset *dataset;
  brim_error err = {0};
  for (int r = 0; r < ROWS; r++) {
    const int32_t own = texts ? texts : 1 + (int32_t)(case_unit(&seed) * MOST_TEXTS), first = text;
    const float label = (float)(own % classes);
    const int32_t begin = at;
    for (int32_t t = 0; t < own; t++, text++) {
      lengths[text] = 2 + (int32_t)(case_unit(&seed) * (MOST_TOKENS - 2));
      for (int32_t i = 0; i < lengths[text]; i++)
        ids[at++] = 1 + (int32_t)(case_unit(&seed) * (vocab - 1));
      teacher[text][0] = (float)(apart ? 1 : own), teacher[text][1] = (float)(apart ? 0 : t);
      if (apart)
        samples[count++] = (brim_sample){.ids = ids + at - lengths[text],
                                         .length = lengths[text],
                                         .label = label,
                                         .blocks = {NULL, teacher[text], &score[text]}};
    }
    if (!apart)
      samples[count++] = (brim_sample){.ids = ids + begin,
                                       .length = at - begin,
                                       .text_lengths = lengths + first,
                                       .text_count = own,
                                       .label = label,
                                       .blocks = {NULL, teacher[first], &score[first]}};
    for (int32_t t = first; t < text; t++)
      score[t] = (float)(apart ? 1 : own);
  }
  if (brim_dataset_from_rows(runtime, samples, count, NULL, further, 2, &dataset, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return dataset;
}

/* ---- targets ------------------------------------------------------------------------------------------------- */

typedef struct seen {
  pthread_mutex_t lock;
  bool any, broken; /* broken: a row came without one of its texts, or with another's numbers */
  int32_t texts;
  float values[MOST], gradient[MOST];
  double loss;
} seen;
static seen saw = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int classes_of_rows;

static int32_t first_of(const brim_outputs *o, int32_t row) {
  return o->firsts ? o->firsts[row] : row;
}

/* Each text says how many its row has and which of them it is, and each row the first. */
static bool blocks_fit(const brim_outputs *o) {
  const int teacher = brim_block_find(o->shapes, o->block_count, "teacher"),
            score = brim_block_find(o->shapes, o->block_count, "score");
  const float *of_texts = teacher > 0 ? o->blocks[teacher] : NULL, *of_rows = score > 0 ? o->blocks[score] : NULL;
  bool fit = of_texts && of_rows;
  for (int32_t r = 0; fit && r < o->rows; r++) {
    const int32_t first = first_of(o, r), count = first_of(o, r + 1) - first;
    fit = of_rows[r] == (float)count;
    for (int32_t t = 0; fit && t < count; t++)
      fit = of_texts[(first + t) * TEACHER] == (float)count && of_texts[(first + t) * TEACHER + 1] == (float)t;
  }
  return fit;
}

static void note(const brim_outputs *o, const float *gradient, double loss) {
  const size_t size = (size_t)(o->texts * o->width) * sizeof(float);
  pthread_mutex_lock(&saw.lock);
  saw.broken |= !blocks_fit(o);
  for (int32_t r = 0; r < o->rows; r++)
    saw.broken |= o->firsts && (first_of(o, r + 1) - first_of(o, r)) % classes_of_rows != (int32_t)o->labels[r * o->label_width];
  saw.broken |= first_of(o, 0) != 0 || first_of(o, o->rows) != o->texts;
  if (!saw.any) {
    saw.texts = o->texts, saw.loss = loss;
    memcpy(saw.values, o->values, size);
    memcpy(saw.gradient, gradient, size);
  }
  saw.any = true;
  pthread_mutex_unlock(&saw.lock);
}

/* 1 / D sum over rows of |mean of its texts' outputs - the class's unit vector|^2. */
static int pooled(brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss, brim_error *err) {
  (void)runtime, (void)err;
  *loss = 0;
  for (int32_t r = 0; r < o->rows; r++) {
    const int32_t first = first_of(o, r), end = first_of(o, r + 1), label = (int32_t)o->labels[r * o->label_width];
    for (int32_t k = 0; k < o->width; k++) {
      double mean = 0;
      for (int32_t t = first; t < end; t++)
        mean += (double)o->values[t * o->width + k] / (end - first);
      const double error = mean - (k == label);
      *loss += error * error / divisor;
      for (int32_t t = first; t < end; t++)
        gradient[t * o->width + k] = (float)(2 * error / (divisor * (end - first)));
    }
  }
  note(o, gradient, *loss);
  return BRIM_OK;
}

/* The same of each text by itself; `per_row` texts are one row's, so that D counts those of rows. */
static double per_row = 1;
static int each(brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss, brim_error *err) {
  (void)runtime, (void)err;
  *loss = 0;
  for (int32_t r = 0; r < o->rows; r++)
    for (int32_t t = first_of(o, r); t < first_of(o, r + 1); t++)
      for (int32_t k = 0; k < o->width; k++) {
        const double error = (double)o->values[t * o->width + k] - (k == (int32_t)o->labels[r * o->label_width]);
        *loss += error * error / (divisor * per_row);
        gradient[t * o->width + k] = (float)(2 * error / (divisor * per_row));
      }
  return BRIM_OK;
}

static double product(const float *x, const float *y, int32_t width) {
  double sum = 0;
  for (int32_t k = 0; k < width; k++)
    sum += (double)x[k] * (double)y[k];
  return sum;
}

/* 1 / (T D) sum over texts i, j of (z_i . z_j - [they are of one row])^2. */
static int all_pairs(brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss,
                     brim_error *err) {
  (void)runtime, (void)err;
  *loss = 0;
  for (int32_t r = 0; r < o->rows; r++)
    for (int32_t i = first_of(o, r); i < first_of(o, r + 1); i++) {
      double by[16] = {0};
      for (int32_t j = 0; j < o->texts; j++) {
        const float *other = o->values + j * o->width;
        const bool same = j >= first_of(o, r) && j < first_of(o, r + 1);
        const double error = product(o->values + i * o->width, other, o->width) - same;
        *loss += error * error / (divisor * o->texts);
        for (int32_t k = 0; k < o->width; k++)
          by[k] += 4 * error * (double)other[k] / (divisor * o->texts);
      }
      for (int32_t k = 0; k < o->width; k++)
        gradient[i * o->width + k] = (float)by[k];
    }
  note(o, gradient, *loss);
  return BRIM_OK;
}

static const brim_target of_part = {.scope = BRIM_LOSS_OF_PART, .loss = pooled};
static const brim_target of_each = {.scope = BRIM_LOSS_OF_PART, .loss = each};
static const brim_target of_step = {.scope = BRIM_LOSS_OF_STEP, .loss = all_pairs};
static const brim_target *wanted = &of_part;

const brim_target *__wrap_brim_target_of(brim_task task);
const brim_target *__wrap_brim_target_of(brim_task task) {
  (void)task;
  return wanted;
}

/* Nothing is held before a run, so that what is planned is what it takes. */
uint64_t __wrap_brim_process_resident(void);
uint64_t __wrap_brim_process_resident(void) {
  return 0;
}

/* ---- runs ---------------------------------------------------------------------------------------------------- */

typedef struct rank_run {
  member member;
  const char *model;
  int texts, threads;
  bool apart;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  int status;
  int64_t cancel_at, size, planned, taken; /* taken: bytes that the run allocated at most */
  brim_runtime *runtime;
  float *weights;
} rank_run;

static int listen(void *context, const brim_event *event) {
  rank_run *run = context;
  if (strcmp(event->kind, "plan") == 0 || strcmp(event->kind, "start") == 0) {
    const brim_field *planned = brim_event_field(event, "memory_planned");
    run->planned = planned ? planned->integer : run->planned;
  }
  if (run->cancel_at > 0 && strcmp(event->kind, "step") == 0 && brim_event_field(event, "step")->integer == run->cancel_at)
    brim_runtime_cancel(run->runtime);
  return 0;
}

/* Bytes that one rank holds, and the most that it held. */
typedef struct counted {
  int64_t now, most;
} counted;

static void count(counted *c, int64_t bytes) {
  c->now += bytes;
  c->most = c->now > c->most ? c->now : c->most;
}

static void *allocate(void *context, size_t size) {
  void *pointer = malloc(size);
  count(context, (int64_t)malloc_usable_size(pointer));
  return pointer;
}

static void *resize(void *context, void *pointer, size_t size) {
  count(context, -(int64_t)malloc_usable_size(pointer));
  pointer = realloc(pointer, size);
  count(context, (int64_t)malloc_usable_size(pointer));
  return pointer;
}

static void release(void *context, void *pointer) {
  count(context, -(int64_t)malloc_usable_size(pointer));
  free(pointer);
}

static void *run_rank(void *context) {
  rank_run *run = context;
  counted bytes = {0};
  const brim_allocator allocator = {allocate, resize, release, &bytes};
  case_job job;
  if (case_open_with(&job, run->model, run->threads, &allocator, NULL, &run->err))
    abort();
  run->runtime = job.runtime;
  classes_of_rows = brim_model_outputs(job.model);
  job.train = make_rows(job.runtime, brim_model_vocab_size(job.model), classes_of_rows, run->texts, run->apart);
  run->options.group = meeting_group(&run->member);
  run->options.event = listen, run->options.event_context = run;
  const int64_t before = bytes.most = bytes.now;
  run->status = brim_train(job.runtime, job.model, NULL, job.train, NULL, 0, &run->options, &run->result, &run->err);
  run->taken = bytes.most - before;
  run->weights = case_weights(&job);
  run->size = brim_model_flat_size(job.model);
  case_close(&job);
  return NULL;
}

typedef struct way {
  int32_t world;
  int threads, texts;
  bool apart;
  int64_t cancel_at;
} way;

static rank_run train(const char *model, way how, const brim_train_options *options) {
  static rank_run runs[MOST_RANKS];
  meeting all = {.world = how.world};
  pthread_t thread[MOST_RANKS];
  saw.any = saw.broken = false;
  pthread_barrier_init(&all.barrier, NULL, (unsigned)how.world);
  for (int32_t r = 0; r < how.world; r++) {
    runs[r] = (rank_run){.member = {&all, r},
                         .model = model,
                         .texts = how.texts,
                         .apart = how.apart,
                         .options = *options,
                         .threads = how.threads,
                         .cancel_at = how.cancel_at};
    if (pthread_create(&thread[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < how.world; r++)
    pthread_join(thread[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  for (int32_t r = 1; r < how.world; r++) {
    if (runs[r].status != runs[0].status || memcmp(runs[r].weights, runs[0].weights, (size_t)runs[0].size * sizeof(float)) != 0)
      runs[0].status = brim_error_set(&runs[0].err, BRIM_E_INTERNAL, "rank %d ended otherwise than rank 0", (int)r);
    free(runs[r].weights);
  }
  return runs[0];
}

static brim_train_options options_of(int64_t max_tokens, int32_t slices) {
  brim_train_options options = case_options(NULL);
  options.plan.batch_size = 16;
  options.plan.max_tokens = max_tokens;
  options.plan.oversize = BRIM_OVERSIZE_ALONE;
  options.plan.slices = slices;
  options.lr = 1e-3;
  return options;
}

static bool same_weights(const rank_run *a, const rank_run *b) {
  return memcmp(a->weights, b->weights, (size_t)a->size * sizeof(float)) == 0;
}

/* ---- checks -------------------------------------------------------------------------------------------------- */

/* Texts of a row have the places that they have as rows, so that even dropout is the same. */
static void check_apart(const char *model) {
  brim_train_options options = options_of(0, 0);
  options.plan.batching = BRIM_SEQUENTIAL;
  wanted = &of_each, per_row = 4;
  const rank_run rows = train(model, (way){1, 1, 4, false, 0}, &options);
  options.plan.batch_size *= 4;
  per_row = 1;
  const rank_run texts = train(model, (way){1, 1, 4, true, 0}, &options);
  ok(rows.status == BRIM_OK && texts.status == BRIM_OK && same_weights(&rows, &texts),
     "in order, rows of four texts are worth what their texts are as rows, to the bit %s%s", rows.err.message, texts.err.message);
  wanted = &of_part;
  free(rows.weights), free(texts.weights);
}

/* Rows are whole in a part, however small it is to be. */
static void check_cuts(const char *model, const brim_target *target, const char *name) {
  static const brim_batching batchings[] = {BRIM_RANDOM, BRIM_UNIFORM, BRIM_BUCKETED, BRIM_PACKED};
  static const int64_t cuts[] = {200, 60, 20};
  wanted = target;
  for (size_t b = 0; b < sizeof batchings / sizeof *batchings; b++) {
    brim_train_options options = options_of(batchings[b] == BRIM_PACKED ? 100000 : 0, 0);
    options.plan.batching = batchings[b];
    const rank_run whole = train(model, (way){1, 1, 0, false, 0}, &options);
    const seen first = saw;
    ok(whole.status == BRIM_OK && !saw.broken, "%s, %s: steps at once %s", name, brim_batching_name(batchings[b]),
       whole.err.message);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
      options.plan.max_tokens = cuts[i];
      /* sorted by their longest text, not by their tokens, rows make other steps */
      const bool sorted = batchings[b] == BRIM_UNIFORM || batchings[b] == BRIM_BUCKETED;
      options.plan.padding = i == 1 && !sorted ? BRIM_PAD_LONGEST : BRIM_PAD_NONE;
      const int32_t world = 1 + (int32_t)((b + i) % 4);
      const rank_run cut = train(model, (way){world, 1 + (int)i, 0, false, 0}, &options);
      const double apart = case_distance(cut.weights, whole.weights, whole.size);
      const bool same = target->scope != BRIM_LOSS_OF_STEP || i == 1 ||
                        (saw.texts == first.texts && saw.loss == first.loss &&
                         memcmp(saw.values, first.values, (size_t)first.texts * sizeof(float)) == 0 &&
                         memcmp(saw.gradient, first.gradient, (size_t)first.texts * sizeof(float)) == 0);
      ok(cut.status == BRIM_OK && !saw.broken && same && apart < 2e-4 && fabs(cut.result.loss - whole.result.loss) < 1e-4,
         "%s, %s: parts of %d tokens on %d ranks give the same to %.1e %s", name, brim_batching_name(batchings[b]), (int)cuts[i],
         (int)world, apart, cut.err.message);
      free(cut.weights);
    }
    free(whole.weights);
  }
}

static void check_slices(const char *model, const brim_target *target, const char *name) {
  brim_train_options options = options_of(0, SLICES);
  wanted = target;
  const rank_run one = train(model, (way){1, 1, 0, false, 0}, &options);
  ok(one.status == BRIM_OK && !saw.broken, "%s: slices %s", name, one.err.message);
  for (int32_t world = 2; world <= 4; world++) {
    const rank_run other = train(model, (way){world, 2, 0, false, 0}, &options);
    ok(other.status == BRIM_OK && same_weights(&one, &other) && one.result.loss == other.result.loss,
       "%s: with slices the same bits on %d ranks %s", name, (int)world, other.err.message);
    free(other.weights);
  }
  free(one.weights);
}

static void check_resume(const char *model, const brim_target *target, const char *name) {
  brim_train_options options = options_of(60, 0);
  wanted = target;
  const rank_run whole = train(model, (way){1, 1, 0, false, 0}, &options);
  for (int64_t step = 1; step < (int64_t)whole.result.steps; step++) {
    char folder[40];
    snprintf(folder, sizeof folder, "%s-%d", name, (int)step);
    options.output = case_path(scratch_folder(), folder);
    options.resume = false;
    const rank_run cut = train(model, (way){1, 1, 0, false, step}, &options);
    options.resume = true;
    const rank_run rest = train(model, (way){1, 2, 0, false, 0}, &options);
    ok(cut.status == BRIM_E_CANCELLED && rest.status == BRIM_OK && same_weights(&whole, &rest),
       "%s: cancelled in step %d and resumed, with the same bits %s", name, (int)step, rest.err.message);
    free(cut.weights), free(rest.weights);
  }
  free(whole.weights);
}

/* What is planned is what a run takes, kept parts too, but for a few things of a kilobyte or less. */
static void check_memory(const char *model, const brim_target *target, const char *name) {
  static const int64_t cuts[] = {0, 100, 30};
  wanted = target;
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    const brim_train_options options = options_of(cuts[i], 0);
    const rank_run run = train(model, (way){1, 1, 0, false, 0}, &options);
    ok(run.status == BRIM_OK && run.taken <= run.planned + SMALL && run.taken > run.planned * 3 / 4,
       "%s, parts of %d tokens: %lld bytes are planned, %lld taken", name, (int)cuts[i], (long long)run.planned,
       (long long)run.taken);
    free(run.weights);
  }
}

/* A model's losses compare each text with a label. */
static void check_refused(const char *model) {
  static const brim_target on_device = {.scope = BRIM_LOSS_ON_DEVICE};
  const brim_train_options options = options_of(0, 0);
  wanted = &on_device;
  const rank_run run = train(model, (way){1, 1, 0, false, 0}, &options);
  ok(run.status == BRIM_E_MISMATCH && strstr(run.err.message, "the rows have several texts"), "%s", run.err.message);
  free(run.weights);
}

int main(void) {
  const char *model = case_model_folder("bert-pair-3");
  check_apart(model);
  check_cuts(model, &of_part, "part");
  check_cuts(model, &of_step, "step");
  check_slices(model, &of_part, "part");
  check_slices(model, &of_step, "step");
  check_resume(model, &of_part, "part");
  check_resume(model, &of_step, "step");
  check_memory(model, &of_part, "part");
  check_memory(model, &of_step, "step");
  check_refused(model);
  return tap_done();
}
