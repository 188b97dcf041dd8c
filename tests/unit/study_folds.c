/* folds: who is held out when, and which tokens a fold has never seen. */
#include "brim/study.h"
#include "scratch.h"
#include "study/internal.h"
#include "tap.h"

static brim_runtime *runtime;

static brim_dataset *dataset_of(const float *labels, uint64_t rows, bool regression) {
  static const int32_t ids[] = {1, 2, 3};
  brim_sample samples[1000];
  brim_labels mapping;
  brim_dataset *dataset;
  const char *names[] = {"bad", "fine", "good"};
  for (uint64_t i = 0; i < rows; i++)
    samples[i] = (brim_sample){.ids = ids, .length = 3, .label = labels[i]};
  if (brim_labels_make(runtime, regression ? BRIM_TASK_REGRESSION : BRIM_TASK_CLASSIFICATION, regression ? NULL : names,
                       regression ? 1 : 3, &mapping, NULL) ||
      brim_dataset_from_samples(runtime, samples, rows, &mapping, &dataset, NULL))
    exit(99);
  brim_labels_free(&mapping);
  return dataset;
}

static bool same_folds(const brim_folds *a, const brim_folds *b) {
  return a->rows == b->rows && memcmp(a->fold, b->fold, a->rows * sizeof *a->fold) == 0;
}

static void plain(void) {
  brim_folds folds, again, other;
  brim_error err = {0};
  ok_int(brim_folds_shuffle(runtime, 23, 5, 7, &folds, NULL), BRIM_OK, "five folds of 23 rows");
  ok(folds.sizes[0] == 5 && folds.sizes[1] == 5 && folds.sizes[2] == 5 && folds.sizes[3] == 4 && folds.sizes[4] == 4,
     "the first ones have a row more");
  uint64_t counted[5] = {0};
  for (uint64_t row = 0; row < 23; row++)
    counted[folds.fold[row]]++;
  ok(memcmp(counted, folds.sizes, sizeof counted) == 0, "every row is in one of them");
  ok_int(brim_folds_shuffle(runtime, 23, 5, 7, &again, NULL), BRIM_OK, "again");
  ok_int(brim_folds_shuffle(runtime, 23, 5, 8, &other, NULL), BRIM_OK, "another seed");
  ok(same_folds(&folds, &again) && !same_folds(&folds, &other), "the seed decides, and nothing else");
  brim_folds_free(&folds), brim_folds_free(&again), brim_folds_free(&other);
  ok_int(brim_folds_shuffle(runtime, 23, 1, 7, &folds, &err), BRIM_E_USAGE, "one fold");
  ok_int(brim_folds_shuffle(runtime, 4, 5, 7, &folds, &err), BRIM_E_USAGE, "more folds than rows");
  ok(strstr(err.message, "5 folds of 4 rows") && !folds.fold, "says so");
  brim_folds_free(&folds);
  brim_folds_free(NULL);
}

/* No row prefers a fold: over many seeds each falls into each about equally often. */
static void uniform(void) {
  enum { ROWS = 10, FOLDS = 5, SEEDS = 2000 };
  int hits[ROWS][FOLDS] = {{0}}, least = SEEDS, most = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    brim_folds folds;
    if (brim_folds_shuffle(runtime, ROWS, FOLDS, seed, &folds, NULL))
      exit(99);
    for (int row = 0; row < ROWS; row++)
      hits[row][folds.fold[row]]++;
    brim_folds_free(&folds);
  }
  for (int i = 0; i < ROWS * FOLDS; i++) {
    int count = hits[i / FOLDS][i % FOLDS];
    least = count < least ? count : least, most = count > most ? count : most;
  }
  ok(least > 310 && most < 490, "400 expected, five deviations apart at most: %d to %d", least, most);
}

static void classes(void) {
  float labels[31];
  brim_folds folds;
  brim_error err = {0};
  for (int i = 0; i < 31; i++)
    labels[i] = i < 19 ? 0 : i < 26 ? 2 : 1;
  brim_dataset *dataset = dataset_of(labels, 31, false);
  ok_int(brim_folds_stratify(runtime, dataset, 5, 3, &folds, NULL), BRIM_OK, "three classes");
  int of[5][3] = {{0}}, size_apart = 0, class_apart = 0;
  for (int row = 0; row < 31; row++)
    of[folds.fold[row]][(int)labels[row]]++;
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 5; b++) {
      int apart = (int)folds.sizes[a] - (int)folds.sizes[b];
      size_apart = apart > size_apart ? apart : size_apart;
      for (int c = 0; c < 3; c++)
        class_apart = of[a][c] - of[b][c] > class_apart ? of[a][c] - of[b][c] : class_apart;
    }
  ok(size_apart == 1 && class_apart == 1, "sizes and classes differ by one row at most");
  brim_folds_free(&folds);
  ok_int(brim_folds_stratify(runtime, dataset, 6, 3, &folds, &err), BRIM_E_USAGE, "more folds than the smallest class has rows");
  ok(strstr(err.message, "\"fine\" has too few rows (5)") != NULL, "names the class");
  brim_dataset_free(dataset);
  brim_sample bare = {.ids = (int32_t[]){1}, .length = 1, .label = NAN}, two[] = {bare, bare};
  if (brim_dataset_from_samples(runtime, two, 2, NULL, &dataset, NULL))
    exit(99);
  ok_int(brim_folds_stratify(runtime, dataset, 2, 3, &folds, &err), BRIM_E_USAGE, "no labels");
  brim_dataset_free(dataset);
}

/* Of 4 * 30 rows: class 0 in all, 1 in every third, 2 in eight rows and twice in each, 3 in one; and ten rows without a label. */
static void words(void) {
  enum { ROWS = 130, FOLDS = 4, LENGTH = 6 };
  static const int32_t ids[LENGTH] = {1, 2, 3, 4, 5, 6};
  static int32_t labels[ROWS][LENGTH];
  brim_sample samples[ROWS];
  brim_labels mapping;
  brim_dataset *dataset;
  brim_folds folds, again, plain;
  for (int row = 0; row < ROWS; row++) {
    const bool bare = row >= 120;
    const int32_t of[LENGTH] = {
        0, 0, row % 3 ? 0 : 1, row < 8 ? 2 : 0, row < 8 ? 2 : BRIM_NO_LABEL, row == 50 ? 3 : BRIM_NO_LABEL};
    for (int i = 0; i < LENGTH; i++)
      labels[row][i] = bare ? BRIM_NO_LABEL : of[i];
    samples[row] = (brim_sample){.ids = ids, .length = LENGTH, .token_labels = labels[row], .label = NAN};
  }
  if (brim_labels_make(runtime, BRIM_TASK_TOKENS, (const char *[]){"O", "PER", "LOC", "ORG"}, 4, &mapping, NULL) ||
      brim_dataset_from_samples(runtime, samples, ROWS, &mapping, &dataset, NULL))
    exit(99);
  ok_int(brim_folds_stratify(runtime, dataset, FOLDS, 3, &folds, NULL), BRIM_OK, "labels of words");
  int of[FOLDS][4] = {{0}}, least[4], most[4] = {0};
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < LENGTH; i++)
      if (labels[row][i] != BRIM_NO_LABEL)
        of[folds.fold[row]][labels[row][i]]++;
  for (int c = 0; c < 4; c++) {
    least[c] = of[0][c];
    for (int fold = 0; fold < FOLDS; fold++)
      least[c] = of[fold][c] < least[c] ? of[fold][c] : least[c], most[c] = of[fold][c] > most[c] ? of[fold][c] : most[c];
  }
  ok(least[2] == 4 && most[2] == 4, "16 words of a rare class: four in each fold");
  ok(least[1] == 10 && most[1] == 10, "40 words of another: ten in each, those beside the rare one too");
  ok(least[3] == 0 && most[3] == 1, "one word is in one fold");
  ok(most[0] - least[0] <= 12, "and %d to %d of the class that most words have", least[0], most[0]);
  ok(folds.sizes[0] == 33 && folds.sizes[1] == 33 && folds.sizes[2] == 32 && folds.sizes[3] == 32, "sizes differ by one row");
  ok_int(brim_folds_stratify(runtime, dataset, FOLDS, 3, &again, NULL), BRIM_OK, "again");
  ok_int(brim_folds_shuffle(runtime, ROWS, FOLDS, 3, &plain, NULL), BRIM_OK, "not stratified");
  ok(same_folds(&folds, &again) && !same_folds(&folds, &plain), "the seed decides");
  brim_folds_free(&folds), brim_folds_free(&again), brim_folds_free(&plain);
  brim_dataset_free(dataset);
  brim_labels_free(&mapping);
}

static void values(void) {
  float labels[103];
  brim_folds folds;
  double least = 1e9, most = -1e9;
  for (int i = 0; i < 103; i++)
    labels[i] = (float)((i * 37) % 103);
  brim_dataset *dataset = dataset_of(labels, 103, true);
  ok_int(brim_folds_stratify(runtime, dataset, 4, 1, &folds, NULL), BRIM_OK, "values");
  for (int fold = 0; fold < 4; fold++) {
    double sum = 0;
    for (int row = 0; row < 103; row++)
      sum += folds.fold[row] == fold ? (double)labels[row] : 0;
    sum /= (double)folds.sizes[fold];
    least = fmin(least, sum), most = fmax(most, sum);
  }
  ok(most - least < 4, "their means are close: %.2f to %.2f", least, most);
  for (int bin = 0; bin < 100; bin += 4) {
    int seen = 0;
    for (int row = 0; row < 103; row++)
      if ((int)labels[row] >= bin && (int)labels[row] < bin + 4)
        seen |= 1 << folds.fold[row];
    if (seen != 15)
      ok(false, "values %d to %d are in every fold", bin, bin + 3);
  }
  brim_folds_free(&folds);
  brim_dataset_free(dataset);
}

/* Rows of one query stay together; queries with as many rows go where a shuffle of so many rows goes, and nothing is stratified.
 */
static void queries(void) {
  enum { QUERIES = 23 };
  static const int32_t ids[] = {1, 2, 3};
  brim_sample samples[2 * QUERIES];
  brim_labels mapping;
  brim_dataset *dataset;
  brim_folds folds, shuffled;
  brim_error err = {0};
  int wrong = 0;
  for (int each = 1; each <= 2; each++) {
    for (int i = 0; i < each * QUERIES; i++)
      samples[i] = (brim_sample){.ids = ids, .length = 3, .label = (float)(i % 2), .query = 1 + (uint64_t)(i % QUERIES)};
    if (brim_labels_make(runtime, BRIM_TASK_RERANK, NULL, 1, &mapping, NULL) ||
        brim_dataset_from_samples(runtime, samples, (uint64_t)each * QUERIES, &mapping, &dataset, NULL) ||
        brim_folds_deal(runtime, dataset, 5, 7, &folds, NULL) || brim_folds_shuffle(runtime, QUERIES, 5, 7, &shuffled, NULL))
      exit(99);
    for (int i = 0; i < each * QUERIES; i++)
      wrong += folds.fold[i] != shuffled.fold[i % QUERIES];
    brim_folds_free(&folds), brim_folds_free(&shuffled);
    ok_int(brim_folds_stratify(runtime, dataset, 5, 7, &folds, &err), BRIM_E_USAGE, "a reranker's rows, stratified");
    ok(strstr(err.message, "stay together") != NULL, "says why: %s", err.message);
    brim_dataset_free(dataset);
    brim_labels_free(&mapping);
  }
  ok(wrong == 0, "queries and rows are dealt in one order");
}

static void given(void) {
  brim_folds folds;
  brim_error err = {0};
  ok_int(brim_folds_given(runtime, (int32_t[]){1, 0, 2, 1}, 4, 0, &folds, NULL), BRIM_OK, "given");
  ok(folds.count == 3 && folds.sizes[1] == 2, "three folds");
  brim_folds_free(&folds);
  ok_int(brim_folds_given(runtime, (int32_t[]){1, 0, 3, 1}, 4, 0, &folds, &err), BRIM_E_USAGE, "a gap");
  ok(strstr(err.message, "no row is in fold 2") != NULL, "says which");
  ok_int(brim_folds_given(runtime, (int32_t[]){1, 0, 2, 1}, 4, 2, &folds, &err), BRIM_E_USAGE, "more than were announced");
  ok_int(brim_folds_given(runtime, (int32_t[]){1, 0, -1, 1}, 4, 0, &folds, &err), BRIM_E_USAGE, "a negative one");
  ok_int(brim_folds_given(runtime, (int32_t[]){0, 0}, 2, 0, &folds, &err), BRIM_E_USAGE, "only one");
}

static void parts(void) {
  float labels[] = {0, 1, 2, 0, 1};
  brim_dataset *dataset = dataset_of(labels, 5, false), *held, *rest;
  brim_folds folds;
  if (brim_folds_given(runtime, (int32_t[]){0, 1, 0, 1, 1}, 5, 0, &folds, NULL))
    exit(99);
  ok_int(brim_folds_part(runtime, dataset, &folds, 0, true, &held, NULL), BRIM_OK, "held out");
  ok_int(brim_folds_part(runtime, dataset, &folds, 0, false, &rest, NULL), BRIM_OK, "the rest");
  brim_sample sample;
  brim_dataset_sample(held, 1, &sample);
  ok(brim_dataset_rows(held) == 2 && brim_dataset_rows(rest) == 3 && sample.label == 2 && brim_dataset_origin(held, 1) == 2 &&
         brim_dataset_origin(rest, 2) == 4,
     "rows with their labels, and where they come from");
  ok(brim_dataset_labels(held)->count == 3 && strcmp(brim_dataset_labels(rest)->names[1], "fine") == 0, "and the mapping");
  brim_dataset_free(held), brim_dataset_free(rest);
  ok_int(brim_folds_part(runtime, dataset, &folds, 2, true, &held, NULL), BRIM_E_USAGE, "a fold that is not there");
  ok_int(brim_dataset_subset(runtime, dataset, (uint64_t[]){5}, 1, &held, NULL), BRIM_E_USAGE, "a row that is not there");
  ok_int(brim_dataset_subset(runtime, dataset, NULL, 0, &held, NULL), BRIM_E_USAGE, "no rows");
  brim_folds_free(&folds);
  brim_dataset_free(dataset);
}

static void overlap(void) {
  const brim_sample samples[] = {{.ids = (int32_t[]){1, 5, 5, 2}, .length = 4},
                                 {.ids = (int32_t[]){1, 6, 2}, .length = 3},
                                 {.ids = (int32_t[]){1, 5, 7, 7, 8, 2}, .length = 6},
                                 {.ids = (int32_t[]){1, 8, 9, 2}, .length = 4}};
  brim_dataset *dataset;
  brim_folds folds;
  brim_overlap study;
  if (brim_dataset_from_samples(runtime, samples, 4, NULL, &dataset, NULL) ||
      brim_folds_given(runtime, (int32_t[]){0, 0, 1, 1}, 4, 0, &folds, NULL))
    exit(99);
  ok_int(brim_study_folds(runtime, dataset, &folds, &study, NULL), BRIM_OK, "study");
  const brim_fold_overlap *f = &study.folds[1]; /* training has 1 2 5 6; held out are 1 2 5 7 8 9 */
  ok(f->train_rows == 2 && f->valid_rows == 2 && f->train_tokens == 7 && f->valid_tokens == 10, "rows and tokens");
  ok(f->train_types == 4 && f->valid_types == 6 && f->both_types == 3, "types: in training, held out, in both");
  ok(f->unseen_types == 3 && f->unseen_tokens == 5 && f->unseen_rows == 2, "unseen types, tokens, rows");
  ok(f->unseen[0].id == 7 && f->unseen[0].count == 2 && f->unseen[1].id == 8 && f->unseen[1].count == 2 && f->unseen[2].id == 9,
     "the most frequent first");
  ok(study.folds[0].unseen_types == 1 && study.folds[0].unseen[0].id == 6 && study.folds[0].unseen_rows == 1, "the other fold");
  brim_overlap_free(&study);
  brim_overlap_free(NULL);
  brim_folds_free(&folds);
  if (brim_folds_given(runtime, (int32_t[]){0, 1, 1}, 3, 0, &folds, NULL))
    exit(99);
  ok_int(brim_study_folds(runtime, dataset, &folds, &study, NULL), BRIM_E_USAGE, "folds of other data");
  brim_folds_free(&folds);
  brim_dataset_free(dataset);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  plain();
  uniform();
  classes();
  words();
  values();
  queries();
  given();
  parts();
  overlap();
  brim_runtime_free(runtime);
  return tap_done();
}
