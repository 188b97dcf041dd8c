/* relabel.h: a data set under another mapping of labels, or with other tokens. */
#ifndef BRIM_DATA_RELABEL_H
#define BRIM_DATA_RELABEL_H
#include "brim/data.h"

/* The same rows, whose labels are numbered as in `to`, a mapping of the same task with names: by their names, or, where both
 * sides are numbers, by value. It borrows the rows of `from`, and is to be freed before it. A label that a row has and `to` lacks
 * is BRIM_E_MISMATCH, which names the row (of the set `name`) and both sides. */
int brim_dataset_relabel(brim_runtime *runtime, const brim_dataset *from, const brim_labels *to, const char *name,
                         brim_dataset **out, brim_error *err) BRIM_CHECK;

/* Changes the tokens and the labels of tokens of a row. */
typedef void (*brim_remask_fn)(void *context, uint64_t row, int32_t *ids, int32_t *labels, int32_t length);
/* The same rows, whose tokens have labels, as `change` makes each of them. It borrows from `from` likewise. */
int brim_dataset_remask(brim_runtime *runtime, const brim_dataset *from, brim_remask_fn change, void *context, brim_dataset **out,
                        brim_error *err) BRIM_CHECK;

#endif
