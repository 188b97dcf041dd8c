/* vector_rows.h: which loss of vectors, and of which rows. */
#ifndef BRIM_TARGET_VECTOR_ROWS_H
#define BRIM_TARGET_VECTOR_ROWS_H
#include "brim/base.h"

typedef enum brim_vector_loss_kind {
  /* Mean of -log softmax of scale cos(a, p) among scale cos(a, d), d all positives and negatives of all rows: InfoNCE. */
  BRIM_LOSS_IN_BATCH = 0,
  BRIM_LOSS_COSENT, /* log(1 + sum over i, j with y_i < y_j of exp(scale (cos_i - cos_j))): one number, not a mean over rows */
  BRIM_LOSS_ANGLE,  /* the same with |cos + sin| of the angle, over a and each other text: of a third and more texts y is 1 - y */
  BRIM_LOSS_COSINE, /* mean (cos(a, b) - y)^2 */
  BRIM_LOSS_CONTRASTIVE, /* mean 1/2 (y D^2 + (1 - y) relu(margin - D)^2) */
  /* Sum of y D^2 over pairs with D > the smallest D of y = 0, and of (1 - y) relu(margin - D)^2 over those with D < the largest
   * of y = 1; where there are none of the other kind, the mean D of this kind. */
  BRIM_LOSS_ONLINE_CONTRASTIVE,
  BRIM_LOSS_TRIPLET,     /* mean relu(D(a, p) - D(a, n) + margin) */
  BRIM_LOSS_MARGIN_MSE,  /* mean over rows and k of ((a.p - a.n_k) - y_k)^2; labels y_k, or s_p, s_1, .. which mean s_p - s_k */
  BRIM_LOSS_DISTILL_KL,  /* T^2 KL(softmax(y / T) || softmax([a.p, a.n_1, ..] / T)), mean over rows */
  BRIM_LOSS_MSE_VECTORS, /* mean of (x - y)^2 over a row's texts and the numbers of y, a teacher's vector: the first of x; over
                            rows */
  BRIM_VECTOR_LOSSES
} brim_vector_loss_kind;

/* COSINE: 1 - cos. EUCLIDEAN: |a - b|, with derivative 0 at a = b. MANHATTAN: sum |a - b|. Contrastive's two add 1e-6 to each
 * difference, as torch's pairwise_distance does. */
typedef enum brim_distance { BRIM_DISTANCE_COSINE = 0, BRIM_DISTANCE_EUCLIDEAN, BRIM_DISTANCE_MANHATTAN } brim_distance;

/* In-batch negatives: what is compared. Always query to document; the others add terms to the softmax. */
enum {
  BRIM_QUERY_TO_DOC = 1,   /* a with all documents: positives and negatives of all rows */
  BRIM_QUERY_TO_QUERY = 2, /* a with the other rows' anchors */
  BRIM_DOC_TO_QUERY = 4,   /* p with all anchors */
  BRIM_DOC_TO_DOC = 8      /* p with the other rows' documents */
};
/* To which scores of query and document `hardness_strength` cos is added, without gradient: other rows' documents, the row's own
 * negatives, or both. */
typedef enum brim_hardness { BRIM_HARDNESS_NONE = 0, BRIM_HARDNESS_IN_BATCH, BRIM_HARDNESS_OWN, BRIM_HARDNESS_ALL } brim_hardness;

enum { BRIM_MOST_DIMENSIONS = 16 };
typedef struct brim_vector_loss {
  brim_vector_loss_kind kind;
  double scale; /* of IN_BATCH, COSENT and ANGLE */
  bool dot;     /* IN_BATCH: products of vectors, not cosines */
  unsigned directions;
  bool per_direction; /* a softmax for each direction, whose logarithms are averaged; else one for all */
  brim_hardness hardness;
  double hardness_strength;
  brim_distance distance; /* of both CONTRASTIVE and of TRIPLET */
  double margin, temperature;
  /* Numbers that come with the rows, of each row or of each text: its vector by another model, or its scores. 0: there are none.
   */
  int32_t teacher_width;
  bool teacher_of_texts;
  /* Matryoshka: the sum over k of weights[k] times the loss of the first dimensions[k] numbers, brought to length 1. None: the
   * loss of the vectors themselves. */
  int32_t dimension_count, dimensions[BRIM_MOST_DIMENSIONS];
  double weights[BRIM_MOST_DIMENSIONS];
} brim_vector_loss;

/* A step's rows, in order of place. */
typedef struct brim_vector_rows {
  int32_t rows, width;
  const int32_t *firsts; /* [rows + 1]: row r has the texts firsts[r] .. firsts[r + 1] - 1 */
  const double *values;  /* [texts, width] */
  const double *labels;  /* [rows, label_width]; NULL: there are none */
  int32_t label_width;
  const double *teacher; /* [rows, teacher_width], or [texts, teacher_width]; NULL: there is none */
  int32_t teacher_width;
  bool teacher_of_texts;
  const uint64_t *same; /* [texts], equal for equal texts: a candidate whose text is the row's own anchor's or positive's is left
                           out of its softmax. NULL: none is */
  const uint64_t *numbers; /* [rows] as messages name them; NULL: from 0 on */
} brim_vector_rows;

#endif
