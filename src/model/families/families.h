/* families.h: every family, once: a new one is a file here that defines brim_family_NAME, and its row. */
#ifndef BRIM_MODEL_FAMILIES_H
#define BRIM_MODEL_FAMILIES_H
#include "model/family.h"

#define BRIM_FAMILIES(X)                                                                                                         \
  X(bert)                                                                                                                        \
  X(ernie)                                                                                                                       \
  X(roberta)                                                                                                                     \
  X(camembert)                                                                                                                   \
  X(xlm_roberta)                                                                                                                 \
  X(distilbert)                                                                                                                  \
  X(electra)                                                                                                                     \
  X(albert)                                                                                                                      \
  X(mpnet)                                                                                                                       \
  X(deberta)                                                                                                                     \
  X(modernbert)                                                                                                                  \
  X(nomic_bert)                                                                                                                  \
  X(gte)                                                                                                                         \
  X(gte_new)                                                                                                                     \
  X(jina)                                                                                                                        \
  X(eurobert)

#define BRIM_FAMILY_DECLARE(name) extern const brim_family brim_family_##name;
BRIM_FAMILIES(BRIM_FAMILY_DECLARE)
#undef BRIM_FAMILY_DECLARE

/* NULL when there is no such model_type. */
const brim_family *brim_family_find(const char *type, size_t length);
/* "bert, roberta, ..." for messages; returns `text`. */
enum { BRIM_FAMILY_LIST = 400 };
const char *brim_family_list(char text[BRIM_FAMILY_LIST]);

#endif
