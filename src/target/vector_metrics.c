/* vector_metrics.c: what vectors are worth: how their similarities go with labels; whether positives are nearer than negatives.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "target/metrics.h"
#include "target/ranking.h"
#include "target/vectors.h"
#include "task/task.h"

enum { FIRST = 10 }; /* ranks that MRR looks at */

static uint64_t texts_before(const brim_scored *s, uint64_t row) {
  return s->firsts ? s->firsts[row] : row;
}

static int32_t text_count(const brim_scored *s, uint64_t row) {
  return (int32_t)(texts_before(s, row + 1) - texts_before(s, row));
}

static void widen(const brim_scored *s, uint64_t text, double *to) {
  const float *from = s->logits + (size_t)text * (size_t)s->outputs;
  for (int32_t k = 0; k < s->outputs; k++)
    to[k] = (double)from[k];
}

static int refuse_row(const brim_scored *s, uint64_t row, const char *needs, brim_error *err) {
  return brim_row_error(err, BRIM_E_MISMATCH, (brim_row_name){s->set, row}, "has %d text%s, and %s", text_count(s, row),
                        text_count(s, row) == 1 ? "" : "s", needs);
}

/* ---- pairs with labels --------------------------------------------------------------------------------------- */

/* vectors: room for [4, outputs]. */
static void measure_similarity(const brim_scored *s, brim_similarity which, double *vectors, double *scores) {
  for (uint64_t row = 0; row < s->rows; row++) {
    widen(s, texts_before(s, row), vectors);
    widen(s, texts_before(s, row) + 1, vectors + s->outputs);
    scores[row] = brim_similarity_of(which, vectors, vectors + s->outputs, s->outputs, vectors + 2 * s->outputs);
  }
}

static void read_labels(const brim_scored *s, double *to) {
  for (uint64_t row = 0; row < s->rows; row++)
    to[row] = (double)s->labels[(size_t)row * (size_t)s->width];
}

static bool is_binary(const double *labels, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (labels[i] != 0 && labels[i] != 1)
      return false;
  return true;
}

/* memory: [2, rows], then room for a correlation. */
static void correlate(const brim_scored *s, double *vectors, double *memory, brim_metrics *out) {
  double *const spearman[BRIM_SIMILARITIES] = {&out->spearman, &out->spearman_dot, &out->spearman_euclidean,
                                               &out->spearman_manhattan};
  double *scores = memory, *labels = scores + s->rows;
  for (int which = BRIM_SIMILARITIES - 1; which >= 0; which--) {
    measure_similarity(s, (brim_similarity)which, vectors, scores);
    read_labels(s, labels);
    if (which == BRIM_SIMILARITY_COSINE && is_binary(labels, s->rows)) {
      const brim_binary b = brim_binary_of(scores, labels, s->rows, (uint64_t *)(void *)(labels + s->rows));
      out->accuracy = b.accuracy, out->f1 = b.f1, out->average_precision = b.average_precision;
    }
    const brim_correlation c = brim_correlate(scores, labels, s->rows, labels + s->rows);
    *spearman[which] = c.spearman;
    out->pearson = c.pearson; /* the cosine's comes last */
  }
}

static int check_labelled(const brim_scored *s, brim_error *err) {
  for (uint64_t row = 0; row < s->rows; row++) {
    if (isnan(s->labels[row * (uint64_t)s->width]))
      return brim_row_error(err, BRIM_E_MISMATCH, (brim_row_name){s->set, row}, "has no label, but other rows have one");
    if (text_count(s, row) != 2)
      return refuse_row(s, row, "a label is of two", err);
  }
  return BRIM_OK;
}

static int measure_labelled(const brim_scored *s, brim_metrics *out, brim_error *err) {
  const size_t rows = (size_t)s->rows;
  double *vectors = brim_alloc_array(s->runtime, 4 * (size_t)s->outputs, sizeof *vectors);
  double *memory = brim_alloc_array(s->runtime, rows, 2 * sizeof *memory + BRIM_CORRELATION_WORK);
  const int status = vectors && memory ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    correlate(s, vectors, memory, out);
  brim_release(s->runtime, vectors);
  brim_release(s->runtime, memory);
  return status;
}

/* ---- rows without labels ------------------------------------------------------------------------------------- */

typedef struct search {
  const brim_scored *s;
  double *units;   /* [texts, outputs] */
  uint64_t *ranks; /* [rows]: of the positive, from 1 */
} search;

static const double *unit_of(const search *a, uint64_t text) {
  return a->units + (size_t)text * (size_t)a->s->outputs;
}

/* Among its own negatives: an equal one is not below it. */
static void rank_in_row(void *context, int64_t row, int worker) {
  const search *a = context;
  const uint64_t anchor = texts_before(a->s, (uint64_t)row);
  const int32_t count = text_count(a->s, (uint64_t)row), width = a->s->outputs;
  const double own = brim_dot(unit_of(a, anchor), unit_of(a, anchor + 1), width);
  (void)worker;
  a->ranks[row] = 1;
  for (int32_t k = 2; k < count; k++)
    a->ranks[row] += brim_dot(unit_of(a, anchor), unit_of(a, anchor + (uint64_t)k), width) >= own;
}

/* Whether a row before this one has the same positive: it counts once. */
static bool is_again(const brim_scored *s, uint64_t other, uint64_t row) {
  return s->same && s->same[texts_before(s, other) + 1] == s->same[texts_before(s, row) + 1];
}

/* Among the positives of all rows: of equal cosines the first row's comes first. */
static void rank_in_all(void *context, int64_t at, int worker) {
  const search *a = context;
  const uint64_t row = (uint64_t)at;
  const int32_t width = a->s->outputs;
  const double *anchor = unit_of(a, texts_before(a->s, row));
  const double own = brim_dot(anchor, unit_of(a, texts_before(a->s, row) + 1), width);
  (void)worker;
  a->ranks[row] = 1;
  for (uint64_t other = 0; other < a->s->rows; other++) {
    if (other == row || is_again(a->s, other, row))
      continue;
    const double score = brim_dot(anchor, unit_of(a, texts_before(a->s, other) + 1), width);
    a->ranks[row] += score > own || (score == own && other < row);
  }
}

static void count_ranks(const search *a, bool of_row, brim_metrics *out) {
  double first = 0, reciprocal = 0;
  for (uint64_t row = 0; row < a->s->rows; row++) {
    first += a->ranks[row] == 1;
    reciprocal += a->ranks[row] <= FIRST ? 1 / (double)a->ranks[row] : 0;
  }
  out->accuracy = first / (double)a->s->rows;
  if (!of_row)
    out->mrr = reciprocal / (double)a->s->rows;
}

/* Rows have negatives, or none has: then those of all rows are a positive's. */
static int has_negatives(const brim_scored *s, bool *out, brim_error *err) {
  *out = s->rows > 0 && text_count(s, 0) > 2;
  for (uint64_t row = 0; row < s->rows; row++) {
    if (text_count(s, row) < 2)
      return refuse_row(s, row, "there is nothing to compare it with", err);
    if ((text_count(s, row) > 2) != *out)
      return refuse_row(s, row, "other rows have no negatives: an evaluation set has them in all rows, or in none", err);
  }
  return BRIM_OK;
}

static int measure_unlabelled(const brim_scored *s, brim_metrics *out, brim_error *err) {
  const uint64_t texts = texts_before(s, s->rows);
  bool of_row;
  BRIM_TRY(has_negatives(s, &of_row, err));
  search a = {.s = s};
  a.units = brim_alloc_array(s->runtime, (size_t)texts, (size_t)s->outputs * sizeof *a.units);
  a.ranks = brim_alloc_array(s->runtime, (size_t)s->rows, sizeof *a.ranks);
  const int status = a.units && a.ranks ? BRIM_OK : BRIM_NOMEM(err);
  for (uint64_t t = 0; t < texts && !status; t++) {
    double *unit = a.units + (size_t)t * (size_t)s->outputs;
    widen(s, t, unit);
    brim_make_unit(unit, s->outputs, BRIM_NORM_EPS, unit);
  }
  if (!status) {
    brim_pool_run(s->runtime, (int64_t)s->rows, of_row ? rank_in_row : rank_in_all, &a);
    count_ranks(&a, of_row, out);
  }
  brim_release(s->runtime, a.units);
  brim_release(s->runtime, a.ranks);
  return status;
}

/* ---- either -------------------------------------------------------------------------------------------------- */

/* Labels of rows with negatives are margins, and say nothing of a pair. */
static bool are_scored_pairs(const brim_scored *s) {
  for (uint64_t row = 0; s->labels && row < s->rows && text_count(s, 0) == 2; row++)
    if (!isnan(s->labels[row * (uint64_t)s->width]))
      return true;
  return false;
}

int brim_check_vectors(const brim_scored *s, brim_error *err) {
  bool negatives;
  return are_scored_pairs(s) ? check_labelled(s, err) : has_negatives(s, &negatives, err);
}

int brim_measure_vectors(const brim_scored *s, brim_metrics *out, brim_error *err) {
  for (uint64_t t = 0; t < texts_before(s, s->rows); t++)
    BRIM_TRY(brim_outputs_finite(s->logits + (size_t)t * (size_t)s->outputs, s->outputs, t, err));
  return are_scored_pairs(s) ? measure_labelled(s, out, err) : measure_unlabelled(s, out, err);
}
