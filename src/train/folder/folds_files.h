/* folds_files.h: what a run in folds leaves in its folder, the program's files among it. */
#ifndef BRIM_TRAIN_FOLDS_FILES_H
#define BRIM_TRAIN_FOLDS_FILES_H
#include "brim/base.h"

typedef struct brim_json_document brim_json_document;
typedef struct brim_folds_files {
  brim_runtime *runtime;
  const char *folder;           /* borrowed */
  bool there;                   /* folds.csv is brim's: it begins with its head line */
  brim_json_document *finished; /* folds.json, which names the predictions of the end; NULL: none */
} brim_folds_files;

int brim_folds_files_open(brim_runtime *runtime, const char *folder, brim_folds_files *out, brim_error *err) BRIM_CHECK;
void brim_folds_files_close(brim_folds_files *files);
/* Is NAME one of the run's files or folders? A folder of a fold that holds something else besides is BRIM_E_USAGE. */
int brim_folds_files_has(const brim_folds_files *files, const char *name, bool *ours, brim_error *err) BRIM_CHECK;

#endif
