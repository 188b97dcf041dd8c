/* scored.h: rows of several texts with their outputs, as metrics and what is shown of rows look at them. */
#ifndef BRIM_TARGET_SCORED_H
#define BRIM_TARGET_SCORED_H
#include <math.h>

#include "target/ranking.h"
#include "task/rules.h"

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

/* The vectors of all texts as the folder gives and compares them (vector_metrics.c). */
typedef struct brim_given_vectors {
  double *at; /* [texts, width], for cosines of length 1; to be released; NULL: no memory */
  int32_t width;
  brim_similarity similarity;
} brim_given_vectors;
/* One of them as the folder gives it; returns its width. */
int32_t brim_give_text(const brim_scored *s, uint64_t text, double *to);
brim_given_vectors brim_give_vectors(const brim_scored *s);
double brim_compare_vectors(const brim_given_vectors *vectors, uint64_t one, uint64_t other);

#endif
