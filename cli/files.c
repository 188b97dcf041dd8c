/* files.c: what is refused before a command begins, because it would be wrong after hours: an output that is also an input, or
 * part of what a run keeps, or cannot be written (brim_check_outputs); standard input for two readers. Every option says of
 * itself what its path is (cli_path). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli.h"

enum { NAME_ROOM = 48 };

/* The paths of a call, with names as errors have them: "--output", or what operands are. */
typedef struct paths {
  cli_call *cli;
  brim_path *items;
  char (*names)[NAME_ROOM];
  size_t count, room;
  int standard; /* how often standard input is named */
} paths;

static bool is_output(cli_path use) {
  return use == CLI_WRITES_FILE || use == CLI_WRITES_RESUMABLE || use == CLI_WRITES_RUN;
}

static void add(paths *p, cli_path use, const char *dashes, const char *name, const char *path) {
  if (!path || p->count == p->room)
    return;
  if (strcmp(path, "-") == 0 || (is_output(use) && !*path)) {
    p->standard += !is_output(use) && use != CLI_KEEPS;
    return;
  }
  snprintf(p->names[p->count], NAME_ROOM, "%s%s", dashes, name);
  p->items[p->count] = (brim_path){(brim_path_use)use, p->names[p->count], path};
  p->count++;
}

/* The paths of an option: the items of a list, or the one. */
static const char *const *paths_of(const cli_arguments *arguments, const cli_option *option, int *count) {
  const void *field = (const char *)&arguments->values + option->offset;
  const cli_list *list = field;
  *count = option->kind == CLI_LIST ? list->count : arguments->given[option - arguments->options];
  return option->kind == CLI_LIST ? list->items : field;
}

static void add_all(paths *p, const char *simulated) {
  cli_call *cli = p->cli;
  const cli_arguments *arguments = &cli->arguments;
  int count;
  add(p, CLI_READS_MODEL, "--", "simulate", simulated);
  for (int i = 0; i < arguments->operand_count; i++)
    add(p, cli->command->operands_are, "", cli->command->operands, arguments->operands[i]);
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++) {
    const char *const *items = option->path ? paths_of(arguments, option, &count) : NULL;
    for (int i = 0; items && i < count; i++)
      add(p, option->path, "--", option->name, items[i]);
  }
}

static int check_standard_input(const paths *p) {
  cli_call *cli = p->cli;
  if (p->standard > 1)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "standard input (-) is named twice, and can be read once: write one of them to a file first");
  if (p->standard && cli->group.world_size > 1)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "standard input (-) cannot be read by %d processes: write it to a file that all of them see",
                          (int)cli->group.world_size);
  return BRIM_OK;
}

static void keep(cli_arguments *arguments, const char **path, char *longer) {
  if (longer && arguments->kept_count < (int)(sizeof arguments->kept / sizeof *arguments->kept))
    *path = arguments->kept[arguments->kept_count++] = longer;
  else
    free(longer);
}

/* --profile alone writes next to the log. */
static void name_trace(cli_call *cli) {
  cli_values *v = &cli->arguments.values;
  const size_t room = v->output ? strlen(v->output) + sizeof "/trace.json" : 0;
  char *path = v->profile && !*v->profile && room ? malloc(room) : NULL;
  if (path)
    snprintf(path, room, "%s/trace.json", v->output);
  v->own_trace = path != NULL;
  keep(&cli->arguments, &v->profile, path);
}

/* Whether `path` ends in one of these, with a space after each, in any case: then *ending is where. */
static bool ends_in(const char *path, const char *endings, const char **ending) {
  size_t length;
  for (const char *one = endings; *one; one += length + 1) {
    length = strcspn(one, " ");
    const size_t all = strlen(path);
    if (all > length && strncasecmp(path + all - length, one, length) == 0) {
      *ending = path + all - length;
      return true;
    }
  }
  return false;
}

/* A name that says another format, or that the file is packed, is found wrong by whoever reads it. */
static int check_endings(cli_call *cli) {
  static const char formats[] = ".gz .zst .xz .bz2 .zip .tar .npy .npz .parquet .arrow .feather .csv .tsv .xlsx .html .htm .pdf "
                                ".png .svg .safetensors .pt .pth .bin .h5 .hdf5 .pkl .pickle .json .jsonl .ndjson ";
  const cli_arguments *arguments = &cli->arguments;
  const char *ending;
  struct stat info;
  int count;
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++) {
    const char *const *path = option->endings ? paths_of(arguments, option, &count) : NULL;
    if (!path || count == 0 || !ends_in(*path, formats, &ending) || ends_in(*path, option->endings, &ending))
      continue;
    if (stat(*path, &info) != 0 || S_ISREG(info.st_mode)) /* a pipe has any name */
      return brim_error_set(&cli->error, BRIM_E_USAGE, "--%s %s: what is written is not %s: let the name end in %.*s",
                            option->name, *path, ending, (int)strcspn(option->endings, " "), option->endings);
  }
  return BRIM_OK;
}

/* A link to a file means its target, which is replaced: the user named the link, and it stays. */
static void follow_links(cli_call *cli) {
  cli_arguments *arguments = &cli->arguments;
  struct stat info, own;
  for (const cli_option *option = arguments->options; option->kind != CLI_END; option++) {
    const char **path = (const char **)(void *)((char *)&arguments->values + option->offset);
    if ((option->path != CLI_WRITES_FILE && option->path != CLI_WRITES_RESUMABLE) ||
        (arguments->values.own_trace && path == &arguments->values.profile) || !arguments->given[option - arguments->options] ||
        stat(*path, &info) != 0 || !S_ISREG(info.st_mode))
      continue;
    if (lstat(*path, &own) == 0 && S_ISLNK(own.st_mode))
      keep(arguments, path, realpath(*path, NULL));
  }
}

/* Rank 0 writes for all: only it need see where. */
int cli_check_files(cli_call *cli) {
  enum { MOST = CLI_OPTION_LIMIT + 8 * CLI_LIST_LIMIT };
  const char *wish = cli->values->simulate, *model = wish ? strstr(wish, "model=") : NULL;
  char *simulated = model ? strndup(model + 6, strcspn(model + 6, ",")) : NULL;
  paths p = {.cli = cli, .room = (size_t)cli->arguments.operand_count + MOST};
  p.items = malloc(p.room * sizeof *p.items);
  p.names = malloc(p.room * sizeof *p.names);
  int status = p.items && p.names ? BRIM_OK : cli_no_memory(cli, "the names of files");
  name_trace(cli);
  if (!status) {
    add_all(&p, simulated);
    status = check_standard_input(&p);
  }
  if (!status && cli->group.rank == 0)
    status = brim_check_outputs(cli->runtime, p.items, p.count, cli->values->resume, &cli->error);
  if (!status)
    status = check_endings(cli);
  if (!status && cli->group.rank == 0)
    follow_links(cli);
  free(simulated);
  free(p.names);
  free(p.items);
  return status;
}
