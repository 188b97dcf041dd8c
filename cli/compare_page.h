/* compare_page.h: the curves of the modes of `brim compare`, and its page. */
#ifndef BRIM_CLI_COMPARE_PAGE_H
#define BRIM_CLI_COMPARE_PAGE_H

#include "cli.h"

/* What a mode's steps said, one entry a logged step. */
typedef struct cli_mode_curve {
  double *samples, *seconds, *loss; /* [count] */
  size_t count, room;
  double memory; /* bytes that training planned for; NaN: not known */
} cli_mode_curve;

/* Takes what a "start" or "step" event of the mode says. */
int cli_mode_curve_add(cli_call *cli, cli_mode_curve *curve, const brim_event *event);
void cli_mode_curve_free(cli_mode_curve *curve);

/* Writes the page of --html. The table is that of the terminal: cells [count * columns]. curves: [count]. */
typedef struct cli_comparison {
  const brim_column *columns;
  int column_count;
  const char *const *cells;
  const brim_mode_result *results;
  const cli_mode_curve *curves;
  int count;
  bool regression;
} cli_comparison;
int cli_write_compare_page(cli_call *cli, const cli_comparison *comparison);

#endif
