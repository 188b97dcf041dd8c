/* help.h: everything that is said about commands, made from their option lists. */
#ifndef BRIM_CLI_HELP_H
#define BRIM_CLI_HELP_H

#include "options.h"

extern const cli_command *const cli_commands[]; /* NULL-terminated; main.c */

/* `brim --help`: all commands. */
void cli_help_overview(brim_text *out);
/* `brim COMMAND --help`. */
void cli_help_command(const cli_command *command, brim_text *out);
/* What all of this says of brim itself, one line or several. */
extern const char *const cli_summary, *const cli_notes, *const cli_examples;

/* What one wants to do, and the commands that serve it, a space before and after each; {NULL, NULL} closes the list. */
typedef struct cli_wish {
  const char *title, *names;
} cli_wish;
extern const cli_wish cli_purposes[];
/* Index of the command's purpose; the last one holds those that none names. */
int cli_purpose(const cli_command *command);

/* `brim help --man`: the manual page of brim, in man(7) macros. */
void cli_help_manual_overview(brim_text *out);
/* That of a command. */
void cli_help_manual(const cli_command *command, brim_text *out);
/* All commands as one Markdown page. */
void cli_help_markdown(brim_text *out);
/* All commands as an object of arrays: of each option its row of the table, but for the fields that it fills. */
void cli_help_json(brim_text *out);
/* A completion script for "bash", "zsh" or "fish". */
int cli_help_completion(const char *shell, brim_text *out, brim_error *err);

/* What follows an option's text: "(required)", "(default: 16)", or "". */
void cli_help_default(const cli_option *option, char *buffer, size_t size);
/* "--max-length N" with its letter and value. */
void cli_help_signature(const cli_option *option, char *buffer, size_t size);

#endif
