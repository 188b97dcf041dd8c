/* judged.h: what a model made of labelled rows, in little: who was taken for whom, some of the values, and the rows that it is
 * most wrong about. However many rows there are, this stays small, and a run keeps it (kept.c). */
#ifndef BRIM_CLI_JUDGED_H
#define BRIM_CLI_JUDGED_H

#include "cli.h"

enum {
  CLI_MOST_WRONG = 20,    /* rows */
  CLI_MOST_CLASSES = 64,  /* of which all confusions are kept */
  CLI_MOST_CONFUSED = 40, /* confusions that are kept of more classes */
  CLI_MOST_POINTS = 20000 /* labels with their predictions, of a regression */
};

typedef struct cli_wrong_row {
  uint64_t row; /* in its source: brim_dataset_origin */
  double loss;
  double score, label_score; /* of the predicted class and of the right one; NaN for other tasks */
  char label[200], predicted[200];
  char *text; /* NULL: not read, or not found */
  size_t length;
} cli_wrong_row;

typedef struct cli_class_count {
  uint64_t rows, predicted, both;
} cli_class_count;

typedef struct cli_confused {
  int32_t label, predicted;
  uint64_t rows;
} cli_confused;

typedef struct cli_judged {
  char name[64]; /* of the set */
  uint64_t step, rows;
  brim_task task;
  int32_t outputs;
  double metrics[BRIM_METRIC_FIELDS]; /* as brim_metrics_fields orders them */
  char **names;                       /* [outputs] of the classes; NULL for a regression */
  cli_class_count *classes;           /* [outputs], NULL for a regression */
  cli_confused *confused;             /* classification: all, or of many classes the most frequent, right ones not counted */
  size_t confused_count;
  double *labels, *values; /* [points, outputs] of a regression */
  size_t points;
  cli_wrong_row wrong[CLI_MOST_WRONG]; /* most wrong first */
  int wrong_count;
} cli_judged;

/* What is judged. */
typedef struct cli_verdict {
  const char *name;
  uint64_t step;
  brim_task task;
  const brim_labels *labels;
  const brim_dataset *dataset;
  const brim_metrics *metrics;
  const float *logits;          /* [rows, labels->count]; NULL for classification */
  const brim_outcome *outcomes; /* [rows] of classification */
} cli_verdict;

/* Which classes were taken for which: all pairs in the order of the classes, or (`most` > 0) the most frequent that are wrong, by
 * rows. *out is freed with free. */
int cli_confused_make(cli_call *cli, const brim_outcome *outcomes, uint64_t rows, size_t most, cli_confused **out, size_t *count);
/* Without texts. Free *out in any case. */
int cli_judge(cli_call *cli, const cli_verdict *verdict, cli_judged *out);
void cli_judged_free(cli_judged *judged);
/* Reads the texts of the most wrong rows from the set's files; those that cannot be read again stay NULL. */
int cli_judged_read_texts(cli_call *cli, cli_judged *judged, const char *const *paths, int path_count);

/* Writes the judged sets of a run to FOLDER/evaluation.jsonl, complete or not at all; and reads them again. A run that keeps none
 * has a count of 0. *out is freed with cli_kept_free. */
int cli_kept_write(cli_call *cli, const char *folder, const cli_judged *sets, int count);
int cli_kept_read(cli_call *cli, const char *folder, cli_judged **out, int *count);
void cli_kept_free(cli_judged *sets, int count);

#endif
