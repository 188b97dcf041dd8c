/* The log of a run (whole lines only, one writer) and state.json (what is written is read; what differs is named). */
#include <signal.h>
#include <sys/resource.h>

#include "train/folder/folder.h"
#include "train/folder/log.h"
#include "train/folder/state.h"
#include "train_case.h"

static brim_runtime *runtime;
static brim_model *model; /* whose config.json a state keeps */

/* ---- the log ------------------------------------------------------------------------------------------------ */

static int say(brim_log_file *log, int64_t number, brim_error *err) {
  const brim_field field = {.name = "n", .kind = BRIM_VALUE_INT, .integer = number};
  const brim_event event = {"step", &field, 1};
  return brim_log_append(log, &event, err);
}

static void holds(const char *path, const char *want, const char *what) {
  char *text = case_read(path, NULL);
  ok_string(text, want, what);
  free(text);
}

#define LINE(n) "{\"event\":\"step\",\"n\":" #n "}\n"

static void log_lines(void) {
  char path[512];
  brim_log_file log, second;
  brim_error err = {0};
  snprintf(path, sizeof path, "%s", scratch_file("log.jsonl"));
  ok_int(brim_log_open(runtime, path, &log, &err), BRIM_OK, "a new log");
  ok(say(&log, 1, &err) == BRIM_OK && say(&log, 2, &err) == BRIM_OK, "two events");
  holds(path, LINE(1) LINE(2), "are two lines, at once in the file");
  ok(brim_log_open(runtime, path, &second, &err) == BRIM_E_USAGE && strstr(err.message, "another run"), "it has one writer: %s",
     err.message);
  uint64_t first = log.bytes / 2;
  ok_int(brim_log_cut(&log, first, &err), BRIM_OK, "cut after the first line");
  ok_int(say(&log, 3, &err), BRIM_OK, "and continued");
  holds(path, LINE(1) LINE(3), "the second line was replaced");
  ok_int(brim_log_cut(&log, first + 5, &err), BRIM_OK, "cut inside a line");
  holds(path, LINE(1), "keeps whole lines");
  ok_int(brim_log_cut(&log, 1u << 30, &err), BRIM_OK, "cut after the end");
  holds(path, LINE(1), "keeps everything");
  brim_log_close(&log);
  case_write(path, LINE(1) "{\"event\":\"st", strlen(LINE(1)) + 12);
  ok_int(brim_log_open(runtime, path, &log, &err), BRIM_OK, "a log that ends in half a line");
  ok_int(brim_log_cut(&log, UINT64_MAX, &err), BRIM_OK, "is cut");
  holds(path, LINE(1), "to whole lines");
  brim_log_close(&log);
}

static void log_full(void) {
  char path[512];
  brim_log_file log;
  brim_error err = {0};
  snprintf(path, sizeof path, "%s", scratch_file("full.jsonl"));
  if (brim_log_open(runtime, path, &log, &err))
    abort();
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){strlen(LINE(1)) + 7, RLIM_INFINITY});
  int first = say(&log, 1, &err), second = say(&log, 2, &err);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
  ok(first == BRIM_OK && second == BRIM_E_IO, "a full disk is reported: %s", err.message);
  holds(path, LINE(1), "and leaves no half line");
  brim_log_close(&log);
  ok_int(brim_log_open(runtime, "/proc/none/log.jsonl", &log, &err), BRIM_E_IO, "a log that cannot be made");
}

/* ---- the state ------------------------------------------------------------------------------------------------ */

static brim_train_options state_options(void) {
  brim_train_options options;
  brim_train_options_init(&options);
  options.best_metric = "accuracy";
  options.seed = 0xfedcba9876543210u; /* beyond what int64 holds */
  return options;
}

static brim_train_identity identity_of(const brim_train_options *options) {
  return (brim_train_identity){.options = options,
                               .model_type = "bert",
                               .model = model,
                               .kernels = "cpu-avx2",
                               .pooling = "cls",
                               .type_ids = true,
                               .initial_weights = 0xffffffffffffffffu,
                               .data_rows = 25000,
                               .judged_by = 9,
                               .data_fingerprint = 0x0123456789abcdefu};
}

static const brim_train_state sample = {.step = 427,
                                        .epoch = 1,
                                        .epoch_step = 12,
                                        .pending = true,
                                        .run = {0.1, 6832, 1u << 20, 1u << 21},
                                        .since_epoch = {1.0 / 3.0, 192, 5000, 6000},
                                        .since_log = {1e-300, 16, 400, 512},
                                        .last_loss = 0.69314718055994529,
                                        .best = 0.8298311444652908,
                                        .best_step = 400,
                                        .seconds = 12.5,
                                        .log_bytes = 123456};

static bool same_tally(const brim_tally *a, const brim_tally *b) {
  return a->loss == b->loss && a->weight == b->weight && a->rows == b->rows && a->tokens == b->tokens && a->slots == b->slots;
}

static void state_round_trip(const char *path) {
  brim_train_options options = state_options();
  brim_train_identity identity = identity_of(&options);
  brim_train_hashes hashes = {1, 0xfffffffffffffff0u, 77}, read = {0};
  brim_train_state s;
  brim_error err = {0};
  int status = brim_train_state_write(runtime, path, &sample, &identity, &hashes, &err);
  if (!status)
    status = brim_train_state_read(runtime, path, &identity, &s, &read, NULL, &err);
  if (!ok(status == BRIM_OK, "a state is written and read"))
    printf("# %s\n", err.message);
  ok(s.step == 427 && s.epoch == 1 && s.epoch_step == 12 && s.pending && !s.scheduled && s.best_step == 400 &&
         s.log_bytes == 123456,
     "its counts");
  ok(s.best == sample.best && s.last_loss == sample.last_loss && s.seconds == 12.5, "its numbers, to the bit");
  ok(same_tally(&s.run, &sample.run) && same_tally(&s.since_epoch, &sample.since_epoch) &&
         same_tally(&s.since_log, &sample.since_log),
     "its sums, to the bit");
  ok(read.values == 1 && read.average == 77 && read.optimizer == 0xfffffffffffffff0u, "its hashes");
  brim_train_state fresh = {.scheduled = true, .best = (double)NAN, .last_loss = (double)NAN};
  status = brim_train_state_write(runtime, path, &fresh, &identity, &hashes, &err);
  if (!status)
    status = brim_train_state_read(runtime, path, &identity, &s, &read, NULL, &err);
  ok(status == BRIM_OK && s.scheduled && isnan(s.best) && isnan(s.last_loss), "numbers that are not there yet stay so");
  char *kernels;
  int64_t slots;
  ok(brim_train_state_kernels(runtime, path, &kernels, &slots, &err) == BRIM_OK && slots == 0 && strcmp(kernels, "cpu-avx2") == 0,
     "the kernels alone");
  brim_runtime_release(runtime, kernels);
}

static void differs(const char *path, const brim_train_identity *identity, const char *word) {
  brim_train_state s;
  brim_train_hashes hashes;
  brim_error err = {0};
  int status = brim_train_state_read(runtime, path, identity, &s, &hashes, NULL, &err);
  ok(status == BRIM_E_MISMATCH && strstr(err.message, word), "refused: %s", err.message);
}

#define DIFFERS(field, value, word)                                                                                              \
  do {                                                                                                                           \
    brim_train_options o = state_options();                                                                                      \
    brim_train_identity i = identity_of(&o);                                                                                     \
    o.field = (value);                                                                                                           \
    differs(path, &i, word);                                                                                                     \
  } while (0)

static void state_differences(const char *path) {
  DIFFERS(lr, 4e-5, "begun with lr 5e-05");
  DIFFERS(plan.batch_size, 32, "begun with batch_size 16");
  DIFFERS(plan.batching, BRIM_SORTED, "begun with batching random");
  DIFFERS(plan.padding, BRIM_PAD_LONGEST, "begun with padding none");
  DIFFERS(plan.drop_last, true, "begun with drop_last false");
  DIFFERS(plan.oversize, BRIM_OVERSIZE_ALONE, "begun with oversize error");
  DIFFERS(plan.seed, 43, "begun with seed 42");
  DIFFERS(plan.max_length, 128, "max_length not given");
  DIFFERS(seed, 43, "begun with seed 18364758544493064720, now it is 43");
  DIFFERS(class_weights, "balanced", "class_weights not given");
  DIFFERS(label_smoothing, 0.1, "label_smoothing 0");
  DIFFERS(patience, 3, "patience not given");
  DIFFERS(best_metric, "loss", "begun with best_metric accuracy");
  brim_train_options options = state_options();
  brim_train_identity identity = identity_of(&options);
  options.save_every = 7, options.eval_every = 3, options.log_every = 2, options.keep_checkpoints = 5,
  options.output = "elsewhere";
  brim_train_state s;
  brim_train_hashes hashes;
  ok_int(brim_train_state_read(runtime, path, &identity, &s, &hashes, NULL, NULL), BRIM_OK, "the rhythm may change");
  brim_train_former former = {0};
  options.epochs = 0, options.max_steps = 9, options.resume_anyway = true;
  identity.kernels = "ref";
  ok_int(brim_train_state_read(runtime, path, &identity, &s, &hashes, &former, NULL), BRIM_OK,
         "and how long the run is, and kernels");
  ok(former.epochs == 1.0 && former.max_steps == 0 && strcmp(former.kernels, "cpu-avx2") == 0, "which are told as they were");
  options.resume_anyway = false;
  identity = identity_of(&options);
  identity.data_rows = 3;
  differs(path, &identity, "other training data (25000 rows, now 3)");
  identity = identity_of(&options);
  identity.data_fingerprint++;
  differs(path, &identity, "with other contents");
  identity = identity_of(&options);
  identity.judged_by++;
  differs(path, &identity, "other evaluation rows");
  identity.judged_by = 0;
  ok_int(brim_train_state_read(runtime, path, &identity, &s, &hashes, NULL, NULL), BRIM_OK, "a run may cease to evaluate");
  identity = identity_of(&options);
  identity.kernels = "ref";
  differs(path, &identity, "kernels cpu-avx2");
  identity = identity_of(&options);
  identity.initial_weights--;
  differs(path, &identity, "other weights");
  identity = identity_of(&options);
  memcpy(identity.pooling, "mean", sizeof "mean");
  differs(path, &identity, "with pooling cls, now it is mean: give the same pooling and layers");
  identity = identity_of(&options);
  identity.type_ids = false;
  differs(path, &identity, "with no_type_ids false, now it is true");
  identity = identity_of(&options);
  identity.model_type = "roberta";
  differs(path, &identity, "another kind of model");
}

/* Every prefix, and every byte changed: an error or a state, never worse. */
static void state_damaged(const char *path) {
  size_t length;
  char *bytes = case_read(path, &length);
  brim_train_options options = state_options();
  brim_train_identity identity = identity_of(&options);
  const char *damaged = scratch_file("damaged.json");
  int refused = 0;
  for (size_t i = 0; i + 2 < length; i += 3) {
    brim_train_state s;
    brim_train_hashes hashes;
    case_write(damaged, bytes, i);
    refused += brim_train_state_read(runtime, damaged, &identity, &s, &hashes, NULL, NULL) != BRIM_OK;
    bytes[i] ^= 1;
    case_write(damaged, bytes, length);
    if (brim_train_state_read(runtime, damaged, &identity, &s, &hashes, NULL, NULL) == BRIM_E_INTERNAL)
      refused = -1000000;
    bytes[i] ^= 1;
  }
  ok_int(refused, length / 3, "a state that is cut short is refused");
  const char *later = "{\"version\":99}";
  brim_error err;
  brim_train_state s;
  brim_train_hashes hashes;
  case_write(damaged, later, strlen(later));
  ok(brim_train_state_read(runtime, damaged, &identity, &s, &hashes, NULL, &err) == BRIM_E_UNSUPPORTED, "a later version: %s",
     err.message);
  free(bytes);
}

/* ---- the run folder ----------------------------------------------------------------------------------------- */

/* What a run replaces is put back by the rank that holds the folder: others would take away what that one has put back. */
static void folder_watched(void) {
  static const char log[] = "{\"event\":\"start\"}\n";
  brim_text state;
  const char *path = scratch_file("run");
  brim_run_folder writer, watcher;
  brim_error err = {0};
  if (mkdir(path, 0777) || mkdir(case_path(path, "checkpoints"), 0777) || mkdir(case_path(path, "checkpoints/step-3"), 0777))
    abort();
  brim_text_init(&state, runtime);
  brim_text_string(&state, "{\"version\":3");
  brim_train_state_seal(&state);
  case_write(case_path(path, "checkpoints/step-3/state.json"), state.data, state.length);
  brim_text_free(&state);
  case_write(case_path(path, "log.jsonl"), log, strlen(log));
  case_write(case_path(path, "config.json"), "{}", 2);
  ok_int(brim_run_folder_open(runtime, path, false, true, &writer, &err), BRIM_OK, "a run is to be replaced");
  ok_int(brim_run_folder_watch(runtime, path, &watcher, &err), BRIM_OK, "another rank watches");
  ok_string(case_names(path), "log.jsonl replaced-run", "what was there lies aside");
  ok_int(brim_run_folder_restore(&watcher, &err), BRIM_OK, "the rank that watches has nothing to put back");
  ok_string(case_names(path), "log.jsonl replaced-run", "and leaves everything where it is");
  ok_int(brim_run_folder_restore(&writer, &err), BRIM_OK, "the one that writes puts it back");
  ok_string(case_names(path), "checkpoints config.json log.jsonl", "all of it");
  ok_string(case_names(case_path(path, "checkpoints")), "step-3", "with the checkpoints");
  holds(case_path(path, "log.jsonl"), log, "and the log");
  brim_run_folder_close(&watcher);
  brim_run_folder_close(&writer);
}

int main(void) {
  brim_error err;
  signal(SIGXFSZ, SIG_IGN);
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err))
    return 99;
  char path[512];
  snprintf(path, sizeof path, "%s", scratch_file("state.json"));
  if (brim_model_load(runtime, case_model_folder("bert-pair-3"), NULL, &model, &err))
    abort();
  log_lines();
  log_full();
  folder_watched();
  state_round_trip(path);
  state_differences(path);
  state_damaged(path);
  brim_model_free(model);
  brim_runtime_free(runtime);
  return tap_done();
}
