#include "train/folds_files.h"

#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "base/memory.h"
#include "base/status.h"

static bool is_of_folds(const char *name) {
  int number, used = 0;
  const size_t length = strlen(name);
  if (sscanf(name, "fold-%d%n", &number, &used) == 1 && !name[used])
    return true;
  return strcmp(name, BRIM_FOLDS_FILE) == 0 || strcmp(name, "folds.json") == 0 || strcmp(name, "report.html") == 0 ||
         (strncmp(name, "predictions", 11) == 0 && length > 6 && strcmp(name + length - 6, ".jsonl") == 0);
}

int brim_folds_files_find(const brim_run_folder *folder, bool *there, brim_error *err) {
  *there = false;
  if (!folder->output)
    return BRIM_OK;
  char *path = brim_path_join(folder->runtime, folder->output, BRIM_FOLDS_FILE);
  if (!path)
    return BRIM_NOMEM(err);
  *there = brim_path_exists(path);
  brim_release(folder->runtime, path);
  return BRIM_OK;
}

int brim_folds_files_set_aside(const brim_run_folder *folder, brim_error *err) {
  char **names;
  size_t count;
  BRIM_TRY(brim_list_folder(folder->runtime, folder->output, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++)
    if (is_of_folds(names[i]))
      status = brim_run_folder_set_aside(folder, names[i], err);
  brim_names_free(folder->runtime, names, count);
  return status;
}
