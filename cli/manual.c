/* manual.c: the option tables as manual pages, Markdown and completion scripts. */
#include "help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- man(7) ----------------------------------------------------------------------------------------------- */

/* Text in which nothing is taken for a macro: dashes are minus signs, backslashes and leading dots are guarded. */
static void roff(brim_text *out, const char *text) {
  bool line_start = true;
  for (; *text; text++) {
    if (line_start && (*text == '.' || *text == '\''))
      brim_text_string(out, "\\&");
    if (*text == '-' || *text == '\\')
      brim_text_string(out, *text == '-' ? "\\" : "\\e");
    if (*text != '\\')
      brim_text_append(out, text, 1);
    if (*text == '\n')
      brim_text_string(out, ".PP\n");
    line_start = *text == '\n';
  }
}

static void roff_option(const cli_option *option, brim_text *out) {
  char value[96];
  brim_text_string(out, ".TP\n\\fB");
  if (option->letter)
    brim_text_printf(out, "\\-%c\\fR, \\fB", option->letter);
  brim_text_string(out, "\\-\\-");
  roff(out, option->name);
  brim_text_string(out, "\\fR");
  if (option->value) {
    brim_text_string(out, option->implied ? "[=\\fI" : " \\fI");
    roff(out, option->value);
    brim_text_string(out, option->implied ? "\\fR]" : "\\fR");
  }
  brim_text_string(out, "\n");
  roff(out, option->help);
  cli_help_default(option, value, sizeof value);
  if (value[0]) {
    brim_text_string(out, " ");
    roff(out, value);
  }
  brim_text_string(out, "\n");
}

void cli_help_manual(const cli_command *command, brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  cli_join(command->options, options);
  char title[64];
  snprintf(title, sizeof title, "%s", command->name);
  for (char *c = title; *c; c++)
    *c = *c == ' ' ? '-' : (char)toupper((unsigned char)*c);
  brim_text_printf(out, ".TH BRIM-%s 1 \"\" \"brim %s\" \"User Commands\"\n.SH NAME\nbrim-", title, brim_version());
  for (const char *c = command->name; *c; c++)
    brim_text_append(out, *c == ' ' ? "-" : c, 1);
  brim_text_string(out, " \\- ");
  roff(out, command->summary);
  brim_text_printf(out, "\n.SH SYNOPSIS\n\\fBbrim %s\\fR [options]", command->name);
  for (const cli_option *option = options; option->kind != CLI_END; option++)
    if (option->required)
      brim_text_printf(out, " \\fB\\-\\-%s\\fR \\fI%s\\fR", option->name, option->value);
  brim_text_printf(out, " \\fI%s\\fR\n.SH DESCRIPTION\n", command->operands);
  roff(out, command->description);
  brim_text_string(out, "\n.SH OPTIONS\n");
  for (const cli_option *option = options; option->kind != CLI_END; option++) {
    if (option->kind == CLI_GROUP)
      brim_text_printf(out, ".SS %s\n", option->name);
    else
      roff_option(option, out);
  }
  brim_text_string(out, ".SH EXAMPLE\n.nf\n");
  roff(out, command->example);
  brim_text_string(out, "\n.fi\n.SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 130 interrupted.\n");
}

/* ---- Markdown --------------------------------------------------------------------------------------------- */

/* A table cell: a bar would end it. */
static void cell(brim_text *out, const char *text) {
  for (; *text; text++) {
    if (*text == '|')
      brim_text_string(out, "\\");
    brim_text_append(out, text, 1);
  }
}

static void markdown_command(const cli_command *command, brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  cli_join(command->options, options);
  brim_text_printf(out, "\n## brim %s\n\n%s\n", command->name, command->description);
  for (const cli_option *option = options; option->kind != CLI_END; option++) {
    char text[160];
    if (option->kind == CLI_GROUP) {
      brim_text_printf(out, "\n| %s | |\n|---|---|\n", option->name);
      continue;
    }
    cli_help_signature(option, text, sizeof text);
    brim_text_string(out, "| `");
    cell(out, text);
    brim_text_string(out, "` | ");
    cell(out, option->help);
    cli_help_default(option, text, sizeof text);
    brim_text_printf(out, "%s%s", text[0] ? " " : "", text);
    if (option->aliases)
      brim_text_printf(out, "; also `--%s`", option->aliases);
    brim_text_string(out, " |\n");
  }
  brim_text_printf(out, "\n```sh\n%s\n```\n", command->example);
}

void cli_help_markdown(brim_text *out) {
  brim_text_string(out,
                   "# The command line\n\nThis page is made by `brim help --markdown`; `brim COMMAND --help` says the same.\n");
  for (int i = 0; cli_commands[i]; i++)
    if (!cli_commands[i]->hidden)
      markdown_command(cli_commands[i], out);
}

/* ---- completion ------------------------------------------------------------------------------------------- */

static void complete_bash(brim_text *out, bool zsh) {
  cli_option options[CLI_OPTION_LIMIT];
  if (zsh)
    brim_text_string(out, "autoload -U +X bashcompinit && bashcompinit\n");
  brim_text_string(out, "_brim() {\n  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
                        "  [ \"$command\" = inspect ] && command=\"inspect ${COMP_WORDS[2]}\"\n  local words=\n"
                        "  case $command in\n");
  for (int i = 0; cli_commands[i]; i++) {
    brim_text_printf(out, "    '%s') words='", cli_commands[i]->name);
    cli_join(cli_commands[i]->options, options);
    for (const cli_option *option = options; option->kind != CLI_END; option++)
      if (option->kind != CLI_GROUP)
        brim_text_printf(out, "--%s ", option->name);
    brim_text_string(out, "' ;;\n");
  }
  brim_text_string(out, "    'inspect '*) words='model program gradients trajectory' ;;\n    *) words='");
  for (int i = 0; cli_commands[i]; i++)
    if (!strchr(cli_commands[i]->name, ' '))
      brim_text_printf(out, "%s ", cli_commands[i]->name);
  brim_text_string(out,
                   "inspect' ;;\n  esac\n"
                   "  if [ \"$COMP_CWORD\" -gt 1 ] && [ \"${word#-}\" = \"$word\" ] && [ \"$command\" != 'inspect ' ]; then\n"
                   "    COMPREPLY=($(compgen -f -- \"$word\"))\n  else\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                   "  fi\n}\ncomplete -o filenames -F _brim brim\n");
}

/* A string in single quotes: in fish only the quote and the backslash are special there. */
static void fish_quoted(brim_text *out, const char *text) {
  brim_text_string(out, "'");
  for (; *text; text++) {
    if (*text == '\'' || *text == '\\')
      brim_text_string(out, "\\");
    brim_text_append(out, text, 1);
  }
  brim_text_string(out, "'");
}

static void complete_fish(brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  for (int i = 0; cli_commands[i]; i++) {
    const cli_command *command = cli_commands[i];
    const char *last = strrchr(command->name, ' ');
    int first = (int)strcspn(command->name, " ");
    brim_text_printf(out, "complete -c brim -n __fish_use_subcommand -a %.*s -d ", first, command->name);
    fish_quoted(out, command->summary);
    brim_text_string(out, "\n");
    if (last)
      brim_text_printf(out, "complete -c brim -n '__fish_seen_subcommand_from %.*s' -a %s\n", first, command->name, last + 1);
    cli_join(command->options, options);
    for (const cli_option *option = options; option->kind != CLI_END; option++) {
      if (option->kind == CLI_GROUP)
        continue;
      brim_text_printf(out, "complete -c brim -n '__fish_seen_subcommand_from %s' -l %s", last ? last + 1 : command->name,
                       option->name);
      if (option->letter)
        brim_text_printf(out, " -s %c", option->letter);
      if (option->kind != CLI_FLAG)
        brim_text_string(out, " -r");
      brim_text_string(out, " -d ");
      fish_quoted(out, option->help);
      brim_text_string(out, "\n");
    }
  }
}

int cli_help_completion(const char *shell, brim_text *out, brim_error *err) {
  if (strcmp(shell, "bash") == 0)
    return complete_bash(out, false), BRIM_OK;
  if (strcmp(shell, "zsh") == 0)
    return complete_bash(out, true), BRIM_OK;
  if (strcmp(shell, "fish") == 0)
    return complete_fish(out), BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "no completion for \"%s\"; there is bash, zsh and fish", shell);
}
