/* vector_metrics.c: what vectors are worth: how their similarities go with labels; whether positives are nearer than negatives.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "target/metrics.h"
#include "target/ranking.h"
#include "target/scored.h"
#include "target/vectors.h"
#include "task/task.h"

enum { FIRST = 10 }; /* ranks that MRR looks at */

int32_t brim_give_text(const brim_scored *s, uint64_t text, double *to) {
  return brim_give_vector(&s->meaning, s->logits + (size_t)text * (size_t)s->outputs, s->outputs, to);
}

/* Vectors that have length 1 already are not brought to it again. */
brim_given_vectors brim_give_vectors(const brim_scored *s) {
  const size_t texts = (size_t)brim_first_text(s, s->rows);
  const int32_t width = brim_kept_dimensions(s->meaning.dimensions, s->outputs);
  const bool cosines = s->meaning.similarity == BRIM_SIMILARITY_COSINE && !(s->meaning.unit && width == s->outputs);
  double *to = brim_alloc_array(s->runtime, texts, (size_t)width * sizeof *to);
  const brim_given_vectors vectors = {to, width, s->meaning.similarity};
  for (size_t t = 0; to && t < texts; t++, to += width) {
    brim_give_text(s, t, to);
    if (cosines)
      brim_make_unit(to, width, BRIM_NORM_EPS, to);
  }
  return vectors;
}

double brim_compare_vectors(const brim_given_vectors *v, uint64_t one, uint64_t other) {
  const double *x = v->at + one * (uint64_t)v->width, *y = v->at + other * (uint64_t)v->width;
  return v->similarity == BRIM_SIMILARITY_COSINE ? brim_dot(x, y, v->width) : brim_similarity_of(v->similarity, x, y, v->width);
}

static int refuse_row(const brim_scored *s, uint64_t row, const char *needs, brim_error *err) {
  return brim_row_error(err, BRIM_E_MISMATCH, (brim_row_name){s->set, row}, "has %d text%s, and %s", (int)brim_text_count(s, row),
                        brim_text_count(s, row) == 1 ? "" : "s", needs);
}

/* ---- pairs with labels --------------------------------------------------------------------------------------- */

/* vectors: room for [2, outputs]. */
static void measure_similarity(const brim_scored *s, brim_similarity which, double *vectors, double *scores) {
  for (uint64_t row = 0; row < s->rows; row++) {
    const int32_t width = brim_give_text(s, brim_first_text(s, row), vectors);
    brim_give_text(s, brim_first_text(s, row) + 1, vectors + width);
    scores[row] = brim_similarity_of(which, vectors, vectors + width, width);
  }
}

static void read_labels(const brim_scored *s, double *to) {
  for (uint64_t row = 0; row < s->rows; row++)
    to[row] = brim_first_label(s, row);
}

static bool is_binary(const double *labels, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (labels[i] != 0 && labels[i] != 1)
      return false;
  return true;
}

/* Scores of rows [rows] by one similarity, with room for their labels and a correlation after them. */
static void judge_similarity(const brim_scored *s, brim_similarity which, double *scores, brim_metrics *out) {
  double *const spearman[BRIM_SIMILARITIES] = {&out->spearman, &out->spearman_dot, &out->spearman_euclidean,
                                               &out->spearman_manhattan};
  double *labels = scores + s->rows;
  read_labels(s, labels);
  if (which == s->meaning.similarity && is_binary(labels, s->rows)) {
    const brim_binary b = brim_binary_of(scores, labels, s->rows, (uint64_t *)(void *)(labels + s->rows));
    out->accuracy = b.accuracy, out->f1 = b.f1, out->average_precision = b.average_precision;
  }
  const brim_correlation c = brim_correlate(scores, labels, s->rows, labels + s->rows);
  *spearman[which] = c.spearman;
  if (which == s->meaning.similarity)
    out->pearson = c.pearson;
}

static double *room_of_scores(const brim_scored *s) {
  return brim_alloc_array(s->runtime, (size_t)s->rows, 2 * sizeof(double) + BRIM_CORRELATION_WORK);
}

static int check_labelled(const brim_scored *s, brim_error *err) {
  for (uint64_t row = 0; row < s->rows; row++) {
    if (isnan(brim_first_label(s, row)))
      return brim_row_error(err, BRIM_E_MISMATCH, (brim_row_name){s->set, row}, "has no label, but other rows have one");
    if (brim_text_count(s, row) != 2)
      return refuse_row(s, row, "a label is of two", err);
  }
  return BRIM_OK;
}

static int measure_labelled(const brim_scored *s, brim_metrics *out, brim_error *err) {
  double *vectors = brim_alloc_array(s->runtime, 2 * (size_t)s->outputs, sizeof *vectors), *scores = room_of_scores(s);
  const int status = vectors && scores ? BRIM_OK : BRIM_NOMEM(err);
  for (int which = BRIM_SIMILARITIES - 1; which >= 0 && !status; which--) {
    measure_similarity(s, (brim_similarity)which, vectors, scores);
    judge_similarity(s, (brim_similarity)which, scores, out);
  }
  brim_release(s->runtime, vectors);
  brim_release(s->runtime, scores);
  return status;
}

/* ---- rows without labels ------------------------------------------------------------------------------------- */

typedef struct search {
  const brim_scored *s;
  brim_given_vectors vectors;
  uint64_t *ranks; /* [rows]: of the positive, from 1 */
} search;

/* Among its own negatives: an equal one is not below it. */
static void rank_in_row(void *context, int64_t row, int worker) {
  const search *a = context;
  const uint64_t anchor = brim_first_text(a->s, (uint64_t)row);
  const uint64_t count = brim_text_count(a->s, (uint64_t)row);
  const double own = brim_compare_vectors(&a->vectors, anchor, anchor + 1);
  (void)worker;
  a->ranks[row] = 1;
  for (uint64_t k = 2; k < count; k++)
    a->ranks[row] += brim_compare_vectors(&a->vectors, anchor, anchor + k) >= own;
}

/* Among the positives of all rows: of equal similarities the first row's comes first. */
static void rank_in_all(void *context, int64_t at, int worker) {
  const search *a = context;
  const uint64_t row = (uint64_t)at;
  const uint64_t anchor = brim_first_text(a->s, row);
  const double own = brim_compare_vectors(&a->vectors, anchor, anchor + 1);
  (void)worker;
  a->ranks[row] = 1;
  for (uint64_t other = 0; other < a->s->rows; other++) {
    if (other == row || brim_same_text(a->s, brim_first_text(a->s, other) + 1, anchor + 1))
      continue; /* the same positive counts once */
    const double score = brim_compare_vectors(&a->vectors, anchor, brim_first_text(a->s, other) + 1);
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
  *out = s->rows > 0 && brim_text_count(s, 0) > 2;
  for (uint64_t row = 0; row < s->rows; row++) {
    if (brim_text_count(s, row) < 2)
      return refuse_row(s, row, "there is nothing to compare it with", err);
    if ((brim_text_count(s, row) > 2) != *out)
      return refuse_row(s, row, "other rows have no negatives: an evaluation set has them in all rows, or in none", err);
  }
  return BRIM_OK;
}

static int measure_unlabelled(const brim_scored *s, brim_metrics *out, brim_error *err) {
  bool of_row;
  BRIM_TRY(has_negatives(s, &of_row, err));
  search a = {.s = s, .vectors = brim_give_vectors(s)};
  a.ranks = brim_alloc_array(s->runtime, (size_t)s->rows, sizeof *a.ranks);
  const int status = a.vectors.at && a.ranks ? BRIM_OK : BRIM_NOMEM(err);
  if (!status) {
    brim_pool_run(s->runtime, (int64_t)s->rows, of_row ? rank_in_row : rank_in_all, &a);
    count_ranks(&a, of_row, out);
  }
  brim_release(s->runtime, a.vectors.at);
  brim_release(s->runtime, a.ranks);
  return status;
}

/* ---- either -------------------------------------------------------------------------------------------------- */

/* Labels of rows with negatives are margins, and say nothing of a pair. */
static bool are_scored_pairs(const brim_scored *s) {
  for (uint64_t row = 0; row < s->rows && brim_text_count(s, 0) == 2; row++)
    if (!isnan(brim_first_label(s, row)))
      return true;
  return false;
}

int brim_check_vectors(const brim_scored *s, brim_error *err) {
  bool negatives;
  return are_scored_pairs(s) ? check_labelled(s, err) : has_negatives(s, &negatives, err);
}

int brim_measure_vectors(const brim_scored *s, brim_metrics *out, brim_error *err) {
  for (uint64_t row = 0; row < s->rows; row++)
    for (uint64_t t = brim_first_text(s, row); t < brim_first_text(s, row + 1); t++)
      BRIM_TRY(brim_outputs_finite(s->logits + (size_t)t * (size_t)s->outputs, s->outputs, row, err));
  return are_scored_pairs(s) ? measure_labelled(s, out, err) : measure_unlabelled(s, out, err);
}

/* Scores are made up for it, which differ from row to row: what they have a correlation with, any similarity has. */
static int possible_labelled(const brim_scored *s, brim_metrics *out, brim_error *err) {
  double *scores = room_of_scores(s);
  if (!scores)
    return BRIM_NOMEM(err);
  for (int which = 0; which < BRIM_SIMILARITIES; which++) {
    for (uint64_t row = 0; row < s->rows; row++)
      scores[row] = (double)row;
    judge_similarity(s, (brim_similarity)which, scores, out);
  }
  brim_release(s->runtime, scores);
  return BRIM_OK;
}

int brim_possible_vectors(const brim_scored *s, brim_metrics *out, brim_error *err) {
  bool of_row;
  if (are_scored_pairs(s))
    return possible_labelled(s, out, err);
  BRIM_TRY(has_negatives(s, &of_row, err));
  out->accuracy = 0;
  if (!of_row)
    out->mrr = 0;
  return BRIM_OK;
}
