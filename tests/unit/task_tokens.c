/* Metrics of labels of tokens against numbers of seqeval and scikit-learn, and entities against a slow version. */
#include "brim/train.h"
#include "tap.h"
#include "train/answers/evaluate.h"

enum { ROWS = 60, MOST = 12, CLASSES = 9 };

static brim_runtime *runtime;

/* ---- random labels, also where the numbers were computed -------------------------------------------------- */

static uint64_t state;

static int32_t random_below(int32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int32_t)((state >> 33) % (uint64_t)n);
}

static const char *const sets[][CLASSES] = {{"O", "B-PER", "I-PER", "B-LOC", "I-LOC"},
                                            {"O", "B-A", "I-A", "E-A", "S-A", "B-B-2", "I-B-2", "E-B-2", "S-B-2"},
                                            {"I-X", "O", "I-Y"}};
static const int32_t counts[] = {5, 9, 3};

/* Rows of labels, and what a model makes of them: `keep` of ten are right. */
typedef struct rows {
  const char *const *names;
  int32_t classes;
  uint64_t count;
  int32_t lengths[ROWS], truth[ROWS][MOST], guess[ROWS][MOST];
} rows;

static void fill(rows *r, int set, int32_t keep) {
  *r = (rows){.names = sets[set], .classes = counts[set], .count = ROWS};
  state = (uint64_t)(counts[set] * 100 + keep);
  for (int i = 0; i < ROWS; i++) {
    r->lengths[i] = 1 + random_below(MOST);
    for (int32_t k = 0; k < r->lengths[i]; k++) {
      r->truth[i][k] = random_below(r->classes);
      r->guess[i][k] = random_below(10) < keep ? r->truth[i][k] : random_below(r->classes);
    }
  }
}

/* Each row between two tokens without a label, and with one in its middle. */
static brim_dataset *dataset_of(const rows *r, const brim_labels *labels, float *logits) {
  enum { LONGEST = MOST + 3 };
  static int32_t ids[LONGEST], classes[ROWS][LONGEST];
  brim_sample samples[ROWS];
  brim_dataset *dataset = NULL;
  brim_error err;
  for (uint64_t i = 0; i < r->count; i++) {
    int32_t at = 0, *to = classes[i];
    for (int32_t k = -1; k <= r->lengths[i]; k++) {
      const bool real = k >= 0 && k < r->lengths[i];
      for (int32_t c = 0; c < r->classes; c++)
        *logits++ = real && c == r->guess[i][k] ? 2.0f : 0.0f;
      to[at++] = real ? r->truth[i][k] : BRIM_NO_LABEL;
      if (k != r->lengths[i] / 2)
        continue;
      for (int32_t c = 0; c < r->classes; c++)
        *logits++ = (float)c;
      to[at++] = BRIM_NO_LABEL;
    }
    samples[i] = (brim_sample){.ids = ids, .length = at, .token_labels = to, .label = NAN};
  }
  if (brim_dataset_from_samples(runtime, samples, r->count, labels, &dataset, &err))
    printf("# %s\n", err.message);
  return dataset;
}

static brim_metrics measure(const rows *r, uint64_t *labelled) {
  float *logits = malloc(ROWS * (MOST + 3) * CLASSES * sizeof *logits);
  brim_metrics m = {0};
  brim_labels labels;
  brim_error err = {0};
  int status = brim_labels_make(runtime, BRIM_TASK_TOKENS, r->names, r->classes, &labels, &err);
  brim_dataset *dataset = status || !logits ? NULL : dataset_of(r, &labels, logits);
  if (dataset)
    status = brim_metrics_compute(runtime, BRIM_TASK_TOKENS, r->classes, (brim_meaning){0}, logits, dataset, &m, &err);
  ok(dataset && !status, "measured%s%s", status ? ": " : "", status ? err.message : "");
  if (dataset && labelled)
    *labelled = brim_dataset_token_labels(dataset)[brim_dataset_rows(dataset)];
  brim_dataset_free(dataset);
  brim_labels_free(&labels);
  free(logits);
  return m;
}

/* ---- other programs' numbers ------------------------------------------------------------------------------ */

/* seqeval 1.2.2 (precision_score, recall_score, f1_score), scikit-learn 1.9.1 (accuracy, f1_score over all classes but O: micro,
 * over all classes: macro). */
static const struct {
  int set, keep, labelled;
  double accuracy, f1_micro, f1_macro, precision, recall, f1;
} golden[] = {
    {0, 9, 414, 0.90821256038647347, 0.91233283803863297, 0.90789664378124224, 0.87588652482269502, 0.90145985401459849,
     0.88848920863309344},
    {0, 6, 440, 0.70227272727272727, 0.70402298850574707, 0.70240889484706304, 0.62456140350877198, 0.61805555555555558,
     0.62129144851657947},
    {0, 2, 432, 0.37268518518518517, 0.39204545454545453, 0.37138435782151291, 0.38732394366197181, 0.36544850498338871,
     0.37606837606837601},
    {1, 9, 345, 0.93623188405797098, 0.93811074918566772, 0.93365692370329989, 0.9490909090909091, 0.9422382671480144,
     0.94565217391304346},
    {1, 6, 375, 0.66133333333333333, 0.66370370370370368, 0.65843550220545266, 0.70297029702970293, 0.70065789473684215,
     0.70181219110378901},
    {1, 2, 416, 0.28365384615384615, 0.28027210884353743, 0.28143478892607554, 0.40000000000000002, 0.39393939393939392,
     0.39694656488549623},
    {2, 9, 393, 0.93893129770992367, 0.94230769230769229, 0.93902078029719982, 0.87309644670050757, 0.85999999999999999,
     0.86649874055415621},
    {2, 6, 374, 0.72192513368983957, 0.73217726396917149, 0.71966362167217313, 0.57627118644067798, 0.50495049504950495,
     0.53825857519788922},
    {2, 2, 385, 0.48571428571428571, 0.48046875, 0.48415036245924842, 0.27777777777777779, 0.30726256983240224,
     0.29177718832891253},
};

static void against_others(void) {
  for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
    rows r;
    uint64_t labelled = 0;
    fill(&r, golden[i].set, golden[i].keep);
    const brim_metrics m = measure(&r, &labelled);
    ok(labelled == (uint64_t)golden[i].labelled && m.rows == ROWS, "%d labels", golden[i].labelled);
    ok_near(m.accuracy, golden[i].accuracy, 1e-14, "accuracy");
    ok_near(m.f1_micro, golden[i].f1_micro, 1e-14, "micro F1 of all but O");
    ok_near(m.f1_macro, golden[i].f1_macro, 1e-14, "macro F1");
    ok_near(m.entity_precision, golden[i].precision, 1e-14, "entity precision");
    ok_near(m.entity_recall, golden[i].recall, 1e-14, "entity recall");
    ok_near(m.entity_f1, golden[i].f1, 1e-14, "entity F1");
  }
}

/* ---- a slow version --------------------------------------------------------------------------------------- */

typedef struct entity {
  char kind[16];
  int32_t from, to;
} entity;

/* seqeval's get_entities, line by line. */
static int entities_of(const rows *r, const int32_t *labels, int32_t length, entity *out) {
  char prev_tag = 'O', prev_type[16] = "";
  int count = 0;
  int32_t begin = 0;
  for (int32_t i = 0; i <= length; i++) {
    const char *chunk = i < length ? r->names[labels[i]] : "O", *dash = strchr(chunk, '-');
    char tag = chunk[0], type[16];
    snprintf(type, sizeof type, "%s", dash ? dash + 1 : "_");
    const bool other = strcmp(prev_type, type) != 0;
    bool end = prev_tag == 'E' || prev_tag == 'S';
    end |= (prev_tag == 'B' || prev_tag == 'I') && (tag == 'B' || tag == 'S' || tag == 'O');
    end |= prev_tag != 'O' && other;
    bool start = tag == 'B' || tag == 'S';
    start |= (prev_tag == 'E' || prev_tag == 'S' || prev_tag == 'O') && (tag == 'E' || tag == 'I');
    start |= tag != 'O' && other;
    if (end) {
      out[count].from = begin, out[count].to = i - 1;
      memcpy(out[count++].kind, prev_type, sizeof prev_type);
    }
    if (start)
      begin = i;
    prev_tag = tag;
    memcpy(prev_type, type, sizeof type);
  }
  return count;
}

static void against_slow(void) {
  for (int set = 0; set < 3; set++)
    for (int32_t keep = 0; keep <= 10; keep += 2) {
      rows r;
      int truth = 0, guess = 0, hit = 0;
      fill(&r, set, keep);
      for (int i = 0; i < ROWS; i++) {
        entity a[MOST + 1], b[MOST + 1];
        const int n = entities_of(&r, r.truth[i], r.lengths[i], a), m = entities_of(&r, r.guess[i], r.lengths[i], b);
        truth += n, guess += m;
        for (int k = 0; k < n; k++)
          for (int j = 0; j < m; j++)
            hit += a[k].from == b[j].from && a[k].to == b[j].to && strcmp(a[k].kind, b[j].kind) == 0;
      }
      const brim_metrics m = measure(&r, NULL);
      ok_near(m.entity_precision, (double)hit / guess, 1e-15, "precision");
      ok_near(m.entity_recall, (double)hit / truth, 1e-15, "recall");
      ok_near(m.entity_f1, 2.0 * hit / (truth + guess), 1e-15, "F1");
    }
}

/* ---- by hand ---------------------------------------------------------------------------------------------- */

/* Of two people one is found whole and one cut short. */
static void by_hand(void) {
  rows r = {.names = sets[0], .classes = 5, .count = 2, .lengths = {4, 3}};
  const int32_t truth[2][4] = {{1, 2, 0, 3}, {1, 2, 2}}, guess[2][4] = {{1, 2, 0, 0}, {1, 2, 0}};
  for (int i = 0; i < 2; i++)
    memcpy(r.truth[i], truth[i], sizeof *truth), memcpy(r.guess[i], guess[i], sizeof *guess);
  const brim_metrics m = measure(&r, NULL);
  ok_near(m.accuracy, 5.0 / 7, 1e-15, "5 of 7 labels");
  ok_near(m.loss, log(1 + 4 * exp(-2)) + 2.0 * 2 / 7, 1e-6, "the mean over labelled tokens");
  ok_near(m.f1_micro, 2.0 * 4 / (6 + 4), 1e-15, "of all but O");
  ok_near(m.entity_precision, 1.0 / 2, 1e-15, "one of two found is right");
  ok_near(m.entity_recall, 1.0 / 3, 1e-15, "one of three is found");
  ok_near(m.entity_f1, 2.0 / 5, 1e-15, "F1");
}

/* Classes that are no tags have no entities; nothing found and nothing there is undefined. */
static void undefined(void) {
  static const char *const words[] = {"NOUN", "VERB", "O-"};
  rows r;
  fill(&r, 2, 6);
  r.names = words;
  brim_metrics m = measure(&r, NULL);
  ok(isnan(m.entity_f1) && isnan(m.entity_precision) && m.f1_micro > 0, "no tags, no entities");
  ok_near(m.f1_micro, m.accuracy, 1e-15, "without O, micro F1 is the accuracy");
  r = (rows){.names = sets[0], .classes = 5, .count = 1, .lengths = {3}};
  m = measure(&r, NULL);
  ok(m.accuracy == 1 && isnan(m.f1_micro) && isnan(m.entity_f1) && isnan(m.entity_precision) && isnan(m.entity_recall),
     "O alone: F1 is undefined");
}

static void refused(void) {
  const int32_t ids[] = {1, 2}, none[] = {BRIM_NO_LABEL, BRIM_NO_LABEL}, large[] = {0, 7};
  brim_sample sample = {.ids = ids, .length = 2, .token_labels = none, .label = NAN};
  float logits[] = {1, 0, NAN, 0};
  brim_dataset *dataset = NULL;
  brim_metrics m;
  brim_error err = {0};
  ok(!brim_dataset_from_samples(runtime, &sample, 1, NULL, &dataset, &err), "a row without a label");
  ok(brim_metrics_compute(runtime, BRIM_TASK_TOKENS, 2, (brim_meaning){0}, logits, dataset, &m, &err) == BRIM_E_USAGE,
     "nothing to measure: %s", err.message);
  brim_dataset_free(dataset);
  sample.token_labels = large;
  ok(!brim_dataset_from_samples(runtime, &sample, 1, NULL, &dataset, &err), "a label that no model has yet");
  ok(brim_metrics_compute(runtime, BRIM_TASK_TOKENS, 2, (brim_meaning){0}, logits, dataset, &m, &err) == BRIM_E_MISMATCH,
     "out of range: %s", err.message);
  brim_dataset_free(dataset);
  const int32_t fine[] = {0, 1};
  sample.token_labels = fine;
  ok(!brim_dataset_from_samples(runtime, &sample, 1, NULL, &dataset, &err), "two labels");
  ok(brim_metrics_compute(runtime, BRIM_TASK_TOKENS, 2, (brim_meaning){0}, logits, dataset, &m, &err) == BRIM_E_DIVERGED,
     "damaged: %s", err.message);
  brim_dataset_free(dataset);
}

int main(void) {
  brim_error err;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err))
    return 1;
  against_others();
  against_slow();
  by_hand();
  undefined();
  refused();
  brim_runtime_free(runtime);
  return tap_done();
}
