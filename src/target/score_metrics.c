/* score_metrics.c: what scores are worth: how well they sort the documents of each query, and how well they part 0 and 1. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "target/found.h"
#include "target/metrics.h"
#include "target/ranking.h"
#include "target/scored.h"
#include "task/loss.h"
#include "task/task.h"

enum { FIRST = 10 }; /* documents of a query that MRR and NDCG look at */

/* ---- 0 and 1 ------------------------------------------------------------------------------------------------- */

static bool is_after(const void *a, const void *b, const void *values) {
  const double *v = values;
  return v[*(const uint64_t *)a] < v[*(const uint64_t *)b];
}

brim_binary brim_binary_of(const double *scores, const double *labels, uint64_t count, uint64_t *order) {
  const brim_reranking ranked = brim_reranking_of(scores, labels, count, count, order);
  brim_binary b = {.f1 = 0, .average_precision = ranked.map};
  double positives = 0, above = 0;
  for (uint64_t i = 0; i < count; i++) {
    order[i] = i;
    positives += labels[i] > 0.5;
  }
  brim_sort(order, count, sizeof *order, is_after, scores);
  b.accuracy = ((double)count - positives) / (double)count; /* nothing is above the cut */
  for (uint64_t i = 0; i < count; i++) {
    above += labels[order[i]] > 0.5;
    if (i + 1 < count && scores[order[i + 1]] == scores[order[i]])
      continue;
    const double taken = (double)i + 1, right = above + ((double)count - positives) - (taken - above);
    b.accuracy = fmax(b.accuracy, right / (double)count);
    b.f1 = above > 0 ? fmax(b.f1, 2 * above / (taken + positives)) : b.f1;
  }
  return b;
}

/* ---- the documents of each query ----------------------------------------------------------------------------- */

/* Scores and labels of all texts, in the order of the rows; of rows with several texts and no label the first is relevant. */
typedef struct judged {
  const brim_scored *s;
  uint64_t count;
  double *scores, *labels;
  uint64_t *groups, *order; /* [count] the query's; rows sorted by it */
} judged;

static bool is_later(const void *a, const void *b, const void *groups) {
  const uint64_t *g = groups, x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return g[x] > g[y] || (g[x] == g[y] && x > y);
}

/* 1 / rank of the best relevant document among the first; of equal scores the first row's comes first. */
static double reciprocal_rank(const double *scores, const double *labels, uint64_t count) {
  uint64_t best = count, rank = 1;
  for (uint64_t i = 0; i < count; i++)
    if (labels[i] > 0 && (best == count || scores[i] > scores[best]))
      best = i;
  for (uint64_t i = 0; i < count && best < count; i++)
    rank += i != best && (scores[i] > scores[best] || (scores[i] == scores[best] && i < best));
  return best < count && rank <= FIRST ? 1 / (double)rank : 0;
}

/* The documents of one query, gathered in `own` [2, count]; order: room for them. */
static bool add_query(double *own, uint64_t count, uint64_t *order, brim_metrics *out) {
  const double *scores = own, *labels = own + count;
  bool relevant = false;
  for (uint64_t i = 0; i < count; i++)
    relevant = relevant || labels[i] > 0;
  if (!relevant)
    return false;
  const brim_reranking r = brim_reranking_of(scores, labels, count, FIRST, order);
  out->mrr += reciprocal_rank(scores, labels, count);
  out->ndcg += r.ndcg;
  out->map += r.map;
  return true;
}

/* own: room for [2, count]; order [count] comes after it. NaN where no query has a relevant document and another. */
static void rank_queries(const judged *j, double *own, brim_metrics *out) {
  uint64_t queries = 0, most = 0;
  uint64_t *order = (uint64_t *)(void *)(own + 2 * j->count);
  brim_metrics sum = {0};
  for (uint64_t first = 0, end; first < j->count; first = end) {
    for (end = first; end < j->count && j->groups[j->order[end]] == j->groups[j->order[first]];)
      end++;
    const uint64_t count = end - first;
    for (uint64_t i = 0; i < count; i++) {
      own[i] = j->scores[j->order[first + i]];
      own[count + i] = j->labels[j->order[first + i]];
    }
    if (!add_query(own, count, order, &sum))
      continue;
    queries++;
    most = count > most ? count : most;
  }
  if (queries == 0 || most < 2)
    return;
  out->mrr = sum.mrr / (double)queries;
  out->ndcg = sum.ndcg / (double)queries;
  out->map = sum.map / (double)queries;
}

/* ---- all ----------------------------------------------------------------------------------------------------- */

int brim_check_scores(const brim_scored *s, brim_error *err) {
  for (uint64_t row = 0; row < s->rows; row++)
    if (brim_text_count(s, row) == 1 && isnan(brim_first_label(s, row)))
      return brim_row_error(err, BRIM_E_MISMATCH, (brim_row_name){s->set, row}, "has no label");
  return BRIM_OK;
}

static int read_row(judged *j, uint64_t row, brim_error *err) {
  const brim_scored *s = j->s;
  const uint64_t texts = brim_text_count(s, row);
  for (uint64_t t = 0; t < texts; t++, j->count++) {
    BRIM_TRY(brim_outputs_finite(s->logits + j->count, 1, row, err));
    j->scores[j->count] = (double)s->logits[j->count];
    j->labels[j->count] = brim_relevance(s, row, t);
    j->groups[j->count] = texts == 1 && s->groups ? s->groups[row] : row;
    j->order[j->count] = j->count;
  }
  return BRIM_OK;
}

/* Rows with a label for each document but the first: what lies between their scores. */
static bool has_margins(const brim_scored *s) {
  for (uint64_t row = 0; row < s->rows; row++)
    if (isnan(brim_first_label(s, row)) || brim_text_count(s, row) != (uint64_t)s->width + 1)
      return false;
  return true;
}

static double margin_loss(const judged *j) {
  double sum = 0;
  for (uint64_t row = 0; row < j->s->rows; row++)
    for (int32_t k = 0; k < j->s->width; k++) {
      const double *own = j->scores + j->s->firsts[row];
      const double error = own[0] - own[k + 1] - (double)j->s->labels[row * (uint64_t)j->s->width + (uint64_t)k];
      sum += error * error / j->s->width;
    }
  return sum / (double)j->s->rows;
}

/* unit: labels are from 0 to 1, and those of logits are probabilities. */
static void find_loss(const judged *j, bool unit, brim_metrics *out) {
  out->loss = 0;
  for (uint64_t i = 0; i < j->count; i++) {
    const double error = j->scores[i] - j->labels[i];
    out->loss += (unit && !j->s->meaning.values ? brim_binary_loss(j->scores[i], j->labels[i], 1) : error * error) /
                 (double)j->count;
  }
  if (j->s->meaning.values && has_margins(j->s))
    out->loss = margin_loss(j);
}

/* Of the scores that predictions have: a sigmoid keeps the order of logits, but not how far apart they are. */
static void correlate(const judged *j, double *own, brim_metrics *out) {
  for (uint64_t i = 0; i < j->count; i++)
    own[i] = j->s->meaning.values ? j->scores[i] : brim_sigmoid(j->scores[i]);
  memcpy(own + j->count, j->labels, j->count * sizeof *own);
  const brim_correlation c = brim_correlate(own, own + j->count, j->count, own + 2 * j->count);
  out->pearson = c.pearson, out->spearman = c.spearman;
}

/* own: room for [2, count], and a correlation. */
static void measure_all(judged *j, double *own, brim_metrics *out) {
  bool unit = true, binary = true;
  for (uint64_t i = 0; i < j->count; i++) {
    unit = unit && j->labels[i] >= 0 && j->labels[i] <= 1;
    binary = binary && (j->labels[i] == 0 || j->labels[i] == 1);
  }
  find_loss(j, unit, out);
  brim_sort(j->order, j->count, sizeof *j->order, is_later, j->groups);
  rank_queries(j, own, out);
  if (binary) {
    const brim_binary b = brim_binary_of(j->scores, j->labels, j->count, j->order);
    out->accuracy = b.accuracy, out->f1 = b.f1, out->average_precision = b.average_precision;
  }
  correlate(j, own, out);
}

int brim_measure_scores(const brim_scored *s, brim_metrics *out, brim_error *err) {
  const size_t texts = (size_t)brim_first_text(s, s->rows);
  double *own = brim_alloc_array(s->runtime, texts, 2 * sizeof *own + BRIM_CORRELATION_WORK);
  double *numbers = brim_alloc_array(s->runtime, texts, 2 * sizeof *numbers + 2 * sizeof(uint64_t));
  judged j = {.s = s, .scores = numbers};
  int status = own && numbers ? BRIM_OK : BRIM_NOMEM(err);
  if (!status) {
    j.labels = numbers + texts;
    j.groups = (uint64_t *)(void *)(j.labels + texts);
    j.order = j.groups + texts;
  }
  for (uint64_t row = 0; row < s->rows && !status; row++)
    status = read_row(&j, row, err);
  if (!status)
    measure_all(&j, own, out);
  brim_release(s->runtime, own);
  brim_release(s->runtime, numbers);
  return status;
}
