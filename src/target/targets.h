/* targets.h: the targets whose loss the host computes, one a file. */
#ifndef BRIM_TARGET_TARGETS_H
#define BRIM_TARGET_TARGETS_H
#include "target/target.h"

extern const brim_target brim_embedding_target, brim_rerank_target;

const char *brim_vector_loss_name(brim_vector_loss_kind kind);
const char *brim_score_loss_name(brim_score_loss_kind kind);
/* Words of a list with commas between: the index of each among `names` (NULL ends them) into *out. Returns their number; -1: one
 * of them is none, or there are more than `most`. '-' and '_' are the same. */
int brim_words_of(const char *text, const char *const *names, int *out, int most);

#endif
