/* Long texts as windows of one row: which tokens each has, what the mean of their logits is worth, and that a row of 1 to 7
 * windows gives the same gradient in any cutting. */
#include <math.h>

#include "data/facts.h"
#include "rank_case.h"
#include "target/target.h"
#include "train_case.h"

enum { ROWS = 30, LONGEST = 40, MOST_WINDOWS = 7, LENGTH = 10, OVERLAP = 3 };

/* ---- data: a tokenizer of letters, texts of 1 to 40 of them ----------------------------------------------------- */

static char texts[ROWS][LONGEST + 1];
static const char *const names[] = {"0", "1", "2"};

static void write_texts(void) {
  uint64_t seed = 11;
  for (int r = 0; r < ROWS; r++) {
    const int length = 1 + (int)(case_unit(&seed) * LONGEST);
    for (int i = 0; i < length; i++)
      texts[r][i] = (char)('a' + (int)(case_unit(&seed) * 12));
    texts[r][length] = 0;
  }
}

static char vocabulary_file[512];

static void write_vocabulary(void) {
  char vocabulary[256] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 0; i < 24; i++)
    sprintf(vocabulary + strlen(vocabulary), "%s%c\n", i < 12 ? "" : "##", 'a' + i % 12);
  snprintf(vocabulary_file, sizeof vocabulary_file, "%s", scratch_write("vocab.txt", vocabulary));
}

static brim_tokenizer *tokenizer_of(brim_runtime *runtime) {
  brim_tokenizer *tokenizer;
  brim_error err = {0};
  if (brim_tokenizer_load(runtime, vocabulary_file, &tokenizer, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return tokenizer;
}

static int give(void *context, uint64_t row, brim_text_row *out, brim_error *err) {
  (void)context, (void)err;
  *out = (brim_text_row){.text = texts[row], .text_length = strlen(texts[row]), .label = names[row % 3], .label_length = 1};
  return BRIM_OK;
}

/* max_windows 0: none. */
static brim_dataset *rows_of(brim_runtime *runtime, brim_encode_options encode, brim_error *err) {
  brim_tokenizer *tokenizer = tokenizer_of(runtime);
  const brim_dataset_options options = {.source.need_label = true, .encode = encode};
  brim_dataset *dataset = NULL;
  (void)!brim_dataset_from_texts(runtime, give, NULL, ROWS, tokenizer, &options, &dataset, err);
  brim_tokenizer_free(tokenizer);
  return dataset;
}

static const brim_encode_options windows = {.max_length = LENGTH, .max_windows = MOST_WINDOWS, .window_overlap = OVERLAP};

/* ---- which tokens ---------------------------------------------------------------------------------------------- */

/* The windows of a row as one writes them down: pieces of the text, a step of `room - overlap` apart, to its end. */
static int wrong_windows(const brim_dataset *d, uint64_t row, const brim_encode_options *o) {
  const int room = o->max_length - 2, step = room - o->window_overlap;
  int length = (int)strlen(texts[row]), begin = 0, count = 0, wrong = 0;
  const int most = room + (o->max_windows - 1) * step;
  if (length > most)
    begin = o->truncation_side == BRIM_SIDE_LEFT ? length - most : 0, length = begin + most;
  brim_sample s;
  brim_dataset_sample(d, row, &s);
  const int32_t *ids = s.ids, all = s.text_lengths ? s.text_count : 1;
  for (int first = begin;; first += step, count++) {
    const int here = length - first < room ? length - first : room;
    if (count >= all || (s.text_lengths ? s.text_lengths[count] : s.length) != here + 2)
      return 1;
    wrong += ids[0] != 2 || ids[here + 1] != 3;
    for (int i = 0; i < here; i++)
      wrong += (ids[i + 1] - 5) % 12 != texts[row][first + i] - 'a';
    ids += here + 2;
    if (first + here == length)
      break;
  }
  return wrong + (count + 1 != all);
}

static void check_windows(brim_runtime *runtime) {
  static const brim_encode_options ways[] = {
      {.max_length = LENGTH, .max_windows = MOST_WINDOWS, .window_overlap = OVERLAP},
      {.max_length = LENGTH, .max_windows = 3, .window_overlap = 0},
      {.max_length = LENGTH, .max_windows = 2, .window_overlap = 7, .truncation_side = BRIM_SIDE_LEFT},
      {.max_length = 3, .max_windows = 100, .window_overlap = 0}};
  brim_error err = {0};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    brim_dataset *d = rows_of(runtime, ways[i], &err);
    int wrong = !d || !brim_dataset_has_windows(d) || brim_dataset_most_texts(d) != ways[i].max_windows;
    uint64_t lost = 0, cut = 0;
    for (uint64_t row = 0; row < ROWS && !wrong; row++) {
      const int room = ways[i].max_length - 2, most = room + (ways[i].max_windows - 1) * (room - ways[i].window_overlap);
      const int over = (int)strlen(texts[row]) - most;
      wrong += wrong_windows(d, row, &ways[i]);
      lost += over > 0 ? (uint64_t)over : 0, cut += over > 0;
    }
    ok(!wrong && brim_dataset_lost(d) == lost && brim_dataset_truncated(d) == cut,
       "windows of %d tokens that overlap by %d: %llu texts of %d rows, %llu tokens lost %s", (int)ways[i].max_length,
       (int)ways[i].window_overlap, d ? (unsigned long long)brim_dataset_texts(d) : 0, ROWS, (unsigned long long)lost,
       err.message);
    brim_dataset_free(d);
  }
  const struct {
    brim_encode_options encode;
    const char *words;
  } bad[] = {{{.max_windows = 3}, "windows need a max_length"},
             {{.max_length = 8, .max_windows = 3, .window_overlap = 6}, "each window needs a new one"},
             {{.max_length = 8, .max_windows = 3, .window_overlap = -1}, "must not be negative"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    brim_dataset *d = rows_of(runtime, bad[i].encode, &err);
    ok(!d && strstr(err.message, bad[i].words), "%s", err.message);
    brim_dataset_free(d);
  }
}

/* ---- predictions ----------------------------------------------------------------------------------------------- */

static void check_predictions(const char *folder) {
  brim_error err = {0};
  case_job job;
  if (case_open_with(&job, folder, 1, NULL, NULL, &err))
    exit(99);
  brim_dataset *d = rows_of(job.runtime, windows, &err), *apart;
  const uint64_t count = brim_dataset_texts(d), *firsts = brim_dataset_firsts(d);
  const size_t outputs = (size_t)brim_model_outputs(job.model);
  brim_sample *samples = calloc(count, sizeof *samples);
  for (uint64_t row = 0; row < ROWS; row++) {
    brim_sample s;
    brim_dataset_sample(d, row, &s);
    for (uint64_t t = firsts[row], at = 0; t < firsts[row + 1]; at += (uint64_t)samples[t++].length)
      samples[t] = (brim_sample){.ids = s.ids + at, .length = brim_dataset_text_lengths(d)[t], .label = NAN};
  }
  if (brim_dataset_from_samples(job.runtime, samples, count, NULL, &apart, &err))
    exit(99);
  float *pooled = calloc(ROWS * outputs, sizeof *pooled), *each = calloc(count * outputs, sizeof *each),
        *other = calloc(ROWS * outputs, sizeof *other);
  brim_eval_options how;
  brim_eval_options_init(&how);
  ok(brim_predict(job.runtime, job.model, d, &how, pooled, &err) == BRIM_OK &&
         brim_predict(job.runtime, job.model, apart, &how, each, &err) == BRIM_OK,
     "predictions of rows, and of windows as rows %s", err.message);
  int wrong = 0;
  for (uint64_t row = 0; row < ROWS; row++)
    for (size_t k = 0; k < outputs; k++) {
      double sum = 0;
      for (uint64_t t = firsts[row]; t < firsts[row + 1]; t++)
        sum += (double)each[t * outputs + k];
      wrong += pooled[row * outputs + k] != (float)(sum / (double)(firsts[row + 1] - firsts[row]));
    }
  ok(wrong == 0, "a row's answer is the mean of its windows', to the bit");
  how.batch_size = 5, how.batching = BRIM_RANDOM, how.max_tokens = 35;
  ok(brim_predict(job.runtime, job.model, d, &how, other, &err) == BRIM_OK &&
         memcmp(other, pooled, ROWS * outputs * sizeof *pooled) == 0,
     "whatever it is computed with %s", err.message);
  brim_metrics metrics;
  ok(brim_evaluate(job.runtime, job.model, d, &how, &metrics, &err) == BRIM_OK && metrics.rows == ROWS, "rows are evaluated %s",
     err.message);
  double loss = 0;
  for (uint64_t row = 0; row < ROWS; row++) {
    double sum = 0;
    brim_sample s;
    brim_dataset_sample(d, row, &s);
    for (size_t k = 0; k < outputs; k++)
      sum += exp((double)pooled[row * outputs + k]);
    loss += (log(sum) - (double)pooled[row * outputs + (size_t)s.label]) / ROWS;
  }
  ok(fabs(metrics.loss - loss) < 1e-6, "with the loss of their means: %.6f", loss);
  free(samples), free(pooled), free(each), free(other);
  brim_dataset_free(apart), brim_dataset_free(d);
  case_close(&job);
}

/* ---- losses ---------------------------------------------------------------------------------------------------- */

/* Against differences of the loss, of rows of 1 to 7 windows; and the loss against its formula for rows of one. */
static void check_losses(brim_runtime *runtime) {
  enum { TEXTS = 12, WIDTH = 3 };
  static const int32_t firsts[] = {0, 1, 4, 5, 12};
  static const struct {
    brim_task task;
    float labels[4 * WIDTH];
    int32_t label_width;
  } cases[] = {{BRIM_TASK_CLASSIFICATION, {0, 2, 1, 2}, 1},
               {BRIM_TASK_REGRESSION, {0.5F, -1, 2, 0, 1, 0.25F, 3, 0, 0, -2, 1, 1}, WIDTH},
               {BRIM_TASK_MULTI_LABEL, {0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0}, WIDTH}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    float values[TEXTS * WIDTH], gradient[TEXTS * WIDTH], ignored[TEXTS * WIDTH];
    double loss, up, down, worst = 0;
    uint64_t seed = 5 + c;
    brim_error err = {0};
    for (int i = 0; i < TEXTS * WIDTH; i++)
      values[i] = (float)(2 * case_unit(&seed) - 1);
    const brim_outputs o = {.rows = 4,
                            .texts = TEXTS,
                            .width = WIDTH,
                            .firsts = firsts,
                            .values = values,
                            .label_width = cases[c].label_width,
                            .labels = cases[c].labels};
    const brim_target *target = brim_target_of_windows(cases[c].task);
    if (target->loss(runtime, &o, 4, gradient, &loss, &err))
      exit(99);
    for (int i = 0; i < TEXTS * WIDTH; i++) {
      const float at = values[i];
      values[i] = at + 0x1p-8F;
      (void)!target->loss(runtime, &o, 4, ignored, &up, &err);
      values[i] = at - 0x1p-8F;
      (void)!target->loss(runtime, &o, 4, ignored, &down, &err);
      values[i] = at;
      worst = fmax(worst, fabs((up - down) / 0x1p-7 - (double)gradient[i]));
    }
    ok(worst < 1e-5 && loss > 0, "%s: the gradient of a mean of windows is that of its loss, to %.1e",
       brim_task_name(cases[c].task), worst);
  }
  ok(!brim_target_of_windows(BRIM_TASK_TOKENS), "labels of words have no windows");
}

/* ---- training -------------------------------------------------------------------------------------------------- */

typedef struct rank_run {
  member member;
  const char *model;
  int threads;
  brim_encode_options encode;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  int status;
  int64_t size;
  float *weights;
} rank_run;

static void *run_rank(void *context) {
  rank_run *run = context;
  case_job job;
  if (case_open_with(&job, run->model, run->threads, NULL, NULL, &run->err))
    abort();
  job.train = rows_of(job.runtime, run->encode, &run->err);
  run->options.group = meeting_group(&run->member);
  run->status = brim_train(job.runtime, job.model, NULL, job.train, NULL, 0, &run->options, &run->result, &run->err);
  run->weights = case_weights(&job);
  run->size = brim_model_flat_size(job.model);
  case_close(&job);
  return NULL;
}

static rank_run train_encoded(const char *model, int32_t world, const brim_train_options *options, brim_encode_options encode) {
  static rank_run runs[MOST_RANKS];
  meeting all = {.world = world};
  pthread_t thread[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){.member = {&all, r}, .model = model, .encode = encode, .options = *options, .threads = 1 + r % 2};
    if (pthread_create(&thread[r], NULL, run_rank, &runs[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(thread[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  for (int32_t r = 1; r < world; r++)
    free(runs[r].weights);
  return runs[0];
}

static rank_run train(const char *model, int32_t world, const brim_train_options *options) {
  return train_encoded(model, world, options, windows);
}

/* Rows that all fit into one window are trained as without windows. (Places differ by a factor, and with them dropout.) */
static void check_single(const char *model) {
  const brim_encode_options one = {.max_length = LONGEST + 2, .max_windows = 2, .window_overlap = OVERLAP},
                            none = {.max_length = LONGEST + 2};
  brim_train_options options = case_options(NULL);
  options.plan.batch_size = 10, options.lr = 1e-3;
  const rank_run a = train_encoded(model, 1, &options, one), b = train_encoded(model, 1, &options, none);
  const double apart = case_distance(a.weights, b.weights, a.size);
  ok(a.status == BRIM_OK && b.status == BRIM_OK && apart < 1e-5 && fabs(a.result.loss - b.result.loss) < 1e-6,
     "rows of one window are trained as rows without windows, to %.1e %s", apart, a.err.message);
  free(a.weights), free(b.weights);
}

static void check_training(const char *model) {
  brim_train_options options = case_options(NULL);
  options.plan.batch_size = 10, options.plan.oversize = BRIM_OVERSIZE_ALONE, options.lr = 1e-3;
  const rank_run whole = train(model, 1, &options);
  ok(whole.status == BRIM_OK, "a run on windows %s", whole.err.message);
  for (int64_t cut = 80; cut >= 20; cut -= 30) {
    options.plan.max_tokens = cut;
    const rank_run parts = train(model, 1 + (int32_t)(cut % 3), &options);
    const double apart = case_distance(parts.weights, whole.weights, whole.size);
    ok(parts.status == BRIM_OK && apart < 2e-4, "parts of %d tokens give the same, to %.1e %s", (int)cut, apart,
       parts.err.message);
    free(parts.weights);
  }
  options.plan.max_tokens = 0, options.plan.slices = 8;
  const rank_run one = train(model, 1, &options), three = train(model, 3, &options);
  ok(one.status == BRIM_OK && three.status == BRIM_OK &&
         memcmp(one.weights, three.weights, (size_t)one.size * sizeof(float)) == 0,
     "with slices the same bits on 3 ranks %s%s", one.err.message, three.err.message);
  options.plan.slices = 0, options.label_smoothing = 0.1;
  const rank_run refused = train(model, 1, &options);
  ok(refused.status == BRIM_E_USAGE && strstr(refused.err.message, "rows of windows"), "%s", refused.err.message);
  free(whole.weights), free(one.weights), free(three.weights), free(refused.weights);
}

int main(void) {
  const char *model = case_model_folder("bert-pair-3");
  brim_runtime *runtime;
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 99;
  write_texts();
  write_vocabulary();
  check_windows(runtime);
  check_losses(runtime);
  brim_runtime_free(runtime);
  check_predictions(model);
  check_training(model);
  check_single(case_path(case_path(tap_source(), "tests/golden/models"), "bert-pair-3"));
  return tap_done();
}
