/* folds_files.h: what a run in folds leaves in its folder, the program's files among it. */
#ifndef BRIM_TRAIN_FOLDS_FILES_H
#define BRIM_TRAIN_FOLDS_FILES_H
#include "train/folder.h"

#define BRIM_FOLDS_FILE "folds.csv" /* which row is in which fold: the first that is written */

/* Does the folder hold a run in folds? */
int brim_folds_files_find(const brim_run_folder *folder, bool *there, brim_error *err) BRIM_CHECK;
/* All of them go aside before a new run is there: `resume` must not meet them, nor anybody take them for the new run's. */
int brim_folds_files_set_aside(const brim_run_folder *folder, brim_error *err) BRIM_CHECK;

#endif
