/* complete.c: the option lists as completion scripts: commands, options, their choices, and files where a file is meant. */
#include "help.h"

#include <stdio.h>
#include <string.h>

/* ---- what is completed where ------------------------------------------------------------------------------ */

/* The other names of an option. */
static void put_aliases(const cli_option *option, brim_text *out) {
  for (const char *at = option->aliases; at && *at;) {
    const int length = (int)strcspn(at, " ");
    brim_text_printf(out, "--%.*s ", length, at);
    at += length + (at[length] == ' ');
  }
}

/* Whether a word after the option is its value. */
static bool takes_value(const cli_option *option) {
  return option->kind != CLI_GROUP && option->kind != CLI_FLAG && !option->implied;
}

/* Whether any text may be the value: a file, as far as a shell can help. */
static bool takes_text(const cli_option *option) {
  return takes_value(option) && (option->kind == CLI_TEXT || option->kind == CLI_NAMES || option->kind == CLI_LIST);
}

/* The words of CHOICE, which are separated by |, with spaces. */
static void put_choices(const cli_option *option, brim_text *out) {
  for (const char *c = option->value; *c; c++)
    brim_text_append(out, *c == '|' ? " " : c, 1);
}

/* The first words of all commands, each once. */
static void put_commands(brim_text *out) {
  for (int i = 0; cli_commands[i]; i++)
    if (!strchr(cli_commands[i]->name, ' '))
      brim_text_printf(out, "%s ", cli_commands[i]->name);
  brim_text_string(out, "inspect");
}

/* The second words after `inspect`. */
static void put_inspections(brim_text *out) {
  bool first = true;
  for (int i = 0; cli_commands[i]; i++) {
    const char *second = strchr(cli_commands[i]->name, ' ');
    if (second)
      brim_text_printf(out, "%s%s", first ? "" : " ", second + 1);
    first = first && !second;
  }
}

/* The words that a command's operand may be; false: it is a file, or anything else. */
static bool put_operands(const cli_command *command, brim_text *out) {
  if (strcmp(command->operands, "SHELL") == 0)
    brim_text_string(out, "bash zsh fish");
  else if (strcmp(command->operands, "[COMMAND]") == 0)
    put_commands(out);
  else
    return false;
  return true;
}

/* ---- bash and zsh ----------------------------------------------------------------------------------------- */

/* 'train --padding') or 'train --model'|'train -m'): what is said of the word after them. */
static void put_pattern(const cli_command *command, const cli_option *option, brim_text *out) {
  brim_text_printf(out, "    '%s --%s'", command->name, option->name);
  for (const char *at = option->aliases; at && *at;) {
    const int length = (int)strcspn(at, " ");
    brim_text_printf(out, "|'%s --%.*s'", command->name, length, at);
    at += length + (at[length] == ' ');
  }
  if (option->letter)
    brim_text_printf(out, "|'%s -%c'", command->name, option->letter);
  brim_text_string(out, ") ");
}

/* A case for each option that takes a value: its choices, files, or nothing that a shell knows. */
static void put_values(brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  brim_text_string(out, "  case \"$command $previous\" in\n");
  for (int i = 0; cli_commands[i]; i++) {
    cli_join(cli_commands[i]->options, options);
    for (const cli_option *option = options; option->kind != CLI_END; option++) {
      if (!takes_value(option))
        continue;
      put_pattern(cli_commands[i], option, out);
      brim_text_printf(out, "%s", takes_text(option) ? "kind=files" : "kind=words list='");
      if (option->kind == CLI_CHOICE)
        put_choices(option, out);
      brim_text_string(out, takes_text(option) ? " ;;\n" : "' ;;\n");
    }
  }
  brim_text_string(out, "  esac\n");
}

/* A case for each command: its options, what else they are called, and the words of its operand. */
static void put_options(brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  brim_text_string(out, "  [ -n \"$kind\" ] || case $command in\n");
  for (int i = 0; cli_commands[i]; i++) {
    const cli_command *command = cli_commands[i];
    cli_join(command->options, options);
    brim_text_printf(out, "    '%s') kind=files options='", command->name);
    for (const cli_option *option = options; option->kind != CLI_END; option++)
      if (option->kind != CLI_GROUP)
        brim_text_printf(out, "--%s ", option->name);
    brim_text_string(out, "' more='");
    for (const cli_option *option = options; option->kind != CLI_END; option++)
      if (option->kind != CLI_GROUP)
        put_aliases(option, out);
    brim_text_string(out, "' list='");
    brim_text_string(out, put_operands(command, out) ? "'; kind=words ;;\n" : "' ;;\n");
  }
  brim_text_string(out, "  esac\n");
}

/* What both shells work out alike: from command, previous and place to kind (words or files), words, options and more. */
static void put_rules(brim_text *out) {
  brim_text_string(out, "  if [ \"$place\" -eq 1 ]; then\n    kind=words list='");
  put_commands(out);
  brim_text_string(out, "'\n  elif [ \"$command\" = inspect ] && [ \"$place\" -eq 2 ]; then\n    kind=words list='");
  put_inspections(out);
  brim_text_string(out, "'\n  fi\n  [ \"$command\" = inspect ] && command=\"inspect $second\"\n");
  put_values(out);
  put_options(out);
}

static void complete_bash(brim_text *out) {
  brim_text_string(out, "_brim() {\n"
                        "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} place=$COMP_CWORD\n"
                        "  local command=${COMP_WORDS[1]} second=${COMP_WORDS[2]} kind= list= options= more=\n"
                        "  [ \"$word\" = = ] && word=  # --option=WORD comes as three\n"
                        "  [ \"$previous\" = = ] && previous=${COMP_WORDS[COMP_CWORD-2]}\n");
  put_rules(out);
  brim_text_string(out, "  COMPREPLY=()\n"
                        "  if [ \"${word#-}\" != \"$word\" ] && [ -n \"$options\" ]; then\n"
                        "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                        "    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -W \"$more\" -- \"$word\"))\n"
                        "  elif [ \"$kind\" = files ]; then\n"
                        "    compopt -o filenames 2>/dev/null\n"
                        "    local IFS=$'\\n'\n"
                        "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
                        "  else\n"
                        "    COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
                        "  fi\n}\ncomplete -F _brim brim\n");
}

static void complete_zsh(brim_text *out) {
  brim_text_string(out, "#compdef brim\n_brim() {\n"
                        "  local word=$words[CURRENT] previous=$words[CURRENT-1] command=$words[2] second=$words[3]\n"
                        "  local place=$((CURRENT - 1)) kind= options= more= list=\n");
  put_rules(out);
  brim_text_string(out, "  if [[ $word == -* && -n $options ]]; then\n"
                        "    compadd -- ${=options} || compadd -- ${=more}\n"
                        "  elif [[ $kind == files ]]; then\n"
                        "    _files\n"
                        "  else\n"
                        "    compadd -- ${=list}\n"
                        "  fi\n}\n"
                        "if [[ $funcstack[1] == _brim ]]; then\n"
                        "  _brim \"$@\"\n"
                        "else\n"
                        "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
                        "  compdef _brim brim\n"
                        "fi\n");
}

/* ---- fish ------------------------------------------------------------------------------------------------- */

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

static void fish_option(const cli_command *command, const cli_option *option, brim_text *out) {
  brim_text_printf(out, "complete -c brim -n '__brim_at %s' -l %s", command->name, option->name);
  for (const char *at = option->aliases; at && *at;) {
    const int length = (int)strcspn(at, " ");
    brim_text_printf(out, " -l %.*s", length, at);
    at += length + (at[length] == ' ');
  }
  if (option->letter)
    brim_text_printf(out, " -s %c", option->letter);
  if (takes_value(option))
    brim_text_string(out, takes_text(option) ? " -r -F" : " -x");
  if (option->kind == CLI_CHOICE) {
    brim_text_string(out, " -a '");
    put_choices(option, out);
    brim_text_string(out, "'");
  }
  brim_text_string(out, " -d ");
  fish_quoted(out, option->help);
  brim_text_string(out, "\n");
}

/* The command's name, where the line has none yet. */
static void fish_name(const cli_command *command, brim_text *out) {
  const char *second = strchr(command->name, ' ');
  if (second)
    brim_text_printf(out, "complete -c brim -n '__brim_at inspect; and test (count (commandline -opc)) -eq 2' -a %s -d ",
                     second + 1);
  else
    brim_text_printf(out, "complete -c brim -n '__brim_first' -a %s -d ", command->name);
  fish_quoted(out, command->summary);
  brim_text_string(out, "\n");
}

static void complete_fish(brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  brim_text_string(out, "function __brim_first\n  test (count (commandline -opc)) -eq 1\nend\n"
                        "function __brim_at\n  set -l given (commandline -opc)\n"
                        "  test \"$given[2]\" = \"$argv[1]\"; and begin\n    test (count $argv) -eq 1; or test \"$given[3]\" = "
                        "\"$argv[2]\"\n  end\nend\n"
                        "complete -c brim -n '__brim_first; or __brim_at inspect' -f\n"
                        "complete -c brim -n '__brim_first' -a inspect -d 'look inside'\n");
  for (int i = 0; cli_commands[i]; i++) {
    const cli_command *command = cli_commands[i];
    fish_name(command, out);
    brim_text words;
    brim_text_init(&words, out->runtime);
    if (put_operands(command, &words))
      brim_text_printf(out, "complete -c brim -n '__brim_at %s' -f -a '%s'\n", command->name, words.data);
    brim_text_free(&words);
    cli_join(command->options, options);
    for (const cli_option *option = options; option->kind != CLI_END; option++)
      if (option->kind != CLI_GROUP)
        fish_option(command, option, out);
  }
}

int cli_help_completion(const char *shell, brim_text *out, brim_error *err) {
  if (strcmp(shell, "bash") == 0)
    return complete_bash(out), BRIM_OK;
  if (strcmp(shell, "zsh") == 0)
    return complete_zsh(out), BRIM_OK;
  if (strcmp(shell, "fish") == 0)
    return complete_fish(out), BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "no completion for \"%s\"; there is bash, zsh and fish", shell);
}
