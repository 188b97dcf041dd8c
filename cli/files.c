/* files.c: what is refused before a command begins, because it would be wrong after hours: an output that is also an input, or
 * part of what a run keeps, or cannot be written; standard input for two readers. Every option says of itself what its path is
 * (cli_path). */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* ---- files that are read ---------------------------------------------------------------------------------- */

typedef struct input {
  dev_t device;
  ino_t inode;
  char *path;       /* in its folder's true name: no link but perhaps the file itself */
  const char *name; /* as an error names it: an option with dashes, or what operands are */
} input;

typedef struct inputs {
  cli_call *cli;
  input *items;
  size_t count, room;
  int standard; /* how often standard input is named */
} inputs;

static int no_memory(const inputs *in) {
  return cli_no_memory(in->cli, "the names of files");
}

/* Where the last name of a path begins, slashes at its end left out. */
static size_t last_name(const char *path, size_t *end) {
  *end = strlen(path);
  while (*end > 1 && path[*end - 1] == '/')
    --*end;
  size_t first = *end;
  while (first > 0 && path[first - 1] != '/')
    first--;
  return first;
}

/* The folder of a path, "." where it names none. False: it is too long. */
static bool folder_of(const char *path, char folder[PATH_MAX]) {
  size_t end;
  const size_t first = last_name(path, &end);
  return snprintf(folder, PATH_MAX, "%.*s", first ? (int)first : 1, first ? path : ".") < PATH_MAX;
}

/* The true name of a path, of which the end need not be there, in fresh memory or NULL. A link at its end is not followed. */
static char *true_name(const char *path) {
  char folder[PATH_MAX];
  size_t end;
  const size_t first = last_name(path, &end);
  if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
    return realpath(path, NULL);
  char *real = folder_of(path, folder) ? realpath(folder, NULL) : NULL;
  if (!real && errno == ENOENT)
    real = true_name(folder);
  char *name = real ? malloc(strlen(real) + end - first + 2) : NULL;
  if (name)
    sprintf(name, "%s/%.*s", strcmp(real, "/") == 0 ? "" : real, (int)(end - first), path + first);
  free(real);
  return name;
}

static int add_file(inputs *in, const char *path, const char *name) {
  struct stat info;
  if (stat(path, &info) != 0 || S_ISDIR(info.st_mode))
    return BRIM_OK; /* who reads it says what is wrong with it */
  if (in->count == in->room) {
    const size_t room = in->room ? 2 * in->room : 64;
    input *more = realloc(in->items, room * sizeof *more);
    if (!more)
      return no_memory(in);
    in->items = more, in->room = room;
  }
  char *real = true_name(path);
  if (!real)
    return no_memory(in);
  in->items[in->count++] = (input){info.st_dev, info.st_ino, real, name};
  return BRIM_OK;
}

static bool ends_with(const char *name, const char *ending) {
  const size_t length = strlen(name), size = strlen(ending);
  return length > size && strcmp(name + length - size, ending) == 0;
}

/* What is read of a folder with a model, a tokenizer or a run. */
static bool is_read_of_model(const char *name) {
  static const char *const names[] = {"config.json",
                                      "model.safetensors.index.json",
                                      "pytorch_model.bin.index.json",
                                      "tokenizer.json",
                                      "tokenizer_config.json",
                                      "special_tokens_map.json",
                                      "added_tokens.json",
                                      "vocab.json",
                                      "vocab.txt",
                                      "merges.txt",
                                      "modules.json",
                                      "sentence_bert_config.json",
                                      "log.jsonl",
                                      "evaluation.jsonl",
                                      "folds.csv",
                                      "folds.json"},
                           *const endings[] = {".safetensors", ".bin", ".pt", ".model"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (ends_with(name, endings[i]))
      return true;
  return false;
}

static bool is_any(const char *name) {
  return name[0] != '.';
}

static int add_folder(inputs *in, const char *folder, const char *option, bool (*is_read)(const char *name)) {
  DIR *names = opendir(folder);
  const struct dirent *entry;
  char path[PATH_MAX];
  int status = BRIM_OK;
  while (names && !status && (entry = readdir(names)))
    if (is_read(entry->d_name) && snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
      status = add_file(in, path, option);
  if (names)
    closedir(names);
  return status;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A file, a folder of files, a pattern, or any of them after NAME=. */
static int add_data(inputs *in, const char *item, const char *option) {
  const char *equals = strchr(item, '='), *path = equals && access(item, F_OK) != 0 ? equals + 1 : item;
  glob_t found;
  int status = BRIM_OK;
  in->standard += strcmp(path, "-") == 0;
  if (is_folder(path))
    return add_folder(in, path, option, is_any);
  if (access(path, F_OK) == 0 || glob(path, GLOB_NOSORT, NULL, &found) != 0)
    return add_file(in, path, option);
  for (size_t i = 0; i < found.gl_pathc && !status; i++)
    status = add_file(in, found.gl_pathv[i], option);
  globfree(&found);
  return status;
}

static int add_input(inputs *in, cli_path how, const char *path, const char *name) {
  switch (how) {
  case CLI_READS_DATA:
    return add_data(in, path, name);
  case CLI_READS_MODEL:
    in->standard += strcmp(path, "-") == 0;
    return is_folder(path) ? add_folder(in, path, name, is_read_of_model) : add_file(in, path, name);
  case CLI_KEEPS:
    return add_folder(in, path, name, is_any);
  case CLI_READS_FILE:
    in->standard += strcmp(path, "-") == 0;
    return add_file(in, path, name);
  default:
    return BRIM_OK;
  }
}

/* The paths of an option: the items of a list, or the one. */
static const char *const *paths_of(const cli_arguments *arguments, const cli_option *option, int *count) {
  const void *field = (const char *)&arguments->values + option->offset;
  const cli_list *list = field;
  *count = option->kind == CLI_LIST ? list->count : arguments->given[option - arguments->options];
  return option->kind == CLI_LIST ? list->items : field;
}

/* The model that --simulate names among other things. */
static int add_simulated(inputs *in) {
  const char *wish = in->cli->values->simulate, *model = wish ? strstr(wish, "model=") : NULL;
  char folder[PATH_MAX];
  if (!model)
    return BRIM_OK;
  snprintf(folder, sizeof folder, "%.*s", (int)strcspn(model + 6, ","), model + 6);
  return add_input(in, CLI_READS_MODEL, folder, "simulate");
}

static int find_inputs(inputs *in) {
  cli_call *cli = in->cli;
  const cli_arguments *arguments = &cli->arguments;
  int status = add_simulated(in), count;
  for (int i = 0; i < arguments->operand_count && !status; i++)
    status = add_input(in, cli->command->operands_are, arguments->operands[i], cli->command->operands);
  for (const cli_option *option = arguments->options; option->kind != CLI_END && !status; option++) {
    const char *const *paths = option->path ? paths_of(arguments, option, &count) : NULL;
    for (int i = 0; paths && i < count && !status; i++)
      status = add_input(in, option->path, paths[i], option->name);
  }
  return status;
}

static int check_standard_input(const inputs *in) {
  cli_call *cli = in->cli;
  if (in->standard > 1)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "standard input (-) is named twice, and can be read once: write one of them to a file first");
  if (in->standard && cli->group.world_size > 1)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "standard input (-) cannot be read by %d processes: write it to a file that all of them see",
                          (int)cli->group.world_size);
  return BRIM_OK;
}

/* ---- what is written -------------------------------------------------------------------------------------- */

static int refuse(cli_call *cli, const char *option, const char *path, const char *why) {
  return brim_error_set(&cli->error, BRIM_E_USAGE, "--%s %s: %s", option, path, why);
}

static int refuse_input(cli_call *cli, const char *option, const char *path, const input *read) {
  const bool operand = strcmp(read->name, cli->command->operands) == 0;
  return brim_error_set(&cli->error, BRIM_E_USAGE, "--%s %s is also an input (%s%s), and would be replaced: name another file",
                        option, path, operand ? "" : "--", read->name);
}

/* The part of `path` below the folder, or NULL. */
static const char *below(const char *path, const char *folder) {
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

/* What a run writes into its folder, or renames there. */
static bool is_of_run(const char *name) {
  static const char *const beginnings[] = {"checkpoints/", "replaced-run/", "tensorboard/", "fold-", "predictions"};
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
      return true;
  return strcmp(name, "report.html") == 0 || strcmp(name, "README.md") == 0 || is_read_of_model(name);
}

/* A run whose model is in its own folder loses it with its first checkpoint, and could not be resumed. */
static int check_own_model(cli_call *cli, const char *run) {
  const char *model = cli->values->model;
  char *real = model ? realpath(model, NULL) : NULL;
  const char *inside = real ? below(real, run) : NULL;
  int status = BRIM_OK;
  if (real && (strcmp(real, run) == 0 || (inside && is_of_run(inside))))
    status = brim_error_set(&cli->error, BRIM_E_USAGE, "--model %s is in --output %s, which %s: %s", model, cli->values->output,
                            cli->values->resume ? "is the run's own" : "would be replaced",
                            cli->values->resume ? "a run is resumed with the model that it was begun with"
                                                : "name another --output; what it began with stays, and the run can be resumed");
  free(real);
  return status;
}

/* What is written into a folder that is there, or is made: its nearest ancestor must allow it. */
static int check_folder(cli_call *cli, const char *option, const char *path, const char *folder, bool made) {
  char above[PATH_MAX], at[PATH_MAX];
  snprintf(at, sizeof at, "%s", folder);
  while (made && access(at, F_OK) != 0 && errno == ENOENT && folder_of(at, above) && strcmp(at, above) != 0)
    memcpy(at, above, sizeof at);
  if (access(at, F_OK) != 0 && errno != ENOTDIR)
    return refuse(cli, option, path, "its folder is not there: make it, or name another place");
  if (!is_folder(at))
    return refuse(cli, option, path, "there is a file where a folder is needed: name another place");
  if (access(at, W_OK) != 0)
    return refuse(cli, option, path,
                  errno == EROFS ? "the file system is read-only: name another place"
                                 : "nothing may be written there: name another place");
  return BRIM_OK;
}

/* "missing/../there" would be `there` once `missing` is made, and nothing has looked at it. */
static int check_climb(cli_call *cli, const char *run) {
  for (const char *part = run; (part = strstr(part, "..")); part += 2)
    if ((part == run || part[-1] == '/') && (part[2] == '/' || !part[2]))
      return refuse(cli, "output", run, "a folder before .. is not there: name it without ..");
  return check_folder(cli, "output", run, run, true);
}

static int check_run(const inputs *in, const char *run) {
  cli_call *cli = in->cli;
  char *real = realpath(run, NULL);
  if (!real && strstr(run, ".."))
    return check_climb(cli, run);
  if (!real)
    return check_folder(cli, "output", run, run, true);
  int status = is_folder(real) ? check_own_model(cli, real)
                               : refuse(cli, "output", run, "there is a file where a folder is needed: name another place");
  for (size_t i = 0; i < in->count && !status; i++) {
    const char *inside = below(in->items[i].path, real);
    if (inside && is_of_run(inside) && strcmp(in->items[i].name, "model") != 0)
      status = brim_error_set(&cli->error, BRIM_E_USAGE,
                              "--output %s: %s in it is also an input (--%s), and would be replaced: name another folder", run,
                              inside, in->items[i].name);
  }
  free(real);
  return status;
}

/* A link to a file means its target, which is replaced: the user named the link, and it stays. */
static int follow_link(cli_call *cli, const char **path) {
  cli_arguments *arguments = &cli->arguments;
  char *real = realpath(*path, NULL);
  if (real && arguments->kept_count < (int)(sizeof arguments->kept / sizeof *arguments->kept)) {
    *path = arguments->kept[arguments->kept_count++] = real;
    return BRIM_OK;
  }
  free(real);
  return BRIM_OK;
}

/* Another output of the same name, or the folder of the run with a file in it. *made: the file's folder will be made. */
static int check_other_outputs(const inputs *in, const cli_option *option, const char *path, const char *real, bool *made) {
  cli_call *cli = in->cli;
  const cli_arguments *arguments = &cli->arguments;
  int status = BRIM_OK, count;
  for (const cli_option *other = arguments->options; other->kind != CLI_END && !status; other++) {
    const bool file = other->path == CLI_WRITES_FILE && other < option, run = other->path == CLI_WRITES_RUN;
    const char *const *paths = file || run ? paths_of(arguments, other, &count) : NULL;
    char *its = paths && count && *paths[0] ? true_name(paths[0]) : NULL;
    const char *inside = its && run ? below(real, its) : NULL;
    if (its && file && strcmp(its, real) == 0)
      status = brim_error_set(&cli->error, BRIM_E_USAGE, "--%s and --%s are both %s: name two files", other->name, option->name,
                              path);
    if (inside && is_of_run(inside))
      status = refuse(cli, option->name, path, "the run itself writes a file of this name: name another");
    *made |= inside && !strchr(inside, '/');
    free(its);
  }
  return status;
}

static int check_output_file(const inputs *in, const cli_option *option, const char **path) {
  cli_call *cli = in->cli;
  char folder[PATH_MAX], *real = true_name(*path);
  struct stat info, own;
  const bool there = stat(*path, &info) == 0;
  bool made = false;
  int status = real ? check_other_outputs(in, option, *path, real, &made) : BRIM_OK;
  free(real);
  if (status || (there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return status; /* a device or a pipe takes what comes */
  for (size_t i = 0; there && i < in->count; i++)
    if (in->items[i].device == info.st_dev && in->items[i].inode == info.st_ino)
      return refuse_input(cli, option->name, *path, &in->items[i]);
  if (there && S_ISDIR(info.st_mode))
    return refuse(cli, option->name, *path, "this is a folder: name a file");
  if (folder_of(*path, folder))
    status = check_folder(cli, option->name, *path, folder, made);
  if (!status && there && lstat(*path, &own) == 0 && S_ISLNK(own.st_mode))
    status = follow_link(cli, path);
  return status;
}

static int check_outputs(const inputs *in) {
  cli_arguments *arguments = &in->cli->arguments;
  int status = BRIM_OK;
  for (const cli_option *option = arguments->options; option->kind != CLI_END && !status; option++) {
    const char **path = (const char **)(void *)((char *)&arguments->values + option->offset);
    if (!arguments->given[option - arguments->options] || !option->path || strcmp(*path, "-") == 0 || !**path)
      continue;
    if (option->path == CLI_WRITES_FILE)
      status = check_output_file(in, option, path);
    if (option->path == CLI_WRITES_RUN)
      status = check_run(in, *path);
  }
  return status;
}

/* Rank 0 writes for all: only it need see where. */
int cli_check_files(cli_call *cli) {
  inputs in = {.cli = cli};
  int status = find_inputs(&in);
  if (!status)
    status = check_standard_input(&in);
  if (!status && cli->group.rank == 0)
    status = check_outputs(&in);
  for (size_t i = 0; i < in.count; i++)
    free(in.items[i].path);
  free(in.items);
  return status;
}
