/* help.h: everything that is said about commands, made from their option lists. */
#ifndef BRIM_CLI_HELP_H
#define BRIM_CLI_HELP_H

#include "options.h"

extern const cli_command *const cli_commands[]; /* NULL-terminated; main.c */

/* `brim --help`: all commands. */
void cli_help_overview(brim_text *out);
/* `brim COMMAND --help`. */
void cli_help_command(const cli_command *command, brim_text *out);
/* The manual page, in man(7) macros. */
void cli_help_manual(const cli_command *command, brim_text *out);
/* All commands as one Markdown page. */
void cli_help_markdown(brim_text *out);
/* A completion script for "bash", "zsh" or "fish". */
int cli_help_completion(const char *shell, brim_text *out, brim_error *err);

/* What follows an option's text: "(required)", "(default: 16)", or "". */
void cli_help_default(const cli_option *option, char *buffer, size_t size);
/* "--max-length N" with its letter and value. */
void cli_help_signature(const cli_option *option, char *buffer, size_t size);

#endif
