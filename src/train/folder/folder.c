/* folder.c: the run folder. Nothing is removed from it but brim's own checkpoints, and a run that has been replaced (replace.c).
 */
#include "train/folder/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/leftovers.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/parts.h"
#include "model/run/ask.h"
#include "train/folder/fields.h"
#include "train/folder/foreign.h"
#include "train/folder/owned.h"
#include "train/folder/state.h"

enum { MOST_NAMED = 4 };

/* ---- what is there ---------------------------------------------------------------------------------------- */

static int folder_refuse(const char *output, const char *stranger, brim_error *err) {
  return brim_error_at(
      err, BRIM_E_USAGE, output, 0, -1,
      "the folder holds something that is not a run (\"%.60s\"): name another folder, or allow it with overwrite", stranger);
}

/* A name that a run needs and that another program has taken. */
static int folder_refuse_taken(brim_runtime *runtime, const char *output, brim_error *err) {
  brim_owned_log log;
  bool ours;
  BRIM_TRY(brim_owned_log_of(runtime, output, &log, err));
  BRIM_TRY(brim_owned_replaced(runtime, output, &ours, err));
  if (log != BRIM_LOG_FOREIGN && ours)
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_USAGE, output, 0, -1,
      "\"%s\" in this folder was not written by brim, and a run would replace it: move it away, or name another folder",
      log == BRIM_LOG_FOREIGN ? BRIM_LOG_NAME : BRIM_REPLACED_RUN);
}

/* A file that a run writes, or may be asked to write: a trace, what folds come to. */
static bool is_written(brim_owned_name is, const char *name) {
  return brim_owned_is_file(name) || is == BRIM_NAME_ASKED || is == BRIM_NAME_FOLDS ||
         (is == BRIM_NAME_PREDICTIONS && strchr(name, '.'));
}

/* What is wrong with what has a name of a run's, or NULL. Folders of folds are looked at where they are made. */
static const char *find_odd(const char *name, const char *path) {
  const brim_owned_name is = brim_owned_name_of(name);
  const bool link = brim_path_is_link(path), folder = brim_path_is_folder(path);
  if (is == BRIM_NAME_CHECKPOINTS && link)
    return "this is a link, and a run's checkpoints are in its own folder: remove the link, or name another folder (which may be "
           "a link itself)";
  if (is == BRIM_NAME_CHECKPOINTS)
    return folder ? NULL : "a run has a folder of this name, and this is none: move it away";
  if (!folder) /* what has a file's name is replaced */
    return NULL;
  if (!link)
    return is_written(is, name) ? "this is a folder, and a run writes a file of its name: move it away" : NULL;
  return is == BRIM_NAME_OTHER || is == BRIM_NAME_FOLD || is == BRIM_NAME_PREDICTIONS
             ? NULL
             : "this is a link, and a run's files are in its own folder: remove the link, or name another folder (which may be a "
               "link itself)";
}

static int refuse_odd(brim_runtime *runtime, const char *output, const char *name, brim_error *err) {
  char *path = brim_path_join(runtime, output, name);
  if (!path)
    return BRIM_NOMEM(err);
  const char *odd = find_odd(name, path);
  const int status = odd ? brim_error_at(err, BRIM_E_USAGE, path, 0, -1, "%s", odd) : BRIM_OK;
  brim_release(runtime, path);
  return status;
}

/* Another run's checkpoints would be removed through them, and files of others replaced. */
static int folder_refuse_links(brim_runtime *runtime, const char *output, brim_error *err) {
  char **names;
  size_t count;
  BRIM_TRY(brim_list_folder(runtime, output, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = refuse_odd(runtime, output, names[i], err);
  brim_names_free(runtime, names, count);
  return status;
}

/* Before anything is changed. */
static int folder_look(brim_runtime *runtime, const char *output, bool overwrite, brim_error *err) {
  char *stranger;
  bool run;
  if (!brim_path_exists(output))
    return brim_path_is_link(output)
               ? brim_error_at(err, BRIM_E_USAGE, output, 0, -1,
                               "the output is a link to something that is not there: remove it, or make its folder")
               : BRIM_OK;
  if (!brim_path_is_folder(output))
    return brim_error_at(err, BRIM_E_USAGE, output, 0, -1, "the output is a file: name a folder");
  BRIM_TRY(brim_owned_run(runtime, output, &run, &stranger, err));
  int status = stranger && !overwrite ? folder_refuse(output, stranger, err) : BRIM_OK;
  brim_release(runtime, stranger);
  if (!status)
    status = folder_refuse_links(runtime, output, err);
  return status ? status : folder_refuse_taken(runtime, output, err);
}

/* A log that is a link becomes a file of the folder's own, with the same lines: what it points at stays as it is. */
static int folder_own_log(brim_runtime *runtime, const char *log, bool may_change, brim_error *err) {
  char *bytes = NULL;
  size_t length = 0;
  if (!brim_path_is_link(log))
    return BRIM_OK;
  if (!may_change)
    return brim_error_at(err, BRIM_E_USAGE, log, 0, -1,
                         "this is a link, and a run writes its own log: name another folder, or allow it with overwrite");
  struct stat info;
  const bool there = stat(log, &info) == 0;
  if (there && !S_ISREG(info.st_mode))
    return brim_error_at(err, BRIM_E_USAGE, log, 0, -1, "a run's log is a file, and this is none: name another folder");
  int status = there ? brim_file_read_plain(runtime, log, 0, &bytes, &length, err) : BRIM_OK;
  if (!status)
    status = brim_file_write_own(runtime, log, bytes, length, err);
  brim_runtime_release(runtime, bytes);
  return status;
}

/* A log with a second name (`cp -al`) becomes one of the folder's own too, under the lock of the former: a run may be writing it.
 * An empty one may always, and what else is there is refused where nothing may change. */
static int folder_part_log(brim_log_file *log, bool may_change, brim_error *err) {
  struct stat info;
  char *bytes = NULL;
  size_t length = 0;
  if (fstat(log->file, &info) != 0)
    return brim_error_system(err, log->path, "read", errno);
  if (info.st_nlink < 2 || (!may_change && info.st_size > 0))
    return BRIM_OK;
  brim_log_file own = {.runtime = log->runtime, .file = -1};
  int status = brim_file_read_plain(log->runtime, log->path, 0, &bytes, &length, err);
  if (!status)
    status = brim_file_write_own(log->runtime, log->path, bytes, length, err);
  if (!status)
    status = brim_log_open(log->runtime, log->path, &own, err);
  brim_runtime_release(log->runtime, bytes);
  if (status)
    return status;
  brim_log_close(log);
  *log = own;
  return BRIM_OK;
}

int brim_checkpoint_clean(const brim_run_folder *folder, brim_error *err) {
  char **names;
  size_t count;
  if (!brim_path_is_folder(folder->checkpoints))
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(folder->runtime, folder->checkpoints, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    bool ours = false;
    if (brim_owned_half_checkpoint(names[i]) || strcmp(names[i], "best.tmp") == 0)
      status = brim_owned_in_checkpoints(folder->runtime, folder->checkpoints, names[i], &ours, err);
    if (!status && ours)
      status = brim_foreign_discard(folder->runtime, folder->checkpoints, names[i], err);
  }
  brim_names_free(folder->runtime, names, count);
  return status;
}

/* What a process that was killed was about to rename or to remove. */
static int folder_clean(const brim_run_folder *folder, brim_error *err) {
  brim_clear_leftovers_in(folder->output);
  return brim_checkpoint_clean(folder, err);
}

/* With the lock in hand. */
static int folder_judge(brim_run_folder *folder, bool resume, bool overwrite, brim_error *err) {
  char *stranger;
  bool holds_run;
  BRIM_TRY(brim_owned_run(folder->runtime, folder->output, &holds_run, &stranger, err));
  brim_release(folder->runtime, stranger);
  if (!holds_run)
    return folder_clean(folder, err);
  if (!resume && !overwrite)
    return brim_error_at(err, BRIM_E_USAGE, folder->output, 0, -1,
                         "the folder holds a run already: resume it (resume), replace it (overwrite), or name another folder");
  BRIM_TRY(folder_clean(folder, err));
  return brim_run_folder_change(folder, resume ? BRIM_CHANGE_RESUME : BRIM_CHANGE_OVERWRITE, err);
}

int brim_run_folder_watch(brim_runtime *runtime, const char *output, brim_run_folder *out, brim_error *err) {
  *out = (brim_run_folder){.runtime = runtime, .log = {.runtime = runtime, .file = -1}};
  if (!output)
    return BRIM_OK;
  out->output = brim_copy_string(runtime, output, strlen(output));
  out->checkpoints = brim_path_join(runtime, output, "checkpoints");
  if (out->output && out->checkpoints)
    return BRIM_OK;
  brim_run_folder_close(out);
  return BRIM_NOMEM(err);
}

int brim_run_folder_open(brim_runtime *runtime, const char *output, bool resume, bool overwrite, brim_run_folder *out,
                         brim_error *err) {
  BRIM_TRY(brim_run_folder_watch(runtime, output, out, err));
  if (!output)
    return BRIM_OK;
  char *log = brim_path_join(runtime, output, BRIM_LOG_NAME);
  int status = log ? folder_look(runtime, output, overwrite, err) : BRIM_NOMEM(err);
  out->made = !brim_path_exists(output);
  out->log_made = log && !brim_path_is_taken(log);
  if (!status)
    status = brim_make_folder(runtime, output, err);
  if (!status)
    status = folder_own_log(runtime, log, resume || overwrite, err);
  if (!status)
    status = brim_log_open(runtime, log, &out->log, err);
  if (!status)
    status = folder_part_log(&out->log, resume || overwrite, err);
  if (!status)
    status = folder_judge(out, resume, overwrite, err);
  brim_release(runtime, log);
  if (status)
    brim_run_folder_close(out);
  return status;
}

/* A dense layer's folder, which may be called anything. */
static int refuse_parts(const brim_run_folder *folder, const brim_model *model, brim_error *err) {
  brim_part parts[BRIM_MOST_PARTS];
  const int count = brim_config_parts(brim_model_config(model), parts);
  for (int i = 0; i < count; i++) {
    const brim_owned_name is = brim_owned_name_of(parts[i].name);
    if (parts[i].folder && is != BRIM_NAME_OTHER && is != BRIM_NAME_MODULE)
      return brim_error_at(
          err, BRIM_E_USAGE, folder->output, 0, -1,
          "the model has a module in a folder \"%.40s\", which is the name of something that a run has: rename it "
          "in the model's folder and in its modules.json",
          parts[i].name);
  }
  return BRIM_OK;
}

int brim_run_folder_look(const brim_run_folder *folder, const brim_model *model, const brim_tokenizer *tokenizer, bool overwrite,
                         brim_run_found *out, brim_error *err) {
  if (!out->others.runtime)
    brim_text_init(&out->others, folder->runtime);
  if (!folder->output)
    return BRIM_OK;
  if (model) {
    BRIM_TRY(refuse_parts(folder, model, err));
    BRIM_TRY(brim_model_look(model, tokenizer, folder->output, &out->saved, err));
  }
  return overwrite && !out->other_count
             ? brim_foreign_others(folder->runtime, folder->output, MOST_NAMED, &out->others, &out->other_count, err)
             : BRIM_OK;
}

void brim_run_found_free(brim_run_found *found) {
  brim_text_free(&found->others);
  *found = (brim_run_found){0};
}

bool brim_run_found_fields(const brim_run_found *found, brim_field fields[BRIM_FOUND_FIELDS]) {
  const brim_field all[BRIM_FOUND_FIELDS] = {
      BRIM_FIELD_INT("kept", found->other_count), BRIM_FIELD_TEXT("names", found->others.data ? found->others.data : ""),
      BRIM_FIELD_INT("links", found->saved.links), BRIM_FIELD_TEXT("link", found->saved.link),
      BRIM_FIELD_BOOL("own_readme", found->saved.own_readme)};
  memcpy(fields, all, sizeof all);
  return found->other_count > 0 || found->saved.links > 0 || found->saved.own_readme;
}

int brim_run_folder_held(const brim_run_folder *folder, brim_error *err) {
  if (!folder->output || brim_log_in_place(&folder->log))
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_MISMATCH, folder->output, 0, -1,
                       "the run's folder was removed or replaced during the run: nothing more is written there");
}

/* What is not empty stays. */
static void folder_unmake(const brim_run_folder *folder) {
  unlink(folder->log.path);
  if (!folder->made)
    return;
  rmdir(folder->checkpoints);
  rmdir(folder->output);
}

void brim_run_folder_close(brim_run_folder *folder) {
  if (!folder->runtime)
    return;
  if (folder->log_made && folder->log.path && folder->log.bytes == 0 && brim_log_in_place(&folder->log))
    folder_unmake(folder);
  brim_log_close(&folder->log);
  brim_release(folder->runtime, folder->output);
  brim_release(folder->runtime, folder->checkpoints);
  *folder = (brim_run_folder){.log = {.file = -1}};
}

/* ---- checkpoints in it ------------------------------------------------------------------------------------ */

static void checkpoint_insert(uint64_t *steps, size_t count, uint64_t step) {
  for (; count > 0 && steps[count - 1] > step; count--)
    steps[count] = steps[count - 1];
  steps[count] = step;
}

/* A damaged state.json is one that a run must stop at, and not pass by; without one the folder is somebody else's. */
static int checkpoint_has_state(brim_runtime *runtime, const char *checkpoints, const char *name, bool *has, brim_error *err) {
  char *path = brim_path_join(runtime, checkpoints, name), *state = path ? brim_path_join(runtime, path, "state.json") : NULL;
  int status = state ? BRIM_OK : BRIM_NOMEM(err);
  *has = state && brim_train_state_begins_well(state);
  brim_release(runtime, path);
  brim_release(runtime, state);
  return status;
}

int brim_checkpoint_steps(brim_runtime *runtime, const char *checkpoints, uint64_t **steps, size_t *count, brim_error *err) {
  char **names;
  size_t name_count;
  *steps = NULL;
  *count = 0;
  if (!brim_path_is_folder(checkpoints))
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(runtime, checkpoints, &names, &name_count, err));
  *steps = brim_alloc_array(runtime, name_count, sizeof **steps);
  int status = *steps ? BRIM_OK : BRIM_NOMEM(err);
  for (size_t i = 0; i < name_count && !status; i++) {
    uint64_t step;
    bool there = false;
    if (!brim_owned_step_of(names[i], &step))
      continue;
    status = checkpoint_has_state(runtime, checkpoints, names[i], &there, err);
    if (there)
      checkpoint_insert(*steps, (*count)++, step);
  }
  if (status) {
    brim_release(runtime, *steps);
    *steps = NULL;
  }
  brim_names_free(runtime, names, name_count);
  return status;
}

char *brim_checkpoint_path(brim_runtime *runtime, const char *checkpoints, uint64_t step) {
  char name[40];
  snprintf(name, sizeof name, BRIM_STEP_PREFIX "%llu", (unsigned long long)step);
  return brim_path_join(runtime, checkpoints, name);
}

/* A copy of a checkpoint in the link's place goes: it would stay the best for ever. Something else is left alone. */
static int checkpoint_clear_best(const brim_run_folder *folder, const char *name, bool *taken, brim_error *err) {
  bool ours;
  char *path = brim_path_join(folder->runtime, folder->checkpoints, name);
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_is_taken(path) && !brim_owned_best(path)) {
    status = brim_foreign_is_copy(folder->runtime, path, &ours, err);
    if (!status && ours)
      status = brim_foreign_discard(folder->runtime, folder->checkpoints, name, err);
    *taken = *taken || (!status && !ours);
  }
  brim_release(folder->runtime, path);
  return status;
}

static int checkpoint_link(const brim_run_folder *folder, const char *target, const char *aside, const char *path,
                           brim_error *err) {
  bool taken = false;
  BRIM_TRY(checkpoint_clear_best(folder, "best.tmp", &taken, err));
  if (!taken)
    BRIM_TRY(checkpoint_clear_best(folder, "best", &taken, err));
  if (taken)
    return BRIM_OK;
  if (unlink(aside) != 0 && errno != ENOENT)
    return brim_error_system(err, aside, "remove", errno);
  if (symlink(target, aside) != 0) {
    /* Some file systems have no links.  */
    if (errno == EPERM || errno == ENOTSUP || errno == ENOSYS)
      return BRIM_OK;
    return brim_error_system(err, aside, "make a link at", errno);
  }
  if (rename(aside, path) == 0)
    return BRIM_OK;
  int status = brim_error_system(err, path, "rename to", errno);
  unlink(aside);
  return status;
}

int brim_checkpoint_link_best(const brim_run_folder *folder, uint64_t step, brim_error *err) {
  if (!folder->output || step == 0)
    return BRIM_OK;
  char target[40];
  snprintf(target, sizeof target, BRIM_STEP_PREFIX "%llu", (unsigned long long)step);
  char *aside = brim_path_join(folder->runtime, folder->checkpoints, "best.tmp");
  char *path = brim_path_join(folder->runtime, folder->checkpoints, "best");
  char *there = brim_path_join(folder->runtime, folder->checkpoints, target);
  int status = aside && path && there ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_exists(there))
    status = checkpoint_link(folder, target, aside, path, err);
  else if (!status && brim_owned_best(path) && unlink(path) != 0) /* to what is gone */
    status = brim_error_system(err, path, "remove", errno);
  brim_release(folder->runtime, there);
  brim_release(folder->runtime, aside);
  brim_release(folder->runtime, path);
  return status;
}

static int checkpoint_remove(const brim_run_folder *folder, uint64_t step, brim_foreign_list *list, brim_error *err) {
  char name[48];
  bool ours;
  snprintf(name, sizeof name, BRIM_STEP_PREFIX "%llu", (unsigned long long)step);
  BRIM_TRY(brim_owned_checkpoint(folder->runtime, folder->checkpoints, name, &ours, err));
  if (!ours)
    return BRIM_OK;
  BRIM_TRY(brim_foreign_say_in(folder->runtime, folder->checkpoints, name, list, err));
  return brim_foreign_discard(folder->runtime, folder->checkpoints, name, err);
}

int brim_checkpoint_prune(const brim_run_folder *folder, int32_t keep, uint64_t best, brim_run_found *found, brim_error *err) {
  uint64_t *steps;
  size_t count;
  *found = (brim_run_found){0};
  brim_text_init(&found->others, folder->runtime);
  if (!folder->output || keep <= 0)
    return BRIM_OK;
  BRIM_TRY(brim_checkpoint_steps(folder->runtime, folder->checkpoints, &steps, &count, err));
  int status = BRIM_OK;
  brim_foreign_list list = {.text = &found->others, .most = MOST_NAMED};
  for (size_t i = 0; i + (size_t)keep < count && !status; i++) {
    if (steps[i] != best)
      status = checkpoint_remove(folder, steps[i], &list, err);
  }
  brim_release(folder->runtime, steps);
  found->other_count = list.count;
  return status ? status : brim_foreign_say_end(&list, err);
}
