/* foreign.c: a checkpoint is removed whole only when nothing foreign is in it any more. */
#include "train/folder/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "base/leftovers.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/files/parts.h"
#include "text/files.h"
#include "train/folder/owned.h"
#include "train/folder/state.h"

enum { MOST_NAMES = 10000 }; /* tried for one that is free */

/* ---- what is foreign -------------------------------------------------------------------------------------- */

/* feed.json, feed-3.json */
static bool is_feed_file(const char *name) {
  if (strncmp(name, "feed", 4) != 0)
    return false;
  const char *rest = name + 4;
  if (*rest == '-')
    rest += 1 + strspn(rest + 1, "0123456789");
  return strcmp(rest, ".json") == 0;
}

static bool is_checkpoint_file(const char *name) {
  static const char *const names[] = {"state.json", "optimizer.safetensors", "average.safetensors"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return brim_is_model_file(name) || brim_is_tokenizer_file(name) || is_feed_file(name);
}

static int is_plain(brim_runtime *runtime, const char *folder, const char *name, bool *is, brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  *is = path && (brim_path_is_link(path) || !brim_path_is_folder(path));
  brim_release(runtime, path);
  return path ? BRIM_OK : BRIM_NOMEM(err);
}

/* What a folder of a checkpoint's name is: by it modules are known. */
typedef enum completeness {
  NOTHING, /* of a checkpoint's files: what others left where one was, or the last of its modules */
  HALF,    /* some of them: nothing may list the modules yet, and what holds nothing but a module is one */
  WHOLE    /* modules.json lists them */
} completeness;

static int is_own(const brim_owned_modules *modules, completeness is, const char *name, bool *own, brim_error *err) {
  *own = false;
  if (is_checkpoint_file(name))
    return is_plain(modules->runtime, modules->folder, name, own, err);
  if (strcmp(name, "README.md") == 0)
    return brim_readme_is_ours(modules->runtime, modules->folder, own, err);
  if (is == WHOLE)
    return brim_owned_module(modules, name, own, err);
  if (is == NOTHING && !brim_is_module_name(name))
    return BRIM_OK;
  char *listed[] = {(char *)(size_t)name};
  const brim_owned_modules any = {modules->runtime, modules->folder, listed, 1};
  return brim_owned_module(&any, name, own, err);
}

static int find_completeness(brim_runtime *runtime, const char *path, char **names, size_t count, completeness *is,
                             brim_error *err) {
  bool whole = false, some = false;
  char *state = brim_path_join(runtime, path, "state.json");
  const int status = state ? brim_train_state_is_ours(runtime, state, &whole, err) : BRIM_NOMEM(err);
  brim_release(runtime, state);
  for (size_t i = 0; i < count; i++)
    some = some || is_checkpoint_file(names[i]);
  *is = whole ? WHOLE : some ? HALF : NOTHING;
  return status;
}

/* Leaves in `names` those that are foreign. */
static int sift(const brim_owned_modules *modules, completeness is, char **names, size_t *count, brim_error *err) {
  int status = BRIM_OK;
  size_t left = 0;
  for (size_t i = 0; i < *count; i++) {
    bool own = false;
    if (!status)
      status = is_own(modules, is, names[i], &own, err);
    if (own)
      brim_release(modules->runtime, names[i]);
    else
      names[left++] = names[i];
  }
  *count = left;
  return status;
}

int brim_foreign_names(brim_runtime *runtime, const char *path, char ***names, size_t *count, brim_error *err) {
  brim_owned_modules modules;
  completeness is = NOTHING;
  *names = NULL;
  *count = 0;
  if (brim_path_is_link(path) || !brim_path_is_folder(path))
    return BRIM_OK;
  BRIM_TRY(brim_owned_modules_open(runtime, path, &modules, err));
  int status = brim_list_folder(runtime, path, names, count, err);
  if (!status)
    status = find_completeness(runtime, path, *names, *count, &is, err);
  if (!status)
    status = sift(&modules, is, *names, count, err);
  brim_owned_modules_close(&modules);
  if (!status)
    return BRIM_OK;
  brim_names_free(runtime, *names, *count);
  *names = NULL;
  *count = 0;
  return status;
}

int brim_foreign_is_copy(brim_runtime *runtime, const char *path, bool *is, brim_error *err) {
  struct stat info;
  *is = false;
  if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode))
    return BRIM_OK;
  char **names = NULL, *state = brim_path_join(runtime, path, "state.json");
  size_t count = 0;
  int status = state ? brim_train_state_is_ours(runtime, state, is, err) : BRIM_NOMEM(err);
  if (!status && *is)
    status = brim_foreign_names(runtime, path, &names, &count, err);
  *is = *is && count == 0;
  brim_names_free(runtime, names, count);
  brim_release(runtime, state);
  return status;
}

int brim_foreign_in_checkpoints(brim_runtime *runtime, const char *checkpoints, const char *name, bool *ours, brim_error *err) {
  BRIM_TRY(brim_owned_in_checkpoints(runtime, checkpoints, name, ours, err));
  if (*ours || strcmp(name, "best") != 0)
    return BRIM_OK;
  char *path = brim_path_join(runtime, checkpoints, name);
  const int status = path ? brim_foreign_is_copy(runtime, path, ours, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

int brim_foreign_leaves_room(brim_runtime *runtime, const char *path, bool *room, brim_error *err) {
  char **names;
  size_t count;
  *room = false;
  if (brim_path_is_link(path) || !brim_path_is_folder(path))
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(runtime, path, &names, &count, err));
  *room = true;
  for (size_t i = 0; i < count; i++)
    *room = *room && !is_checkpoint_file(names[i]) && !brim_is_model_part(names[i]) && !brim_is_module_name(names[i]);
  brim_names_free(runtime, names, count);
  return BRIM_OK;
}

/* ---- where it goes ---------------------------------------------------------------------------------------- */

int brim_foreign_move(brim_runtime *runtime, const char *from, const char *to, const char *name, brim_error *err) {
  BRIM_TRY(brim_make_folder(runtime, to, err));
  char *path = brim_path_join(runtime, to, name);
  const size_t size = path ? strlen(path) + 16 : 0;
  char *free_one = path ? brim_alloc(runtime, size) : NULL;
  int status = free_one ? BRIM_OK : BRIM_NOMEM(err);
  if (!status)
    snprintf(free_one, size, "%s", path);
  for (int i = 1; !status && brim_path_is_taken(free_one) && i < MOST_NAMES; i++)
    snprintf(free_one, size, "%s.%d", path, i);
  if (!status && rename(from, free_one) != 0)
    status = brim_error_system(err, from, "move", errno);
  brim_release(runtime, free_one);
  brim_release(runtime, path);
  return status;
}

/* "step-4" of "step-4" and of its temporary names; "best" likewise. */
static void step_name(const char *name, char out[48]) {
  const size_t prefix = strlen(BRIM_STEP_PREFIX);
  const bool step = strncmp(name, BRIM_STEP_PREFIX, prefix) == 0;
  const size_t length = step ? prefix + strspn(name + prefix, "0123456789") : strcspn(name, ".");
  snprintf(out, 48, "%.*s", (int)(length < 47 ? length : 47), name);
}

int brim_foreign_rescue(brim_runtime *runtime, const char *path, const char *checkpoints, brim_error *err) {
  char **names, step[48];
  size_t count;
  BRIM_TRY(brim_foreign_names(runtime, path, &names, &count, err));
  step_name(brim_path_name(path), step);
  char *to = brim_path_join(runtime, checkpoints, step);
  int status = to ? BRIM_OK : BRIM_NOMEM(err);
  for (size_t i = 0; i < count && !status; i++) {
    char *from = brim_path_join(runtime, path, names[i]);
    status = from ? brim_foreign_move(runtime, from, to, names[i], err) : BRIM_NOMEM(err);
    brim_release(runtime, from);
  }
  brim_release(runtime, to);
  brim_names_free(runtime, names, count);
  return status;
}

/* Renamed first: what is half removed must not look like a checkpoint. What is foreign leaves before any of brim's own does, as
 * modules.json and state.json distinguish them. */
static int discard(brim_runtime *runtime, const char *checkpoints, const char *path, bool half, brim_error *err) {
  if (brim_path_is_link(path) || !brim_path_is_folder(path))
    return brim_remove_tree(runtime, path, err);
  char *aside = half ? brim_copy_string(runtime, path, strlen(path)) : brim_temporary_name(runtime, path);
  int status = aside ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && !half && rename(path, aside) != 0)
    status = brim_error_system(err, path, "rename", errno);
  if (!status) {
    brim_clear_leftovers_in(aside); /* of files that were being written there; those that still are continue in step-N */
    status = brim_foreign_rescue(runtime, aside, checkpoints, err);
  }
  if (!status)
    status = brim_remove_tree(runtime, aside, err);
  brim_release(runtime, aside);
  return status;
}

int brim_foreign_discard(brim_runtime *runtime, const char *checkpoints, const char *name, brim_error *err) {
  char *path = brim_path_join(runtime, checkpoints, name);
  const int status = path ? discard(runtime, checkpoints, path, brim_is_temporary(name), err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

/* ---- in words --------------------------------------------------------------------------------------------- */

/* Names may hold any bytes; what is said of them is a line of UTF-8. */
static void put_name(brim_text *out, const char *name) {
  const bool valid = brim_utf8_valid(name, strlen(name)) == strlen(name);
  for (int length = 1; *name; name += length) {
    uint32_t character = (unsigned char)*name;
    if (valid)
      length = brim_utf8_decode(name, strlen(name), &character);
    if (brim_utf8_steers(character) || (!valid && character > 127))
      brim_text_string(out, "?");
    else
      brim_text_printf(out, "%.*s", length, name);
  }
}

void brim_foreign_say(brim_foreign_list *list, const char *folder, const char *name) {
  if (list->count++ >= list->most)
    return;
  brim_text_string(list->text, list->count > 1 ? ", " : "");
  brim_text_string(list->text, folder);
  put_name(list->text, name);
}

int brim_foreign_say_end(brim_foreign_list *list, brim_error *err) {
  if (list->count > list->most)
    brim_text_printf(list->text, " and %zu more", list->count - list->most);
  return brim_text_status(list->text, err);
}

int brim_foreign_say_in(brim_runtime *runtime, const char *checkpoints, const char *name, brim_foreign_list *list,
                        brim_error *err) {
  char **names = NULL, folder[72], step[48], *path = brim_path_join(runtime, checkpoints, name);
  size_t count = 0;
  int status = path ? brim_foreign_names(runtime, path, &names, &count, err) : BRIM_NOMEM(err);
  step_name(name, step);
  snprintf(folder, sizeof folder, "checkpoints/%s/", step);
  for (size_t i = 0; i < count; i++)
    brim_foreign_say(list, folder, names[i]);
  brim_names_free(runtime, names, count);
  brim_release(runtime, path);
  return status;
}

int brim_foreign_say_all(brim_runtime *runtime, const char *checkpoints, brim_foreign_list *list, brim_error *err) {
  char **names;
  size_t count;
  if (brim_path_is_link(checkpoints) || !brim_path_is_folder(checkpoints))
    return BRIM_OK;
  BRIM_TRY(brim_list_folder(runtime, checkpoints, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++) {
    bool ours;
    status = brim_owned_checkpoint(runtime, checkpoints, names[i], &ours, err);
    if (!status && ours)
      status = brim_foreign_say_in(runtime, checkpoints, names[i], list, err);
  }
  brim_names_free(runtime, names, count);
  return status;
}

/* ---- a whole folder --------------------------------------------------------------------------------------- */

/* Part of the run by itself; a module is, where modules.json of the same folder lists it. */
static int is_part_of_run(const brim_owned_modules *modules, const char *name, bool foreign_log, bool foreign_checkpoints,
                          bool *is, brim_error *err) {
  switch (brim_owned_name_of(name)) {
  case BRIM_NAME_LOG:
    return *is = !foreign_log, BRIM_OK;
  case BRIM_NAME_CHECKPOINTS:
    return *is = !foreign_checkpoints, BRIM_OK;
  case BRIM_NAME_FILE:
    *is = true;
    return brim_owned_is_file(name) ? is_plain(modules->runtime, modules->folder, name, is, err) : BRIM_OK;
  case BRIM_NAME_TENSORBOARD:
    return brim_owned_tensorboard(modules->runtime, modules->folder, is, err);
  case BRIM_NAME_ASKED:
    return brim_owned_asked(modules->runtime, modules->folder, name, is, err);
  case BRIM_NAME_OTHER:
  case BRIM_NAME_MODULE:
    return brim_owned_module(modules, name, is, err);
  default:
    return *is = false, BRIM_OK;
  }
}

static int refuse_stranger(const char *folder, const char *name, brim_error *err) {
  return brim_error_at(
      err, BRIM_E_USAGE, folder, 0, -1,
      "the folder would be replaced, but \"%.60s\" in it is not part of the run: move it away, or name another folder", name);
}

/* What is foreign within a checkpoint. */
static int refuse_in_checkpoints(brim_runtime *runtime, const char *folder, brim_error *err) {
  brim_text text;
  brim_text_init(&text, runtime);
  brim_foreign_list list = {.text = &text, .most = 1};
  char *path = brim_path_join(runtime, folder, "checkpoints");
  int status = path ? brim_foreign_say_all(runtime, path, &list, err) : BRIM_NOMEM(err);
  if (!status)
    status = brim_text_status(&text, err);
  if (!status && list.count > 0)
    status = refuse_stranger(folder, text.data, err);
  brim_release(runtime, path);
  brim_text_free(&text);
  return status;
}

/* Is a name in folder/checkpoints none of brim's? */
static int find_foreign(brim_runtime *runtime, const char *folder, bool *foreign, brim_error *err) {
  char **names = NULL, *path = brim_path_join(runtime, folder, "checkpoints");
  size_t count = 0;
  *foreign = false;
  int status = path ? BRIM_OK : BRIM_NOMEM(err);
  if (!status && brim_path_is_folder(path))
    status = brim_list_folder(runtime, path, &names, &count, err);
  for (size_t i = 0; i < count && !status; i++) {
    bool ours;
    status = brim_foreign_in_checkpoints(runtime, path, names[i], &ours, err);
    *foreign |= !ours;
  }
  brim_names_free(runtime, names, count);
  brim_release(runtime, path);
  return status;
}

int brim_foreign_none(brim_runtime *runtime, const char *folder, bool *ours, brim_error *err) {
  char **names = NULL;
  size_t count = 0;
  struct stat info;
  bool foreign;
  brim_owned_log log;
  brim_owned_modules modules;
  *ours = lstat(folder, &info) == 0 && S_ISDIR(info.st_mode);
  if (!*ours)
    return BRIM_OK;
  BRIM_TRY(brim_owned_log_of(runtime, folder, &log, err));
  BRIM_TRY(find_foreign(runtime, folder, &foreign, err));
  BRIM_TRY(brim_owned_modules_open(runtime, folder, &modules, err));
  int status = brim_list_folder(runtime, folder, &names, &count, err);
  for (size_t i = 0; i < count && !status; i++) {
    bool is;
    status = is_part_of_run(&modules, names[i], log == BRIM_LOG_FOREIGN, foreign, &is, err);
    if (!status && !is)
      status = refuse_stranger(folder, names[i], err);
  }
  brim_names_free(runtime, names, count);
  brim_owned_modules_close(&modules);
  return status ? status : refuse_in_checkpoints(runtime, folder, err);
}

/* ---- what else is there ------------------------------------------------------------------------------------ */

/* Whether a name in the folder is of the run: not proved for each, as nothing is removed for it. */
static int is_of_run(const brim_owned_modules *modules, const char *name, bool *is, brim_error *err) {
  const brim_owned_name kind = brim_owned_name_of(name);
  if (kind == BRIM_NAME_OTHER || kind == BRIM_NAME_MODULE)
    return brim_owned_module(modules, name, is, err);
  if (kind == BRIM_NAME_ASKED)
    return brim_owned_asked(modules->runtime, modules->folder, name, is, err);
  *is = true;
  const bool readme = strcmp(name, "README.md") == 0;
  return readme ? brim_readme_is_ours(modules->runtime, modules->folder, is, err) : BRIM_OK;
}

/* Names in the folder itself. */
static int say_names(const brim_owned_modules *modules, brim_foreign_list *list, brim_error *err) {
  char **names;
  size_t all;
  BRIM_TRY(brim_list_folder(modules->runtime, modules->folder, &names, &all, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < all && !status; i++) {
    bool is;
    status = is_of_run(modules, names[i], &is, err);
    if (!status && !is)
      brim_foreign_say(list, "", names[i]);
  }
  brim_names_free(modules->runtime, names, all);
  return status;
}

/* What is foreign in checkpoints, where they are and where those of a run that is being replaced are. */
static int say_checkpoints(brim_runtime *runtime, const char *folder, brim_foreign_list *list, brim_error *err) {
  static const char *const places[] = {"checkpoints", BRIM_REPLACED_RUN "/checkpoints"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char *path = brim_path_join(runtime, folder, places[i]);
    const int status = path ? brim_foreign_say_all(runtime, path, list, err) : BRIM_NOMEM(err);
    brim_release(runtime, path);
    BRIM_TRY(status);
  }
  return BRIM_OK;
}

int brim_foreign_others(brim_runtime *runtime, const char *folder, int most, brim_text *out, size_t *count, brim_error *err) {
  brim_owned_modules modules;
  brim_foreign_list list = {.text = out, .most = (size_t)most};
  *count = 0;
  BRIM_TRY(brim_owned_modules_open(runtime, folder, &modules, err));
  int status = say_names(&modules, &list, err);
  brim_owned_modules_close(&modules);
  if (!status)
    status = say_checkpoints(runtime, folder, &list, err);
  *count = list.count;
  return status ? status : brim_foreign_say_end(&list, err);
}
