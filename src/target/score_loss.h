/* score_loss.h: losses of scores, as rerankers have them: one number a pair of query and document, in groups of one query.
 * Plain sums in double. Formulas: sentence-transformers 6.2, cross_encoder/losses. z scores, y labels. */
#ifndef BRIM_TARGET_SCORE_LOSS_H
#define BRIM_TARGET_SCORE_LOSS_H
#include "brim/base.h"

typedef enum brim_score_loss_kind {
  BRIM_SCORE_BCE = 0,       /* mean over scores of -(w y log sig z + (1 - y) log sig -z), w = positive_weight */
  BRIM_SCORE_MSE,           /* mean over scores of (z - y)^2 */
  BRIM_SCORE_CROSS_ENTROPY, /* mean over groups of -log softmax(z)[y], y one number a group: which of its scores */
  BRIM_SCORE_IN_GROUP,      /* the same of scale sig(z), or scale z, and the first score of a group */
  BRIM_SCORE_LIST_NET,      /* mean over groups of -sum softmax(y) log softmax(z) */
  BRIM_SCORE_MARGIN_MSE, /* mean over groups and k of ((z_0 - z_k) - y_k)^2; labels y_k, or s_0, s_1, .. which mean s_0 - s_k */
  BRIM_SCORE_LOSSES
} brim_score_loss_kind;

typedef struct brim_score_loss {
  brim_score_loss_kind kind;
  double positive_weight; /* of BCE */
  double scale;           /* of IN_GROUP */
  bool identity;          /* IN_GROUP: the scores themselves, not their sigmoid */
} brim_score_loss;

/* "bce", "mse", "cross-entropy", "in-group" (also "mnrl"), "list-net", "margin-mse"; false for any other name. *out has the
 * defaults of sentence-transformers. */
bool brim_score_loss_named(const char *name, size_t length, brim_score_loss *out);

const char *brim_score_loss_name(brim_score_loss_kind kind);

typedef struct brim_score_rows {
  int32_t groups;
  const int32_t *firsts; /* [groups + 1]: group g has the scores firsts[g] .. firsts[g + 1] - 1 */
  const double *scores;
  const double *labels; /* [groups, label_width]; label_width 0: one a score; NULL: there are none */
  int32_t label_width;
} brim_score_rows;

/* The loss and its gradient by the scores, which is written. BRIM_E_MISMATCH names a group whose labels are not what it needs. */
int brim_score_loss_compute(const brim_score_loss *loss, const brim_score_rows *rows, double *gradient, double *value,
                            brim_error *err) BRIM_CHECK;

#endif
