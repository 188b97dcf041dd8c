/* metrics.h: what vectors and scores are worth over rows. Definitions: sentence-transformers 6.2, sentence_transformer/evaluation
 * and cross_encoder/evaluation. */
#ifndef BRIM_TARGET_METRICS_H
#define BRIM_TARGET_METRICS_H
#include "task/rules.h"

/* Of labels 0 and 1 (more than a half) and scores. Cuts are between rows of different scores, or after none. */
typedef struct brim_binary {
  double accuracy, f1;      /* at the cut that is best for it */
  double average_precision; /* tied rows are one step */
} brim_binary;
/* order: room for [count]. */
brim_binary brim_binary_of(const double *scores, const double *labels, uint64_t count, uint64_t *order);

/* As rules have them. */
int brim_check_vectors(const brim_scored *s, brim_error *err);
int brim_measure_vectors(const brim_scored *s, brim_metrics *out, brim_error *err);
int brim_possible_vectors(const brim_scored *s, brim_metrics *out, brim_error *err);
int brim_check_scores(const brim_scored *s, brim_error *err);
int brim_measure_scores(const brim_scored *s, brim_metrics *out, brim_error *err);

#endif
