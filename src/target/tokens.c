/* tokens.c: one class a token, such as a name's kind, or none; cross entropy over the tokens that have one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "task/task.h"

/* ---- entities ------------------------------------------------------------------------------------------------ */

/* Classes named O, B-X, I-X, E-X and S-X say where entities of kind X begin, continue and end. How they are read from any order
 * of such labels, also one that no annotator would write, is seqeval's way (its default mode), which is conlleval's. */
typedef struct tag {
  char prefix;  /* one of "OBIES" */
  int32_t kind; /* the first class of that kind */
} tag;

static const tag outside = {.prefix = 'O', .kind = -1};

static bool is_outside(const char *name) {
  return strcmp(name, "O") == 0;
}

static bool is_tag(const char *name) {
  return is_outside(name) || (name[0] && strchr("BIES", name[0]) && name[1] == '-' && name[2]);
}

bool brim_entities_meant(brim_task task, const char *const *names, int32_t count) {
  bool meant = false, all = true;
  if (!brim_task_has_tokens(task))
    return false;
  for (int32_t i = 0; names && i < count; i++) {
    meant = meant || is_outside(names[i]) ||
            (names[i][0] && strchr("BIESUL", names[i][0]) && (!names[i][1] || names[i][1] == '-'));
    all = all && is_tag(names[i]);
  }
  return meant && !all;
}

/* False: the names are others, and there are no entities. */
static bool read_tags(const brim_outcomes *o, tag *tags) {
  bool any = false;
  for (int32_t c = 0; c < o->outputs; c++) {
    const char *name = o->names[c];
    if (!is_tag(name))
      return false;
    tags[c] = outside;
    if (is_outside(name))
      continue;
    tags[c] = (tag){.prefix = name[0], .kind = c};
    for (int32_t k = c - 1; k >= 0; k--)
      if (!is_outside(o->names[k]) && strcmp(o->names[k] + 2, name + 2) == 0)
        tags[c].kind = k;
    any = true;
  }
  return any;
}

/* Whether an entity that holds `before` ends where `now` comes after it, and whether one begins with `now`. */
static bool ends(tag before, tag now) {
  if (before.prefix == 'O')
    return false;
  return before.prefix == 'E' || before.prefix == 'S' || strchr("BSO", now.prefix) || before.kind != now.kind;
}

static bool begins(tag before, tag now) {
  if (now.prefix == 'O')
    return false;
  return now.prefix == 'B' || now.prefix == 'S' || strchr("ESO", before.prefix) || before.kind != now.kind;
}

typedef struct entities {
  uint64_t truth, predicted, hit;
} entities;

/* Those of one row. */
static void count_entities(const tag *tags, const brim_outcome *items, uint64_t count, entities *sum) {
  tag truth = outside, guess = outside;
  bool same = false; /* both are within entities that began together */
  for (uint64_t i = 0; i <= count; i++) {
    const tag t = i < count ? tags[items[i].label] : outside, g = i < count ? tags[items[i].predicted] : outside;
    const bool truth_ends = ends(truth, t), guess_ends = ends(guess, g);
    const bool truth_begins = begins(truth, t), guess_begins = begins(guess, g);
    sum->hit += same && truth_ends && guess_ends;
    same = (same && !truth_ends && !guess_ends) || (truth_begins && guess_begins && t.kind == g.kind);
    sum->truth += truth_begins, sum->predicted += guess_begins;
    truth = t, guess = g;
  }
}

static double ratio(uint64_t above, uint64_t below) {
  return below ? (double)above / (double)below : (double)NAN;
}

static int judge_entities(const brim_outcomes *o, brim_metrics *out, brim_error *err) {
  entities sum = {0};
  if (!o->names)
    return BRIM_OK;
  tag *tags = brim_alloc_array(o->runtime, (size_t)o->outputs, sizeof *tags);
  if (!tags)
    return BRIM_NOMEM(err);
  if (read_tags(o, tags)) {
    for (uint64_t row = 0; row < o->rows; row++)
      count_entities(tags, o->at + o->firsts[row], o->firsts[row + 1] - o->firsts[row], &sum);
    out->entity_precision = ratio(sum.hit, sum.predicted);
    out->entity_recall = ratio(sum.hit, sum.truth);
    out->entity_f1 = ratio(2 * sum.hit, sum.truth + sum.predicted);
  }
  brim_release(o->runtime, tags);
  return BRIM_OK;
}

/* ---- tokens -------------------------------------------------------------------------------------------------- */

static double f1_within(const brim_outcomes *o, const brim_class_counts *counts) {
  uint64_t hit = 0, all = 0;
  for (int32_t c = 0; c < o->outputs; c++)
    if (!o->names || !is_outside(o->names[c]))
      hit += counts->hit[c], all += counts->truth[c] + counts->predicted[c];
  return ratio(2 * hit, all);
}

static int judge_tokens(const brim_outcomes *o, const brim_class_counts *counts, brim_metrics *out, brim_error *err) {
  const float damaged = NAN;
  double loss = 0.0;
  uint64_t right = 0;
  for (uint64_t i = 0, row = 0; i < o->count; i++) {
    const brim_outcome *one = &o->at[i];
    while (i >= o->firsts[row + 1])
      row++;
    if (isnan(one->loss))
      return brim_outputs_finite(&damaged, 1, row, err);
    loss += one->loss;
    counts->truth[one->label]++, counts->predicted[one->predicted]++;
    if (one->label == one->predicted)
      counts->hit[one->label]++, right++;
  }
  out->loss = loss / (double)o->count;
  out->accuracy = ratio(right, o->count);
  out->f1_micro = f1_within(o, counts);
  out->f1_macro = brim_f1_macro(counts, o->outputs);
  return judge_entities(o, out, err);
}

static int judge(const brim_outcomes *o, brim_metrics *out, brim_error *err) {
  brim_class_counts counts;
  if (o->count == 0)
    return brim_error_set(err, BRIM_E_USAGE, "no token has a label: there is nothing to evaluate");
  BRIM_TRY(brim_class_counts_make(o->runtime, o->outputs, &counts, err));
  const int status = judge_tokens(o, &counts, out, err);
  brim_release(o->runtime, counts.truth);
  return status;
}

/* ---- weights and averages ------------------------------------------------------------------------------------------------ */

static double balance(double own, double labels, int32_t outputs) {
  return labels / (outputs * own);
}

static const char *describe(int32_t outputs, const char *names, char *text, size_t size) {
  snprintf(text, size, "tokens, %d labels (%s)", (int)outputs, names);
  return "because the model labels tokens";
}

const brim_task_rules brim_tokens = {
    .shape = {.words = true,
              .named = true,
              .one_class = true,
              .judged = true,
              .outputs = BRIM_OUTPUTS_OF_TOKENS,
              .counted = "labelled"},
    .class = "ForTokenClassification",
    .head = BRIM_HEAD_OF_TOKENS,
    .least = 2,
    .fits = brim_fits_class,
    .loss = BRIM_LOSS_CROSS_ENTROPY,
    .balance = balance,
    .metrics = {"loss", "accuracy", "f1_micro", "f1_macro", "entity_precision", "entity_recall", "entity_f1"},
    .best = "f1_micro",
    .judge = judge,
    .opinion = brim_softmax,
    .logit = brim_logit_of_class,
    .describe = describe,
    .cost = brim_answer_cost_of_class,
    .say = brim_answer_say_class,
    .put = brim_answer_put_class};
