#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "folds.h"
#include "run_report.h"

enum { MOST_SETS = CLI_LIST_LIMIT + 1 }; /* of --eval, and the held-out part of a fold */

static void note_failure(const cli_call *cli, const char *what, int status, const brim_error *err) {
  char text[1200];
  if (!status)
    return;
  brim_error_text(err, text, sizeof text);
  cli_note(cli, "%s: %s", what, text);
}

int cli_views_open(cli_call *cli, const char *folder) {
  char path[4200];
  if (cli->group.rank > 0)
    return BRIM_OK;
  snprintf(cli->viewed, sizeof cli->viewed, "%s", folder);
  snprintf(path, sizeof path, "%s/tensorboard", cli->viewed);
  return brim_tensorboard_new(cli->runtime, path, &cli->tensorboard, &cli->error);
}

/* ---- evaluations ------------------------------------------------------------------------------------------ */

/* The place of the set of that name; NULL: there is no room. */
static cli_judged *place_of(cli_call *cli, const char *name) {
  if (!cli->judged)
    cli->judged = calloc(MOST_SETS, sizeof *cli->judged);
  for (int i = 0; cli->judged && i < cli->judged_count; i++)
    if (strncmp(cli->judged[i].name, name, sizeof cli->judged[i].name - 1) == 0)
      return &cli->judged[i];
  return cli->judged && cli->judged_count < MOST_SETS ? &cli->judged[cli->judged_count++] : NULL;
}

void cli_views_evaluated(void *context, const brim_evaluation *e) {
  cli_call *cli = context;
  const brim_labels *labels = brim_dataset_labels(e->dataset);
  cli_judged *place = labels ? place_of(cli, e->name) : NULL;
  const brim_error kept = cli->error;
  if (!place)
    return;
  const cli_verdict verdict = {.name = e->name,
                               .step = e->step,
                               .task = labels->task,
                               .labels = labels,
                               .dataset = e->dataset,
                               .metrics = e->metrics,
                               .logits = e->logits,
                               .outcomes = e->outcomes};
  cli_judged_free(place);
  const int status = cli_judge(cli, &verdict, place);
  note_failure(cli, "predictions are not kept", status, &cli->error);
  if (status) {
    cli_judged_free(place);
    *place = cli->judged[--cli->judged_count];
  }
  cli->error = kept;
}

/* The files that a set was read from; their number is 0 where they are not known. */
static int files_of(const cli_call *cli, const char *set, const char **path, const char *const **paths) {
  const cli_values *v = cli->values;
  char name[64];
  *paths = path;
  for (int i = 0; i < v->eval.count; i++) {
    *path = cli_split_name("eval", v->eval.items[i], i, v->eval.count, name, sizeof name);
    if (strcmp(name, set) == 0)
      return 1;
  }
  *paths = v->train.items;
  return cli_folds_wanted(v) && strcmp(set, "valid") == 0 ? v->train.count : 0;
}

static void keep_evaluations(cli_call *cli) {
  for (int i = 0; i < cli->judged_count; i++) {
    const char *path, *const *paths;
    const int count = files_of(cli, cli->judged[i].name, &path, &paths);
    if (count)
      note_failure(cli, "no texts of the most wrong rows", cli_judged_read_texts(cli, &cli->judged[i], paths, count),
                   &cli->error);
  }
  if (cli->judged_count)
    note_failure(cli, "predictions are not kept", cli_kept_write(cli, cli->viewed, cli->judged, cli->judged_count), &cli->error);
}

/* ---- the end ---------------------------------------------------------------------------------------------- */

void cli_views_close(cli_call *cli, bool ran) {
  brim_error err = {0}, kept = cli->error;
  if (!cli->tensorboard)
    return;
  note_failure(cli, "no more events for TensorBoard", brim_tensorboard_close(cli->tensorboard, &err), &err);
  cli->tensorboard = NULL;
  if (ran) {
    keep_evaluations(cli);
    note_failure(cli, "no report", cli_write_run_report(cli, cli->viewed), &cli->error);
  }
  cli_kept_free(cli->judged, cli->judged_count);
  cli->judged = NULL, cli->judged_count = 0;
  cli->error = kept;
}
