/* Training from a feed: the same bits as from memory where the batches are the same, and the same bits however often it was
 * interrupted or killed. */
#include <signal.h>
#include <sys/wait.h>
#include <zlib.h>

#include "data/dataset.h"
#include "data_tokenizer.h"
#include "rank_case.h"
#include "train_case.h"

enum { FILES = 3, ROWS = 19, STEPS = 17 };

static const char *model_folder, *shards;
static const char *const names[] = {"LABEL_0", "LABEL_1", "LABEL_2"}; /* the classes of the models */
static brim_labels labels, word_labels;

static void write_shards(void) {
  shards = scratch_make_folder("shards");
  for (int f = 0; f < FILES; f++) {
    char name[64];
    snprintf(name, sizeof name, "shards/%d.csv.gz", f);
    gzFile gz = gzopen(scratch_file(name), "wb");
    gzputs(gz, "text,label\n");
    for (int r = 0; r < ROWS; r++)
      gzprintf(gz, "%.*s,%s\n", 1 + (f * 31 + r * r * 7) % 23, "thequickbrownfoxjumpsoverthelazydog" + (r + f) % 9,
               names[(r * r + f) % 3]);
    gzclose(gz);
  }
}

typedef struct job {
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_model *model;
  brim_feed *feed;
  brim_dataset *eval;
} job;

static void must(int status, const brim_error *err) {
  if (status) {
    printf("Bail out! %s\n", err->message);
    exit(99);
  }
}

/* A process of its own, as far as brim can tell. */
static job open_job_of(const char *files, const brim_feed_options *given, int threads) {
  job j = {0};
  brim_error err;
  brim_feed_options how = *given;
  must(brim_runtime_new(&(brim_runtime_options){.threads = threads}, &j.runtime, &err), &err);
  must(brim_tokenizer_load(j.runtime, scratch_file("vocab.txt"), &j.tokenizer, &err), &err);
  must(brim_model_load(j.runtime, model_folder, &(brim_model_options){.seed = 1}, &j.model, &err), &err);
  how.labels = &labels;
  must(brim_feed_open(j.runtime, &files, 1, j.tokenizer, &how, &j.feed, &err), &err);
  j.eval = case_dataset(j.runtime, 10, 12, 50, 3, 2);
  j.eval->pairs = false; /* not known: its types are random, and the stream has single texts */
  return j;
}

static job open_job(const brim_feed_options *given, int threads) {
  return open_job_of(shards, given, threads);
}

static void close_job(job *j) {
  brim_dataset_free(j->eval);
  brim_feed_close(j->feed);
  brim_model_free(j->model);
  brim_tokenizer_free(j->tokenizer);
  brim_runtime_free(j->runtime);
}

static brim_feed_options feed_options(int prefetch) {
  return (brim_feed_options){.source = {.need_label = true},
                             .encode = {.max_length = 16},
                             .plan = {.batching = BRIM_BUCKETED, .batch_size = 8, .max_tokens = 60, .read_ahead = 16, .seed = 3},
                             .window = 20,
                             .prefetch = prefetch};
}

static brim_train_options train_options(const char *output) {
  brim_train_options o = case_options(output);
  o.max_steps = STEPS;
  o.eval_every = 4;
  o.save_every = 5;
  o.log_every = 2;
  o.class_weights = "0=0.5,2=3";
  return o;
}

static int train(job *j, const brim_train_options *options, brim_train_result *result, brim_error *err) {
  const brim_named_dataset eval = {"dev", j->eval};
  return brim_train_feed(j->runtime, j->model, NULL, j->feed, &eval, 1, options, result, err);
}

static bool same_weights(const job *j, const float *weights) {
  return memcmp(brim_model_values(j->model), weights, (size_t)brim_model_flat_size(j->model) * sizeof(float)) == 0;
}

/* ---- against memory --------------------------------------------------------------------------------------- */

static void as_from_memory(void) {
  const brim_dataset_options in_memory = {.source = {.need_label = true}, .encode = {.max_length = 16}};
  brim_feed_options how = feed_options(0);
  how.plan = (brim_plan_options){.batching = BRIM_SEQUENTIAL, .batch_size = 8};
  how.window = 1000;
  brim_train_options o = train_options(NULL);
  brim_train_result from_feed, from_memory;
  brim_error err = {0};
  job j = open_job(&how, 2);
  int status = train(&j, &o, &from_feed, &err);
  ok(status == BRIM_OK && from_feed.steps == STEPS, "trains from a feed: %s", err.message);
  float *weights = malloc((size_t)brim_model_flat_size(j.model) * sizeof(float));
  memcpy(weights, brim_model_values(j.model), (size_t)brim_model_flat_size(j.model) * sizeof(float));
  close_job(&j);
  j = open_job(&how, 1);
  brim_dataset *data;
  must(brim_dataset_load(j.runtime, &shards, 1, j.tokenizer, &in_memory, &data, &err), &err);
  o.plan = how.plan;
  o.eval_every = 0;
  status = brim_train(j.runtime, j.model, NULL, data, NULL, 0, &o, &from_memory, &err);
  ok(status == BRIM_OK && same_weights(&j, weights), "sequential batches: the same bits as from memory");
  ok(from_feed.rows == from_memory.rows && from_feed.tokens == from_memory.tokens && from_feed.slots == from_memory.slots,
     "and the same counts");
  brim_dataset_free(data);
  close_job(&j);
  o.class_weights = NULL;
  j = open_job(&how, 1);
  status = train(&j, &o, &from_feed, &err);
  ok(status == BRIM_OK && !same_weights(&j, weights), "weights of classes count");
  ok(from_feed.rows == 2 * FILES * ROWS + 8, "two epochs and a step: %llu rows", (unsigned long long)from_feed.rows);
  close_job(&j);
  free(weights);
}

/* A feed that ends first ends the run; the log says the last step. */
static void ends_first(void) {
  brim_feed_options how = feed_options(1);
  how.epochs = 1;
  brim_train_options o = train_options(NULL);
  brim_train_result result;
  brim_error err = {0};
  job j = open_job(&how, 1);
  int status = train(&j, &o, &result, &err);
  ok(status == BRIM_OK && result.steps == 8 && result.rows == FILES * ROWS, "one epoch: %llu steps, %llu rows %s",
     (unsigned long long)result.steps, (unsigned long long)result.rows, err.message);
  close_job(&j);
}

/* ---- interrupted ------------------------------------------------------------------------------------------ */

typedef struct stopper {
  brim_runtime *runtime;
  uint64_t step; /* cancels, or kills, when this many steps are done */
  bool kill;
} stopper;

static int stop_at(void *context, const brim_event *event) {
  const stopper *s = context;
  const brim_field *phase = brim_event_field(event, "phase"), *done = brim_event_field(event, "done");
  if (phase && strcmp(phase->text, "train") == 0 && (uint64_t)done->integer == s->step) {
    if (s->kill)
      raise(SIGKILL);
    brim_runtime_cancel(s->runtime);
  }
  return 0;
}

static float *straight(const char *output, char **log) {
  brim_feed_options how = feed_options(0);
  brim_train_options o = train_options(output);
  brim_train_result result;
  brim_error err = {0};
  job j = open_job(&how, 1);
  must(train(&j, &o, &result, &err), &err);
  float *weights = malloc((size_t)brim_model_flat_size(j.model) * sizeof(float));
  memcpy(weights, brim_model_values(j.model), (size_t)brim_model_flat_size(j.model) * sizeof(float));
  *log = case_log(output);
  close_job(&j);
  return weights;
}

static void finish(const char *output, int threads, const float *weights, const char *log, const char *what) {
  brim_feed_options how = feed_options(threads % 3);
  brim_train_options o = train_options(output);
  brim_train_result result;
  brim_error err = {0};
  o.resume = true;
  job j = open_job(&how, threads);
  int status = train(&j, &o, &result, &err);
  ok(status == BRIM_OK && result.steps == STEPS, "%s: resumed %s", what, err.message);
  ok(same_weights(&j, weights), "%s: the same bits", what);
  char *after = case_log(output);
  case_same_text(strchr(after, '\n'), strchr(log, '\n'), what); /* the first line tells the threads */
  free(after);
  close_job(&j);
}

static void interrupted(uint64_t step, const float *weights, const char *log) {
  const char *output = scratch_file("interrupted");
  char what[64];
  brim_feed_options how = feed_options((int)step % 3);
  brim_train_options o = train_options(output);
  brim_train_result result;
  brim_error err = {0};
  case_remove(output);
  job j = open_job(&how, 1 + (int)step % 2);
  o.event = stop_at;
  o.event_context = &(stopper){j.runtime, step, false};
  snprintf(what, sizeof what, "interrupted at step %llu", (unsigned long long)step);
  ok_int(train(&j, &o, &result, &err), BRIM_E_CANCELLED, what);
  close_job(&j);
  finish(output, 2 - (int)step % 2, weights, log, what);
}

/* A process of its own that dies at a step, wherever its checkpoints stand. */
static void killed(const float *weights, const char *log) {
  const char *output = scratch_file("killed");
  case_remove(output);
  int deaths = 0;
  for (uint64_t step = 3; step <= STEPS; step += 3) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      brim_feed_options how = feed_options((int)step % 2);
      brim_train_options o = train_options(output);
      brim_train_result result;
      job j = open_job(&how, 1);
      o.resume = true;
      o.event = stop_at;
      o.event_context = &(stopper){j.runtime, step, true};
      _exit(train(&j, &o, &result, NULL));
    }
    int state;
    waitpid(child, &state, 0);
    deaths += WIFSIGNALED(state);
  }
  ok_int(deaths, STEPS / 3, "killed again and again");
  finish(output, 2, weights, log, "killed");
}

/* ---- ranks that read slices -------------------------------------------------------------------------------- */

typedef struct slice {
  member member;
  brim_train_options options;
  brim_train_result result;
  brim_error err;
  float *weights;
  uint64_t stop; /* rank 0 is cancelled in this step; 0: never */
  int status;
} slice;

static void *train_slice(void *context) {
  slice *s = context;
  brim_feed_options how = feed_options((int)s->member.rank % 2);
  how.rank = s->member.rank, how.rank_slices = true;
  how.plan.world_size = s->member.meeting->world, how.plan.batch_size = 6;
  job j = open_job(&how, 1);
  stopper stop = {j.runtime, s->stop, false};
  s->options.group = meeting_group(&s->member);
  if (s->stop)
    s->options.event = stop_at, s->options.event_context = &stop;
  s->status = train(&j, &s->options, &s->result, &s->err);
  const size_t bytes = (size_t)brim_model_flat_size(j.model) * sizeof(float);
  s->weights = malloc(bytes);
  memcpy(s->weights, brim_model_values(j.model), bytes);
  s->result.slots = bytes;
  close_job(&j);
  return NULL;
}

static void train_slices(int32_t world, const char *output, uint64_t stop, bool resume, slice slices[MOST_RANKS]) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    slices[r] = (slice){.member = {&all, r}, .options = train_options(output), .stop = r == 0 ? stop : 0};
    slices[r].options.class_weights = NULL, slices[r].options.resume = resume;
    if (pthread_create(&threads[r], NULL, train_slice, &slices[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
}

static void free_slices(int32_t world, slice slices[MOST_RANKS]) {
  for (int32_t r = 0; r < world; r++)
    free(slices[r].weights);
}

/* Each rank resumes its own slice; another number of ranks, or a state that is missing, is refused with the reason. */
static void slices_resume(uint64_t stop) {
  slice straight[MOST_RANKS], begun[MOST_RANKS], rest[MOST_RANKS], other[MOST_RANKS];
  const char *output = scratch_file("slices");
  train_slices(2, NULL, 0, false, straight);
  train_slices(2, output, stop, false, begun);
  ok(begun[0].status == BRIM_E_CANCELLED && begun[1].status == BRIM_E_CANCELLED, "slices: both ranks stop after step %llu",
     (unsigned long long)stop);
  train_slices(3, output, 0, true, other);
  for (int32_t r = 0; r < 3; r++)
    ok(other[r].status == BRIM_E_MISMATCH && strstr(other[r].err.message, "slice"), "three ranks are refused: %s",
       other[r].err.message);
  train_slices(2, output, 0, true, rest);
  ok(rest[0].status == BRIM_OK && rest[1].status == BRIM_OK && rest[1].result.resumed, "both continue %s%s", rest[0].err.message,
     rest[1].err.message);
  ok(rest[0].result.rows == straight[0].result.rows && memcmp(rest[0].weights, straight[0].weights, rest[0].result.slots) == 0 &&
         memcmp(rest[1].weights, straight[0].weights, rest[0].result.slots) == 0,
     "slices, interrupted in step %llu: the same rows and the same bits", (unsigned long long)stop);
  free_slices(2, straight), free_slices(2, begun), free_slices(2, rest), free_slices(3, other);
  case_remove(output);
}

/* ---- ranks that read their own words ------------------------------------------------------------------------ */

enum { SENTENCES = 12 };

/* A step has all rows, so that any number of readers takes the same ones. They have 1 to 9 words, of which some have no label:
 * the shares of the divisor differ. */
static const char *write_words(void) {
  char text[8192] = "";
  for (int r = 0, used = 0; r < SENTENCES; r++)
    for (int words = 1 + r * r * 5 % 9, end = 0; end < 2; end++) {
      used += sprintf(text + used, "%s", end ? "\"tags\": [" : "{\"tokens\": [");
      for (int w = 0; w < words; w++)
        used += end ? sprintf(text + used, "%s\"%s\"", w ? ", " : "", names[(r + w * w) % 3])
                    : sprintf(text + used, "%s\"%.*s\"", w ? ", " : "", 1 + w % 4, "letters" + (r + w) % 4);
      used += sprintf(text + used, end ? "]}\n" : "], ");
    }
  return scratch_write("words.jsonl", text);
}

typedef struct word_reader {
  member member;
  const char *files, *class_weights;
  brim_train_result result;
  brim_error err;
  float *weights;
  int64_t size;
  int status;
} word_reader;

static void *read_words(void *context) {
  word_reader *r = context;
  const char *folder = case_path(tap_source(), "tests/golden/models/bert-tokens");
  brim_feed_options how = feed_options((int)r->member.rank % 2);
  brim_train_options o = train_options(NULL);
  o.eval_every = 0; /* there is nothing to evaluate */
  brim_error err;
  job j = {0};
  how.rank = r->member.rank, how.rank_slices = true;
  how.plan.world_size = r->member.meeting->world, how.plan.batch_size = SENTENCES;
  must(brim_runtime_new(&(brim_runtime_options){.threads = 1}, &j.runtime, &err), &err);
  must(brim_tokenizer_load(j.runtime, scratch_file("vocab.txt"), &j.tokenizer, &err), &err);
  must(brim_model_load(j.runtime, folder, &(brim_model_options){.labels = &word_labels, .seed = 1}, &j.model, &err), &err);
  how.labels = brim_model_labels(j.model);
  must(brim_feed_open(j.runtime, &r->files, 1, j.tokenizer, &how, &j.feed, &err), &err);
  o.group = meeting_group(&r->member);
  o.class_weights = r->class_weights;
  o.max_steps = 5;
  r->status = brim_train_feed(j.runtime, j.model, NULL, j.feed, NULL, 0, &o, &r->result, &r->err);
  r->size = brim_model_flat_size(j.model);
  r->weights = malloc((size_t)r->size * sizeof(float));
  memcpy(r->weights, brim_model_values(j.model), (size_t)r->size * sizeof(float));
  close_job(&j);
  return NULL;
}

static void run_words(int32_t world, const char *files, const char *class_weights, word_reader *readers) {
  meeting all = {.world = world};
  pthread_t threads[MOST_RANKS];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)world);
  for (int32_t r = 0; r < world; r++) {
    readers[r] = (word_reader){.member = {&all, r}, .files = files, .class_weights = class_weights};
    if (pthread_create(&threads[r], NULL, read_words, &readers[r]))
      abort();
  }
  for (int32_t r = 0; r < world; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
}

/* No rank knows the labelled words of a whole step, nor their classes: they are summed before its first forward. */
static void readers_of_words(const char *files, const char *class_weights) {
  word_reader one, readers[MOST_RANKS];
  run_words(1, files, class_weights, &one);
  ok(one.status == BRIM_OK && one.result.steps == 5, "words%s: one reader %s", class_weights ? " of classes with weights" : "",
     one.err.message);
  for (int32_t world = 2; world <= 3; world++) {
    run_words(world, files, class_weights, readers);
    const double apart = case_distance(readers[0].weights, one.weights, one.size);
    bool same = true, counted = true;
    for (int32_t r = 0; r < world; r++) {
      same = same && readers[r].status == BRIM_OK && memcmp(readers[r].weights, readers[0].weights, (size_t)one.size * 4) == 0;
      counted = counted && readers[r].result.tokens == one.result.tokens && readers[r].result.rows == one.result.rows;
    }
    ok(same && apart < 1e-5, "%d readers train what one does (%.1e apart) %s", (int)world, apart, readers[0].err.message);
    ok(counted && fabs(readers[0].result.loss - one.result.loss) < 1e-6 * one.result.loss,
       "with its loss: %.9f, %.9f, and tokens", readers[0].result.loss, one.result.loss);
    for (int32_t r = 0; r < world; r++)
      free(readers[r].weights);
  }
  free(one.weights);
}

/* ---- ranks that read one order ---------------------------------------------------------------------------- */

typedef struct reader {
  member member;
  const char *files;
  brim_feed_options how;
  brim_train_result result;
  brim_error err;
  int status;
} reader;

static void *train_reader(void *context) {
  reader *r = context;
  brim_train_options o = train_options(NULL);
  job j = open_job_of(r->files, &r->how, 1);
  o.group = meeting_group(&r->member);
  r->status = train(&j, &o, &r->result, &r->err);
  close_job(&j);
  return NULL;
}

/* Files that differ, or how they are read, which neither options nor data tell. */
static void ranks_agree(const char *name, const char *files, int64_t window) {
  reader readers[2];
  meeting all = {.world = 2};
  pthread_t threads[2];
  bool good = true;
  pthread_barrier_init(&all.barrier, NULL, 2);
  for (int32_t r = 0; r < 2; r++) {
    readers[r] = (reader){.member = {&all, r}, .files = r ? files : shards, .how = feed_options(0)};
    readers[r].how.rank = r, readers[r].how.plan.world_size = 2;
    if (r)
      readers[r].how.window = window;
    if (pthread_create(&threads[r], NULL, train_reader, &readers[r]))
      abort();
  }
  for (int32_t r = 0; r < 2; r++) {
    pthread_join(threads[r], NULL);
    good = good && readers[r].status == BRIM_E_MISMATCH && readers[r].result.steps == 0 &&
           strstr(readers[r].err.message, "files of the stream, or the way they are read: ") &&
           strstr(readers[r].err.message, " on rank 1, ");
  }
  pthread_barrier_destroy(&all.barrier);
  ok(good, "%s: %s", name, readers[0].err.message);
}

static void agreements(void) {
  const char *other = scratch_make_folder("fewer");
  for (int f = 0; f < FILES - 1; f++) {
    char from[64], to[64];
    snprintf(from, sizeof from, "shards/%d.csv.gz", f), snprintf(to, sizeof to, "fewer/%d.csv.gz", f);
    size_t length;
    char *bytes = case_read(scratch_file(from), &length);
    case_write(scratch_file(to), bytes, length);
    free(bytes);
  }
  ranks_agree("a file less on a rank", other, 20);
  ranks_agree("another window on a rank", shards, 21);
}

/* ---- refused ---------------------------------------------------------------------------------------------- */

static void refuse(const brim_feed_options *how, const brim_train_options *o, int code, const char *word) {
  brim_train_result result;
  brim_error err = {0};
  job j = open_job(how, 1);
  int status = train(&j, o, &result, &err);
  ok(status == code && strstr(err.message, word), "refused: %s", err.message);
  close_job(&j);
}

static void other_tokenizer(void) {
  const brim_feed_options how = feed_options(0);
  const brim_train_options o = train_options(NULL);
  brim_train_result result;
  brim_error err = {0};
  job j = open_job(&how, 1);
  brim_model_set_tokenizer(j.model, 1);
  ok(train(&j, &o, &result, &err) == BRIM_E_MISMATCH && strstr(err.message, "the feed: another tokenizer encoded the rows"),
     "refused: %s", err.message);
  close_job(&j);
}

static void mismatches(const char *output) {
  other_tokenizer();
  brim_feed_options how = feed_options(0);
  brim_train_options o = train_options(output);
  o.resume = true;
  how.window = 21;
  refuse(&how, &o, BRIM_E_MISMATCH, "window");
  how = feed_options(0);
  o.max_steps = 0;
  refuse(&how, &o, BRIM_E_USAGE, "max_steps");
  o = train_options(output);
  how.encode.max_length = 0;
  refuse(&how, &o, BRIM_E_USAGE, "max_length");
  how = feed_options(0);
  how.source.need_label = false;
  refuse(&how, &o, BRIM_E_USAGE, "need_label");
  how = feed_options(0);
  o.resume = true;
  gzFile gz = gzopen(scratch_file("shards/1.csv.gz"), "wb");
  gzputs(gz, "text,label\nabc,LABEL_0\n");
  gzclose(gz);
  refuse(&how, &o, BRIM_E_MISMATCH, "this file differs from the one");
}

int main(void) {
  data_start(1);
  brim_tokenizer_free(data_tokenizer());
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("training from a feed", "there are no golden models");
    return tap_done();
  }
  brim_error err;
  must(brim_labels_make(data_runtime, BRIM_TASK_CLASSIFICATION, names, 3, &labels, &err), &err);
  must(brim_labels_make(data_runtime, BRIM_TASK_TOKENS, names, 3, &word_labels, &err), &err);
  write_shards();
  as_from_memory();
  ends_first();
  char output[512], *log;
  snprintf(output, sizeof output, "%s", scratch_file("straight"));
  float *weights = straight(output, &log);
  for (uint64_t step = 1; step <= STEPS; step++)
    interrupted(step, weights, log);
  killed(weights, log);
  for (uint64_t stop = 2; stop < STEPS; stop += 5)
    slices_resume(stop);
  const char *words = write_words();
  readers_of_words(words, NULL);
  readers_of_words(words, "LABEL_0=0.5,LABEL_2=3");
  agreements();
  mismatches(output);
  free(weights);
  free(log);
  brim_labels_free(&labels), brim_labels_free(&word_labels);
  brim_runtime_free(data_runtime);
  return tap_done();
}
