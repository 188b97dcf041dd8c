/* in_batch.c: each row's positive among all texts of the step.
 *
 * Rows are computed in blocks: first the scores of the block's queries with all texts, their softmax, and the gradient by the
 * queries; then the gradient by the texts. In each a task writes what is its own, so that sums have one order. */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "target/vectors.h"

enum { BLOCK = 32, TEXTS = 64 }; /* rows of a block; texts of a task */

/* A text as a candidate of one of a row's two queries, its anchor and its positive: which direction that is. */
enum { QUERIES = 2, DIRECTIONS = 4 };
static const unsigned direction_of[QUERIES][2] = {{BRIM_QUERY_TO_QUERY, BRIM_QUERY_TO_DOC}, {BRIM_DOC_TO_QUERY, BRIM_DOC_TO_DOC}};

typedef struct job {
  const brim_vector_loss *loss;
  const brim_vector_rows *rows;
  const double *units;         /* [texts, width]: the vectors themselves where products are compared */
  double *by_unit;             /* [texts, width] */
  double *weights;             /* [BLOCK, QUERIES, texts]: derivative of the loss by each score, over scale */
  double *values;              /* [rows]: losses */
  uint64_t *left_out;          /* [rows] */
  int32_t *row_of;             /* [texts] */
  int32_t texts, first, count; /* rows of the block */
} job;

/* ---- one row's scores ---------------------------------------------------------------------------------------- */

static bool is_document(const job *j, int32_t text) {
  return text != j->rows->firsts[j->row_of[text]];
}

/* Own texts are no candidates where a query would be compared with itself. */
static bool is_candidate(const job *j, int32_t row, int query, int32_t text) {
  const unsigned direction = direction_of[query][is_document(j, text)];
  const bool own = j->row_of[text] == row;
  return (j->loss->directions & direction) && !(own && (direction == BRIM_QUERY_TO_QUERY || direction == BRIM_DOC_TO_DOC));
}

/* Another text that says what the row's anchor or its positive says. */
static bool repeats(const job *j, int32_t row, int query, int32_t text) {
  const int32_t anchor = j->rows->firsts[row], positive = anchor + 1;
  const uint64_t *same = j->rows->same;
  if (!same || (query == 0 ? text == positive : text == anchor))
    return false;
  return same[text] == same[anchor] || same[text] == same[positive];
}

/* What hardness adds to a score of query and document, per cosine. */
static double hardness_of(const job *j, int32_t row, int query, int32_t text) {
  const brim_hardness h = j->loss->hardness;
  if (h == BRIM_HARDNESS_NONE || query != 0 || !is_document(j, text) || text == j->rows->firsts[row] + 1)
    return 0;
  const bool own = j->row_of[text] == row;
  return h == BRIM_HARDNESS_ALL || (h == BRIM_HARDNESS_OWN) == own ? j->loss->hardness_strength : 0;
}

/* Of the row's queries with all texts; -inf where there is no candidate. */
static void score(const job *j, int32_t row, double *scores) {
  const int32_t width = j->rows->width, anchor = j->rows->firsts[row];
  for (int query = 0; query < QUERIES; query++) {
    const double *own = j->units + (int64_t)(anchor + query) * width;
    for (int32_t t = 0; t < j->texts; t++) {
      double *to = &scores[(int64_t)query * j->texts + t];
      *to = -INFINITY;
      if (!is_candidate(j, row, query, t))
        continue;
      if (repeats(j, row, query, t)) {
        j->left_out[row]++;
        continue;
      }
      *to = (j->loss->scale + hardness_of(j, row, query, t)) * brim_dot(own, j->units + (int64_t)t * width, width);
    }
  }
}

/* ---- softmax ------------------------------------------------------------------------------------------------- */

/* Which softmax a candidate is in. */
static int group_of(const job *j, int query, int32_t text) {
  return j->loss->per_direction ? 2 * query + is_document(j, text) : 0;
}

/* Scores become derivatives. Returns the mean of the log-sum-exps. */
static double weigh(const job *j, double *scores) {
  double largest[DIRECTIONS], sums[DIRECTIONS] = {0}, mean = 0;
  int groups = 0;
  for (int g = 0; g < DIRECTIONS; g++)
    largest[g] = -INFINITY;
  for (int query = 0; query < QUERIES; query++)
    for (int32_t t = 0; t < j->texts; t++)
      largest[group_of(j, query, t)] = fmax(largest[group_of(j, query, t)], scores[(int64_t)query * j->texts + t]);
  for (int query = 0; query < QUERIES; query++)
    for (int32_t t = 0; t < j->texts; t++) {
      double *at = &scores[(int64_t)query * j->texts + t];
      const int g = group_of(j, query, t);
      *at = isinf(*at) ? 0 : exp(*at - largest[g]);
      sums[g] += *at;
    }
  for (int g = 0; g < DIRECTIONS; g++)
    groups += sums[g] > 0;
  for (int g = 0; g < DIRECTIONS; g++)
    mean += sums[g] > 0 ? (largest[g] + log(sums[g])) / groups : 0;
  for (int query = 0; query < QUERIES; query++)
    for (int32_t t = 0; t < j->texts; t++) {
      double *at = &scores[(int64_t)query * j->texts + t];
      *at = *at > 0 ? *at / (sums[group_of(j, query, t)] * groups) : 0;
    }
  return mean;
}

/* ---- tasks --------------------------------------------------------------------------------------------------- */

/* One row of the block: its loss, its weights, and the gradient by its queries. */
static void do_row(void *context, int64_t task, int worker) {
  const job *j = context;
  const int32_t row = j->first + (int32_t)task, width = j->rows->width, anchor = j->rows->firsts[row];
  double *weights = j->weights + task * QUERIES * j->texts;
  const double own = j->loss->scale *
                     brim_dot(j->units + (int64_t)anchor * width, j->units + (int64_t)(anchor + 1) * width, width);
  (void)worker;
  score(j, row, weights);
  j->values[row] = weigh(j, weights) - own;
  weights[anchor + 1] -= 1;
  for (int query = 0; query < QUERIES; query++)
    for (int32_t t = 0; t < j->texts; t++) {
      const double w = weights[(int64_t)query * j->texts + t];
      if (w != 0)
        brim_add_scaled(j->by_unit + (int64_t)(anchor + query) * width, w, j->units + (int64_t)t * width, width);
    }
}

/* Some texts: what the block's queries add to their gradient. */
static void do_texts(void *context, int64_t task, int worker) {
  const job *j = context;
  const int32_t width = j->rows->width, first = (int32_t)task * TEXTS;
  (void)worker;
  for (int32_t i = 0; i < j->count; i++)
    for (int query = 0; query < QUERIES; query++) {
      const double *own = j->units + (int64_t)(j->rows->firsts[j->first + i] + query) * width;
      const double *weights = j->weights + ((int64_t)i * QUERIES + query) * j->texts;
      for (int32_t t = first; t < first + TEXTS && t < j->texts; t++)
        if (weights[t] != 0)
          brim_add_scaled(j->by_unit + (int64_t)t * width, weights[t], own, width);
    }
}

static void run_blocks(brim_runtime *runtime, job *j) {
  for (j->first = 0; j->first < j->rows->rows; j->first += BLOCK) {
    j->count = j->rows->rows - j->first < BLOCK ? j->rows->rows - j->first : BLOCK;
    brim_pool_run(runtime, j->count, do_row, j);
    brim_pool_run(runtime, (j->texts + TEXTS - 1) / TEXTS, do_texts, j);
  }
}

/* ---- entry --------------------------------------------------------------------------------------------------- */

size_t brim_in_batch_work(int32_t rows, int32_t texts, int32_t width) {
  const size_t n = (size_t)texts, r = (size_t)rows;
  return (2 * n * (size_t)width + n + (size_t)BLOCK * QUERIES * n + r) * sizeof(double) + r * sizeof(uint64_t) +
         (n + 1) * sizeof(int32_t);
}

/* Pieces of the work memory; lengths [texts] come last but one. */
static double *cut(job *j, void *work, double **lengths) {
  const size_t n = (size_t)j->texts, r = (size_t)j->rows->rows, size = n * (size_t)j->rows->width;
  double *units = work;
  j->units = units;
  j->by_unit = units + size;
  j->weights = j->by_unit + size;
  j->values = j->weights + (size_t)BLOCK * QUERIES * n;
  *lengths = j->values + r;
  j->left_out = (uint64_t *)(void *)(*lengths + n);
  j->row_of = (int32_t *)(void *)(j->left_out + r);
  memset(j->by_unit, 0, size * sizeof *j->by_unit);
  memset(j->left_out, 0, r * sizeof *j->left_out);
  for (int32_t row = 0; row < j->rows->rows; row++)
    for (int32_t t = j->rows->firsts[row]; t < j->rows->firsts[row + 1]; t++)
      j->row_of[t] = row;
  return units;
}

int brim_in_batch_loss(brim_runtime *runtime, const brim_vector_loss *loss, const brim_vector_rows *rows, void *work,
                       double *gradient, double *value, uint64_t *left_out) {
  job j = {.loss = loss, .rows = rows, .texts = rows->firsts[rows->rows]};
  double *lengths, *units = cut(&j, work, &lengths);
  const int32_t width = rows->width;
  const double factor = loss->scale / rows->rows;
  for (int32_t t = 0; t < j.texts && !loss->dot; t++)
    lengths[t] = brim_make_unit(rows->values + (int64_t)t * width, width, BRIM_NORM_EPS, units + (int64_t)t * width);
  if (loss->dot)
    memcpy(units, rows->values, (size_t)j.texts * (size_t)width * sizeof *units);
  run_blocks(runtime, &j);
  for (int32_t t = 0; t < j.texts; t++) {
    double *by = j.by_unit + (int64_t)t * width;
    if (!loss->dot)
      brim_unit_gradient(units + (int64_t)t * width, lengths[t], BRIM_NORM_EPS, by, width, by);
    brim_add_scaled(gradient + (int64_t)t * width, factor, by, width);
  }
  for (int32_t row = 0; row < rows->rows; row++) {
    *value += j.values[row] / rows->rows;
    *left_out += j.left_out[row];
  }
  return BRIM_OK;
}
