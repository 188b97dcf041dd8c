/* relabel.h: a data set under another mapping of labels. */
#ifndef BRIM_DATA_RELABEL_H
#define BRIM_DATA_RELABEL_H
#include "brim/data.h"

/* The same rows, whose labels are numbered as in `to`, a mapping of the same task with names: by their names, or, where both
 * sides are numbers, by value. It borrows the rows of `from`, and is to be freed before it. A label that a row has and `to` lacks
 * is BRIM_E_MISMATCH, which names the row (of the set `name`) and both sides. */
int brim_dataset_relabel(brim_runtime *runtime, const brim_dataset *from, const brim_labels *to, const char *name,
                         brim_dataset **out, brim_error *err) BRIM_CHECK;

#endif
