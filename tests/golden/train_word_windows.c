/* Labels of words of long rows: each word is predicted in one window of its row, and learned there, once; rows of 1 to 7 windows
 * give the same gradient in any cutting and on any ranks; the same from a stream. */
#include <math.h>

#include "data/facts.h"
#include "rank_case.h"
#include "train_case.h"

enum { ROWS = 30, MOST_WORDS = 16, LONGEST = 38, MOST_WINDOWS = 7, LENGTH = 10, OVERLAP = 3, OUTPUTS = 5 };

static const char *const names[] = {"LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3", "LABEL_4"};
static const brim_encode_options windows = {.max_length = LENGTH, .max_windows = MOST_WINDOWS, .window_overlap = OVERLAP};

/* ---- data: a tokenizer of letters, rows of 1 to 16 words of 1 to 4 of them -------------------------------------- */

typedef struct text {
  char words[200], labels[200];
  size_t word_bytes, label_bytes;
  int tokens;
} text;

static text texts[ROWS];
static char vocabulary_file[512], stream_file[512];

static void add_item(char *list, size_t *length, const char *item) {
  memcpy(list + *length, item, strlen(item) + 1);
  *length += strlen(item) + 1;
}

static void write_rows(void) {
  static char lines[ROWS * 400];
  uint64_t seed = 11;
  char *to = lines;
  for (int r = 0; r < ROWS; r++) {
    text *t = &texts[r];
    const int words = 1 + (int)(case_unit(&seed) * MOST_WORDS);
    for (int w = 0; w < words && t->tokens < LONGEST - 4; w++) {
      char word[8] = "";
      const int length = 1 + (int)(case_unit(&seed) * 4);
      for (int i = 0; i < length; i++)
        word[i] = (char)('a' + (int)(case_unit(&seed) * 12));
      add_item(t->words, &t->word_bytes, word);
      add_item(t->labels, &t->label_bytes, names[(word[0] - 'a' + w) % OUTPUTS]);
      t->tokens += length;
    }
    to += sprintf(to, "{\"tokens\": [");
    for (size_t at = 0; at < t->word_bytes; at += strlen(t->words + at) + 1)
      to += sprintf(to, "%s\"%s\"", at ? ", " : "", t->words + at);
    to += sprintf(to, "], \"ner_tags\": [");
    for (size_t at = 0; at < t->label_bytes; at += strlen(t->labels + at) + 1)
      to += sprintf(to, "%s\"%s\"", at ? ", " : "", t->labels + at);
    to += sprintf(to, "]}\n");
  }
  snprintf(stream_file, sizeof stream_file, "%s", scratch_write("rows.jsonl", lines));
  char vocabulary[256] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 0; i < 24; i++)
    sprintf(vocabulary + strlen(vocabulary), "%s%c\n", i < 12 ? "" : "##", 'a' + i % 12);
  snprintf(vocabulary_file, sizeof vocabulary_file, "%s", scratch_write("vocab.txt", vocabulary));
}

static void stop_at(const brim_error *err) {
  printf("Bail out! %s\n", err->message);
  exit(99);
}

static brim_tokenizer *tokenizer_of(brim_runtime *runtime) {
  brim_tokenizer *tokenizer;
  brim_error err = {0};
  if (brim_tokenizer_load(runtime, vocabulary_file, &tokenizer, &err))
    stop_at(&err);
  return tokenizer;
}

static int give(void *context, uint64_t row, brim_text_row *out, brim_error *err) {
  (void)context, (void)err;
  *out = (brim_text_row){.text = texts[row].words,
                         .text_length = texts[row].word_bytes,
                         .label = texts[row].labels,
                         .label_length = texts[row].label_bytes,
                         .label_is_list = true};
  return BRIM_OK;
}

static brim_dataset *rows_of(brim_runtime *runtime, brim_encode_options encode) {
  brim_tokenizer *tokenizer = tokenizer_of(runtime);
  brim_error err = {0};
  const brim_dataset_options options = {.source.need_label = true, .task = BRIM_TASK_TOKENS, .encode = encode};
  brim_dataset *dataset = NULL;
  if (brim_dataset_from_texts(runtime, give, NULL, ROWS, tokenizer, &options, &dataset, &err))
    stop_at(&err);
  brim_tokenizer_free(tokenizer);
  return dataset;
}

/* Each window as a row, with the same labels of tokens. */
static brim_dataset *apart(brim_runtime *runtime, const brim_dataset *d) {
  const uint64_t count = brim_dataset_texts(d), *firsts = brim_dataset_firsts(d);
  brim_sample *samples = calloc(count, sizeof *samples);
  brim_dataset *out;
  brim_error err;
  for (uint64_t row = 0; row < ROWS; row++) {
    brim_sample s;
    brim_dataset_sample(d, row, &s);
    for (uint64_t t = firsts[row], at = 0; t < firsts[row + 1]; at += (uint64_t)samples[t++].length)
      samples[t] = (brim_sample){
          .ids = s.ids + at, .length = brim_dataset_text_lengths(d)[t], .token_labels = s.token_labels + at, .label = NAN};
  }
  if (brim_dataset_from_samples(runtime, samples, count, brim_dataset_labels(d), &out, &err))
    stop_at(&err);
  free(samples);
  return out;
}

/* ---- predictions ----------------------------------------------------------------------------------------------- */

static int wrong_words(const brim_dataset *d) {
  int wrong = 0;
  for (uint64_t row = 0; row < ROWS; row++) {
    brim_sample s;
    int seen[MOST_WORDS] = {0}, words = 0;
    brim_dataset_sample(d, row, &s);
    for (size_t i = 0; i < texts[row].word_bytes; i++)
      words += texts[row].words[i] == 0;
    for (int32_t i = 0; i < s.length; i++) {
      const bool first = s.words[i] >= 0 && (i == 0 || s.words[i - 1] != s.words[i]);
      wrong += (s.token_labels[i] != BRIM_NO_LABEL) != first;
      if (first)
        seen[s.words[i]]++;
    }
    for (int w = 0; w < words; w++)
      wrong += seen[w] != 1;
  }
  return wrong;
}

static int count_line(void *context, uint64_t row, const float *logits, brim_error *err) {
  (void)row, (void)logits, (void)err;
  ++*(int *)context;
  return BRIM_OK;
}

static void check_predictions(const char *folder) {
  brim_error err = {0};
  case_job job;
  int lines = 0;
  if (case_open_with(&job, folder, 2, NULL, NULL, &err))
    stop_at(&err);
  brim_dataset *d = rows_of(job.runtime, windows), *each = apart(job.runtime, d);
  const size_t size = (size_t)brim_dataset_tokens(d) * OUTPUTS;
  float *whole = calloc(size, sizeof *whole), *alone = calloc(size, sizeof *alone), *other = calloc(size, sizeof *other);
  ok(wrong_words(d) == 0 && brim_dataset_texts(d) > 2 * ROWS && brim_dataset_lost(d) == 0 && brim_dataset_has_windows(d),
     "each word of %d rows has its label in one of %llu windows", ROWS, (unsigned long long)brim_dataset_texts(d));
  brim_eval_options how;
  brim_eval_options_init(&how);
  ok(brim_predict(job.runtime, job.model, d, &how, whole, &err) == BRIM_OK &&
         brim_predict(job.runtime, job.model, each, &how, alone, &err) == BRIM_OK &&
         memcmp(whole, alone, size * sizeof *whole) == 0,
     "logits of a row's tokens are those of its windows, to the bit %s", err.message);
  how.batch_size = 5, how.batching = BRIM_RANDOM, how.max_tokens = 35;
  ok(brim_predict(job.runtime, job.model, d, &how, other, &err) == BRIM_OK && memcmp(other, whole, size * sizeof *other) == 0,
     "whatever they are computed with %s", err.message);
  how.padding = BRIM_PAD_LONGEST;
  double most = 0;
  const int status = brim_predict(job.runtime, job.model, d, &how, other, &err);
  for (size_t i = 0; i < size; i++)
    most = fmax(most, fabs((double)other[i] - (double)whole[i]));
  ok(status == BRIM_OK && most < 1e-5, "with padding too, to %.1e %s", most, err.message);
  ok(brim_predict_each(job.runtime, job.model, d, &how, 7, count_line, &lines, &err) == BRIM_OK && lines == ROWS,
     "a few rows at a time %s", err.message);
  brim_metrics metrics, of_each;
  const bool evaluated = brim_evaluate(job.runtime, job.model, d, &how, &metrics, &err) == BRIM_OK &&
                         brim_evaluate(job.runtime, job.model, each, &how, &of_each, &err) == BRIM_OK;
  ok(evaluated && metrics.rows == ROWS && fabs(metrics.loss - of_each.loss) < 1e-6 && metrics.accuracy == of_each.accuracy,
     "a word counts once in an evaluation: loss %.6f %s", metrics.loss, err.message);
  free(whole), free(alone), free(other);
  brim_dataset_free(each), brim_dataset_free(d);
  case_close(&job);
}

/* ---- training -------------------------------------------------------------------------------------------------- */

typedef enum source { WINDOWS, APART, STREAM } source;

typedef struct rank_run {
  member member;
  const char *model;
  int threads;
  source source;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  int status;
  int64_t size;
  float *weights;
} rank_run;

static int train_stream(rank_run *run, case_job *job) {
  const char *path = stream_file;
  brim_tokenizer *tokenizer = tokenizer_of(job->runtime);
  brim_feed *feed = NULL;
  const brim_feed_options how = {.source = {.need_label = true, .words = true},
                                 .labels = brim_model_labels(job->model),
                                 .encode = windows,
                                 .plan = run->options.plan,
                                 .window = 11,
                                 .rank = run->member.rank};
  int status = brim_feed_open(job->runtime, &path, 1, tokenizer, &how, &feed, &run->err);
  if (!status)
    status = brim_train_feed(job->runtime, job->model, NULL, feed, NULL, 0, &run->options, &run->result, &run->err);
  brim_feed_close(feed);
  brim_tokenizer_free(tokenizer);
  return status;
}

static void *run_rank(void *context) {
  rank_run *run = context;
  case_job job;
  if (case_open_with(&job, run->model, run->threads, NULL, NULL, &run->err))
    abort();
  run->options.group = meeting_group(&run->member);
  if (run->source == STREAM) {
    run->status = train_stream(run, &job);
  } else {
    job.train = rows_of(job.runtime, windows);
    if (run->source == APART) {
      brim_dataset *own = apart(job.runtime, job.train);
      brim_dataset_free(job.train);
      job.train = own;
    }
    run->status = brim_train(job.runtime, job.model, NULL, job.train, NULL, 0, &run->options, &run->result, &run->err);
  }
  run->weights = case_weights(&job);
  run->size = brim_model_flat_size(job.model);
  case_close(&job);
  return NULL;
}

static rank_run train(const char *model, int32_t world, brim_train_options options, source from) {
  static rank_run runs[MOST_RANKS];
  meeting all = {.world = world};
  pthread_t thread[MOST_RANKS];
  options.plan.world_size = world;
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    runs[r] = (rank_run){.member = {&all, r}, .model = model, .source = from, .options = options, .threads = 1 + r % 2};
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

/* Without dropout a step of all rows is one of all windows: a word counts once, wherever it is. */
static void check_once(void) {
  const char *plain = case_path(case_path(tap_source(), "tests/golden/models"), "bert-tokens");
  brim_train_options options = case_options(NULL);
  options.plan.batch_size = 1000, options.lr = 1e-3;
  const rank_run rows = train(plain, 1, options, WINDOWS), each = train(plain, 1, options, APART);
  const double distance = case_distance(rows.weights, each.weights, rows.size);
  ok(rows.status == BRIM_OK && each.status == BRIM_OK && distance < 1e-5 && fabs(rows.result.loss - each.result.loss) < 1e-6,
     "a step of rows is one of their windows, to %.1e %s%s", distance, rows.err.message, each.err.message);
  free(rows.weights), free(each.weights);
}

static void check_training(const char *model) {
  brim_train_options options = case_options(NULL);
  options.plan.batch_size = 10, options.plan.oversize = BRIM_OVERSIZE_ALONE, options.lr = 1e-3;
  const rank_run whole = train(model, 1, options, WINDOWS);
  ok(whole.status == BRIM_OK, "a run on words in windows %s", whole.err.message);
  for (int64_t cut = 80; cut >= 20; cut -= 30) {
    options.plan.max_tokens = cut;
    const rank_run parts = train(model, 1 + (int32_t)(cut % 3), options, WINDOWS);
    const double distance = case_distance(parts.weights, whole.weights, whole.size);
    ok(parts.status == BRIM_OK && distance < 2e-4, "parts of %d tokens give the same, to %.1e %s", (int)cut, distance,
       parts.err.message);
    free(parts.weights);
  }
  options.plan.max_tokens = 0, options.plan.slices = 8;
  const rank_run one = train(model, 1, options, WINDOWS), three = train(model, 3, options, WINDOWS);
  ok(one.status == BRIM_OK && three.status == BRIM_OK &&
         memcmp(one.weights, three.weights, (size_t)one.size * sizeof(float)) == 0,
     "with slices the same bits on 3 ranks %s%s", one.err.message, three.err.message);
  options.plan.slices = 0, options.max_steps = 5;
  const rank_run stream = train(model, 1, options, STREAM), two = train(model, 2, options, STREAM);
  ok(stream.status == BRIM_OK && two.status == BRIM_OK && fabs(stream.result.loss - two.result.loss) < 1e-5,
     "from a stream on 1 and 2 ranks: loss %.5f %s%s", stream.result.loss, stream.err.message, two.err.message);
  options.label_smoothing = 0.1, options.max_steps = 2;
  const rank_run smooth = train(model, 1, options, WINDOWS);
  ok(smooth.status == BRIM_OK, "labels of words may be smoothed %s", smooth.err.message);
  free(whole.weights), free(one.weights), free(three.weights), free(stream.weights), free(two.weights), free(smooth.weights);
}

int main(void) {
  const char *model = case_model_folder("bert-tokens");
  write_rows();
  check_predictions(model);
  check_once();
  check_training(model);
  return tap_done();
}
