/* Texts in the five folds of scikit-learn's KFold(5, shuffle=True, random_state=2021): tokens of the held-out part that are not
 * in training, as counted with sets (tools/make_text_golden.py). With --data DIR: those of CommonLit with roberta-base's
 * tokenizer, as published. */
#include "base/json.h"
#include "brim/study.h"
#include "scratch.h"
#include "tap.h"

enum { FOLDS = 5, MOST_ROWS = 4000 };

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

/* In 0 .. most: bits under a mask, until they fit. */
static uint32_t twister_interval(twister *t, uint32_t most) {
  uint32_t mask = most, value;
  for (int shift = 1; shift < 32; shift *= 2)
    mask |= mask >> shift;
  while ((value = twister_next(t) & mask) > most)
    continue;
  return value;
}

static void kfold(uint32_t seed, int rows, int32_t *fold) {
  static int order[MOST_ROWS];
  twister t;
  twister_seed(&t, seed);
  for (int i = 0; i < rows; i++)
    order[i] = i;
  for (uint32_t i = rows - 1; i > 0; i--) {
    uint32_t j = twister_interval(&t, i);
    int row = order[i];
    order[i] = order[j], order[j] = row;
  }
  for (int f = 0, at = 0; f < FOLDS; f++)
    for (int left = rows / FOLDS + (f < rows % FOLDS); left > 0; left--)
      fold[order[at++]] = f;
}

/* ---- data ------------------------------------------------------------------------------------------------- */

/* The unpacked file in the scratch folder, or NULL. */
static const char *unpacked(const char *data) {
  static char path[1024];
  char command[4096];
  snprintf(path, sizeof path, "%s", scratch_file("commonlit.csv"));
  snprintf(command, sizeof command, "xz -dc '%s/data/commonlit/train.csv.xz' > '%s' 2>/dev/null", data, path);
  return system(command) == 0 ? path : NULL;
}

static brim_dataset *load(brim_runtime *runtime, const char *tokenizer_file, const char *path, const char *column) {
  brim_tokenizer *tokenizer;
  brim_dataset *dataset = NULL;
  brim_error err = {0};
  const brim_dataset_options options = {.source = {.text_column = column}};
  if (brim_tokenizer_load(runtime, tokenizer_file, &tokenizer, &err)) {
    printf("# %s\n", err.message);
    return NULL;
  }
  if (brim_dataset_load(runtime, &path, 1, tokenizer, &options, &dataset, &err))
    printf("# %s\n", err.message);
  brim_tokenizer_free(tokenizer);
  return dataset;
}

static void study_of(brim_runtime *runtime, const brim_dataset *dataset, int rows, brim_folds *folds, brim_overlap *study) {
  int32_t fold[MOST_ROWS];
  ok_int(brim_dataset_rows(dataset), rows, "rows");
  kfold(2021, rows, fold);
  ok_int(brim_folds_given(runtime, fold, (uint64_t)rows, FOLDS, folds, NULL), BRIM_OK, "folds");
  ok_int(brim_study_folds(runtime, dataset, folds, study, NULL), BRIM_OK, "study");
}

static void check_published(brim_runtime *runtime, const char *data) {
  static const uint64_t unseen[FOLDS] = {1733, 1729, 1738, 1843, 1771};
  char tokenizer[1024];
  brim_folds folds;
  brim_overlap study;
  snprintf(tokenizer, sizeof tokenizer, "%s/tokenizers/roberta-base/tokenizer.json", data);
  const char *path = unpacked(data);
  brim_dataset *dataset = path ? load(runtime, tokenizer, path, "excerpt") : NULL;
  if (!ok(dataset != NULL, "CommonLit and roberta-base's tokenizer are in the data"))
    return;
  study_of(runtime, dataset, 2834, &folds, &study);
  for (int f = 0; f < FOLDS; f++)
    ok(study.folds[f].unseen_types == unseen[f], "fold %d: %llu of %llu types, published %llu", f,
       (unsigned long long)study.folds[f].unseen_types, (unsigned long long)study.folds[f].valid_types,
       (unsigned long long)unseen[f]);
  brim_overlap_free(&study);
  brim_folds_free(&folds);
  brim_dataset_free(dataset);
}

/* One fold's figures in folds.json. */
static void check_fold(const brim_fold_overlap *got, const brim_json_value *want, int f) {
  const struct {
    const char *name;
    uint64_t got;
  } figures[] = {{"train_tokens", got->train_tokens}, {"valid_tokens", got->valid_tokens}, {"train_types", got->train_types},
                 {"valid_types", got->valid_types},   {"unseen_types", got->unseen_types}, {"unseen_tokens", got->unseen_tokens},
                 {"unseen_rows", got->unseen_rows}};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    uint64_t wanted = (uint64_t)brim_json_number(brim_json_get(want, figures[i].name));
    ok(figures[i].got == wanted, "fold %d: %s: %llu, counted %llu", f, figures[i].name, (unsigned long long)figures[i].got,
       (unsigned long long)wanted);
  }
}

static void check_made(brim_runtime *runtime) {
  char golden[512], tokenizer[1024], texts[1024], figures[1024];
  brim_error err = {0};
  brim_json_document *document;
  brim_folds folds;
  brim_overlap study;
  snprintf(golden, sizeof golden, "%s/tests/golden", tap_source());
  snprintf(tokenizer, sizeof tokenizer, "%s/tokenizers/byte-bpe", golden);
  snprintf(texts, sizeof texts, "%s/texts/made.jsonl.gz", golden);
  snprintf(figures, sizeof figures, "%s/folds.json", golden);
  brim_dataset *dataset = load(runtime, tokenizer, texts, "text");
  if (!ok(dataset && brim_json_load(runtime, figures, 0, &document, &err) == BRIM_OK, "made texts and their figures"))
    return;
  const brim_json_value *root = brim_json_root(document), *list = brim_json_get(root, "folds"), *want = brim_json_first(list);
  study_of(runtime, dataset, (int)brim_json_number(brim_json_get(root, "rows")), &folds, &study);
  for (int f = 0; f < FOLDS; f++, want = brim_json_after(list, want))
    check_fold(&study.folds[f], want, f);
  brim_overlap_free(&study);
  brim_folds_free(&folds);
  brim_json_free(document);
  brim_dataset_free(dataset);
}

int main(int argc, char **argv) {
  brim_runtime *runtime;
  const char *data = tap_data(argc, argv);
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  if (data)
    check_published(runtime, data);
  else
    check_made(runtime);
  brim_runtime_free(runtime);
  return tap_done();
}
