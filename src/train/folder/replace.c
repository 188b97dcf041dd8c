/* replace.c: how a run is replaced by another, so that a process may be killed between any two calls and one of both is there,
 * whole.
 *
 * A run is a list of items: checkpoints/step-N and checkpoints/best, the model and its modules, the evaluation, what a run in
 * folds leaves. Each goes to replaced-run by one rename and comes back by one; what is not brim's own (owned.h) is never among
 * them. The log is copied, because the file is the folder's lock. What is on disk says how far a process came:
 *
 *   replaced-run   log in it   mark in it   the state            what it means
 *   no             -           -            BRIM_RUN_HERE        a run, or none, is in the folder itself
 *   yes            no          -            BRIM_RUN_LEAVING     its move has begun: nothing has moved
 *   yes            yes         no           BRIM_RUN_MOVING      its items are partly here, partly there (going or coming back)
 *   yes            yes         yes          BRIM_RUN_REPLACED    all of it is there; items here are the new run's, which has no
 *                                                                checkpoint yet, or was killed between that and letting go
 *
 * and the table below says what follows, from above to below in each column. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/parts.h"
#include "text/files.h"
#include "train/folder/folder.h"
#include "train/folder/folds_files.h"
#include "train/folder/folds_mark.h"
#include "train/folder/foreign.h"
#include "train/folder/owned.h"

enum {
  DO_COPY_LOG = 1,     /* to replaced-run */
  DO_REMOVE_NEW = 2,   /* items here, which are the new run's */
  DO_MOVE_ASIDE = 4,   /* items here; one that is there already is the older, and good */
  DO_MARK = 8,         /* all is there */
  DO_UNMARK = 16,      /* from here on not all is there */
  DO_RESTORE_LOG = 32, /* first of what comes back, so that checkpoints have the log they know */
  DO_PUT_BACK = 64,    /* items there */
  DO_LET_GO = 128,     /* of replaced-run */
  DO_EMPTY_LOG = 256   /* the new run begins */
};
enum { COME_BACK = DO_RESTORE_LOG | DO_PUT_BACK | DO_LET_GO };

static const struct {
  unsigned overwrite, resume, restore;
} actions[] = {
    [BRIM_RUN_HERE] = {.overwrite = DO_COPY_LOG | DO_MOVE_ASIDE | DO_MARK | DO_EMPTY_LOG, .resume = 0, .restore = DO_EMPTY_LOG},
    [BRIM_RUN_LEAVING] = {.overwrite = DO_COPY_LOG | DO_MOVE_ASIDE | DO_MARK | DO_EMPTY_LOG,
                          .resume = DO_LET_GO,
                          .restore = DO_LET_GO},
    [BRIM_RUN_MOVING] = {.overwrite = DO_MOVE_ASIDE | DO_MARK | DO_EMPTY_LOG, .resume = COME_BACK, .restore = COME_BACK},
    [BRIM_RUN_REPLACED] = {.overwrite = DO_REMOVE_NEW | DO_EMPTY_LOG,
                           .resume = 0, /* the new run continues, and lets go when it has a checkpoint */
                           .restore = DO_REMOVE_NEW | DO_UNMARK | COME_BACK},
};

/* ---- items ------------------------------------------------------------------------------------------------ */

typedef struct replacement {
  const brim_run_folder *folder;
  char *aside;                                /* output/replaced-run */
  char *checkpoints_here, *checkpoints_aside; /* the folder `checkpoints` in each */
} replacement;

typedef int (*item_fn)(const replacement *r, const char *here, const char *there, brim_error *err);

/* An item here that is not needed. What is foreign in a checkpoint stays. */
static int remove_here(const replacement *r, const char *here, brim_error *err) {
  const size_t length = strlen(r->checkpoints_here);
  if (strncmp(here, r->checkpoints_here, length) == 0 && here[length] == '/')
    return brim_foreign_discard(r->folder->runtime, r->checkpoints_here, brim_path_name(here), err);
  return brim_remove_tree(r->folder->runtime, here, err);
}

/* What is there already is older and good; what is here then is not. */
static int move_aside(const replacement *r, const char *here, const char *there, brim_error *err) {
  if (brim_path_exists(there))
    return remove_here(r, here, err);
  return rename(here, there) == 0 ? BRIM_OK : brim_error_system(err, here, "move aside", errno);
}

static int remove_new(const replacement *r, const char *here, const char *there, brim_error *err) {
  (void)there;
  return remove_here(r, here, err);
}

/* All that is in a folder, into another. */
static int move_all(brim_runtime *runtime, const char *from, const char *to, brim_error *err) {
  char **names;
  size_t count;
  BRIM_TRY(brim_list_folder(runtime, from, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    char *path = brim_path_join(runtime, from, names[i]);
    status = path ? brim_foreign_move(runtime, path, to, names[i], err) : BRIM_NOMEM(err);
    brim_release(runtime, path);
  }
  brim_names_free(runtime, names, count);
  return status;
}

/* What has an item's name here, though all of the new run's was removed, is partly or wholly of others: what a folder holds joins
 * the item, a file is the run's by its name. */
static int put_back(const replacement *r, const char *here, const char *there, brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  const bool folders = !brim_path_is_link(here) && brim_path_is_folder(here) && brim_path_is_folder(there);
  if (folders)
    BRIM_TRY(move_all(runtime, here, there, err));
  BRIM_TRY(brim_remove_tree(runtime, here, err));
  return rename(there, here) == 0 ? BRIM_OK : brim_error_system(err, there, "put back", errno);
}

static int with_item(const replacement *r, const char *here, const char *there, const char *name, item_fn act, brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  char *from = brim_path_join(runtime, here, name), *to = brim_path_join(runtime, there, name);
  int status = from && to ? act(r, from, to, err) : BRIM_NOMEM(err);
  brim_release(runtime, from);
  brim_release(runtime, to);
  return status;
}

/* Items among the checkpoints of the folder `of`, which is one of the two. */
static int each_checkpoint(const replacement *r, const char *of, item_fn act, brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  char **names;
  size_t count;
  if (!brim_path_is_folder(of))
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(runtime, of, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    bool ours;
    status = brim_foreign_in_checkpoints(runtime, of, names[i], &ours, err);
    if (!status && ours)
      status = with_item(r, r->checkpoints_here, r->checkpoints_aside, names[i], act, err);
  }
  brim_names_free(runtime, names, count);
  return status;
}

/* What has a name that others write too is proved to be brim's. */
static int is_file_of_run(brim_runtime *runtime, const char *folder, const char *name, bool *ours, brim_error *err) {
  *ours = brim_is_model_file(name) || strcmp(name, "evaluation.jsonl") == 0;
  if (brim_owned_name_of(name) == BRIM_NAME_ASKED)
    return brim_owned_asked(runtime, folder, name, ours, err);
  if (strcmp(name, "tensorboard") == 0)
    return brim_owned_tensorboard(runtime, folder, ours, err);
  if (strcmp(name, "report.html") == 0)
    return brim_owned_page(runtime, folder, ours, err);
  return strcmp(name, "README.md") == 0 ? brim_readme_is_ours(runtime, folder, ours, err) : BRIM_OK;
}

/* Is NAME in the folder that both were opened for an item? */
static int is_item(const brim_owned_modules *modules, const brim_folds_files *folds, const char *name, bool *ours,
                   brim_error *err) {
  BRIM_TRY(is_file_of_run(modules->runtime, modules->folder, name, ours, err));
  if (!*ours)
    BRIM_TRY(brim_owned_module(modules, name, ours, err));
  return *ours ? BRIM_OK : brim_folds_files_has(folds, name, ours, err);
}

/* What says which others are the run's goes last: without it nobody knows. */
static const char *const lists[] = {"modules.json", BRIM_FOLDS_FILE};
enum { LISTS = sizeof lists / sizeof *lists };

static bool is_list(const char *name) {
  for (int i = 0; i < LISTS; i++)
    if (strcmp(name, lists[i]) == 0)
      return true;
  return false;
}

/* Items in the output folder itself, of which these say more. */
static int each_named(const replacement *r, const brim_owned_modules *modules, const brim_folds_files *folds, item_fn act,
                      brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  const char *output = r->folder->output;
  char **names;
  size_t count;
  BRIM_TRY(brim_list_folder(runtime, output, &names, &count, err));
  int status = BRIM_OK;
  bool there[LISTS] = {false};
  for (size_t i = 0; i < count && !status; i++) {
    bool ours;
    status = is_item(modules, folds, names[i], &ours, err);
    for (int k = 0; k < LISTS; k++)
      there[k] = there[k] || (ours && strcmp(names[i], lists[k]) == 0);
    if (!status && ours && !is_list(names[i]))
      status = with_item(r, output, r->aside, names[i], act, err);
  }
  for (int k = 0; k < LISTS && !status; k++)
    if (there[k])
      status = with_item(r, output, r->aside, lists[k], act, err);
  brim_names_free(runtime, names, count);
  return status;
}

static int each_file(const replacement *r, item_fn act, brim_error *err) {
  brim_owned_modules modules;
  brim_folds_files folds;
  BRIM_TRY(brim_owned_modules_open(r->folder->runtime, r->folder->output, &modules, err));
  int status = brim_folds_files_open(r->folder->runtime, r->folder->output, &folds, err);
  if (!status)
    status = each_named(r, &modules, &folds, act, err);
  brim_folds_files_close(&folds);
  brim_owned_modules_close(&modules);
  return status;
}

static int each_item_here(const replacement *r, item_fn act, brim_error *err) {
  BRIM_TRY(each_checkpoint(r, r->checkpoints_here, act, err));
  rmdir(r->checkpoints_here); /* unless it holds what is not brim's */
  return each_file(r, act, err);
}

/* All that is in replaced-run came from here. */
static int put_all_back(const replacement *r, brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  char **names;
  size_t count;
  if (brim_path_is_folder(r->checkpoints_aside))
    BRIM_TRY(brim_make_folder(runtime, r->checkpoints_here, err));
  BRIM_TRY(each_checkpoint(r, r->checkpoints_aside, put_back, err));
  BRIM_TRY(brim_list_folder(runtime, r->aside, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++)
    if (strcmp(names[i], BRIM_LOG_NAME) != 0 && strcmp(names[i], "checkpoints") != 0 &&
        strcmp(names[i], BRIM_REPLACED_MARK) != 0 && !brim_is_temporary(names[i]))
      status = with_item(r, r->folder->output, r->aside, names[i], put_back, err);
  brim_names_free(runtime, names, count);
  return status;
}

/* ---- the log and the mark --------------------------------------------------------------------------------- */

static int copy_log(const replacement *r, brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  char *to = brim_path_join(runtime, r->aside, BRIM_LOG_NAME), *bytes = NULL;
  size_t length = 0;
  int status = to ? brim_make_folder(runtime, r->aside, err) : BRIM_NOMEM(err);
  if (!status)
    status = brim_file_read_plain(runtime, r->folder->log.path, 0, &bytes, &length, err);
  if (!status)
    status = brim_file_write_own(runtime, to, bytes, length, err);
  brim_runtime_release(runtime, bytes);
  brim_release(runtime, to);
  return status;
}

static int restore_log(const replacement *r, brim_log_file *log, brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  char *from = brim_path_join(runtime, r->aside, BRIM_LOG_NAME), *bytes = NULL;
  size_t length = 0;
  int status = from ? brim_file_read_plain(runtime, from, 0, &bytes, &length, err) : BRIM_NOMEM(err);
  if (!status)
    status = brim_log_replace(log, bytes, length, err);
  brim_runtime_release(runtime, bytes);
  brim_release(runtime, from);
  return status;
}

static int set_mark(const replacement *r, bool there, brim_error *err) {
  brim_runtime *runtime = r->folder->runtime;
  char *path = brim_path_join(runtime, r->aside, BRIM_REPLACED_MARK);
  int status = !path   ? BRIM_NOMEM(err)
               : there ? brim_make_folder(runtime, path, err) /* a folder is there by one call */
                       : brim_remove_tree(runtime, path, err);
  brim_release(runtime, path);
  return status;
}

/* ---- the state, and what follows from it ------------------------------------------------------------------ */

static bool has(const replacement *r, const char *name) {
  char *path = brim_path_join(r->folder->runtime, r->aside, name);
  bool there = path && brim_path_exists(path);
  brim_release(r->folder->runtime, path);
  return there;
}

static brim_replacing state_of(const replacement *r) {
  if (!brim_path_is_folder(r->aside))
    return BRIM_RUN_HERE;
  if (!has(r, BRIM_LOG_NAME))
    return BRIM_RUN_LEAVING;
  return has(r, BRIM_REPLACED_MARK) ? BRIM_RUN_REPLACED : BRIM_RUN_MOVING;
}

static int nothing(const replacement *r, const char *here, const char *there, brim_error *err) {
  (void)r, (void)here, (void)there, (void)err;
  return BRIM_OK;
}

static int follow(const replacement *r, brim_log_file *log, unsigned what, brim_error *err) {
  if (what & DO_MOVE_ASIDE)
    BRIM_TRY(each_file(r, nothing, err)); /* a fold's folder with foreign files is refused before anything has moved */
  if (what & DO_COPY_LOG)
    BRIM_TRY(copy_log(r, err));
  if (what & DO_REMOVE_NEW)
    BRIM_TRY(each_item_here(r, remove_new, err));
  if (what & DO_MOVE_ASIDE) {
    if (brim_path_is_folder(r->checkpoints_here))
      BRIM_TRY(brim_make_folder(r->folder->runtime, r->checkpoints_aside, err));
    BRIM_TRY(each_item_here(r, move_aside, err));
  }
  if (what & DO_MARK)
    BRIM_TRY(set_mark(r, true, err));
  if (what & DO_UNMARK)
    BRIM_TRY(set_mark(r, false, err));
  if (what & DO_RESTORE_LOG)
    BRIM_TRY(restore_log(r, log, err));
  if (what & DO_PUT_BACK)
    BRIM_TRY(put_all_back(r, err));
  if (what & DO_LET_GO)
    BRIM_TRY(brim_run_folder_settle(r->folder, err));
  return what & DO_EMPTY_LOG ? brim_log_cut(log, 0, err) : BRIM_OK;
}

int brim_run_folder_change(brim_run_folder *folder, brim_change change, brim_error *err) {
  brim_runtime *runtime = folder->runtime;
  replacement r = {.folder = folder, .aside = brim_path_join(runtime, folder->output, BRIM_REPLACED_RUN)};
  r.checkpoints_here = brim_path_join(runtime, folder->output, "checkpoints");
  r.checkpoints_aside = r.aside ? brim_path_join(runtime, r.aside, "checkpoints") : NULL;
  int status = r.checkpoints_here && r.checkpoints_aside ? BRIM_OK : BRIM_NOMEM(err);
  if (!status) {
    const brim_replacing state = state_of(&r);
    status = follow(&r, &folder->log,
                    change == BRIM_CHANGE_OVERWRITE ? actions[state].overwrite
                    : change == BRIM_CHANGE_RESUME  ? actions[state].resume
                                                    : actions[state].restore,
                    err);
  }
  brim_release(runtime, r.checkpoints_aside);
  brim_release(runtime, r.checkpoints_here);
  brim_release(runtime, r.aside);
  return status;
}

int brim_run_folder_restore(brim_run_folder *folder, brim_error *err) {
  if (!folder->output || folder->log.file < 0)
    return BRIM_OK; /* who only watches leaves it to the one that writes */
  BRIM_TRY(brim_run_folder_held(folder, err));
  return brim_run_folder_change(folder, BRIM_CHANGE_RESTORE, err);
}

/* A run in folds has a tokenizer in each fold alone. */
static int remove_if_single(const brim_run_folder *folder, const char *name, brim_error *err) {
  if (!brim_is_tokenizer_file(name))
    return BRIM_OK;
  char *path = brim_path_join(folder->runtime, folder->output, name);
  const int status = path ? brim_remove_tree(folder->runtime, path, err) : BRIM_NOMEM(err);
  brim_release(folder->runtime, path);
  return status;
}

int brim_run_folder_clear(const brim_run_folder *folder, brim_error *err) {
  static const char *const single[] = {BRIM_REPLACED_RUN "/checkpoints", BRIM_REPLACED_RUN "/config.json"};
  bool is_single = false;
  char **names;
  size_t count;
  if (!folder->output)
    return BRIM_OK;
  for (size_t i = 0; i < sizeof single / sizeof *single && !is_single; i++)
    BRIM_TRY(brim_folder_has(folder->runtime, folder->output, single[i], &is_single, err));
  if (!is_single)
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(folder->runtime, folder->output, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = remove_if_single(folder, names[i], err);
  brim_names_free(folder->runtime, names, count);
  return status;
}

/* Of the checkpoints that are there. */
static int rescue_checkpoint(brim_runtime *runtime, const char *checkpoints, const char *name, const char *to, brim_error *err) {
  bool ours;
  BRIM_TRY(brim_foreign_in_checkpoints(runtime, checkpoints, name, &ours, err));
  char *path = brim_path_join(runtime, checkpoints, name);
  int status = !path                     ? BRIM_NOMEM(err)
               : !ours                   ? brim_foreign_move(runtime, path, to, name, err)
               : brim_path_is_link(path) ? BRIM_OK
                                         : brim_foreign_rescue(runtime, path, to, err);
  brim_release(runtime, path);
  return status;
}

static int rescue_checkpoints(const brim_run_folder *folder, const char *aside, brim_error *err) {
  char **names = NULL, *checkpoints = brim_path_join(folder->runtime, aside, "checkpoints");
  size_t count = 0;
  int status = checkpoints ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_is_folder(checkpoints))
    status = brim_list_folder(folder->runtime, checkpoints, &names, &count, err);
  for (size_t i = 0; i < count && !status; i++)
    status = rescue_checkpoint(folder->runtime, checkpoints, names[i], folder->checkpoints, err);
  brim_names_free(folder->runtime, names, count);
  brim_release(folder->runtime, checkpoints);
  return status;
}

/* A fold's folder with something foreign in it goes as a whole. */
static int rescue_named(const brim_run_folder *folder, const brim_owned_modules *modules, const brim_folds_files *folds,
                        const char *name, brim_error *err) {
  bool ours = strcmp(name, BRIM_LOG_NAME) == 0 || strcmp(name, "checkpoints") == 0 || strcmp(name, BRIM_REPLACED_MARK) == 0 ||
              brim_is_temporary(name);
  if (ours)
    return BRIM_OK;
  const int status = is_item(modules, folds, name, &ours, err);
  if (status && status != BRIM_E_USAGE)
    return status;
  if (ours && !status)
    return BRIM_OK;
  char *path = brim_path_join(folder->runtime, modules->folder, name);
  const int moved = path ? brim_foreign_move(folder->runtime, path, folder->output, name, err) : BRIM_NOMEM(err);
  brim_release(folder->runtime, path);
  return moved;
}

/* What others have put into replaced-run meanwhile goes to where it would be if the run had not been moved. */
static int rescue_all(const brim_run_folder *folder, const char *aside, brim_error *err) {
  brim_owned_modules modules;
  brim_folds_files folds = {0};
  char **names = NULL;
  size_t count = 0;
  BRIM_TRY(rescue_checkpoints(folder, aside, err));
  BRIM_TRY(brim_owned_modules_open(folder->runtime, aside, &modules, err));
  int status = brim_folds_files_open(folder->runtime, aside, &folds, err);
  if (!status)
    status = brim_list_folder(folder->runtime, aside, &names, &count, err);
  for (size_t i = 0; i < count && !status; i++)
    status = rescue_named(folder, &modules, &folds, names[i], err);
  brim_names_free(folder->runtime, names, count);
  brim_folds_files_close(&folds);
  brim_owned_modules_close(&modules);
  return status;
}

/* Renamed first: of what is half removed nothing must be put back. */
int brim_run_folder_settle(const brim_run_folder *folder, brim_error *err) {
  if (!folder->output)
    return BRIM_OK;
  char *from = brim_path_join(folder->runtime, folder->output, BRIM_REPLACED_RUN),
       *to = from ? brim_temporary_name(folder->runtime, from) : NULL;
  int status = from && to ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && !brim_path_is_link(from) && brim_path_is_folder(from))
    status = rescue_all(folder, from, err);
  if (!status && rename(from, to) != 0 && errno != ENOENT)
    status = brim_error_system(err, from, "rename", errno);
  if (!status)
    status = brim_remove_tree(folder->runtime, to, err);
  brim_release(folder->runtime, from);
  brim_release(folder->runtime, to);
  return status;
}
