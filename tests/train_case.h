/* train_case.h: small training jobs on one of the golden models, with dropout, and what to compare of them. */
#ifndef BRIM_TESTS_TRAIN_CASE_H
#define BRIM_TESTS_TRAIN_CASE_H
#include <dirent.h>
#include <errno.h>

#include "brim/study.h"
#include "scratch.h"
#include "tap.h"

/* ---- files ------------------------------------------------------------------------------------------------ */

/* The bytes of a file and a NUL, or NULL. */
__attribute__((unused)) static char *case_read(const char *path, size_t *length) {
  FILE *f = fopen(path, "rb");
  if (!f)
    return NULL;
  fseek(f, 0, SEEK_END);
  size_t size = (size_t)ftell(f);
  rewind(f);
  char *bytes = malloc(size + 1);
  if (fread(bytes, 1, size, f) != size)
    abort();
  bytes[size] = 0;
  fclose(f);
  if (length)
    *length = size;
  return bytes;
}

__attribute__((unused)) static void case_write(const char *path, const void *bytes, size_t length) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, length, f) != length || fclose(f) != 0) {
    perror(path);
    exit(99);
  }
}

/* folder/name; eight are good at a time. */
__attribute__((unused)) static const char *case_path(const char *folder, const char *name) {
  static char paths[8][1024];
  static int next;
  char *path = paths[next++ % 8];
  if (snprintf(path, sizeof paths[0], "%s/%s", folder, name) >= (int)sizeof paths[0])
    abort();
  return path;
}

__attribute__((unused)) static bool case_exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

__attribute__((unused)) static void case_remove(const char *path) {
  nftw(path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Names in a folder, sorted, with spaces between. */
__attribute__((unused)) static const char *case_names(const char *folder) {
  static char text[2048];
  struct dirent **names;
  int count = scandir(folder, &names, NULL, alphasort);
  text[0] = 0;
  for (int i = 0; i < count; i++) {
    if (names[i]->d_name[0] != '.') {
      if (*text)
        strcat(text, " ");
      strcat(text, names[i]->d_name);
    }
    free(names[i]);
  }
  if (count >= 0)
    free(names);
  return text;
}

/* ---- models and data -------------------------------------------------------------------------------------- */

static void case_replace(char *text, const char *from, const char *to) {
  char *at = strstr(text, from);
  if (!at || strlen(from) != strlen(to)) {
    printf("Bail out! \"%s\" is not in config.json\n", from);
    exit(99);
  }
  memcpy(at, to, strlen(to));
}

/* A folder with a golden model whose dropout is 0.3 (so that it matters), or NULL when there is none of that name. */
__attribute__((unused)) static const char *case_model_folder(const char *name) {
  static char folders[4][512];
  static int next;
  char *folder = folders[next++ % 4];
  size_t length;
  const char *source = case_path(case_path(tap_source(), "tests/golden/models"), name);
  char *config = case_read(case_path(source, "config.json"), NULL);
  char *weights = case_read(case_path(source, "model.safetensors"), &length);
  bool found = config && weights;
  if (found) {
    if (snprintf(folder, sizeof folders[0], "%s/%s", scratch_folder(), name) >= (int)sizeof folders[0])
      abort();
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
      exit(99);
    if (strstr(config, "\"model_type\": \"modernbert\"")) {
      case_replace(config, "\"attention_dropout\": 0.0", "\"attention_dropout\": 0.3");
      case_replace(config, "\"mlp_dropout\": 0.0", "\"mlp_dropout\": 0.3");
      case_replace(config, "\"embedding_dropout\": 0.0", "\"embedding_dropout\": 0.3");
    } else {
      case_replace(config, "\"attention_probs_dropout_prob\": 0.0", "\"attention_probs_dropout_prob\": 0.3");
      case_replace(config, "\"hidden_dropout_prob\": 0.0", "\"hidden_dropout_prob\": 0.3");
    }
    case_write(case_path(folder, "config.json"), config, strlen(config));
    case_write(case_path(folder, "model.safetensors"), weights, length);
  }
  free(config);
  free(weights);
  return found ? folder : NULL;
}

static double case_unit(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(*state >> 11) / 9007199254740992.0;
}

/* Rows of 2 to `longest` tokens whose class (or value) shows in their tokens. */
__attribute__((unused)) static brim_dataset *case_dataset(brim_runtime *runtime, uint64_t rows, int longest, int vocab,
                                                          int classes, uint64_t seed) {
  brim_sample *samples = calloc(rows, sizeof *samples);
  int32_t *ids = calloc(rows * (size_t)longest, sizeof *ids);
  uint8_t *types = calloc(rows * (size_t)longest, 1);
  brim_dataset *dataset = NULL;
  brim_error err;
  for (uint64_t r = 0; r < rows; r++) {
    int length = 2 + (int)(case_unit(&seed) * (longest - 1)), label = (int)(case_unit(&seed) * (classes > 1 ? classes : 4));
    int32_t *row = ids + r * (size_t)longest;
    uint8_t *type = types + r * (size_t)longest;
    for (int i = 0; i < length; i++) {
      row[i] = 1 + (int)(case_unit(&seed) * (vocab - 1));
      if (case_unit(&seed) < 0.3)
        row[i] = 1 + label;
      type[i] = i > length / 2;
    }
    samples[r] = (brim_sample){.ids = row, .type_ids = type, .length = length, .label = (float)label, .row = r};
  }
  if (brim_dataset_from_samples(runtime, samples, rows, NULL, &dataset, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  free(samples), free(ids), free(types);
  return dataset;
}

/* ---- jobs ------------------------------------------------------------------------------------------------- */

/* A runtime, a model and data: a process of its own, as far as brim can tell. */
typedef struct case_job {
  brim_runtime *runtime;
  brim_model *model;
  brim_dataset *train, *eval;
} case_job;

__attribute__((unused)) static int case_open_with(case_job *job, const char *folder, int threads, const brim_allocator *allocator,
                                                  const char *cpu, brim_error *err) {
  *job = (case_job){0};
  const brim_runtime_options options = {.threads = threads, .allocator = allocator, .cpu = cpu};
  int status = brim_runtime_new(&options, &job->runtime, err);
  const brim_model_options model = {.seed = 1};
  if (!status)
    status = brim_model_load(job->runtime, folder, &model, &job->model, err);
  return status;
}

/* With 44 rows to train on and 30 to evaluate on (in more than one part). */
__attribute__((unused)) static case_job case_open(const char *folder, int threads) {
  case_job job;
  brim_error err = {0};
  if (case_open_with(&job, folder, threads, NULL, NULL, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  int vocab = brim_model_vocab_size(job.model), outputs = brim_model_outputs(job.model);
  job.train = case_dataset(job.runtime, 44, 30, vocab, outputs, 1);
  job.eval = case_dataset(job.runtime, 30, 20, vocab, outputs, 2);
  return job;
}

__attribute__((unused)) static void case_close(case_job *job) {
  brim_dataset_free(job->train);
  brim_dataset_free(job->eval);
  brim_model_free(job->model);
  brim_runtime_free(job->runtime);
  *job = (case_job){0};
}

/* Two epochs of 6 steps, the last of each with 4 rows. */
__attribute__((unused)) static brim_train_options case_options(const char *output) {
  brim_train_options options;
  brim_train_options_init(&options);
  options.plan.batch_size = 8;
  options.epochs = 2;
  options.lr = 3e-3;
  options.warmup_steps = 2;
  options.output = output;
  return options;
}

/* Trains with the job's own evaluation set. */
__attribute__((unused)) static int case_train(case_job *job, const brim_train_options *options, brim_train_result *result,
                                              brim_error *err) {
  const brim_named_dataset eval = {"dev", job->eval};
  return brim_train(job->runtime, job->model, NULL, job->train, &eval, job->eval ? 1 : 0, options, result, err);
}

/* ---- comparisons ------------------------------------------------------------------------------------------ */

/* The weights, copied. */
__attribute__((unused)) static float *case_weights(const case_job *job) {
  size_t bytes = (size_t)brim_model_flat_size(job->model) * sizeof(float);
  float *copy = malloc(bytes);
  memcpy(copy, brim_model_values(job->model), bytes);
  return copy;
}

__attribute__((unused)) static bool case_same_weights(const case_job *job, const float *weights) {
  return memcmp(brim_model_values(job->model), weights, (size_t)brim_model_flat_size(job->model) * sizeof(float)) == 0;
}

/* Relative L2 distance. */
__attribute__((unused)) static double case_distance(const float *a, const float *b, int64_t count) {
  double apart = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    size += (double)b[i] * (double)b[i];
  }
  return sqrt(apart) / (sqrt(size) + 1e-30);
}

/* The log without what was measured, which alone may differ between runs: "seconds":0.0123 -> "seconds":0. */
__attribute__((unused)) static char *case_log(const char *output) {
  static const char *const measured[] = {"\"seconds\":", "\"memory_held\":", "\"memory_planned\":", "\"memory_peak\":"};
  char *text = case_read(case_path(output, "log.jsonl"), NULL);
  if (!text)
    return strdup("");
  char *to = text;
  for (const char *from = text; *from;) {
    size_t length = 0;
    for (int i = 0; i < 4; i++)
      if (strncmp(from, measured[i], strlen(measured[i])) == 0)
        length = strlen(measured[i]);
    if (length == 0) {
      *to++ = *from++;
      continue;
    }
    memmove(to, from, length);
    to[length] = '0';
    to += length + 1, from += length;
    while (*from && *from != ',' && *from != '}')
      from++;
  }
  *to = 0;
  return text;
}

/* Shows the first line in which two texts differ. */
__attribute__((unused)) static bool case_same_text(const char *got, const char *want, const char *what) {
  bool same = ok(strcmp(got, want) == 0, "%s", what);
  while (!same && *got && *want) {
    size_t g = strcspn(got, "\n"), w = strcspn(want, "\n");
    if (g != w || memcmp(got, want, g) != 0) {
      printf("#  got %.*s\n# want %.*s\n", (int)g, got, (int)w, want);
      break;
    }
    got += g + (got[g] != 0), want += w + (want[w] != 0);
  }
  return same;
}

#endif
