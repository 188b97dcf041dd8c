#include "views.h"

#include <string.h>

#include "columns.h"
#include "folds.h"
#include "job.h"
#include "stream.h"

/* A file that is not there is said with --quiet too. */
static void tell_failure(void *context, const char *what, const brim_error *err) {
  const cli_call *cli = context;
  char text[1200];
  brim_error_text(err, text, sizeof text);
  if (cli->progress)
    brim_progress_clear(cli->progress);
  fprintf(stderr, "brim: %s: %s\n", what, text);
}

void cli_no_texts(cli_call *cli, const brim_error *err) {
  char text[1200];
  brim_error_text(err, text, sizeof text);
  cli_note(cli, "no texts of the most wrong rows: %s", text);
}

int cli_views_open(cli_call *cli, const char *folder) {
  if (cli->group.rank > 0)
    return BRIM_OK;
  return brim_views_new(cli->runtime, folder, tell_failure, cli, &cli->views, &cli->error);
}

void cli_views_evaluated(void *context, const brim_evaluation *evaluation) {
  cli_call *cli = context;
  if (cli->views)
    brim_views_evaluated(cli->views, evaluation);
}

/* The files that a set was read from; their number is 0 where they are not known. */
static int files_of(const cli_call *cli, const char *set, const char **path, const char *const **paths) {
  const cli_values *v = cli->values;
  char name[64];
  double share;
  *paths = path;
  for (int i = 0; i < v->eval.count; i++) {
    *path = cli_cut_name("eval", v->eval.items[i], i, v->eval.count, name, sizeof name);
    if (strcmp(name, set) == 0 && !cli_is_share(*path, &share))
      return 1;
    if (strcmp(name, set) == 0)
      return *paths = v->train.items, v->train.count;
  }
  *paths = v->train.items;
  return cli_folds_wanted(v) && strcmp(set, "valid") == 0 ? v->train.count : 0;
}

static int read_texts(cli_call *cli, brim_judged *set, brim_error *err) {
  const char *path, *const *paths;
  const int count = files_of(cli, set->name, &path, &paths);
  brim_source_options source;
  if (!count || cli_any_pipe(paths, count)) /* a pipe's rows are gone */
    return BRIM_OK;
  cli_columns columns = {0};
  int status = cli_source_options(cli, false, &source);
  if (!status)
    status = cli_columns_find(cli, paths, count, cli_task(cli), &columns, &source);
  if (!status)
    status = brim_judged_read_texts(set, paths, count, &source, err);
  cli_columns_free(&columns);
  return status;
}

/* A run that is done, or keeps what it did, has its texts whenever it is asked to stop: they are read again. */
static int read_texts_to_the_end(cli_call *cli, brim_judged *set, brim_error *err) {
  const int status = read_texts(cli, set, err);
  if (status != BRIM_E_CANCELLED)
    return status;
  brim_runtime_resume(cli->runtime);
  const int again = read_texts(cli, set, err);
  brim_runtime_cancel(cli->runtime); /* what follows hears of it */
  return again;
}

void cli_views_close(cli_call *cli, bool ran) {
  int count = 0;
  brim_error err;
  brim_judged *sets = cli->views && ran ? brim_views_judged(cli->views, &count) : NULL;
  for (int i = 0; i < count; i++)
    if (read_texts_to_the_end(cli, &sets[i], &err))
      cli_no_texts(cli, &err);
  brim_views_close(cli->views, ran);
  cli->views = NULL;
}
