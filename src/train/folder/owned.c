/* owned.c: what is brim's is found by content. A name alone proves nothing: many programs write `checkpoints` and `log.jsonl`. */
#include "train/folder/owned.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/parts.h"
#include "text/files.h"
#include "train/folder/folds_mark.h"
#include "train/folder/state.h"

/* ---- names ------------------------------------------------------------------------------------------------ */

bool brim_owned_step_of(const char *name, uint64_t *step) {
  size_t prefix = strlen(BRIM_STEP_PREFIX);
  int64_t value;
  if (strncmp(name, BRIM_STEP_PREFIX, prefix) != 0 || name[prefix] < '0' || name[prefix] > '9')
    return false;
  if (!brim_number_integer(name + prefix, strlen(name + prefix), &value))
    return false;
  *step = (uint64_t)value;
  return true;
}

bool brim_owned_half_checkpoint(const char *name) {
  if (brim_is_temporary_of(name, "best") || brim_is_temporary_of(name, "best.tmp")) /* a copy of one, half removed */
    return true;
  const size_t prefix = strlen(BRIM_STEP_PREFIX);
  if (strncmp(name, BRIM_STEP_PREFIX, prefix) != 0 || !brim_is_temporary(name))
    return false;
  const size_t digits = strspn(name + prefix, "0123456789");
  return digits > 0 && strncmp(name + prefix + digits, ".tmp-", 5) == 0;
}

brim_owned_name brim_owned_name_of(const char *path) {
  static const struct {
    const char *name;
    brim_owned_name is;
  } names[] = {
      {BRIM_LOG_NAME, BRIM_NAME_LOG},     {"checkpoints", BRIM_NAME_CHECKPOINTS}, {"tensorboard", BRIM_NAME_TENSORBOARD},
      {BRIM_FOLDS_FILE, BRIM_NAME_FOLDS}, {"folds.json", BRIM_NAME_FOLDS},        {"evaluation.jsonl", BRIM_NAME_FILE},
      {"report.html", BRIM_NAME_FILE},    {"README.md", BRIM_NAME_FILE},          {BRIM_REPLACED_RUN, BRIM_NAME_FILE},
      {"trace.json", BRIM_NAME_ASKED},    {"log.csv", BRIM_NAME_ASKED},
  };
  char name[NAME_MAX + 1];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(path, "/"), path);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i].name) == 0)
      return names[i].is;
  if (strncmp(name, "fold-", 5) == 0)
    return BRIM_NAME_FOLD;
  if (strncmp(name, "predictions", 11) == 0)
    return BRIM_NAME_PREDICTIONS;
  if (brim_is_module_name(name))
    return BRIM_NAME_MODULE;
  return brim_is_model_file(name) || brim_is_tokenizer_file(name) || brim_is_temporary(name) ? BRIM_NAME_FILE : BRIM_NAME_OTHER;
}

bool brim_owned_is_file(const char *name) {
  return brim_owned_name_of(name) == BRIM_NAME_FILE && strcmp(name, BRIM_REPLACED_RUN) != 0 && !brim_is_temporary(name);
}

/* ---- content ---------------------------------------------------------------------------------------------- */

/* The first bytes of a file that is no link's target, as text; "" when there is none or it cannot be read. */
static void read_head(const char *path, char *text, size_t size) {
  text[brim_file_head(path, text, size - 1)] = 0;
}

/* `text` begins with `want`, or is cut within it. */
static bool begins(const char *text, const char *want, bool *whole) {
  size_t length = strlen(text), wanted = strlen(want);
  *whole = length > wanted && strncmp(text, want, wanted) == 0 && (text[wanted] == ',' || text[wanted] == '}');
  return *whole || (length <= wanted && strncmp(text, want, length) == 0);
}

int brim_owned_log_of(brim_runtime *runtime, const char *folder, brim_owned_log *kind, brim_error *err) {
  static const char *const firsts[] = {"{\"event\":\"start\"", "{\"event\":\"folds\""};
  char *path = brim_path_join(runtime, folder, BRIM_LOG_NAME), head[64];
  if (!path)
    return BRIM_NOMEM(err);
  read_head(path, head, sizeof head);
  brim_release(runtime, path);
  *kind = *head ? BRIM_LOG_FOREIGN : BRIM_LOG_NONE;
  for (size_t i = 0; i < sizeof firsts / sizeof *firsts && *kind != BRIM_LOG_OURS; i++) {
    bool whole;
    if (begins(head, firsts[i], &whole))
      *kind = whole ? BRIM_LOG_OURS : BRIM_LOG_NONE;
  }
  return BRIM_OK;
}

int brim_owned_asked(brim_runtime *runtime, const char *folder, const char *name, bool *ours, brim_error *err) {
  const char *first = strcmp(name, "trace.json") == 0 ? "{\"brim\":\"" : "run,event,";
  char *path = brim_path_join(runtime, folder, name), head[64];
  if (!path)
    return BRIM_NOMEM(err);
  read_head(path, head, sizeof head);
  brim_release(runtime, path);
  *ours = brim_owned_name_of(name) == BRIM_NAME_ASKED && strncmp(head, first, strlen(first)) == 0;
  return BRIM_OK;
}

int brim_owned_page(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) {
  char tail[97] = "", *path = brim_path_join(runtime, folder, "report.html");
  if (!path)
    return BRIM_NOMEM(err);
  FILE *file = brim_path_is_file(path) ? fopen(path, "rbe") : NULL;
  if (file && fseek(file, -(long)(sizeof tail - 1), SEEK_END) == 0)
    tail[fread(tail, 1, sizeof tail - 1, file)] = 0;
  if (file)
    fclose(file);
  brim_release(runtime, path);
  *ours = strstr(tail, "<footer>brim ") != NULL;
  return BRIM_OK;
}

int brim_owned_checkpoint(brim_runtime *runtime, const char *checkpoints, const char *name, bool *ours, brim_error *err) {
  uint64_t step;
  struct stat info;
  *ours = false;
  if (!brim_owned_step_of(name, &step))
    return BRIM_OK;
  char *path = brim_path_join(runtime, checkpoints, name), *state = path ? brim_path_join(runtime, path, "state.json") : NULL;
  int status = state ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && lstat(path, &info) == 0 && S_ISDIR(info.st_mode))
    status = brim_train_state_is_ours(runtime, state, ours, err);
  brim_release(runtime, path);
  brim_release(runtime, state);
  return status;
}

/* A link to the link, as `cp -as` makes it of that, leads to another run's best: nothing but the link itself goes. */
bool brim_owned_best(const char *path) {
  static const char other[] = "/checkpoints/";
  char target[PATH_MAX];
  uint64_t step;
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length <= 0)
    return false;
  target[length] = 0;
  const char *name = strrchr(target, '/');
  if (!name)
    return brim_owned_step_of(target, &step);
  const size_t before = (size_t)(name + 1 - target), wanted = sizeof other - 1;
  return before >= wanted && strncmp(target + before - wanted, other, wanted) == 0 &&
         (strcmp(name + 1, "best") == 0 || brim_owned_step_of(name + 1, &step));
}

int brim_owned_in_checkpoints(brim_runtime *runtime, const char *checkpoints, const char *name, bool *ours, brim_error *err) {
  struct stat info;
  BRIM_TRY(brim_owned_checkpoint(runtime, checkpoints, name, ours, err));
  bool best = strcmp(name, "best") == 0 || strcmp(name, "best.tmp") == 0, half = brim_owned_half_checkpoint(name);
  if (*ours || !(best || half))
    return BRIM_OK;
  char *path = brim_path_join(runtime, checkpoints, name);
  if (!path)
    return BRIM_NOMEM(err);
  *ours = best ? brim_owned_best(path) : lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
  brim_release(runtime, path);
  return BRIM_OK;
}

/* ---- a whole folder --------------------------------------------------------------------------------------- */

/* Is a complete checkpoint in folder/checkpoints, and a name that is none of brim's? */
static int look_at_checkpoints(brim_runtime *runtime, const char *folder, bool *found, bool *foreign, brim_error *err) {
  char **names = NULL, *path = brim_path_join(runtime, folder, "checkpoints");
  size_t count = 0;
  bool ours;
  *found = *foreign = false;
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_is_folder(path))
    status = brim_list_folder(runtime, path, &names, &count, err);
  for (size_t i = 0; i < count && !status; i++) {
    status = brim_owned_checkpoint(runtime, path, names[i], &ours, err);
    *found |= ours;
    if (!status && !ours)
      status = brim_owned_in_checkpoints(runtime, path, names[i], &ours, err);
    *foreign |= !ours;
  }
  brim_names_free(runtime, names, count);
  brim_release(runtime, path);
  return status;
}

/* Without a look at replaced-run. */
static int holds_run(brim_runtime *runtime, const char *folder, bool *run, bool *foreign_checkpoints, brim_error *err) {
  brim_owned_log log;
  bool found, folds;
  BRIM_TRY(brim_owned_log_of(runtime, folder, &log, err));
  BRIM_TRY(look_at_checkpoints(runtime, folder, &found, foreign_checkpoints, err));
  BRIM_TRY(brim_folds_files_in(runtime, folder, &folds, err));
  *run = log == BRIM_LOG_OURS || (log == BRIM_LOG_NONE && (found || folds));
  return BRIM_OK;
}

/* A folder that has a file's name is somebody's. */
static int is_no_folder(brim_runtime *runtime, const char *folder, const char *name, bool *is, brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  *is = path && (brim_path_is_link(path) || !brim_path_is_folder(path));
  brim_release(runtime, path);
  return path ? BRIM_OK : BRIM_NOMEM(err);
}

int brim_owned_tensorboard(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) {
  char **names = NULL, *path = brim_path_join(runtime, folder, "tensorboard");
  size_t count = 0;
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  *ours = !status && !brim_path_is_link(path) && brim_path_is_folder(path);
  if (*ours)
    status = brim_list_folder(runtime, path, &names, &count, err);
  for (size_t i = 0; i < count; i++)
    *ours = *ours && strncmp(names[i], "events.out.tfevents.", 20) == 0 && strstr(names[i], ".brim");
  for (size_t i = 0; i < count && *ours && !status; i++)
    status = is_no_folder(runtime, path, names[i], ours, err);
  brim_names_free(runtime, names, count);
  brim_release(runtime, path);
  return status;
}

/* What a run that never began may leave: an empty log, an empty folder of checkpoints, TensorBoard's first file, and what was
 * about to be renamed. */
static int find_stranger(brim_runtime *runtime, const char *folder, bool foreign_checkpoints, char **stranger, brim_error *err) {
  char **names;
  size_t count;
  brim_owned_log log;
  bool tensorboard;
  BRIM_TRY(brim_owned_log_of(runtime, folder, &log, err));
  BRIM_TRY(brim_owned_tensorboard(runtime, folder, &tensorboard, err));
  BRIM_TRY(brim_list_folder(runtime, folder, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status && !*stranger; i++) {
    if ((strcmp(names[i], BRIM_LOG_NAME) == 0 && log == BRIM_LOG_NONE) ||
        (strcmp(names[i], "checkpoints") == 0 && !foreign_checkpoints) || (strcmp(names[i], "tensorboard") == 0 && tensorboard) ||
        brim_is_temporary(names[i]))
      continue;
    if (!(*stranger = brim_copy_string(runtime, names[i], strlen(names[i]))))
      status = BRIM_NOMEM(err);
  }
  brim_names_free(runtime, names, count);
  return status;
}

int brim_owned_run(brim_runtime *runtime, const char *folder, bool *run, char **stranger, brim_error *err) {
  bool foreign_checkpoints, ignored;
  *run = false;
  *stranger = NULL;
  if (!brim_path_is_folder(folder))
    return BRIM_OK;
  BRIM_TRY(holds_run(runtime, folder, run, &foreign_checkpoints, err));
  char *aside = brim_path_join(runtime, folder, BRIM_REPLACED_RUN);
  int status = aside ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && !*run && brim_path_is_folder(aside))
    status = holds_run(runtime, aside, run, &ignored, err);
  brim_release(runtime, aside);
  if (status || *run)
    return status;
  return find_stranger(runtime, folder, foreign_checkpoints, stranger, err);
}

int brim_owned_replaced(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) {
  char **names, *aside = brim_path_join(runtime, folder, BRIM_REPLACED_RUN);
  size_t count = 0;
  bool ignored, run = false;
  struct stat info;
  if (!aside)
    return BRIM_NOMEM(err);
  int status = BRIM_OK;
  bool there = lstat(aside, &info) == 0, listed = there && S_ISDIR(info.st_mode);
  if (listed)
    status = holds_run(runtime, aside, &run, &ignored, err);
  *ours = !there || run;
  if (!status && listed && !run)
    status = brim_list_folder(runtime, aside, &names, &count, err);
  if (!status && listed && !run) {
    brim_owned_log log = BRIM_LOG_FOREIGN;
    *ours = true; /* empty, or a copy of a log that was empty, or was being made */
    for (size_t i = 0; i < count; i++)
      *ours = *ours &&
              (brim_is_temporary(names[i]) || strcmp(names[i], BRIM_LOG_NAME) == 0 || strcmp(names[i], "checkpoints") == 0);
    status = brim_owned_log_of(runtime, aside, &log, err);
    *ours = *ours && log == BRIM_LOG_NONE && !ignored;
    brim_names_free(runtime, names, count);
  }
  brim_release(runtime, aside);
  return status;
}

/* ---- modules ---------------------------------------------------------------------------------------------- */

int brim_owned_modules_open(brim_runtime *runtime, const char *folder, brim_owned_modules *out, brim_error *err) {
  *out = (brim_owned_modules){.runtime = runtime, .folder = folder};
  return brim_listed_modules(runtime, folder, &out->names, &out->count, err);
}

void brim_owned_modules_close(brim_owned_modules *modules) {
  brim_names_free(modules->runtime, modules->names, modules->count);
  modules->names = NULL;
  modules->count = 0;
}

/* Or what a killed process was about to give such a name. */
static bool is_of_module(const char *name) {
  static const char *const files[] = {"config.json", "model.safetensors"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (strcmp(name, files[i]) == 0 || brim_is_temporary_of(name, files[i]))
      return true;
  return false;
}

static int holds_module(brim_runtime *runtime, const char *path, bool *holds, brim_error *err) {
  char **names;
  size_t count;
  *holds = false;
  if (brim_path_is_link(path) || !brim_path_is_folder(path))
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(runtime, path, &names, &count, err));
  *holds = count > 0 || brim_is_module_name(brim_path_name(path)); /* a killed process may have made the folder alone */
  for (size_t i = 0; i < count; i++)
    *holds = *holds && is_of_module(names[i]);
  int status = BRIM_OK;
  for (size_t i = 0; i < count && *holds && !status; i++)
    status = is_no_folder(runtime, path, names[i], holds, err);
  brim_names_free(runtime, names, count);
  return status;
}

int brim_owned_module(const brim_owned_modules *modules, const char *name, bool *ours, brim_error *err) {
  bool listed = false;
  *ours = false;
  for (size_t i = 0; i < modules->count; i++)
    listed = listed || strcmp(modules->names[i], name) == 0;
  if (!listed)
    return BRIM_OK;
  char *path = brim_path_join(modules->runtime, modules->folder, name);
  const int status = path ? holds_module(modules->runtime, path, ours, err) : BRIM_NOMEM(err);
  brim_release(modules->runtime, path);
  return status;
}
