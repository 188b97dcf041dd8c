#include "train/folder/folds_files.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "train/folder/folds_mark.h"
#include "train/folder/foreign.h"

#define FINISHED_LIMIT (64u << 20) /* bytes of a folds.json, far more than one has */

int brim_folds_files_open(brim_runtime *runtime, const char *folder, brim_folds_files *out, brim_error *err) {
  *out = (brim_folds_files){.runtime = runtime, .folder = folder};
  BRIM_TRY(brim_folds_files_in(runtime, folder, &out->there, err));
  char *path = brim_path_join(runtime, folder, "folds.json");
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && out->there && brim_path_is_file(path))
    status = brim_json_load(runtime, path, FINISHED_LIMIT, &out->finished, err);
  brim_release(runtime, path);
  return status == BRIM_E_FORMAT ? BRIM_OK : status; /* another program's, or damaged */
}

void brim_folds_files_close(brim_folds_files *files) {
  brim_json_free(files->finished);
  files->finished = NULL;
}

/* predictions.jsonl, or predictions-NAME.jsonl of a set that folds.json names. */
static bool is_predictions(const brim_folds_files *files, const char *name) {
  char wanted[160];
  if (!files->finished)
    return false;
  if (strcmp(name, "predictions.jsonl") == 0)
    return true;
  const brim_json_value *averages = brim_json_get(brim_json_root(files->finished), "averages");
  for (const brim_json_value *average = brim_json_first(averages); average; average = brim_json_after(averages, average)) {
    const brim_json_value *of = brim_json_get(average, "name");
    if (!of || of->kind != BRIM_JSON_STRING || of->length > 100)
      continue;
    snprintf(wanted, sizeof wanted, "predictions-%.*s.jsonl", (int)of->length, of->as.text);
    if (strcmp(name, wanted) == 0)
      return true;
  }
  return false;
}

static bool is_fold(const char *name) {
  int number, used = 0;
  return sscanf(name, "fold-%d%n", &number, &used) == 1 && !name[used];
}

int brim_folds_files_has(const brim_folds_files *files, const char *name, bool *ours, brim_error *err) {
  *ours = false;
  if (!files->there)
    return BRIM_OK;
  if (!is_fold(name)) {
    *ours = strcmp(name, BRIM_FOLDS_FILE) == 0 || (files->finished && strcmp(name, "folds.json") == 0) ||
            is_predictions(files, name);
    return BRIM_OK;
  }
  char *path = brim_path_join(files->runtime, files->folder, name);
  int status = path ? brim_foreign_none(files->runtime, path, ours, err) : BRIM_NOMEM(err);
  brim_release(files->runtime, path);
  return status;
}
