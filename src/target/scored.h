/* scored.h: rows of several texts with their outputs, as metrics and what is shown of rows look at them. */
#ifndef BRIM_TARGET_SCORED_H
#define BRIM_TARGET_SCORED_H
#include <math.h>

#include "target/ranking.h"
#include "task/rules.h"

/* What rows of vectors are compared by: the similarity that the model was trained with. */
static inline brim_similarity brim_own_similarity(const brim_scored *s) {
  return s->values ? BRIM_SIMILARITY_DOT : BRIM_SIMILARITY_COSINE;
}

/* A row's first text; of `rows` the end. */
static inline uint64_t brim_first_text(const brim_scored *s, uint64_t row) {
  return s->firsts ? s->firsts[row] : row;
}

static inline uint64_t brim_text_count(const brim_scored *s, uint64_t row) {
  return brim_first_text(s, row + 1) - brim_first_text(s, row);
}

/* A row's first label; NaN: it has none. */
static inline double brim_first_label(const brim_scored *s, uint64_t row) {
  return s->labels ? (double)s->labels[row * (uint64_t)s->width] : (double)NAN;
}

static inline bool brim_same_text(const brim_scored *s, uint64_t one, uint64_t other) {
  return s->same && s->same[one] == s->same[other];
}

/* All vectors as products of them are that similarity, for cosines at length 1, [texts, outputs], to be released; NULL: no memory
 * (vector_metrics.c). */
double *brim_unit_vectors(const brim_scored *s);

#endif
