/* folds_mark.h: the file by which a folder is known to hold a run in folds. */
#ifndef BRIM_TRAIN_FOLDS_MARK_H
#define BRIM_TRAIN_FOLDS_MARK_H
#include "brim/base.h"

#define BRIM_FOLDS_FILE "folds.csv" /* which row is in which fold: the first that is written */

/* Does the folder hold a run in folds? */
int brim_folds_files_in(brim_runtime *runtime, const char *folder, bool *there, brim_error *err) BRIM_CHECK;

#endif
