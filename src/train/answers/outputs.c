/* outputs.c: what a call writes is nothing that it reads, and no other of its outputs: by inode, and by true name where there is
 * no file yet. Otherwise it would be noticed after hours, or never. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "brim/train.h"
#include "text/files.h"
#include "train/folder/owned.h"

typedef struct input {
  dev_t device;
  ino_t inode;
  char *path; /* in its folder's true name: no link but perhaps the file itself */
  const brim_path *from;
} input;

/* Names are long, and a thread's stack may be short: all of them are here. */
typedef struct check {
  brim_runtime *runtime;
  const brim_path *paths;
  size_t count;
  bool resume;
  input *inputs;
  size_t input_count, room;
  brim_error *err;
  char head[PATH_MAX];  /* of true_name */
  char entry[PATH_MAX]; /* of a folder, and of what is in it */
  char real[PATH_MAX], other[PATH_MAX], at[PATH_MAX];
} check;

/* ---- names ------------------------------------------------------------------------------------------------ */

/* The folder of a path, "." where it names none; it may be written over the path. False: it is too long. */
static bool folder_of(const char *path, char folder[PATH_MAX]) {
  size_t end;
  const size_t first = brim_path_last(path, &end);
  if (first >= PATH_MAX)
    return false;
  memmove(folder, first ? path : ".", first ? first : 1);
  folder[first ? first : 1] = 0;
  return true;
}

/* The true name of a path, of which the end need not be there, in `real`. A link at its end is not followed. False: it has none.
 */
static bool true_name(check *c, const char *path, char real[PATH_MAX]) {
  size_t end, from;
  if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
    return realpath(path, real) != NULL;
  brim_path_last(path, &end);
  if (snprintf(c->head, PATH_MAX, "%s", path) >= PATH_MAX)
    return false;
  for (;;) {
    size_t length;
    from = brim_path_last(c->head, &length);
    if (!folder_of(c->head, c->head))
      return false;
    if (realpath(c->head, real))
      break;
    if (errno != ENOENT || from == 0)
      return false;
  }
  const size_t above = strcmp(real, "/") == 0 ? 0 : strlen(real);
  return snprintf(real + above, PATH_MAX - above, "/%.*s", (int)(end - from), path + from) < (int)(PATH_MAX - above);
}

/* The part of `path` below the folder, or NULL. */
static const char *below(const char *path, const char *folder) {
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static bool ends_with(const char *name, const char *ending) {
  const size_t length = strlen(name), size = strlen(ending);
  return length > size && strcmp(name + length - size, ending) == 0;
}

/* ---- what is read ------------------------------------------------------------------------------------------- */

static int add_file(check *c, const char *path, const brim_path *from) {
  struct stat info;
  if (stat(path, &info) != 0 || S_ISDIR(info.st_mode) || !true_name(c, path, c->real))
    return BRIM_OK; /* who reads it says what is wrong with it */
  BRIM_TRY(brim_grow(c->runtime, (void **)&c->inputs, &c->room, c->input_count + 1, sizeof *c->inputs, c->err));
  char *copy = brim_copy_string(c->runtime, c->real, strlen(c->real));
  if (!copy)
    return BRIM_NOMEM(c->err);
  c->inputs[c->input_count++] = (input){info.st_dev, info.st_ino, copy, from};
  return BRIM_OK;
}

/* What is read of a folder with a model, a tokenizer or a run: all that a run writes, and other forms of weights. */
static bool is_of_model(const char *name) {
  static const char *const endings[] = {".safetensors", ".index.json", ".bin", ".pt", ".model"};
  static const char *const unread[] = {"report.html", "README.md"};
  for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
    if (strcmp(name, unread[i]) == 0)
      return false;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (ends_with(name, endings[i]))
      return true;
  const brim_owned_name is = brim_owned_name_of(name);
  return is != BRIM_NAME_OTHER && is != BRIM_NAME_PREDICTIONS && is != BRIM_NAME_ASKED;
}

static bool is_any(const char *name) {
  return name[0] != '.';
}

/* "fold-0", "checkpoints", "step-12", "0_Transformer": parts of a model or a run that are folders. */
static bool is_part(const char *name) {
  const brim_owned_name is = brim_owned_name_of(name);
  const size_t digits = strspn(name, "0123456789");
  uint64_t step;
  return (digits > 0 && name[digits] == '_') || is == BRIM_NAME_FOLD || is == BRIM_NAME_CHECKPOINTS ||
         is == BRIM_NAME_TENSORBOARD || brim_owned_step_of(name, &step);
}

/* A tokenizer's file alone, and those next to it that are read with it. */
static int add_tokenizer_file(check *c, const brim_path *from) {
  const size_t name = brim_path_last(from->path, &(size_t){0});
  BRIM_TRY(add_file(c, from->path, from));
  DIR *names = folder_of(from->path, c->at) ? opendir(c->at) : NULL;
  const struct dirent *entry;
  int status = BRIM_OK;
  while (names && !status && (entry = readdir(names)))
    if (brim_tokenizer_reads(from->path, entry->d_name) &&
        snprintf(c->entry, PATH_MAX, "%.*s%s", (int)name, from->path, entry->d_name) < PATH_MAX)
      status = add_file(c, c->entry, from);
  if (names)
    closedir(names);
  return status;
}

/* The first `used` bytes of c->entry are the folder's name. All is read of a folder that is a part of another. */
static int add_names(check *c, size_t used, const brim_path *from, bool (*is_read)(const char *name), bool parts) {
  DIR *names = opendir(c->entry);
  const struct dirent *entry;
  int status = BRIM_OK;
  while (names && !status && (entry = readdir(names))) {
    const int length = snprintf(c->entry + used, PATH_MAX - used, "/%s", entry->d_name);
    if (length < 0 || (size_t)length >= PATH_MAX - used)
      continue;
    if (parts && is_part(entry->d_name) && brim_path_is_folder(c->entry) && !brim_path_is_link(c->entry))
      status = add_names(c, used + (size_t)length, from, is_any, true);
    else if (is_read(entry->d_name))
      status = add_file(c, c->entry, from);
  }
  if (names)
    closedir(names);
  return status;
}

static int add_folder(check *c, const char *folder, const brim_path *from, bool (*is_read)(const char *name), bool parts) {
  const int used = snprintf(c->entry, PATH_MAX, "%s", folder);
  return used < PATH_MAX ? add_names(c, (size_t)used, from, is_read, parts) : BRIM_OK;
}

/* All of the folder of a module, whatever modules.json calls it. */
static int add_modules(check *c, const char *folder, const brim_path *from) {
  brim_owned_modules modules;
  BRIM_TRY(brim_owned_modules_open(c->runtime, folder, &modules, c->err));
  int status = BRIM_OK;
  for (size_t i = 0; i < modules.count && !status; i++)
    if (!is_part(modules.names[i]) && snprintf(c->entry, PATH_MAX, "%s/%s", folder, modules.names[i]) < PATH_MAX &&
        brim_path_is_folder(c->entry))
      status = add_names(c, strlen(c->entry), from, is_any, true);
  brim_owned_modules_close(&modules);
  return status;
}

static int add_model(check *c, const brim_path *from) {
  if (!brim_path_is_folder(from->path))
    return add_tokenizer_file(c, from);
  BRIM_TRY(add_folder(c, from->path, from, is_of_model, true));
  return add_modules(c, from->path, from);
}

static int add_pattern(check *c, const char *pattern, const brim_path *from) {
  glob_t found;
  int status = BRIM_OK;
  if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
    return BRIM_OK;
  for (size_t i = 0; i < found.gl_pathc && !status; i++)
    status = add_file(c, found.gl_pathv[i], from);
  globfree(&found);
  return status;
}

static int add_data(check *c, const brim_path *from) {
  const char *equals = strchr(from->path, '='), *path = equals && !brim_path_exists(from->path) ? equals + 1 : from->path;
  if (brim_path_is_folder(path))
    return add_folder(c, path, from, is_any, false);
  return brim_path_exists(path) ? add_file(c, path, from) : add_pattern(c, path, from);
}

static int add_input(check *c, const brim_path *from) {
  switch (from->use) {
  case BRIM_READS_DATA:
    return add_data(c, from);
  case BRIM_READS_MODEL:
    return add_model(c, from);
  case BRIM_KEEPS:
    return add_folder(c, from->path, from, is_any, false);
  case BRIM_READS_FILE:
    return add_file(c, from->path, from);
  default:
    return BRIM_OK;
  }
}

/* ---- where something is written ------------------------------------------------------------------------------ */

static int refuse(const check *c, const brim_path *output, const char *why) {
  return brim_error_set(c->err, BRIM_E_USAGE, "%s %s: %s", output->name, output->path, why);
}

/* A name that the file system does not take would be noticed at the end. */
static bool is_too_long(const char *path) {
  size_t end;
  const size_t first = brim_path_last(path, &end);
  return end - first > NAME_MAX || end >= PATH_MAX;
}

static int refuse_locked(const check *c, const brim_path *output) {
  return refuse(c, output,
                errno == EROFS ? "the file system is read-only: name another place"
                               : "nothing may be written there: name another place");
}

/* What is written into a folder that is there, or is made: its nearest ancestor must allow it. */
static int check_folder(check *c, const brim_path *output, const char *folder, bool made) {
  char *at = c->at;
  snprintf(at, PATH_MAX, "%s", folder);
  while (made && access(at, F_OK) != 0 && errno == ENOENT && strcmp(at, ".") != 0 && strcmp(at, "/") != 0)
    (void)folder_of(at, at);
  if (access(at, F_OK) != 0 && errno != ENOTDIR)
    return refuse(c, output, "its folder is not there: make it, or name another place");
  if (!brim_path_is_folder(at))
    return refuse(c, output, "there is a file where a folder is needed: name another place");
  return access(at, W_OK) == 0 ? BRIM_OK : refuse_locked(c, output);
}

/* "missing/../there" would be `there` once `missing` is made, and nothing has looked at it. */
static int check_climb(check *c, const brim_path *run) {
  const char *path = run->path;
  for (const char *part = path; (part = strstr(part, "..")); part += 2) {
    const bool climbs = (part == path || part[-1] == '/') && (part[2] == '/' || !part[2]);
    if (!climbs || part == path)
      continue;
    snprintf(c->at, PATH_MAX, "%.*s", (int)(part - path), path);
    if (!brim_path_is_folder(c->at))
      return refuse(c, run, "a folder before .. is not there: name it without ..");
  }
  return check_folder(c, run, path, true);
}

/* ---- a run's folder ------------------------------------------------------------------------------------------ */

/* Whether a run writes or replaces what is at `inside` in its folder, unless it is asked to: by its name, or as a module that the
 * folder lists. */
static int is_of_run(const check *c, const char *folder, const char *inside, bool *is) {
  brim_owned_modules modules;
  const brim_owned_name of = inside ? brim_owned_name_of(inside) : BRIM_NAME_OTHER;
  *is = of != BRIM_NAME_OTHER && of != BRIM_NAME_ASKED;
  if (!inside || *is)
    return BRIM_OK;
  BRIM_TRY(brim_owned_modules_open(c->runtime, folder, &modules, c->err));
  for (size_t i = 0; i < modules.count; i++) {
    const size_t length = strlen(modules.names[i]);
    *is = *is || (strncmp(inside, modules.names[i], length) == 0 && (inside[length] == '/' || !inside[length]));
  }
  brim_owned_modules_close(&modules);
  return BRIM_OK;
}

/* The true name of a folder of models, or of a cache, which need not be there. */
static bool is_folder_named(check *c, const brim_path *p, char real[PATH_MAX]) {
  if (p->use == BRIM_KEEPS && !brim_path_exists(p->path))
    return true_name(c, p->path, real);
  return (p->use == BRIM_KEEPS || p->use == BRIM_READS_MODEL) && brim_path_is_folder(p->path) && realpath(p->path, real) != NULL;
}

/* A run whose model is in its own folder loses it with its first checkpoint, and could not be resumed. A cache there would make
 * the folder somebody else's. */
static int check_folders(check *c, const brim_path *run, const char *folder) {
  char *real = c->other;
  for (size_t i = 0; i < c->count; i++) {
    const brim_path *p = &c->paths[i];
    const bool named = is_folder_named(c, p, real);
    bool inside;
    BRIM_TRY(is_of_run(c, folder, named ? below(real, folder) : NULL, &inside));
    if (!named || (strcmp(real, folder) != 0 && !inside))
      continue;
    return brim_error_set(c->err, BRIM_E_USAGE, "%s %s is in %s %s, which %s", p->name, p->path, run->name, run->path,
                          p->use == BRIM_KEEPS ? "a run has for itself: name another folder"
                          : c->resume ? "is the run's own: a run is resumed with the model that it was begun with"
                                      : "would be replaced: name another folder; what it began with stays, and the run can be "
                                        "resumed");
  }
  return BRIM_OK;
}

/* A run's folder that is there, and in it what every checkpoint is written into: its first one may be hours away. */
static int check_writable(check *c, const brim_path *run, const char *folder) {
  static const char *const inside[] = {"", "/checkpoints", "/tensorboard"};
  for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
    if (snprintf(c->at, PATH_MAX, "%s%s", folder, inside[i]) < PATH_MAX && access(c->at, F_OK) == 0 && access(c->at, W_OK) != 0)
      return refuse_locked(c, run);
  return BRIM_OK;
}

static int check_run(check *c, const brim_path *run) {
  char *real = c->real;
  const bool there = realpath(run->path, real) != NULL;
  if (is_too_long(run->path))
    return refuse(c, run, "the name is too long: name another folder");
  if (there && !brim_path_is_folder(real))
    return refuse(c, run, "there is a file where a folder is needed: name another place");
  if (there)
    BRIM_TRY(check_writable(c, run, real));
  else
    BRIM_TRY(strstr(run->path, "..") ? check_climb(c, run) : check_folder(c, run, run->path, true));
  if (!there && !true_name(c, run->path, real))
    return BRIM_OK;
  BRIM_TRY(check_folders(c, run, real));
  for (size_t i = 0; i < c->input_count; i++) {
    const char *inside = below(c->inputs[i].path, real);
    bool replaced;
    BRIM_TRY(is_of_run(c, real, inside, &replaced));
    if (replaced)
      return brim_error_set(c->err, BRIM_E_USAGE,
                            "%s %s: %s in it is also an input (%s), and would be replaced: name another folder", run->name,
                            run->path, inside, c->inputs[i].from->name);
  }
  return BRIM_OK;
}

/* ---- a file -------------------------------------------------------------------------------------------------- */

static bool is_file_use(brim_path_use use) {
  return use == BRIM_WRITES_FILE || use == BRIM_WRITES_RESUMABLE;
}

/* Another output of the same name, or the folder of the run with a file in it. *made: the file's folder will be made. */
static int check_other_outputs(check *c, const brim_path *output, const char *real, bool *made) {
  char *its = c->other;
  for (size_t i = 0; i < c->count; i++) {
    const brim_path *other = &c->paths[i];
    const bool file = is_file_use(other->use) && other < output, run = other->use == BRIM_WRITES_RUN;
    if ((!file && !run) || !true_name(c, other->path, its))
      continue;
    const char *inside = run ? below(real, its) : NULL;
    bool replaced;
    BRIM_TRY(is_of_run(c, its, inside, &replaced));
    if (file && strcmp(its, real) == 0)
      return brim_error_set(c->err, BRIM_E_USAGE, "%s and %s are both %s: name two files", other->name, output->name,
                            output->path);
    if (run && strcmp(its, real) == 0)
      return refuse(c, output, "this is the run's folder: name a file");
    if (replaced)
      return refuse(c, output, "the run itself writes a file of this name: name another");
    *made |= inside && !strchr(inside, '/');
  }
  return BRIM_OK;
}

static int check_inputs(const check *c, const brim_path *output, const char *path) {
  struct stat info;
  if (stat(path, &info) != 0 || (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return BRIM_OK;
  for (size_t i = 0; i < c->input_count; i++)
    if (c->inputs[i].device == info.st_dev && c->inputs[i].inode == info.st_ino)
      return brim_error_set(c->err, BRIM_E_USAGE, "%s %s is also an input (%s), and would be replaced: name another file",
                            output->name, path, c->inputs[i].from->name);
  return BRIM_OK;
}

static int check_next_to(check *c, const brim_path *output) {
  static const char *const endings[] = {".partial", ".partial.json"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (snprintf(c->at, PATH_MAX, "%s%s", output->path, endings[i]) < PATH_MAX)
      BRIM_TRY(check_inputs(c, output, c->at));
  return BRIM_OK;
}

static int check_file(check *c, const brim_path *output) {
  const char *path = output->path;
  struct stat info;
  const bool there = stat(path, &info) == 0;
  bool made = false;
  if (true_name(c, path, c->real))
    BRIM_TRY(check_other_outputs(c, output, c->real, &made));
  if (there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return BRIM_OK; /* a device or a pipe takes what comes */
  if (is_too_long(path))
    return refuse(c, output, "the name is too long: name another file");
  BRIM_TRY(check_inputs(c, output, path));
  if (output->use == BRIM_WRITES_RESUMABLE)
    BRIM_TRY(check_next_to(c, output));
  if (there && S_ISDIR(info.st_mode))
    return refuse(c, output, "this is a folder: name a file");
  if (ends_with(path, "/"))
    return refuse(c, output, "a file has no / at its end: name a file");
  return folder_of(path, c->other) ? check_folder(c, output, c->other, made) : BRIM_OK;
}

int brim_check_outputs(brim_runtime *runtime, const brim_path *paths, size_t count, bool resume, brim_error *err) {
  BRIM_GIVEN(err, runtime);
  BRIM_ARRAY(err, paths, count);
  for (size_t i = 0; i < count; i++) {
    BRIM_GIVEN_AS(err, "paths.name, paths.path", paths[i].name, paths[i].path);
    if ((unsigned)paths[i].use > BRIM_WRITES_RUN) /* 0: it is no path */
      return brim_error_set(err, BRIM_E_USAGE, "%s: use %d of a path does not exist", paths[i].name, (int)paths[i].use);
  }
  check *c = brim_alloc_zero(runtime, sizeof *c);
  if (!c)
    return BRIM_NOMEM(err);
  c->runtime = runtime, c->paths = paths, c->count = count, c->resume = resume, c->err = err;
  int status = BRIM_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = add_input(c, &paths[i]);
  for (size_t i = 0; i < count && !status; i++)
    if (is_file_use(paths[i].use))
      status = check_file(c, &paths[i]);
    else if (paths[i].use == BRIM_WRITES_RUN)
      status = check_run(c, &paths[i]);
  for (size_t i = 0; i < c->input_count; i++)
    brim_release(runtime, c->inputs[i].path);
  brim_release(runtime, c->inputs);
  brim_release(runtime, c);
  return status;
}
