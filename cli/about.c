/* brim help, version and completion. */
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "help.h"
#include "shared.h"

static const cli_option no_options[] = {FLAG("help", help, .letter = 'h', .help = "this text"), {0}};

/* ---- help ------------------------------------------------------------------------------------------------- */

static const cli_option help_options[] = {
    FLAG("man", manual, .help = "as a manual page, for man -l"),
    FLAG("markdown", markdown, .help = "all commands as one Markdown page"),
    FLAG("json", json, .help = "all commands and their options as JSON, for other programs"),
    FLAG("help", help, .letter = 'h', .help = "this text"),
    {0},
};

/* The command of one or two words, "inspect gradients" or "inspect-gradients". */
static const cli_command *named_command(const char *const *words, int count) {
  char name[64];
  snprintf(name, sizeof name, "%s%s%s", words[0], count > 1 ? " " : "", count > 1 ? words[1] : "");
  for (char *c = name; *c; c++)
    if (*c == '-')
      *c = ' ';
  for (int i = 0; cli_commands[i]; i++)
    if (strcmp(cli_commands[i]->name, name) == 0)
      return cli_commands[i];
  return NULL;
}

/* "inspect" of `brim inspect gradients` and `brim inspect trajectory`. */
static bool is_of_family(const cli_command *command, const char *word) {
  const size_t length = strlen(word);
  return strncmp(command->name, word, length) == 0 && command->name[length] == ' ';
}

static bool is_family(const char *word) {
  for (int i = 0; cli_commands[i]; i++)
    if (is_of_family(cli_commands[i], word))
      return true;
  return false;
}

static void put_family(brim_text *out, const char *word) {
  bool first = true;
  for (int i = 0; cli_commands[i]; i++)
    if (is_of_family(cli_commands[i], word)) {
      brim_text_string(out, first ? "" : "\n");
      cli_help_command(cli_commands[i], out);
      first = false;
    }
}

/* Of two words the second is wrong where the first is a command, or the first word of some. */
static int refuse_operands(const cli_arguments *a, brim_error *err) {
  if (a->operand_count > 1 && named_command(a->operands, 1))
    return brim_error_set(err, BRIM_E_USAGE, "\"%s\" is one operand too many; usage: brim help %s", a->operands[1],
                          a->operands[0]);
  const bool family = a->operand_count > 1 && is_family(a->operands[0]);
  return brim_error_set(err, BRIM_E_USAGE, "there is no command \"%s%s%s\"; `brim help%s%s` lists them", a->operands[0],
                        a->operand_count > 1 ? " " : "", a->operand_count > 1 ? a->operands[1] : "", family ? " " : "",
                        family ? a->operands[0] : "");
}

static int run_help(cli_call *cli) {
  const cli_arguments *a = &cli->arguments;
  const cli_command *command = a->operand_count ? named_command(a->operands, a->operand_count) : NULL;
  const bool family = a->operand_count == 1 && !command && is_family(a->operands[0]);
  if (a->operand_count && !command && !family)
    return refuse_operands(a, &cli->error);
  brim_text out;
  brim_text_init(&out, cli->runtime);
  if (cli->values->markdown)
    cli_help_markdown(&out);
  else if (cli->values->json)
    cli_help_json(&out);
  else if (family)
    put_family(&out, a->operands[0]);
  else if (!command && cli->values->manual)
    cli_help_manual_overview(&out);
  else if (!command)
    cli_help_overview(&out);
  else if (cli->values->manual)
    cli_help_manual(command, &out);
  else
    cli_help_command(command, &out);
  int status = cli_write(cli, NULL, &out);
  brim_text_free(&out);
  return status;
}

const cli_command cli_help = {
    .name = "help",
    .summary = "explain a command",
    .operands = "[COMMAND]",
    .most_operands = 2,
    .description = "Without a command, lists them all.",
    .options = help_options,
    .example = "brim help train",
    .run = run_help,
};

/* ---- version ---------------------------------------------------------------------------------------------- */

static int run_version(cli_call *cli) {
  brim_text out;
  brim_text_init(&out, cli->runtime);
  brim_text_printf(&out, "brim %s\n", brim_version());
  int status = cli_write(cli, NULL, &out);
  brim_text_free(&out);
  return status;
}

const cli_command cli_version = {
    .name = "version",
    .summary = "print the version",
    .operands = "",
    .description = "The same as brim --version. `brim doctor` says more.",
    .options = no_options,
    .example = "brim version",
    .run = run_version,
};

/* ---- completion ------------------------------------------------------------------------------------------- */

static int run_completion(cli_call *cli) {
  brim_text out;
  brim_text_init(&out, cli->runtime);
  int status = cli_help_completion(cli->arguments.operands[0], &out, &cli->error);
  if (!status)
    status = cli_write(cli, NULL, &out);
  brim_text_free(&out);
  return status;
}

const cli_command cli_completion = {
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .operands = "SHELL",
    .least_operands = 1,
    .most_operands = 1,
    .description = "Load it in the shell's start file: in .bashrc as below, in .zshrc with zsh for bash, in config.fish as `brim "
                   "completion fish | source`. It offers commands, options, their choices, and files.",
    .options = no_options,
    .example = "eval \"$(brim completion bash)\"",
    .run = run_completion,
};
