/* found.c: what became of single rows: cosines and scores of what belongs together, and of the best of what does not. */
#include "target/found.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "target/ranking.h"
#include "target/scored.h"
#include "target/vectors.h"
#include "task/loss.h"
#include "task/task.h"

double brim_relevance(const brim_scored *s, uint64_t row, uint64_t text) {
  const uint64_t count = brim_text_count(s, row);
  if (isnan(brim_first_label(s, row)) || (count > 1 && count == (uint64_t)s->width + 1))
    return text == 0;
  return text < (uint64_t)s->width ? (double)s->labels[row * (uint64_t)s->width + text] : 0;
}

/* Better than what was there: the first one is, or a larger one. */
static void take_rival(brim_row_found *found, double value, uint64_t other) {
  if (isnan(found->rival) || value > found->rival)
    found->rival = value, found->other = other;
}

static double lost_by(const brim_row_found *found) {
  return found->rival > found->predicted ? found->rival - found->predicted : 0;
}

/* ---- vectors ------------------------------------------------------------------------------------------------- */

typedef struct search {
  const brim_scored *s;
  brim_given_vectors vectors;
  uint64_t every;
  brim_row_found *out;
} search;

static bool is_scored_pair(const brim_scored *s, uint64_t row) {
  return brim_text_count(s, row) == 2 && !isnan(brim_first_label(s, row));
}

/* An equal text is no other one. */
static void find_row(void *context, int64_t at, int worker) {
  const search *a = context;
  const brim_scored *s = a->s;
  const uint64_t row = (uint64_t)at * a->every, anchor = brim_first_text(s, row), count = brim_text_count(s, row);
  brim_row_found *found = &a->out[at];
  (void)worker;
  *found = (brim_row_found){.label = is_scored_pair(s, row) ? brim_first_label(s, row) : (double)NAN,
                            .rival = (double)NAN,
                            .similarity = s->meaning.similarity};
  found->predicted = brim_compare_vectors(&a->vectors, anchor, anchor + 1);
  for (uint64_t k = 2; k < count; k++)
    take_rival(found, brim_compare_vectors(&a->vectors, anchor, anchor + k), k);
  for (uint64_t other = 0; isnan(found->label) && count == 2 && other < s->rows; other++)
    if (other != row && !brim_same_text(s, brim_first_text(s, other) + 1, anchor + 1))
      take_rival(found, brim_compare_vectors(&a->vectors, anchor, brim_first_text(s, other) + 1), other);
  found->loss = lost_by(found);
}

/* Mean and standard deviation of labels, or of predictions. */
static void spread(const brim_row_found *found, size_t count, bool labels, double *mean, double *deviation) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < count; i++)
    sum += labels ? found[i].label : found[i].predicted;
  *mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) {
    const double apart = (labels ? found[i].label : found[i].predicted) - *mean;
    square += apart * apart;
  }
  *deviation = sqrt(square / (double)count);
}

/* Scores have their own scale: how far the cosine is from the label, both in deviations from their means. */
static void lose_by_scale(brim_row_found *found, size_t count) {
  double means[2], deviations[2];
  spread(found, count, true, &means[0], &deviations[0]);
  spread(found, count, false, &means[1], &deviations[1]);
  for (size_t i = 0; i < count && deviations[0] > 0 && deviations[1] > 0; i++) {
    const double apart = (found[i].label - means[0]) / deviations[0] - (found[i].predicted - means[1]) / deviations[1];
    found[i].loss = apart * apart;
  }
}

int brim_find_vectors(const brim_scored *s, uint64_t every, brim_row_found *out, brim_error *err) {
  search a = {.s = s, .every = every, .out = out, .vectors = brim_give_vectors(s)};
  const uint64_t count = (s->rows + every - 1) / every;
  const int status = a.vectors.at ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    brim_pool_run(s->runtime, (int64_t)count, find_row, &a);
  if (!status && s->rows > 0 && is_scored_pair(s, 0))
    lose_by_scale(out, (size_t)count);
  brim_release(s->runtime, a.vectors.at);
  return status;
}

void brim_say_vectors(const brim_row_found *found, bool own, char *label, char *predicted, size_t size) {
  static const char *const names[BRIM_SIMILARITIES] = {"cosine", "dot product", "negative euclidean distance",
                                                       "negative manhattan distance"};
  const char *what = names[found->similarity];
  if (!isnan(found->label)) {
    snprintf(label, size, "%.4g", found->label);
    snprintf(predicted, size, "a %s of %.4f", what, found->predicted);
    return;
  }
  snprintf(label, size, "a %s of %.4f to its positive", what, found->predicted);
  snprintf(predicted, size, own ? "%.4f to its negative %llu" : "%.4f to the document of row %llu", found->rival,
           (unsigned long long)(own ? found->other - 1 : found->other));
}

/* ---- neighbours ---------------------------------------------------------------------------------------------- */

static void take_near(brim_near *out, int *count, int most, uint64_t row, double similarity) {
  int at = *count;
  if (at == most && similarity <= out[at - 1].similarity)
    return;
  at = at == most ? at - 1 : (*count)++;
  for (; at > 0 && out[at - 1].similarity < similarity; at--)
    out[at] = out[at - 1];
  out[at] = (brim_near){row, similarity};
}

int brim_nearest_vectors(const brim_scored *s, uint64_t row, int most, brim_near *out) {
  double *vectors = brim_alloc_array(s->runtime, 2 * (size_t)s->outputs, sizeof *vectors), *other = vectors + s->outputs;
  int count = 0;
  if (!vectors)
    return -1;
  const int32_t width = brim_give_text(s, brim_first_text(s, row), vectors);
  for (uint64_t r = 0; r < s->rows; r++) {
    brim_give_text(s, brim_first_text(s, r) + 1, other);
    take_near(out, &count, most, r, brim_similarity_of(s->meaning.similarity, vectors, other, width));
  }
  brim_release(s->runtime, vectors);
  return count;
}

/* ---- scores -------------------------------------------------------------------------------------------------- */

static void find_pair(const brim_scored *s, uint64_t row, brim_row_found *found) {
  const double logit = (double)s->logits[brim_first_text(s, row)], y = found->label;
  const bool probability = !s->meaning.values && y >= 0 && y <= 1;
  found->predicted = probability ? brim_sigmoid(logit) : logit;
  found->loss = probability ? brim_binary_loss(logit, y, 1) : (logit - y) * (logit - y);
}

/* The first document is the right one, or those with a label above 0 are: the best of them, and the best of the others. */
static void find_group(const brim_scored *s, uint64_t row, brim_row_found *found) {
  const uint64_t first = brim_first_text(s, row);
  found->label = found->predicted = (double)NAN;
  for (uint64_t k = 0; k < brim_text_count(s, row); k++) {
    const double logit = (double)s->logits[first + k], score = s->meaning.values ? logit : brim_sigmoid(logit);
    if (brim_relevance(s, row, k) > 0)
      found->predicted = isnan(found->predicted) || score > found->predicted ? score : found->predicted;
    else
      take_rival(found, score, k);
  }
  found->loss = lost_by(found);
}

int brim_find_scores(const brim_scored *s, uint64_t every, brim_row_found *out, brim_error *err) {
  (void)err;
  for (uint64_t row = 0; row < s->rows; row += every, out++) {
    *out = (brim_row_found){.label = brim_first_label(s, row), .rival = (double)NAN};
    (brim_text_count(s, row) > 1 ? find_group : find_pair)(s, row, out);
  }
  return BRIM_OK;
}

void brim_say_scores(const brim_row_found *found, bool own, char *label, char *predicted, size_t size) {
  if (!own) {
    snprintf(label, size, "%.4g", found->label);
    snprintf(predicted, size, "%.4g", found->predicted);
    return;
  }
  snprintf(label, size, "a score of %.4g", found->predicted);
  snprintf(predicted, size, "%.4g for document %llu", found->rival, (unsigned long long)found->other);
}
