/* folds_mark.c: folds.csv is brim's if it begins with its head line. */
#include "train/folder/folds_mark.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"

/* Does the file begin with these bytes? */
static int file_begins(brim_runtime *runtime, const char *folder, const char *name, const char *want, bool *does,
                       brim_error *err) {
  char head[64] = "", *path = brim_path_join(runtime, folder, name);
  if (!path)
    return BRIM_NOMEM(err);
  const size_t got = brim_file_head(path, head, strlen(want));
  brim_release(runtime, path);
  *does = got == strlen(want) && memcmp(head, want, got) == 0;
  return BRIM_OK;
}

int brim_folds_files_in(brim_runtime *runtime, const char *folder, bool *there, brim_error *err) {
  return file_begins(runtime, folder, BRIM_FOLDS_FILE, "row,fold\n", there, err);
}
