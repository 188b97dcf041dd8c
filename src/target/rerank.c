/* rerank.c: a score of a query and a document, as cross-encoders give it: one output of a classifier of pairs. Which loss of
 * scores, and the way from outputs to it and back. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "target/metrics.h"
#include "target/target.h"
#include "task/task.h"

/* ---- which loss ---------------------------------------------------------------------------------------------- */

static const char *loss_by_rows(const brim_row_facts *facts) {
  if (facts->most_texts > 1)
    return facts->labels == BRIM_RANGE_NONE ? "in-group" : "margin-mse";
  return facts->labels > BRIM_RANGE_UNIT ? "mse" : "bce";
}

/* A mean over scores, whatever groups they are in. */
static bool is_by_score(const brim_loss_how *how) {
  return how->scores.kind == BRIM_SCORE_BCE || how->scores.kind == BRIM_SCORE_MSE;
}

static int need_labels(const brim_loss_how *how, brim_error *err) {
  return brim_error_set(err, BRIM_E_MISMATCH, "the loss %s needs a label of each row: a column score or label",
                        brim_score_loss_name(how->scores.kind));
}

/* Whether rows of so many documents will do. */
static int check_documents(const brim_loss_how *how, int32_t documents, bool labelled, bool streamed, brim_error *err) {
  if (documents > 1 || (is_by_score(how) && labelled))
    return BRIM_OK;
  if (is_by_score(how))
    return need_labels(how, err);
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "the loss %s compares the documents of a row: every row needs a query, a positive and negatives%s",
                        brim_score_loss_name(how->scores.kind),
                        streamed ? ", each in a separate column, since a stream takes no lists of texts" : "");
}

static int check_rows(const brim_loss_how *how, const brim_row_facts *facts, brim_error *err) {
  const bool labelled = facts->labels != BRIM_RANGE_NONE;
  if (!is_by_score(how) && facts->most_texts > 1 && brim_facts_fewest(facts) == 1)
    return brim_row_error(err, BRIM_E_MISMATCH, (brim_row_name){"training data", facts->least_row},
                          "has one document, and the loss %s compares those of a row: give it negatives too, or leave it out",
                          brim_score_loss_name(how->scores.kind));
  BRIM_TRY(check_documents(how, brim_facts_fewest(facts), labelled, facts->possible, err));
  if (!labelled && how->scores.kind == BRIM_SCORE_MARGIN_MSE)
    return need_labels(how, err);
  if (how->scores.kind == BRIM_SCORE_BCE && facts->labels > BRIM_RANGE_UNIT)
    return brim_error_set(err, BRIM_E_MISMATCH, "the loss bce needs labels from 0 to 1: divide them, or use mse");
  return BRIM_OK;
}

static const brim_target of_part, of_step;

static int choose(const brim_loss_options *options, const brim_row_facts *facts, brim_loss_how *how, const brim_target **target,
                  brim_error *err) {
  const char *name = options->name ? options->name : loss_by_rows(facts);
  if (!brim_score_loss_named(name, strlen(name), &how->scores) || how->scores.kind == BRIM_SCORE_CROSS_ENTROPY)
    return brim_error_set(err, BRIM_E_USAGE, "loss is \"%s\": rerankers have bce, mse, in-group, list-net and margin-mse", name);
  if ((options->scale > 0 && how->scores.kind != BRIM_SCORE_IN_GROUP) ||
      (options->positive_weight > 0 && how->scores.kind != BRIM_SCORE_BCE))
    return brim_error_set(err, BRIM_E_USAGE, "the loss %s has no %s: leave it out", brim_score_loss_name(how->scores.kind),
                          options->scale > 0 && how->scores.kind != BRIM_SCORE_IN_GROUP ? "scale" : "positive_weight");
  if (options->scale > 0)
    how->scores.scale = options->scale;
  if (options->positive_weight > 0)
    how->scores.positive_weight = options->positive_weight;
  BRIM_TRY(check_rows(how, facts, err));
  how->labels = how->scores.kind == BRIM_SCORE_BCE ? BRIM_RANGE_UNIT : BRIM_RANGE_NONE;
  how->ignores_labels = how->scores.kind == BRIM_SCORE_IN_GROUP;
  *target = is_by_score(how) && facts->most_texts > 1 ? &of_step : &of_part;
  return BRIM_OK;
}

/* ---- the loss ------------------------------------------------------------------------------------------------ */

/* A row of a stream was not looked at before: NaN that fills its list up is no label of a document. */
static int check_lists(const brim_outputs *o, const int32_t *firsts, brim_error *err) {
  for (int32_t r = 0; r < o->rows && !o->how->ignores_labels; r++) {
    const float *own = o->labels + (int64_t)r * o->label_width;
    const int32_t documents = firsts[r + 1] - firsts[r], most = documents < o->label_width ? documents : o->label_width;
    if (most > 0 && !isnan(own[0]) && isnan(own[most - 1]))
      return brim_error_set(err, BRIM_E_MISMATCH, "a row of %d documents has fewer labels: give each document one",
                            (int)documents);
  }
  return BRIM_OK;
}

/* Labels of margins may be one less than a row's documents: then those of all rows are. */
static int check_margins(const brim_outputs *o, const int32_t *firsts, brim_error *err) {
  for (int32_t r = 1; r < o->rows; r++)
    if ((o->label_width < firsts[r + 1] - firsts[r]) != (o->label_width < firsts[1]))
      return brim_error_set(err, BRIM_E_MISMATCH,
                            "the loss margin-mse needs a label of each document, or one less, in all rows alike: %d labels are "
                            "for rows of %d and of %d documents",
                            (int)o->label_width, (int)firsts[1], (int)(firsts[r + 1] - firsts[r]));
  return BRIM_OK;
}

/* Labels of scores, one each: as given; where a row has none its first is relevant. Margins are one less, and stay as they are.
 * Returns how many a group has; 0: one a score. */
static int32_t read_labels(const brim_outputs *o, const int32_t *firsts, double *labels) {
  const bool margins = o->how->scores.kind == BRIM_SCORE_MARGIN_MSE;
  for (int32_t r = 0; r < o->rows; r++) {
    const float *own = o->labels + (int64_t)r * o->label_width;
    const bool none = o->label_width == 0 || isnan(*own);
    if (margins && o->label_width < firsts[r + 1] - firsts[r])
      for (int32_t k = 0; k < o->label_width; k++)
        labels[(int64_t)r * o->label_width + k] = (double)own[k];
    else
      for (int32_t t = firsts[r]; t < firsts[r + 1]; t++)
        labels[t] = none ? t == firsts[r] : t - firsts[r] < o->label_width ? (double)own[t - firsts[r]] : 0;
  }
  return margins && o->label_width < firsts[1] - firsts[0] ? o->label_width : 0;
}

static int compute(const brim_outputs *o, double divisor, int32_t texts, double *numbers, int32_t *firsts, float *gradient,
                   double *loss, brim_error *err) {
  double *scores = numbers, *by = scores + texts, *labels = by + texts;
  brim_score_rows rows = {.groups = o->rows, .firsts = firsts, .scores = scores, .labels = labels};
  for (int32_t r = 0; r <= o->rows; r++)
    firsts[r] = o->firsts ? o->firsts[r] : r;
  for (int32_t t = 0; t < texts; t++)
    scores[t] = (double)o->values[t];
  for (int32_t r = 0; r < o->rows; r++)
    BRIM_TRY(check_documents(o->how, firsts[r + 1] - firsts[r], o->label_width > 0, false, err));
  BRIM_TRY(check_lists(o, firsts, err));
  if (o->how->scores.kind == BRIM_SCORE_MARGIN_MSE)
    BRIM_TRY(check_margins(o, firsts, err));
  rows.label_width = read_labels(o, firsts, labels);
  BRIM_TRY(brim_score_loss_compute(&o->how->scores, &rows, by, loss, err));
  *loss *= o->rows / divisor;
  for (int32_t t = 0; t < texts; t++)
    gradient[t] = (float)(by[t] * (o->rows / divisor));
  return BRIM_OK;
}

static int score_loss(brim_runtime *runtime, const brim_outputs *o, double divisor, float *gradient, double *loss,
                      brim_error *err) {
  const int32_t texts = o->texts;
  const size_t labels = (size_t)o->rows * (size_t)o->label_width, n = (size_t)texts;
  *loss = 0;
  if (o->rows == 0)
    return BRIM_OK;
  double *numbers = brim_alloc_array(runtime, 2 * n + (labels > n ? labels : n), sizeof *numbers);
  int32_t *firsts = brim_alloc_array(runtime, (size_t)o->rows + 1, sizeof *firsts);
  const int status = numbers && firsts ? compute(o, divisor, texts, numbers, firsts, gradient, loss, err) : BRIM_NOMEM(err);
  brim_release(runtime, numbers);
  brim_release(runtime, firsts);
  return status;
}

static uint64_t room(const brim_loss_how *how, uint64_t rows, uint64_t texts, int32_t width, int32_t label_width) {
  const uint64_t labels = rows * (uint64_t)label_width;
  (void)how, (void)width;
  return (2 * texts + (labels > texts ? labels : texts)) * sizeof(double) + (rows + 1) * sizeof(int32_t);
}

static const char *loss_name(const brim_loss_how *how) {
  return brim_score_loss_name(how->scores.kind);
}

static bool has_loss(const char *name) {
  brim_score_loss loss;
  return brim_score_loss_named(name, strlen(name), &loss) && loss.kind != BRIM_SCORE_CROSS_ENTROPY;
}

/* Scores of squared errors are what labels are, others' are logits of probabilities. */
static bool gives_labels(const brim_loss_how *how) {
  return how->scores.kind == BRIM_SCORE_MSE || how->scores.kind == BRIM_SCORE_MARGIN_MSE;
}

#define TARGET(of)                                                                                                               \
  {.scope = of,                                                                                                                  \
   .choose = choose,                                                                                                             \
   .loss_name = loss_name,                                                                                                       \
   .has_loss = has_loss,                                                                                                         \
   .gives_labels = gives_labels,                                                                                                 \
   .loss = score_loss,                                                                                                           \
   .room = room,                                                                                                                 \
   .find = brim_find_scores,                                                                                                     \
   .say = brim_say_scores}
static const brim_target of_part = TARGET(BRIM_LOSS_OF_PART);
static const brim_target of_step = TARGET(BRIM_LOSS_OF_STEP);

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* Scores of several models are averaged as probabilities. */
static void opinion(const float *logits, int32_t outputs, double *out) {
  for (int32_t c = 0; c < outputs; c++)
    out[c] = brim_sigmoid(logits[c]);
}

static float logit(float mean) {
  const float p = fminf(fmaxf(mean, 1e-7f), 1 - 1e-7f);
  return logf(p / (1 - p));
}

static void put(brim_json_writer *json, const brim_answer *a) {
  a->scores[0] = a->bare ? (double)a->logits[0] : brim_sigmoid(a->logits[0]);
  brim_answer_put_value(json, "label", a->scores[0]);
}

/* transformers knows the class; problem_type is of no consequence there, and a regression has one output, too. */
const brim_task_rules brim_rerank = {
    .shape = {.several_texts = true, .joins_pairs = true, .optional = true, .judged = true},
    .problem = "regression",
    .class = "ForSequenceClassification",
    .folder = BRIM_FOLDER_OF_CROSS_ENCODER,
    .width = 1,
    .least = 1,
    .valid = "a score of a query and a document is a finite number",
    .fits = brim_fits_value,
    .loss = BRIM_LOSS_SQUARED_ERROR,
    .target = &of_part,
    .metrics = {"loss", "mrr", "ndcg", "map", "accuracy", "f1", "average_precision", "pearson", "spearman"},
    .best = "ndcg",
    .measuring = 4 * sizeof(double) + BRIM_CORRELATION_WORK,
    .check = brim_check_scores,
    .measure = brim_measure_scores,
    .opinion = opinion,
    .logit = logit,
    .cost = brim_answer_cost_of_values,
    .say = brim_answer_say_values,
    .put = put};
