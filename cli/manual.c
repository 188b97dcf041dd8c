/* manual.c: the option lists as manual pages, Markdown and JSON. */
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
  for (const char *at = option->aliases; at && *at;) {
    const size_t length = strcspn(at, " ");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    brim_text_string(out, at == option->aliases ? "; also \\fB\\-\\-" : ", \\fB\\-\\-");
    roff(out, name);
    brim_text_string(out, "\\fR");
    at += length + (at[length] == ' ');
  }
  brim_text_string(out, "\n");
}

/* "brim-inspect-model" */
static void page_name(const cli_command *command, char *name, size_t size) {
  snprintf(name, size, "brim-%s", command->name);
  for (char *c = name; *c; c++)
    *c = *c == ' ' ? '-' : *c;
}

void cli_help_manual(const cli_command *command, brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  cli_join(command->options, options);
  char name[64], title[64];
  page_name(command, name, sizeof name);
  page_name(command, title, sizeof title);
  for (char *c = title; *c; c++)
    *c = (char)toupper((unsigned char)*c);
  brim_text_printf(out, ".TH %s 1 \"\" \"brim %s\" \"User Commands\"\n.SH NAME\n%s \\- ", title, brim_version(), name);
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
  brim_text_string(out,
                   "\n.fi\n.SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 130 interrupted (143 by SIGTERM, 129 by SIGHUP).\n");
}

void cli_help_manual_overview(brim_text *out) {
  char name[64];
  brim_text_printf(out, ".TH BRIM 1 \"\" \"brim %s\" \"User Commands\"\n.SH NAME\nbrim \\- ", brim_version());
  roff(out, cli_summary);
  brim_text_string(out, "\n.SH SYNOPSIS\n\\fBbrim\\fR \\fICOMMAND\\fR [options]\n.SH COMMANDS\n");
  for (int purpose = 0; cli_purposes[purpose].title; purpose++) {
    brim_text_printf(out, ".SS %s\n", cli_purposes[purpose].title);
    for (int i = 0; cli_commands[i]; i++) {
      if (cli_commands[i]->hidden || cli_purpose(cli_commands[i]) != purpose)
        continue;
      page_name(cli_commands[i], name, sizeof name);
      brim_text_string(out, ".TP\n\\fB");
      roff(out, name);
      brim_text_string(out, "\\fR(1)\n");
      roff(out, cli_commands[i]->summary);
      brim_text_string(out, "\n");
    }
  }
  brim_text_string(out, ".SH DESCRIPTION\n");
  roff(out, cli_notes);
  brim_text_string(out, ".SH EXAMPLES\n.nf\n");
  roff(out, cli_examples);
  brim_text_string(out, ".fi\n");
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

/* An option, the heading that it first appears under, and how many commands have it. */
typedef struct page_row {
  cli_option option;
  const char *title;
  int commands;
} page_row;

/* What several commands have is written once, at the end of the page, and their sections name it by link. */
typedef struct page {
  page_row rows[256];
  int count;
} page;

enum { PAGE_ROWS = sizeof(((page *)0)->rows) / sizeof(page_row) };

static bool same_text(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_row(const cli_option *a, const cli_option *b) {
  char of_a[160], of_b[160];
  cli_help_signature(a, of_a, sizeof of_a);
  cli_help_signature(b, of_b, sizeof of_b);
  if (strcmp(of_a, of_b) != 0 || strcmp(a->help, b->help) != 0 || !same_text(a->aliases, b->aliases))
    return false;
  cli_help_default(a, of_a, sizeof of_a);
  cli_help_default(b, of_b, sizeof of_b);
  return strcmp(of_a, of_b) == 0;
}

static page_row *row_of(page *p, const cli_option *option) {
  for (int i = 0; i < p->count; i++)
    if (same_row(&p->rows[i].option, option))
      return &p->rows[i];
  return NULL;
}

static void add_rows(page *p, const cli_command *command) {
  cli_option options[CLI_OPTION_LIMIT];
  const char *title = "General";
  cli_join(command->options, options);
  for (const cli_option *option = options; option->kind != CLI_END; option++) {
    page_row *row = option->kind == CLI_GROUP ? NULL : row_of(p, option);
    if (option->kind == CLI_GROUP)
      title = option->name;
    else if (row)
      row->commands++;
    else if (p->count < PAGE_ROWS)
      p->rows[p->count++] = (page_row){*option, title, 1};
  }
}

static void markdown_row(const cli_option *option, brim_text *out) {
  char text[160];
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

/* Tables of what only this command has. */
static void markdown_own(page *p, const cli_option *options, brim_text *out) {
  const char *title = "Options";
  for (const cli_option *option = options; option->kind != CLI_END; option++) {
    if (option->kind == CLI_GROUP) {
      title = option->name;
      continue;
    }
    if (row_of(p, option)->commands > 1)
      continue;
    if (title)
      brim_text_printf(out, "\n| %s | |\n|---|---|\n", title);
    title = NULL;
    markdown_row(option, out);
  }
}

/* As GitHub names a heading. */
static void anchor(brim_text *out, const char *title) {
  for (; *title; title++) {
    const char c = (char)tolower((unsigned char)*title);
    if (isalnum((unsigned char)c) || c == '-' || c == ' ')
      brim_text_append(out, c == ' ' ? "-" : &c, 1);
  }
}

static bool is_shared(const page_row *row, const char *title) {
  return row->commands > 1 && strcmp(row->title, title) == 0;
}

/* Whether this row is the first of its title. */
static bool opens(const page *p, int row) {
  if (p->rows[row].commands < 2)
    return false;
  for (int i = 0; i < row; i++)
    if (is_shared(&p->rows[i], p->rows[row].title))
      return false;
  return true;
}

/* Whether a command has the row. */
static bool has_row(const cli_option *options, const page_row *row) {
  for (; options->kind != CLI_END; options++)
    if (options->kind != CLI_GROUP && same_row(options, &row->option))
      return true;
  return false;
}

/* How many rows of a title a command has, or has not. */
static int count_rows(const page *p, const cli_option *options, const char *title, bool has) {
  int count = 0;
  for (int i = 0; i < p->count; i++)
    count += is_shared(&p->rows[i], title) && has_row(options, &p->rows[i]) == has;
  return count;
}

/* A link to a table, with the names of what the command has of it, or of what it lacks where that is less. */
static void markdown_link(const page *p, const cli_option *options, const char *title, brim_text *out) {
  const int has = count_rows(p, options, title, true), lacks = count_rows(p, options, title, false);
  const char *before = lacks < has ? " without " : ": ";
  brim_text_printf(out, "[%s](#", title);
  anchor(out, title);
  brim_text_string(out, ")");
  for (int i = 0; lacks > 0 && i < p->count; i++)
    if (is_shared(&p->rows[i], title) && has_row(options, &p->rows[i]) == (lacks >= has)) {
      brim_text_printf(out, "%s`--%s`", before, p->rows[i].option.name);
      before = ", ";
    }
}

/* Links to what other commands have too, in the order of the command's own list. */
static void markdown_links(page *p, const cli_option *options, brim_text *out) {
  const char *before = "\nShared options: ", *done[CLI_OPTION_LIMIT];
  int count = 0;
  for (const cli_option *option = options; option->kind != CLI_END; option++) {
    const page_row *row = option->kind == CLI_GROUP ? NULL : row_of(p, option);
    bool again = !row || row->commands < 2;
    for (int i = 0; !again && i < count; i++)
      again = strcmp(done[i], row->title) == 0;
    if (again)
      continue;
    done[count++] = row->title;
    brim_text_string(out, before);
    markdown_link(p, options, row->title, out);
    before = "; ";
  }
  brim_text_string(out, ".\n");
}

static void markdown_command(page *p, const cli_command *command, brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  cli_join(command->options, options);
  brim_text_printf(out, "\n## brim %s\n\n%s\n", command->name, command->description);
  markdown_own(p, options, out);
  markdown_links(p, options, out);
  brim_text_printf(out, "\n```sh\n%s\n```\n", command->example);
}

static void markdown_shared(const page *p, brim_text *out) {
  brim_text_string(out, "\n## Shared options\n\nSeveral commands have these, and their sections say which.\n");
  for (int i = 0; i < p->count; i++) {
    if (!opens(p, i))
      continue;
    brim_text_printf(out, "\n### %s\n\n| | |\n|---|---|\n", p->rows[i].title);
    for (int k = i; k < p->count; k++)
      if (is_shared(&p->rows[k], p->rows[i].title))
        markdown_row(&p->rows[k].option, out);
  }
}

void cli_help_markdown(brim_text *out) {
  page p = {.count = 0};
  brim_text_string(out,
                   "# The command line\n\nThis page is made by `brim help --markdown`; `brim COMMAND --help` lists all options "
                   "of a command at once.\n");
  for (int i = 0; cli_commands[i]; i++)
    if (!cli_commands[i]->hidden)
      add_rows(&p, cli_commands[i]);
  for (int i = 0; cli_commands[i]; i++)
    if (!cli_commands[i]->hidden)
      markdown_command(&p, cli_commands[i], out);
  markdown_shared(&p, out);
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void json_option(brim_json_writer *json, const cli_option *option) {
  static const char *const kinds[] = {[CLI_FLAG] = "flag",   [CLI_INTEGER] = "integer", [CLI_SEED] = "integer",
                                      [CLI_REAL] = "real",   [CLI_TEXT] = "text",       [CLI_CHOICE] = "choice",
                                      [CLI_NAMES] = "names", [CLI_LIST] = "list"};
  brim_json_open_object(json, NULL);
  brim_json_put_string(json, "name", option->name);
  brim_json_put_string(json, "also", option->aliases);
  brim_json_put_string(json, "kind", kinds[option->kind]);
  brim_json_put_string(json, "value", option->value);
  brim_json_put_string(json, "default", option->shown ? option->shown : option->fallback);
  brim_json_put_bool(json, "constant", !option->shown && option->fallback);
  brim_json_put_bool(json, "required", option->required);
  if (option->least < option->most) {
    brim_json_put_number(json, "least", option->least);
    brim_json_put_number(json, "most", option->most);
  }
  brim_json_put_string(json, "implied", option->implied);
  brim_json_put_string(json, "needs", option->needs);
  brim_json_put_string(json, "excludes", option->excludes);
  brim_json_put_string(json, "help", option->help);
  brim_json_close_object(json);
}

void cli_help_json(brim_text *out) {
  cli_option options[CLI_OPTION_LIMIT];
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  for (int i = 0; cli_commands[i]; i++) {
    brim_json_open_array(&json, cli_commands[i]->name);
    cli_join(cli_commands[i]->options, options);
    for (const cli_option *option = options; option->kind != CLI_END; option++)
      if (option->kind != CLI_GROUP)
        json_option(&json, option);
    brim_json_close_array(&json);
  }
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}
