/* main.c: finds the command, reads its options, runs it, and turns its status into a line and an exit code. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli.h"
#include "commands.h"
#include "help.h"
#include "ranks.h"

const cli_command *const cli_commands[] = {&cli_train,           &cli_embed,
                                           &cli_evaluate,        &cli_predict,
                                           &cli_compare,         &cli_report,
                                           &cli_analyze,         &cli_plan,
                                           &cli_tokenize,        &cli_shard,
                                           &cli_doctor,          &cli_inspect_gradients,
                                           &cli_inspect_losses,  &cli_inspect_masks,
                                           &cli_inspect_metrics, &cli_inspect_model,
                                           &cli_inspect_program, &cli_inspect_trajectory,
                                           &cli_completion,      &cli_help,
                                           &cli_version,         NULL};

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNALLED = 128 };

static int exit_code(int status) {
  switch (status) {
  case BRIM_OK:
    return EXIT_DONE;
  case BRIM_E_USAGE:
    return EXIT_USAGE;
  case BRIM_E_CANCELLED:
    return EXIT_SIGNALLED + (cli_signal() ? cli_signal() : SIGINT);
  default:
    return EXIT_FAILED;
  }
}

/* `joined`: other processes know how this one ends, and who says it. */
static int fail(const cli_call *cli, int status, bool joined, bool speaks) {
  char text[1400], rank[32] = "";
  brim_shown(text, brim_error_text(&cli->error, text, sizeof text - 100), false);
  if (cli->runs)
    cli_name_options(cli, text, sizeof text);
  if (!joined)
    cli_ranks_begin_to_speak(rank);
  if (speaks)
    fprintf(stderr, "brim: %s%s\n", rank, text[0] ? text : "failed without a reason");
  return exit_code(status);
}

/* The command whose name is the first one or two words; *used says how many. */
static const cli_command *find_command(int count, char **words, int *used) {
  for (int i = 0; cli_commands[i]; i++) {
    const char *name = cli_commands[i]->name, *blank = strchr(name, ' ');
    size_t first = blank ? (size_t)(blank - name) : strlen(name);
    if (strlen(words[0]) != first || memcmp(words[0], name, first) != 0)
      continue;
    if (blank && (count < 2 || strcmp(words[1], blank + 1) != 0))
      continue;
    *used = blank ? 2 : 1;
    return cli_commands[i];
  }
  return NULL;
}

static int unknown_command(int count, char **words, brim_error *err) {
  if (strcmp(words[0], "inspect") == 0)
    return brim_error_set(
        err, BRIM_E_USAGE,
        "inspect what? `brim inspect model`, `program`, `gradients`, `trajectory`, `losses`, `masks` or `metrics`%s%s",
        count > 1 ? ", not " : "", count > 1 ? words[1] : "");
  const char *names[32];
  int known = 0;
  for (int i = 0; cli_commands[i]; i++)
    names[known++] = cli_commands[i]->name;
  names[known] = NULL;
  const char *nearest = cli_nearest(words[0], strlen(words[0]), names);
  if (nearest)
    return brim_error_set(err, BRIM_E_USAGE, "unknown command \"%s\"; did you mean %s?", words[0], nearest);
  return brim_error_set(err, BRIM_E_USAGE, "unknown command \"%s\"; `brim help` lists them", words[0]);
}

static int print_help(cli_call *cli) {
  brim_text text;
  brim_text_init(&text, cli->runtime);
  cli_help_command(cli->command, &text);
  int status = cli_write(cli, NULL, &text);
  brim_text_free(&text);
  return status;
}

/* The environment only ever lowers the level of instructions. */
static void note_environment(const cli_call *cli) {
  const char *wanted = getenv("BRIM_CPU"), *level = brim_cpu_name(brim_runtime_cpu(cli->runtime));
  const bool automatic = !cli->values->cpu || strcmp(cli->values->cpu, "auto") == 0;
  if (automatic && wanted && *wanted && strcmp(wanted, "auto") != 0 && strcmp(wanted, level) != 0)
    cli_note(cli, "the environment's BRIM_CPU is %s, which this machine lacks: %s is used", wanted, level);
}

/* Runs the command with a runtime of the wanted number of threads. */
static int run_command(cli_call *cli) {
  int status = cli_ranks_open(cli);
  if (status)
    return status;
  brim_runtime_options options = {.threads = (int)cli->values->threads, .cpu = cli->values->cpu};
  status = brim_runtime_new(&options, &cli->runtime, &cli->error);
  if (status)
    return status;
  note_environment(cli);
  status = brim_progress_new(cli->runtime, stderr, cli->values->quiet, &cli->progress, &cli->error);
  if (status == BRIM_OK) {
    cli_catch_signals(cli->runtime);
    status = cli_find_folders(cli);
    if (status == BRIM_OK)
      status = cli_check_files(cli);
    if (!status)
      status = cli->command->run(cli);
    cli_release_signals();
    if (status == BRIM_E_IO && !*cli->hint)
      cli_hint_at_model(cli);
    if (status == BRIM_E_CANCELLED)
      brim_error_set(&cli->error, status, "interrupted%s", cli->hint);
    if (status == BRIM_E_IO)
      snprintf(cli->error.message + strlen(cli->error.message), sizeof cli->error.message - strlen(cli->error.message), "%s",
               cli->hint);
    brim_progress_clear(cli->progress);
  }
  brim_progress_free(cli->progress);
  brim_runtime_free(cli->runtime);
  cli->runtime = NULL;
  return status;
}

/* Options and help need little: a runtime of one thread, before the real one is known. */
static int parse_and_help(cli_call *cli, int count, char **words) {
  brim_runtime_options options = {.threads = 1};
  int status = brim_runtime_new(&options, &cli->runtime, &cli->error);
  if (status)
    return status;
  status = cli_parse(cli->runtime, cli->command, count, words, &cli->arguments, &cli->error);
  if (status == BRIM_OK)
    cli_take_task(cli, cli_task(cli));
  if (status == BRIM_OK && cli->values->help)
    status = print_help(cli);
  brim_runtime_free(cli->runtime);
  cli->runtime = NULL;
  return status;
}

enum { WANTED_STACK = 1 << 20, LEAST_STACK = 128 << 10 };

/* `ulimit -s` may be small for a shell's sake. The stack grows as far as the limit is at that time, so a soft one is raised. */
static int check_stack(brim_error *err) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= WANTED_STACK)
    return BRIM_OK;
  limit.rlim_cur = limit.rlim_max < WANTED_STACK ? limit.rlim_max : WANTED_STACK;
  if (setrlimit(RLIMIT_STACK, &limit) != 0)
    getrlimit(RLIMIT_STACK, &limit);
  if (limit.rlim_cur >= LEAST_STACK)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_MEMORY,
                        "the stack has %lld KiB (ulimit -s), and brim needs %d: allow more, with ulimit -s %d",
                        (long long)(limit.rlim_cur >> 10), LEAST_STACK >> 10, WANTED_STACK >> 10);
}

int main(int argc, char **argv) {
  static cli_call cli; /* large: too much for a small stack */
  char *help[] = {(char *)"help"}, *version[] = {(char *)"version"}, *inspect[] = {(char *)"help", (char *)"inspect"};
  char **words = argv + 1;
  int count = argc - 1, used = 0;
  /* A reader that goes away (| head) ends the program quietly, whatever the parent had set. */
  signal(SIGPIPE, SIG_DFL);
  cli_open_streams();
  if (check_stack(&cli.error))
    return fail(&cli, BRIM_E_MEMORY, false, true);
  if (count == 0 || strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0)
    words = help, count = 1;
  if (strcmp(words[0], "--version") == 0 || strcmp(words[0], "-V") == 0)
    words = version, count = 1;
  if (count == 2 && strcmp(words[0], "inspect") == 0 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0))
    words = inspect;
  cli.command = find_command(count, words, &used);
  if (!cli.command)
    return fail(&cli, unknown_command(count, words, &cli.error), false, true);
  cli.values = &cli.arguments.values;
  if (cli_ranks_idle(&cli))
    return EXIT_DONE;
  bool joined = false, speaks = true;
  int status = parse_and_help(&cli, count - used, words + used);
  if (status == BRIM_OK && !cli.values->help) {
    cli.runs = true;
    status = run_command(&cli);
    status = cli_ranks_settle(&cli, status, &joined, &speaks);
  }
  const int code = status ? fail(&cli, status, joined, speaks) : EXIT_DONE;
  cli_ranks_close(&cli, code);
  cli_arguments_free(&cli.arguments);
  return code;
}
