/* CommonLit in the five folds of scikit-learn's KFold(5, shuffle=True, random_state=2021): tokens of the held-out part that are
 * not in training, as published with roberta-base's tokenizer. */
#include "brim/study.h"
#include "scratch.h"
#include "tap.h"

enum { ROWS = 2834, FOLDS = 5 };

/* ---- numpy's RandomState(seed).shuffle -------------------------------------------------------------------- */

/* Mersenne Twister 19937 (Matsumoto and Nishimura 1998). */
typedef struct twister {
  uint32_t state[624];
  int at;
} twister;

static void twister_seed(twister *t, uint32_t seed) {
  t->state[0] = seed;
  for (uint32_t i = 1; i < 624; i++)
    t->state[i] = 1812433253u * (t->state[i - 1] ^ (t->state[i - 1] >> 30)) + i;
  t->at = 624;
}

static uint32_t twister_next(twister *t) {
  for (int i = 0; t->at == 624 && i < 624; i++) {
    uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % 624] & 0x7fffffffu);
    t->state[i] = t->state[(i + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
  }
  t->at %= 624;
  uint32_t y = t->state[t->at++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

/* In 0 .. most: bits behind a mask, until they fit. */
static uint32_t twister_interval(twister *t, uint32_t most) {
  uint32_t mask = most, value;
  for (int shift = 1; shift < 32; shift *= 2)
    mask |= mask >> shift;
  while ((value = twister_next(t) & mask) > most)
    continue;
  return value;
}

static void kfold(uint32_t seed, int32_t *fold) {
  static int order[ROWS];
  twister t;
  twister_seed(&t, seed);
  for (int i = 0; i < ROWS; i++)
    order[i] = i;
  for (uint32_t i = ROWS - 1; i > 0; i--) {
    uint32_t j = twister_interval(&t, i);
    int row = order[i];
    order[i] = order[j], order[j] = row;
  }
  for (int f = 0, at = 0; f < FOLDS; f++)
    for (int left = ROWS / FOLDS + (f < ROWS % FOLDS); left > 0; left--)
      fold[order[at++]] = f;
}

/* ---- data ------------------------------------------------------------------------------------------------- */

/* The unpacked file in the scratch folder, or NULL. */
static const char *unpacked(const char *shared) {
  static char path[1024];
  char command[4096];
  snprintf(path, sizeof path, "%s", scratch_file("commonlit.csv"));
  snprintf(command, sizeof command, "xz -dc '%s/data/commonlit/train.csv.xz' > '%s' 2>/dev/null", shared, path);
  return system(command) == 0 ? path : NULL;
}

static brim_dataset *load(brim_runtime *runtime, const char *shared, const char *path) {
  char file[1024];
  brim_tokenizer *tokenizer;
  brim_dataset *dataset = NULL;
  brim_error err = {0};
  const brim_dataset_options options = {.source = {.text_column = "excerpt"}};
  snprintf(file, sizeof file, "%s/tokenizers/roberta-base/tokenizer.json", shared);
  if (brim_tokenizer_load(runtime, file, &tokenizer, &err))
    return NULL;
  if (brim_dataset_load(runtime, &path, 1, tokenizer, &options, &dataset, &err))
    printf("# %s\n", err.message);
  brim_tokenizer_free(tokenizer);
  return dataset;
}

static void expect(brim_runtime *runtime, const brim_dataset *dataset) {
  static const uint64_t unseen[FOLDS] = {1733, 1729, 1738, 1843, 1771};
  int32_t fold[ROWS];
  brim_folds folds;
  brim_overlap study;
  ok_int(brim_dataset_rows(dataset), ROWS, "rows");
  kfold(2021, fold);
  ok_int(brim_folds_given(runtime, fold, ROWS, FOLDS, &folds, NULL), BRIM_OK, "folds");
  ok_int(brim_study_folds(runtime, dataset, &folds, &study, NULL), BRIM_OK, "study");
  for (int f = 0; f < FOLDS; f++)
    ok(study.folds[f].unseen_types == unseen[f], "fold %d: %llu of %llu types, published %llu", f,
       (unsigned long long)study.folds[f].unseen_types, (unsigned long long)study.folds[f].valid_types,
       (unsigned long long)unseen[f]);
  brim_overlap_free(&study);
  brim_folds_free(&folds);
}

int main(void) {
  brim_runtime *runtime;
  const char *shared = tap_shared(), *path = shared ? unpacked(shared) : NULL;
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  brim_dataset *dataset = path ? load(runtime, shared, path) : NULL;
  if (dataset)
    expect(runtime, dataset);
  else
    tap_skip("CommonLit in five folds", "no shared data");
  brim_dataset_free(dataset);
  brim_runtime_free(runtime);
  return tap_done();
}
