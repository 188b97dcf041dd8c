#include "help.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_WIDTH = 100, OPTION_INDENT = 2, TEXT_INDENT = 30 };

/* Appends `text` wrapped at words, every line but the first indented; `column` is where the first one is. */
static void wrap(brim_text *out, const char *text, int column, int indent) {
  while (*text) {
    size_t word = strcspn(text, " \n");
    if (column > indent && column + (int)word > PAGE_WIDTH) {
      brim_text_printf(out, "\n%*s", indent, "");
      column = indent;
    }
    brim_text_append(out, text, word);
    column += (int)word;
    text += word;
    if (*text == '\n') {
      brim_text_printf(out, "\n%*s", indent, "");
      column = indent;
      text++;
    } else if (*text == ' ') {
      text += strspn(text, " ");
      if (column + 1 + (int)strcspn(text, " \n") <= PAGE_WIDTH)
        brim_text_string(out, " "), column++;
      else
        brim_text_printf(out, "\n%*s", indent, ""), column = indent;
    }
  }
  brim_text_string(out, "\n");
}

void cli_help_default(const cli_option *option, char *buffer, size_t size) {
  const char *value = option->shown ? option->shown : option->fallback;
  buffer[0] = 0;
  if (option->required)
    snprintf(buffer, size, "(required)");
  else if (value)
    snprintf(buffer, size, "(default: %s)", value);
}

void cli_help_signature(const cli_option *option, char *buffer, size_t size) {
  char letter[8] = "";
  if (option->letter)
    snprintf(letter, sizeof letter, "-%c, ", option->letter);
  if (option->implied)
    snprintf(buffer, size, "%s--%s[=%s]", letter, option->name, option->value);
  else
    snprintf(buffer, size, "%s--%s%s%s", letter, option->name, option->value ? " " : "", option->value ? option->value : "");
}

static void help_option(const cli_option *option, brim_text *out) {
  char signature[160], value[96], text[1024];
  cli_help_signature(option, signature, sizeof signature);
  cli_help_default(option, value, sizeof value);
  int used = snprintf(text, sizeof text, "%s%s%s", option->help, value[0] ? " " : "", value);
  if (option->aliases && used > 0 && (size_t)used < sizeof text)
    snprintf(text + used, sizeof text - (size_t)used, "; also --%s", option->aliases);
  brim_text_printf(out, "%*s%s", OPTION_INDENT, "", signature);
  int column = OPTION_INDENT + (int)strlen(signature);
  if (column + 2 > TEXT_INDENT)
    brim_text_string(out, "\n"), column = 0;
  brim_text_printf(out, "%*s", TEXT_INDENT - column, "");
  wrap(out, text, TEXT_INDENT, TEXT_INDENT);
}

void cli_help_command(const cli_command *command, brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  cli_join(command->options, options);
  brim_text_printf(out, "brim %s: %s\n\nUsage: brim %s [options]", command->name, command->summary, command->name);
  for (const cli_option *option = options; option->kind != CLI_END; option++)
    if (option->required)
      brim_text_printf(out, " --%s %s", option->name, option->value);
  brim_text_printf(out, "%s%s\n\n", command->operands[0] ? " " : "", command->operands);
  wrap(out, command->description, 0, 0);
  for (const cli_option *option = options; option->kind != CLI_END; option++) {
    if (option->kind == CLI_GROUP)
      brim_text_printf(out, "\n%s\n", option->name);
    else
      help_option(option, out);
  }
  brim_text_printf(out, "\nExample\n  %s\n", command->example);
}

const char *const cli_summary = "fine-tunes text encoders and never computes on padding";
const char *const cli_notes =
    "Data is .csv, .tsv, .jsonl, .json or .txt, plain or packed (.gz, .zst, .xz, .bz2); several files, globs, or - for standard "
    "input.\n"
    "Results go to standard output, progress to standard error.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (a checkpoint is written first), 143 after SIGTERM, 129 after "
    "SIGHUP.\n";
const char *const cli_examples = "brim analyze -t MiniLM --max-length 400 reviews.csv --html reviews.html\n"
                                 "brim train --model MiniLM --train reviews.csv --output run\n"
                                 "brim predict --model run new.csv -o predictions.jsonl\n";

const cli_wish cli_purposes[] = {
    {"Look at data", " analyze plan tokenize shard "},
    {"Train", " train compare report "},
    {"Use a model", " evaluate predict embed "},
    {"Look inside", " doctor inspect model inspect program inspect gradients inspect losses inspect metrics inspect trajectory "},
    {"Help", " completion help version "},
    {NULL, NULL}};

/* Names may be two words: they are between spaces. */
static bool serves(const char *names, const char *name) {
  char word[64];
  snprintf(word, sizeof word, " %s ", name);
  return strstr(names, word) != NULL;
}

int cli_purpose(const cli_command *command) {
  int last = 0;
  for (int i = 0; cli_purposes[i].title; last = i++)
    if (serves(cli_purposes[i].names, command->name))
      return i;
  return last;
}

/* Lines, each indented by two. */
static void indented(brim_text *out, const char *lines) {
  for (const char *end; *lines; lines = end + 1) {
    end = strchr(lines, '\n');
    brim_text_printf(out, "  %.*s\n", (int)(end - lines), lines);
  }
}

void cli_help_overview(brim_text *out) {
  brim_text_printf(out, "brim %s: %s\n\nUsage: brim COMMAND [options]\n", brim_version(), cli_summary);
  for (int purpose = 0; cli_purposes[purpose].title; purpose++) {
    brim_text_printf(out, "\n%s\n", cli_purposes[purpose].title);
    for (int i = 0; cli_commands[i]; i++)
      if (!cli_commands[i]->hidden && cli_purpose(cli_commands[i]) == purpose)
        brim_text_printf(out, "  %-20s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
  }
  brim_text_string(out, "\n`brim COMMAND --help` explains a command; `man brim-COMMAND` is the same as a page.\n"
                        "\n");
  brim_text_string(out, cli_notes);
  brim_text_string(out, "\nExample\n");
  indented(out, cli_examples);
}
