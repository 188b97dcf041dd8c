/* run_report.h: what runs did, as a page: from their logs, and from what their model makes of labelled rows. */
#ifndef BRIM_CLI_RUN_REPORT_H
#define BRIM_CLI_RUN_REPORT_H

#include "infer.h"
#include "judged.h"

enum { CLI_MOST_RUNS = 16 };

/* The logs of some runs. */
typedef struct cli_runs {
  brim_event_log *logs[CLI_MOST_RUNS];
  const char *names[CLI_MOST_RUNS]; /* their folders, as given */
  int count;
} cli_runs;

/* Reads RUN/log.jsonl of each. Zero *runs first; close it in any case. */
int cli_runs_open(cli_call *cli, const char *const *folders, int count, cli_runs *runs);
void cli_runs_close(cli_runs *runs);

/* Key figures, curves and evaluations. */
int cli_page_runs(cli_call *cli, brim_page *page, const cli_runs *runs);
/* Options and environment. */
int cli_page_settings(cli_call *cli, brim_page *page, const cli_runs *runs);
/* Confusion or scatter, and the rows that the model is most wrong about, with their texts (run_predictions.c): of rows that are
 * predicted now, or of what the runs kept of their last evaluations. */
int cli_page_predictions(cli_call *cli, brim_page *page, const cli_inference *in, const char *const *paths, int path_count);
int cli_page_kept(cli_call *cli, brim_page *page, const cli_runs *runs);

/* The page of one run, written to FOLDER/report.html: what `brim train` ends with. */
int cli_write_run_report(cli_call *cli, const char *folder);
/* The page of several runs side by side, written to FOLDER/report.html. */
int cli_write_runs_report(cli_call *cli, const char *const *folders, int count, const char *folder);

#endif
