#include "target/ranking.h"

#include <math.h>

#include "base/sort.h"
#include "target/vectors.h"

/* ---- retrieval ----------------------------------------------------------------------------------------------- */

static double discount(uint64_t rank) {
  return 1 / log2((double)rank + 1);
}

brim_retrieval brim_retrieval_at(const bool *hits, uint64_t count, uint64_t relevant, uint64_t k) {
  brim_retrieval r = {0};
  double found = 0, gain = 0, ideal = 0;
  const uint64_t best = relevant < k ? relevant : k;
  for (uint64_t rank = 1; rank <= k && rank <= count; rank++) {
    if (!hits[rank - 1])
      continue;
    found++;
    gain += discount(rank);
    r.map += found / (double)rank;
    r.mrr = r.mrr > 0 ? r.mrr : 1 / (double)rank;
  }
  for (uint64_t rank = 1; rank <= best; rank++)
    ideal += discount(rank);
  r.accuracy = found > 0;
  r.precision = found / (double)k;
  r.recall = found / (double)relevant;
  r.map /= (double)best;
  r.ndcg = gain / ideal;
  return r;
}

/* ---- reranking ----------------------------------------------------------------------------------------------- */

static bool is_after(const void *a, const void *b, const void *values) {
  const double *v = values;
  return v[*(const uint64_t *)a] < v[*(const uint64_t *)b];
}

/* Largest first. */
static void order_by(const double *values, uint64_t count, uint64_t *order) {
  for (uint64_t i = 0; i < count; i++)
    order[i] = i;
  brim_sort(order, count, sizeof *order, is_after, values);
}

/* After the documents that score as the one at `first` does. */
static uint64_t tied_end(const double *scores, const uint64_t *order, uint64_t count, uint64_t first) {
  uint64_t end = first + 1;
  while (end < count && scores[order[end]] == scores[order[first]])
    end++;
  return end;
}

/* Sum of gains over discounts of the first k; those with one score share the mean of their gains, and below 0 there is none. */
static double gain_of(const double *scores, const double *gains, const uint64_t *order, uint64_t count, uint64_t k) {
  double sum = 0;
  for (uint64_t first = 0, end; first < count && first < k; first = end) {
    double mean = 0, weight = 0;
    end = tied_end(scores, order, count, first);
    for (uint64_t i = first; i < end; i++) {
      mean += fmax(gains[order[i]], 0);
      weight += i < k ? discount(i + 1) : 0;
    }
    sum += mean / (double)(end - first) * weight;
  }
  return sum;
}

static double average_precision(const double *scores, const double *gains, const uint64_t *order, uint64_t count,
                                double relevant) {
  double sum = 0, hits = 0;
  for (uint64_t first = 0, end; first < count; first = end) {
    double own = 0;
    end = tied_end(scores, order, count, first);
    for (uint64_t i = first; i < end; i++)
      own += gains[order[i]] > 0;
    hits += own;
    sum += own * (hits / (double)end);
  }
  return sum / relevant;
}

brim_reranking brim_reranking_of(const double *scores, const double *gains, uint64_t count, uint64_t k, uint64_t *order) {
  brim_reranking r = {0};
  double relevant = 0;
  order_by(scores, count, order);
  for (uint64_t i = 0; i < count; i++) {
    relevant += gains[i] > 0;
    if (i + 1 < count && scores[order[i]] == scores[order[i + 1]])
      r.mrr = NAN;
    if (r.mrr == 0 && i < k && gains[order[i]] > 0)
      r.mrr = 1 / (double)(i + 1);
  }
  if (relevant == 0)
    return r;
  r.ndcg = gain_of(scores, gains, order, count, k);
  r.map = average_precision(scores, gains, order, count, relevant);
  order_by(gains, count, order);
  r.ndcg /= gain_of(gains, gains, order, count, k);
  return r;
}

/* ---- similarities -------------------------------------------------------------------------------------------- */

/* Of vectors that are equal it is exactly 1: the root of a square is exact, and ranks see ties. */
static double cosine_of(const double *a, const double *b, int32_t width) {
  const double least = BRIM_NORM_EPS * BRIM_NORM_EPS;
  const double lengths = sqrt(fmax(brim_dot(a, a, width), least) * fmax(brim_dot(b, b, width), least));
  return fmax(-1, fmin(brim_dot(a, b, width) / lengths, 1));
}

double brim_similarity_of(brim_similarity similarity, const double *a, const double *b, int32_t width) {
  if (similarity == BRIM_SIMILARITY_COSINE)
    return cosine_of(a, b, width);
  if (similarity == BRIM_SIMILARITY_DOT)
    return brim_dot(a, b, width);
  return -brim_distance_of(similarity == BRIM_SIMILARITY_EUCLIDEAN ? BRIM_DISTANCE_EUCLIDEAN : BRIM_DISTANCE_MANHATTAN, a, b,
                           width, 0, 0, NULL);
}
