/* folder.c: the run folder. Nothing is removed from it but checkpoints, and a run that has been replaced. */
#include "train/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "train/folds_files.h"

#define LOG_NAME    "log.jsonl"
#define STEP_PREFIX "step-"
#define REPLACED    "replaced-run"
#define SETTLED     REPLACED ".tmp-remove"

/* ---- what lies there -------------------------------------------------------------------------------------- */

/* A name in a folder that is no run's, or NULL: beside a log or checkpoints anything may lie. */
static int folder_stranger(brim_runtime *runtime, const char *output, char **stranger, brim_error *err) {
  char **names;
  size_t count;
  *stranger = NULL;
  if (!brim_path_exists(output))
    return BRIM_OK;
  if (!brim_path_is_folder(output))
    return brim_error_at(err, BRIM_E_USAGE, output, 0, -1, "the output is a file: name a folder");
  BRIM_TRY(brim_list_folder(runtime, output, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], LOG_NAME) == 0 || strcmp(names[i], "checkpoints") == 0)
      goto done;
  if (count > 0 && !(*stranger = brim_copy_string(runtime, names[0], strlen(names[0]))))
    status = BRIM_NOMEM(err);
done:
  brim_names_free(runtime, names, count);
  return status;
}

static int folder_refuse_strangers(brim_runtime *runtime, const char *output, brim_error *err) {
  char *stranger;
  BRIM_TRY(folder_stranger(runtime, output, &stranger, err));
  if (!stranger)
    return BRIM_OK;
  int status = brim_error_at(err, BRIM_E_USAGE, output, 0, -1,
                             "the folder holds something that is not a run (\"%.60s\"): name another, or allow it with overwrite",
                             stranger);
  brim_release(runtime, stranger);
  return status;
}

static int folder_remove(const brim_run_folder *folder, const char *parent, const char *name, brim_error *err) {
  char *path = brim_path_join(folder->runtime, parent, name);
  if (!path)
    return BRIM_NOMEM(err);
  int status = brim_remove_tree(folder->runtime, path, err);
  brim_release(folder->runtime, path);
  return status;
}

/* Half-written checkpoints of a process that was killed: "step-12.tmp-XXXXXX". */
static int folder_clean_checkpoints(const brim_run_folder *folder, brim_error *err) {
  char **names;
  size_t count;
  if (!brim_path_is_folder(folder->checkpoints))
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(folder->runtime, folder->checkpoints, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    bool ours = strncmp(names[i], STEP_PREFIX, strlen(STEP_PREFIX)) == 0, best = strncmp(names[i], "best", 4) == 0;
    if ((ours || best) && strstr(names[i], ".tmp"))
      status = folder_remove(folder, folder->checkpoints, names[i], err);
  }
  brim_names_free(folder->runtime, names, count);
  return status;
}

/* Files that a killed process was about to rename: "model.safetensors.tmp-XXXXXX", and so the tokenizer's; and what it was
 * about to remove: SETTLED. */
static bool folder_is_leftover(const char *name) {
  static const char *const ours[] = {"config.json",   "model.",           "tokenizer",   "vocab",  "merges", "special_tokens",
                                     "sentencepiece", "evaluation.jsonl", "report.html", LOG_NAME, REPLACED};
  const char *mark = strstr(name, ".tmp-");
  if (!mark || strlen(mark) != strlen(".tmp-XXXXXX"))
    return false;
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (strncmp(name, ours[i], strlen(ours[i])) == 0)
      return true;
  return false;
}

static int folder_clean_leftovers(const brim_run_folder *folder, brim_error *err) {
  char **names;
  size_t count;
  BRIM_TRY(brim_list_folder(folder->runtime, folder->output, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++)
    if (folder_is_leftover(names[i]))
      status = folder_remove(folder, folder->output, names[i], err);
  brim_names_free(folder->runtime, names, count);
  return status;
}

/* Moves an item of the run aside; what is aside already is older and good, what stands here then is not. */
static int folder_move_aside(const brim_run_folder *folder, const char *aside, const char *name, brim_error *err) {
  char *from = brim_path_join(folder->runtime, folder->output, name), *to = brim_path_join(folder->runtime, aside, name);
  int status = from && to ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_exists(to))
    status = brim_remove_tree(folder->runtime, from, err);
  else if (!status && brim_path_exists(from) && rename(from, to) != 0)
    status = brim_error_system(err, from, "move aside", errno);
  brim_release(folder->runtime, from);
  brim_release(folder->runtime, to);
  return status;
}

/* The log is copied: the file itself is the folder's lock. */
static int folder_copy_log(const brim_run_folder *folder, const char *aside, brim_error *err) {
  char *to = brim_path_join(folder->runtime, aside, LOG_NAME), *bytes = NULL;
  size_t length = 0;
  int status = to ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && !brim_path_exists(to)) {
    status = brim_file_read_all(folder->runtime, folder->log.path, 0, &bytes, &length, err);
    if (!status)
      status = brim_file_write_all(folder->runtime, to, bytes, length, err);
  }
  brim_runtime_release(folder->runtime, bytes);
  brim_release(folder->runtime, to);
  return status;
}

/* The old run is not gone before the new one has a checkpoint: until then it lies in replaced-run. */
static int folder_replace_run(brim_run_folder *folder, brim_error *err) {
  static const char *const items[] = {"checkpoints", "model.safetensors", "config.json", "evaluation.jsonl"};
  char *aside = brim_path_join(folder->runtime, folder->output, REPLACED);
  int status = aside ? brim_make_folder(folder->runtime, aside, err) : BRIM_NOMEM(err);
  if (!status)
    status = folder_copy_log(folder, aside, err);
  for (size_t i = 0; i < sizeof items / sizeof *items && !status; i++)
    status = folder_move_aside(folder, aside, items[i], err);
  brim_release(folder->runtime, aside);
  return status ? status : brim_log_cut(&folder->log, 0, err);
}

int brim_run_folder_set_aside(const brim_run_folder *folder, const char *name, brim_error *err) {
  char *aside = brim_path_join(folder->runtime, folder->output, REPLACED);
  int status = aside ? brim_make_folder(folder->runtime, aside, err) : BRIM_NOMEM(err);
  if (!status)
    status = folder_move_aside(folder, aside, name, err);
  brim_release(folder->runtime, aside);
  return status;
}

/* What the log said before, or nothing where there was none. */
static int folder_restore_log(brim_run_folder *folder, const char *aside, brim_error *err) {
  char *from = brim_path_join(folder->runtime, aside, LOG_NAME), *bytes = NULL;
  size_t length = 0;
  int status = from ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_exists(from))
    status = brim_file_read_all(folder->runtime, from, 0, &bytes, &length, err);
  if (!status)
    status = brim_log_replace(&folder->log, bytes, length, err);
  brim_runtime_release(folder->runtime, bytes);
  brim_release(folder->runtime, from);
  return status;
}

static int folder_put_back(const brim_run_folder *folder, const char *aside, const char *name, brim_error *err) {
  if (strcmp(name, LOG_NAME) == 0 || folder_is_leftover(name))
    return BRIM_OK;
  char *from = brim_path_join(folder->runtime, aside, name), *to = brim_path_join(folder->runtime, folder->output, name);
  int status = from && to ? brim_remove_tree(folder->runtime, to, err) : BRIM_NOMEM(err);
  if (!status && rename(from, to) != 0)
    status = brim_error_system(err, from, "put back", errno);
  brim_release(folder->runtime, from);
  brim_release(folder->runtime, to);
  return status;
}

/* A process may be killed anywhere here. As long as replaced-run is there the folder holds a run, and the log's copy stays in it:
 * `overwrite` moves back aside what was put back. The log is first, so that checkpoints that are back have the one they know. */
static int folder_put_all_back(brim_run_folder *folder, const char *aside, brim_error *err) {
  char **names;
  size_t count;
  BRIM_TRY(folder_restore_log(folder, aside, err));
  BRIM_TRY(brim_list_folder(folder->runtime, aside, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = folder_put_back(folder, aside, names[i], err);
  brim_names_free(folder->runtime, names, count);
  return status ? status : brim_run_folder_settle(folder, err);
}

int brim_run_folder_restore(brim_run_folder *folder, brim_error *err) {
  if (!folder->output || folder->log.file < 0)
    return BRIM_OK; /* who only watches leaves it to the one that writes */
  char *aside = brim_path_join(folder->runtime, folder->output, REPLACED);
  int status = aside ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    status = brim_path_is_folder(aside) ? folder_put_all_back(folder, aside, err) : brim_log_cut(&folder->log, 0, err);
  brim_release(folder->runtime, aside);
  return status;
}

/* Renamed first: of what is half removed nothing must be put back. */
int brim_run_folder_settle(const brim_run_folder *folder, brim_error *err) {
  if (!folder->output)
    return BRIM_OK;
  char *from = brim_path_join(folder->runtime, folder->output, REPLACED),
       *to = brim_path_join(folder->runtime, folder->output, SETTLED);
  int status = from && to ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && rename(from, to) != 0 && errno != ENOENT)
    status = brim_error_system(err, from, "rename", errno);
  brim_release(folder->runtime, from);
  brim_release(folder->runtime, to);
  return status ? status : folder_remove(folder, folder->output, SETTLED, err);
}

/* A folder without a log's line and without a checkpoint is that of a run that never began, unless it was to replace another; of
 * one in folds the log is empty for a moment whenever it is gone on with. */
static int folder_holds_run(const brim_run_folder *folder, bool *holds, brim_error *err) {
  uint64_t *steps;
  size_t count;
  BRIM_TRY(brim_checkpoint_steps(folder->runtime, folder->checkpoints, &steps, &count, err));
  brim_release(folder->runtime, steps);
  BRIM_TRY(brim_folds_files_find(folder, holds, err));
  char *aside = brim_path_join(folder->runtime, folder->output, REPLACED);
  if (!aside)
    return BRIM_NOMEM(err);
  *holds |= folder->log.bytes > 0 || count > 0 || brim_path_is_folder(aside);
  brim_release(folder->runtime, aside);
  return BRIM_OK;
}

/* With the lock in hand. */
static int folder_judge(brim_run_folder *folder, bool resume, bool overwrite, brim_error *err) {
  bool holds_run = false;
  BRIM_TRY(folder_holds_run(folder, &holds_run, err));
  BRIM_TRY(folder_clean_leftovers(folder, err));
  if (resume || !holds_run)
    return folder_clean_checkpoints(folder, err);
  if (overwrite)
    return folder_replace_run(folder, err);
  return brim_error_at(err, BRIM_E_USAGE, folder->output, 0, -1,
                       "the folder holds a run already: go on with it (resume), replace it (overwrite), or name another");
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
  char *log = brim_path_join(runtime, output, LOG_NAME);
  int status = log ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && !overwrite)
    status = folder_refuse_strangers(runtime, output, err);
  out->made = !brim_path_exists(output);
  if (!status)
    status = brim_make_folder(runtime, output, err);
  if (!status)
    status = brim_log_open(runtime, log, &out->log, err);
  if (!status)
    status = folder_judge(out, resume, overwrite, err);
  brim_release(runtime, log);
  if (status)
    brim_run_folder_close(out);
  return status;
}

/* What is not empty stays. */
static void folder_unmake(const brim_run_folder *folder) {
  unlink(folder->log.path);
  rmdir(folder->checkpoints);
  rmdir(folder->output);
}

void brim_run_folder_close(brim_run_folder *folder) {
  if (!folder->runtime)
    return;
  if (folder->made && folder->log.path && folder->log.bytes == 0)
    folder_unmake(folder);
  brim_log_close(&folder->log);
  brim_release(folder->runtime, folder->output);
  brim_release(folder->runtime, folder->checkpoints);
  *folder = (brim_run_folder){.log = {.file = -1}};
}

/* ---- checkpoints in it ------------------------------------------------------------------------------------ */

/* "step-12" -> 12. Anything behind the digits makes it something else. */
static bool checkpoint_step_of(const char *name, uint64_t *step) {
  size_t prefix = strlen(STEP_PREFIX);
  int64_t value;
  if (strncmp(name, STEP_PREFIX, prefix) != 0 || name[prefix] < '0' || name[prefix] > '9')
    return false;
  if (!brim_number_integer(name + prefix, strlen(name + prefix), &value))
    return false;
  *step = (uint64_t)value;
  return true;
}

static void checkpoint_insert(uint64_t *steps, size_t count, uint64_t step) {
  for (; count > 0 && steps[count - 1] > step; count--)
    steps[count] = steps[count - 1];
  steps[count] = step;
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
  uint64_t step;
  for (size_t i = 0; i < name_count && !status; i++)
    if (checkpoint_step_of(names[i], &step))
      checkpoint_insert(*steps, (*count)++, step);
  brim_names_free(runtime, names, name_count);
  return status;
}

char *brim_checkpoint_path(brim_runtime *runtime, const char *checkpoints, uint64_t step) {
  char name[40];
  snprintf(name, sizeof name, STEP_PREFIX "%llu", (unsigned long long)step);
  return brim_path_join(runtime, checkpoints, name);
}

static int checkpoint_link(const char *target, const char *aside, const char *path, brim_error *err) {
  if (unlink(aside) != 0 && errno != ENOENT)
    return brim_error_system(err, aside, "remove", errno);
  if (symlink(target, aside) != 0) {
    /* Some file systems have no links. The best step stands in state.json and in the log as well. */
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
  snprintf(target, sizeof target, STEP_PREFIX "%llu", (unsigned long long)step);
  char *aside = brim_path_join(folder->runtime, folder->checkpoints, "best.tmp");
  char *path = brim_path_join(folder->runtime, folder->checkpoints, "best");
  int status = aside && path ? checkpoint_link(target, aside, path, err) : BRIM_NOMEM(err);
  brim_release(folder->runtime, aside);
  brim_release(folder->runtime, path);
  return status;
}

/* Renamed first: what is half removed must not look like a checkpoint. */
static int checkpoint_remove(const brim_run_folder *folder, uint64_t step, brim_error *err) {
  char name[48];
  snprintf(name, sizeof name, STEP_PREFIX "%llu.tmp-old", (unsigned long long)step);
  char *path = brim_checkpoint_path(folder->runtime, folder->checkpoints, step);
  char *aside = brim_path_join(folder->runtime, folder->checkpoints, name);
  int status = path && aside ? brim_remove_tree(folder->runtime, aside, err) : BRIM_NOMEM(err);
  if (!status && rename(path, aside) != 0)
    status = brim_error_system(err, path, "rename", errno);
  if (!status)
    status = brim_remove_tree(folder->runtime, aside, err);
  brim_release(folder->runtime, path);
  brim_release(folder->runtime, aside);
  return status;
}

int brim_checkpoint_prune(const brim_run_folder *folder, int32_t keep, uint64_t best, brim_error *err) {
  uint64_t *steps;
  size_t count;
  if (!folder->output || keep <= 0)
    return BRIM_OK;
  BRIM_TRY(brim_checkpoint_steps(folder->runtime, folder->checkpoints, &steps, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i + (size_t)keep < count && !status; i++) {
    if (steps[i] != best)
      status = checkpoint_remove(folder, steps[i], err);
  }
  brim_release(folder->runtime, steps);
  return status;
}
