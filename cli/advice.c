/* advice.c: options that a message names, as the command at hand has them. The library names them as Python does (max_length), or
 * as commands that have them do (--task tokens); what is advised must be there to be given. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "help.h"

static bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Writes `words` over `length` characters at `at`, where there is room. */
static bool put(char *text, size_t size, size_t at, size_t length, const char *words) {
  const size_t all = strlen(text), more = strlen(words);
  if (all - length + more + 1 > size)
    return false;
  memmove(text + at + more, text + at + length, all - at - length + 1);
  memcpy(text + at, words, more);
  return true;
}

/* ---- Python's names --------------------------------------------------------------------------------------- */

/* The word at `at` is an option's name as Python has it, and not somebody's own: what is in quotes, or in a path. */
static bool is_option(const cli_call *cli, const char *text, size_t at, size_t length) {
  const bool alone = (at == 0 || !strchr("/.-\"'=", text[at - 1])) && !(at >= 8 && memcmp(text + at - 8, "padding ", 8) == 0) &&
                     !(text[at + length] && strchr("/.\"'=", text[at + length]));
  const bool bracketed = at > 0 && text[at - 1] == '(' && text[at + length] == ')';
  const char *after = text + at + length;
  const bool subject = at == 0 && !cli->error.file[0] && (strncmp(after, " is ", 4) == 0 || strncmp(after, " are \"", 6) == 0);
  return length > 0 && alone && (bracketed || subject || memchr(text + at, '_', length)) && /* a single word is one only there */
         cli_find_option(cli->arguments.options, text + at, length);
}

/* max_length is --max-length here. */
static void translate(const cli_call *cli, char *text, size_t size) {
  bool quoted = false;
  for (size_t at = 0, length = 0; text[at]; at += length ? length : 1, length = 0) {
    quoted ^= text[at] == '"';
    while (is_name(text[at + length]))
      length++;
    if (quoted || !is_option(cli, text, at, length) || !put(text, size, at, 0, "--"))
      continue;
    length += 2;
    for (size_t i = at; i < at + length; i++)
      text[i] = text[i] == '_' ? '-' : text[i];
  }
}

/* ---- options of other commands ---------------------------------------------------------------------------- */

/* The option that the library's messages call so, where the command has it under another name. */
static const cli_option *find_said(const cli_option *options, const char *name, size_t length) {
  for (const cli_option *o = options; o->kind != CLI_END; o++)
    if (o->said && strlen(o->said) == length && memcmp(o->said, name, length) == 0)
      return o;
  return NULL;
}

/* The first command that has the option; NULL: it is none of brim's. */
static const cli_command *find_owner(const char *name, size_t length) {
  static cli_option options[CLI_OPTION_LIMIT];
  for (int i = 0; cli_commands[i]; i++) {
    cli_join(cli_commands[i]->options, options);
    if (cli_find_option(options, name, length))
      return cli_commands[i];
  }
  return NULL;
}

/* A program is named before it already: "(brim inspect model --tensors)", "`jq --slurp`". */
static bool has_program(const char *text, size_t at) {
  while (at > 0 && !strchr("(`;:", text[at - 1]))
    at--;
  return text[at] != '-' && at > 0 && (text[at - 1] == '`' || strncmp(text + at, "brim ", 5) == 0);
}

/* --format of `brim shard` is another, and `brim predict` has no --task: it says "brim train --task". */
static void place(const cli_call *cli, char *text, size_t size) {
  bool quoted = false;
  for (size_t at = 0, length; text[at]; at += length) {
    char words[64] = "";
    length = 1;
    quoted ^= text[at] == '"';
    if (quoted || strncmp(text + at, "--", 2) != 0 || (at > 0 && !strchr(" (", text[at - 1])))
      continue;
    while (is_name(text[at + length]) || text[at + length] == '-')
      length++;
    const char *name = text + at + 2;
    const cli_option *said = length > 2 ? find_said(cli->arguments.options, name, length - 2) : NULL;
    const cli_command *owner = NULL;
    if (said)
      snprintf(words, sizeof words, "--%s", said->name);
    else if (length > 2 && !cli_find_option(cli->arguments.options, name, length - 2) && !has_program(text, at))
      owner = find_owner(name, length - 2);
    if (owner)
      snprintf(words, sizeof words, "brim %s %.*s", owner->name, (int)(length < 40 ? length : 40), text + at);
    if (*words && put(text, size, at, length, words))
      length = strlen(words);
  }
}

void cli_name_options(const cli_call *cli, char *text, size_t size) {
  translate(cli, text, size);
  place(cli, text, size);
}
