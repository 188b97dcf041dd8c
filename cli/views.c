#include "views.h"

#include "run_report.h"

static void note_failure(const cli_call *cli, const char *what, int status, const brim_error *err) {
  char text[1200];
  if (!status)
    return;
  brim_error_text(err, text, sizeof text);
  cli_note(cli, "%s: %s", what, text);
}

int cli_views_open(cli_call *cli, const char *folder) {
  char path[4200];
  snprintf(cli->viewed, sizeof cli->viewed, "%s", folder);
  snprintf(path, sizeof path, "%s/tensorboard", cli->viewed);
  return brim_tensorboard_new(cli->runtime, path, &cli->tensorboard, &cli->error);
}

void cli_views_close(cli_call *cli, bool ran) {
  brim_error err = {0}, kept = cli->error;
  if (!cli->tensorboard)
    return;
  note_failure(cli, "no more events for TensorBoard", brim_tensorboard_close(cli->tensorboard, &err), &err);
  cli->tensorboard = NULL;
  if (ran)
    note_failure(cli, "no report", cli_write_run_report(cli, cli->viewed), &cli->error);
  cli->error = kept;
}
