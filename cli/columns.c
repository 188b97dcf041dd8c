#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --columns a,b,c */
static int cut_columns(cli_call *cli, cli_columns *c) {
  if (!cli->values->columns)
    return BRIM_OK;
  c->given = strdup(cli->values->columns);
  if (!c->given)
    return cli_no_memory(cli, "--columns");
  char *rest = c->given;
  for (char *name; (name = strsep(&rest, ","));) {
    if (!*name || c->count == BRIM_MOST_TEXT_COLUMNS)
      return brim_error_set(&cli->error, BRIM_E_USAGE,
                            "--columns %s: names of columns with commas between are expected, such as anchor,positive,negative",
                            cli->values->columns);
    c->names[c->count++] = name;
  }
  return BRIM_OK;
}

/* A pair is one text, as a classifier of pairs has it; further documents make a row of several. */
static void fill(const cli_columns *c, brim_source_options *source) {
  const brim_text_columns *found = &c->found;
  if (found->one_pair) {
    source->text_columns = NULL, source->text_column_count = 0;
    source->text_column = found->names[0], source->pair_column = found->names[1];
    source->label_column = found->label;
    return; /* which has a label */
  }
  source->text_column = source->pair_column = NULL;
  source->text_columns = found->names, source->text_column_count = found->count;
  source->least_columns = found->least;
  source->paired = found->paired;
  source->seen_columns = c->count > 0; /* a name that was given is no slip */
  source->need_label = source->need_label && found->label;
  source->label_column = source->need_label ? found->label : NULL;
}

int cli_columns_find(cli_call *cli, const char *const *paths, int path_count, brim_task task, cli_columns *columns,
                     brim_source_options *source) {
  *columns = (cli_columns){0};
  if (!brim_task_shape(task)->several_texts)
    return cli->values->columns ? brim_error_set(&cli->error, BRIM_E_USAGE,
                                                 "--columns is for rows of several texts: --task embedding "
                                                 "or --task rerank")
                                : BRIM_OK;
  int status = cut_columns(cli, columns);
  source->text_columns = columns->names, source->text_column_count = columns->count;
  if (!status)
    status = brim_text_columns_find(cli->runtime, paths, path_count, source, task, &columns->found, &cli->error);
  if (!status)
    fill(columns, source);
  return status;
}

void cli_note_columns(const cli_call *cli, const char *path, const cli_columns *columns) {
  char names[300] = "";
  size_t used = 0;
  for (int i = 0; i < columns->found.count && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", i ? ", " : "", columns->found.names[i]);
  char unread[100] = "";
  if (columns->found.unread)
    snprintf(unread, sizeof unread, "; \"%.40s\"%s %s not read", columns->found.unread,
             columns->found.unread_count > 1 ? " and others" : "", columns->found.unread_count > 1 ? "are" : "is");
  if (columns->found.count && !cli->values->columns)
    cli_note(cli, "%s: texts are in the columns %s%s%s%s%s; --columns changes it", path, names,
             columns->found.label ? ", labels in " : "", columns->found.label ? columns->found.label : "", unread,
             columns->found.beginning ? " (of rows after the first megabyte, negatives alone were looked for)" : "");
}

int cli_prompts_of(cli_call *cli, const cli_columns *columns, brim_encode_options *out) {
  const cli_list *given = &cli->values->column_prompt;
  if (!cli->prompts)
    return BRIM_OK;
  const int status = brim_prompts_of_columns(cli->prompts, cli->values->model, given->items, given->count, columns->found.names,
                                             columns->found.count, &cli->error);
  memcpy(out->prompts, cli->prompts->texts, sizeof out->prompts);
  return status;
}

void cli_columns_free(cli_columns *columns) {
  brim_text_columns_free(&columns->found);
  free(columns->given);
  *columns = (cli_columns){0};
}
