/* analyze.h: what `brim analyze` says in words, and its page. */
#ifndef BRIM_CLI_ANALYZE_H
#define BRIM_CLI_ANALYZE_H

#include "cli.h"

/* What was found out. */
typedef struct cli_analysis {
  const brim_dataset *dataset;
  const brim_tokenizer *tokenizer;
  const brim_study *study;
  const brim_plan_options *how;
  const brim_overlap *overlap; /* count 0: no folds */
} cli_analysis;

/* What --max-length cuts, and what computing tokens alone saves; `gap` (a space, a line end) stands between the two. */
void cli_put_advice(brim_text *out, const cli_analysis *analysis, const char *gap);
/* Writes the page of --html; the files are read again for labels, uncut lengths and texts (analyze_page.c). */
int cli_write_analyze_page(cli_call *cli, const cli_analysis *analysis);

/* What the files say beside the data set: full lengths, labels (analyze_survey.c). */
enum { CLI_MOST_CLASSES = 40 };
typedef struct cli_survey {
  int32_t *lengths; /* [rows] before truncation */
  bool decimals;    /* the labels are values, not classes */
  double *values;   /* [labelled] if they are */
  uint64_t rows, labelled, room;
  char *classes[CLI_MOST_CLASSES];          /* in the order in which they came up */
  uint64_t counts[CLI_MOST_CLASSES], other; /* other: of the classes after the last */
  int class_count;
} cli_survey;
int cli_survey_read(cli_call *cli, const brim_tokenizer *tokenizer, cli_survey *out);
void cli_survey_free(cli_survey *survey);

#endif
