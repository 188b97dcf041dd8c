/* brim/views.h: what people look at of a run and of a model: what it made of labelled rows, and where it is most wrong; what a
 * run keeps of its evaluations (RUN/evaluation.jsonl); its page (RUN/report.html); TensorBoard's files. */
#ifndef BRIM_VIEWS_H
#define BRIM_VIEWS_H
#include "brim/report.h"
#include "brim/study.h"
#ifdef __cplusplus
extern "C" {
#endif

enum {
  BRIM_MOST_WRONG = 20,     /* rows */
  BRIM_MOST_CLASSES = 64,   /* of which all confusions are kept */
  BRIM_MOST_CONFUSED = 40,  /* confusions that are kept of more classes */
  BRIM_MOST_POINTS = 20000, /* labels with their predictions, of a regression */
  BRIM_MOST_PASSAGE = 6000, /* bytes of a text that are kept; of a pair, of each */
  BRIM_MOST_SETS = 65,      /* that a run keeps: evaluation sets, and the held-out part of a fold */
  BRIM_MOST_RUNS = 16,      /* on a page */
  BRIM_MOST_MODES = 16,     /* of a comparison */
  BRIM_COMPARISON_COLUMNS = 9,
  BRIM_MOST_SURVEYED = 40, /* classes */
  BRIM_SHOWN_ENDS = 2,     /* rows that are shown as the shortest, and as the longest */
  BRIM_MOST_SAMPLES = 64
};

/* ---- texts of a few rows ---------------------------------------------------------------------------------- */

/* The text of a row, read again from its file: a dataset keeps ids only. */
typedef struct brim_passage {
  uint64_t row; /* brim_record.row, which brim_dataset_origin gives */
  char *text;   /* NUL-terminated; a pair's second text after an empty line; a long one ends early and says so. NULL: not found */
  size_t length;
} brim_passage;
/* Fills in the texts of passages[0..count), which begin as NULL; those that it found are there after a failure too. Standard
 * input ("-") cannot be read again: nothing is filled in. `source` as for the dataset; labels are not needed. BRIM_E_MISMATCH:
 * the files are not those of the `stamp` (brim_dataset_stamp; 0: any are taken), and nothing is filled in. */
BRIM_API int brim_passages_read(brim_runtime *runtime, const char *const *paths, int path_count,
                                const brim_source_options *source, uint64_t stamp, brim_passage *passages, int count,
                                brim_error *err) BRIM_CHECK;
/* The same for a text that the caller has; `pair` may be NULL. passage->text begins as NULL. */
BRIM_API int brim_passage_set(brim_runtime *runtime, brim_passage *passage, const char *text, size_t length, const char *pair,
                              size_t pair_length, brim_error *err) BRIM_CHECK;
BRIM_API void brim_passages_free(brim_runtime *runtime, brim_passage *passages, int count); /* their texts, not the array */

/* ---- what a model made of labelled rows ------------------------------------------------------------------- */

typedef struct brim_wrong_row {
  uint64_t row;              /* in its source: brim_dataset_origin */
  int32_t word;              /* where words have labels: which of the row, from 0; -1: the row itself is labelled */
  char word_text[100];       /* the word, or its beginning; "": the token is of no word, and `word` counts the row's tokens */
  double loss;               /* as training counts it */
  double score, label_score; /* probabilities of the predicted class and of the right one; NaN for other tasks */
  char label[200], predicted[200]; /* names, or several with ", " between; values as %.4g */
  char *text;                      /* NULL: not read, or not found */
  size_t length;
} brim_wrong_row;

/* One of the rows whose second text is most like a sample row's first. */
enum { BRIM_MOST_NEAR = 18 }; /* the three nearest of six rows */
typedef struct brim_near_row {
  uint64_t row, other;     /* in their source */
  double similarity;       /* the cosine, or what the model's vectors are compared by */
  char *text, *other_text; /* NULL: not read, or not found */
  size_t length, other_length;
} brim_near_row;

typedef struct brim_confused {
  int32_t label, predicted;
  uint64_t rows;
} brim_confused;

/* In little: however many rows there are, this stays small. */
typedef struct brim_judged {
  char name[64]; /* of the set */
  uint64_t step, rows;
  uint64_t stamp; /* brim_dataset_stamp of its rows */
  brim_task task;
  int32_t outputs;
  double metrics[BRIM_METRIC_FIELDS]; /* as brim_metrics_fields orders them */
  char **names;                       /* [outputs] of the classes; NULL for a regression */
  brim_class_count *classes;          /* [outputs], of rows or labelled tokens; NULL for a regression */
  brim_confused
      *confused; /* classification, of rows or tokens: all, or of more than BRIM_MOST_CLASSES the most frequent that are wrong */
  size_t confused_count;
  double *labels, *values; /* [points, outputs] of a regression: rows at equal distances. Of vectors and scores of groups labels
                              are 1 for what belongs together and 0 for the best of the others, and values what the model gives */
  size_t points;
  bool apart; /* they are such */
  brim_near_row near[BRIM_MOST_NEAR];
  int near_count;
  brim_wrong_row
      wrong[BRIM_MOST_WRONG]; /* the largest losses of rows (or tokens) that are wrong, of values of all rows; largest first */
  int wrong_count;
  brim_runtime *runtime;
} brim_judged;

BRIM_API void brim_judged_free(brim_judged *judged); /* what it holds, not the struct */
/* Predicts all rows of a dataset and judges them, without texts. The metrics too, where `metrics` is not NULL.
 * options->outcomes or options->logits are filled where they are given; confusion is not looked at. NULL: the defaults. Free *out
 * in any case. */
BRIM_API int brim_judge_dataset(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset,
                                const brim_eval_options *options, brim_metrics *metrics, brim_judged *out,
                                brim_error *err) BRIM_CHECK;
/* Reads the texts of the most wrong rows from the set's files (brim_passages_read). */
BRIM_API int brim_judged_read_texts(brim_judged *judged, const char *const *paths, int path_count,
                                    const brim_source_options *source, brim_error *err) BRIM_CHECK;
/* The text of wrong[index], by a caller who has it: copied, no more of it than of one that is read. `pair` may be NULL. */
BRIM_API int brim_judged_set_text(brim_judged *judged, int index, const char *text, size_t length, const char *pair,
                                  size_t pair_length, brim_error *err) BRIM_CHECK;
/* The same for near[index]: of its row, or of the `other` one. */
BRIM_API int brim_judged_set_near_text(brim_judged *judged, int index, bool other, const char *text, size_t length,
                                       const char *pair, size_t pair_length, brim_error *err) BRIM_CHECK;
/* Which classes were taken for which: all pairs in the order of the classes, or (`most` > 0) the most frequent that are wrong, by
 * rows. *out is released with brim_runtime_release. */
BRIM_API int brim_confused_make(brim_runtime *runtime, const brim_outcome *outcomes, uint64_t rows, size_t most,
                                brim_confused **out, size_t *count, brim_error *err) BRIM_CHECK;

/* ---- predictions ------------------------------------------------------------------------------------------ */

/* A line of `brim predict` and its line end: {"index":..,"label":..,"scores":[..]}; of a model that labels tokens
 * {"index":..,"tokens":[..],"labels":[..],"scores":[..]} with the row's words, the label of each (null: its tokens were cut off,
 * or it gives none) and that label's probability; of rows that were not read as words the labels of all tokens. Of a reranker and
 * a row of several documents {"index":..,"scores":[..],"ranks":[..]}: the best document has rank 1. logits: [outputs] of the row,
 * or [length, outputs] of its tokens, or [documents]; index: what it is called; scores: room for one for each output. */
BRIM_API void brim_prediction_put(brim_text *out, const brim_model *model, const brim_dataset *dataset, uint64_t row,
                                  uint64_t index, const float *logits, double *scores);
/* Predicts rows that are pairs of a query and a document, and appends their lines sorted: queries in the order of their first
 * rows, the documents of each by score, best first, with "rank" from 1. The scores of all rows are held. BRIM_E_USAGE: the model
 * is no reranker, or rows have several documents. `options` NULL: the defaults. */
BRIM_API int brim_predict_sorted(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset,
                                 const brim_eval_options *options, brim_text *out, brim_error *err) BRIM_CHECK;

/* Mean and standard deviation (of a sample) over the folds of metric `which`, as brim_metrics_fields orders them. */
BRIM_API void brim_folds_spread(const brim_folds_result *result, brim_task task, int which, double *mean, double *deviation);
/* What folds.json holds: metrics of each fold, mean and deviation, those of all rows out of fold and of the averages. */
BRIM_API void brim_folds_json(brim_text *out, const brim_folds_result *result, brim_task task);
/* The end of brim_train_folds in FOLDER: predictions.jsonl of the held-out rows, predictions-NAME.jsonl of each of its `evals`
 * (of vectors neither), folds.json. */
BRIM_API int brim_folds_write(brim_runtime *runtime, const char *folder, const brim_model *model, const brim_dataset *dataset,
                              const brim_named_dataset *evals, const brim_folds_result *result, brim_error *err) BRIM_CHECK;

/* ---- what a run keeps ------------------------------------------------------------------------------------- */

/* Writes the judged sets of a run to FOLDER/evaluation.jsonl, complete or not at all. */
BRIM_API int brim_judged_write(brim_runtime *runtime, const char *folder, const brim_judged *sets, int count,
                               brim_error *err) BRIM_CHECK;
/* And reads them again: a run that keeps none has a count of 0; a file that is none of brim's is BRIM_E_FORMAT. *out is freed
 * with brim_judged_free_all, after a failure too. */
BRIM_API int brim_judged_read(brim_runtime *runtime, const char *folder, brim_judged **out, int *count,
                              brim_error *err) BRIM_CHECK;
BRIM_API void brim_judged_free_all(brim_runtime *runtime, brim_judged *sets, int count);

/* ---- pages ------------------------------------------------------------------------------------------------ */

/* The logs of some runs. */
typedef struct brim_runs {
  brim_event_log *logs[BRIM_MOST_RUNS];
  const char *names[BRIM_MOST_RUNS]; /* their folders, borrowed */
  int count;
} brim_runs;
/* Reads FOLDER/log.jsonl of each. Zero *runs first; close it in any case. A run in folds is BRIM_E_USAGE (its folds are runs),
 * one without a step BRIM_E_MISMATCH. */
BRIM_API int brim_runs_open(brim_runtime *runtime, const char *const *folders, int count, brim_runs *runs,
                            brim_error *err) BRIM_CHECK;
BRIM_API void brim_runs_close(brim_runs *runs);

/* Parts of a page: key figures, curves and evaluations of runs; */
BRIM_API int brim_page_runs(brim_page *page, const brim_runs *runs, brim_error *err) BRIM_CHECK;
/* the predictions that they kept of their last evaluations, each as brim_page_judged; */
BRIM_API int brim_page_kept(brim_page *page, const brim_runs *runs, brim_error *err) BRIM_CHECK;
/* options and environment; */
BRIM_API int brim_page_settings(brim_page *page, const brim_runs *runs, brim_error *err) BRIM_CHECK;
/* metrics, confusion or scatter, and with `texts` the rows that the model is most wrong about. `of`: what they are predictions
 * of,
 * "" where that is plain. */
BRIM_API int brim_page_judged(brim_page *page, const brim_judged *judged, const char *of, bool texts, brim_error *err) BRIM_CHECK;
/* All of it, about several runs side by side, written to FOLDER/report.html: what `brim train` ends with. */
BRIM_API int brim_report_write(brim_runtime *runtime, const char *const *folders, int count, const char *folder,
                               brim_error *err) BRIM_CHECK;

/* ---- comparisons ------------------------------------------------------------------------------------------ */

/* What a mode's steps said, one entry a logged step. Begins zeroed. */
typedef struct brim_mode_curve {
  double *samples, *seconds, *loss; /* [count] */
  size_t count, room[3];
  double memory; /* bytes that training planned for; NaN: not known */
  brim_runtime *runtime;
} brim_mode_curve;
/* Takes what a "start" or "step" event of the mode says (brim_compare). */
BRIM_API int brim_mode_curve_add(brim_runtime *runtime, brim_mode_curve *curve, const brim_event *event,
                                 brim_error *err) BRIM_CHECK;
BRIM_API void brim_mode_curve_free(brim_mode_curve *curve); /* what it holds, not the struct */

/* Modes side by side; borrowed. */
typedef struct brim_comparison {
  const brim_mode_result *results; /* [count] */
  const brim_mode_curve *curves;   /* [count] */
  int count;                       /* at most BRIM_MOST_MODES */
  const char *metric;              /* what the rows of --eval are worth: one of brim's, which the table has */
  const double *scores;            /* [count] its values; NULL: those of the results */
} brim_comparison;
/* The metric that says most of these results: one that their task has, and that the rows allow. `own`: of the model's meaning. */
BRIM_API const char *brim_comparison_metric(brim_task task, brim_similarity own, const brim_mode_result *results, int count);
/* A mode's speed as the table says it: "2.31 x"; "1.08 x (1.02–1.21)" where the rounds differ by more than the modes, or are few;
 * "about the same (0.97–1.04)" or "not clear (0.80–1.30)" where they do not say which is faster; "too few rounds". */
BRIM_API void brim_speed_text(const brim_mode_result *results, int index, char *text, size_t size);
/* The table: columns, and cells [count * BRIM_COMPARISON_COLUMNS], which point into it and to the modes' names. */
typedef struct brim_comparison_cells {
  brim_column columns[BRIM_COMPARISON_COLUMNS];
  char text[BRIM_MOST_MODES][BRIM_COMPARISON_COLUMNS][48];
  const char *cells[BRIM_MOST_MODES * BRIM_COMPARISON_COLUMNS];
} brim_comparison_cells;
BRIM_API void brim_comparison_table(const brim_comparison *comparison, brim_comparison_cells *out);
/* The table, bars of each number, loss over samples and seconds. */
BRIM_API int brim_page_comparison(brim_page *page, const brim_comparison *comparison, brim_error *err) BRIM_CHECK;

/* ---- analyses --------------------------------------------------------------------------------------------- */

/* What a data set does not keep of its rows: full lengths, labels as they were written. Begins zeroed but for `runtime`. */
typedef struct brim_survey {
  int32_t *lengths; /* [rows] before truncation */
  double *values;   /* [labelled] if labels are values */
  bool decimals;    /* they are */
  uint64_t rows, labelled;
  size_t room[2];
  char *classes[BRIM_MOST_SURVEYED];          /* in the order in which they came up */
  uint64_t counts[BRIM_MOST_SURVEYED], other; /* other: rows of the classes after the last */
  int class_count;
  brim_runtime *runtime;
} brim_survey;
/* A row; label NULL: it has none. */
BRIM_API int brim_survey_add(brim_survey *survey, size_t tokens, const char *label, size_t length, brim_error *err) BRIM_CHECK;
/* All rows of files, which are encoded for that. */
BRIM_API int brim_survey_read(brim_survey *survey, const char *const *paths, int path_count, const brim_source_options *source,
                              const brim_tokenizer *tokenizer, const brim_encode_options *encode, brim_error *err) BRIM_CHECK;
BRIM_API void brim_survey_free(brim_survey *survey); /* what it holds, not the struct */

/* Rows whose texts a page shows: the shortest, the longest, and some drawn by (seed). The caller fills in the texts, by
 * brim_passages_read or brim_passage_set; brim_passages_free frees them. */
typedef struct brim_shown_texts {
  brim_passage passages[2 * BRIM_SHOWN_ENDS + BRIM_MOST_SAMPLES];
  char captions[2 * BRIM_SHOWN_ENDS + BRIM_MOST_SAMPLES][96];
  int count;
} brim_shown_texts;
BRIM_API void brim_shown_texts_pick(const brim_dataset *dataset, uint64_t seed, int samples, brim_shown_texts *out);

/* One sentence: what max_length cuts, and what computing tokens alone saves; `gap` is written between the two. */
BRIM_API void brim_study_advice(brim_text *out, const brim_study *study, int32_t max_length, const char *gap);
/* Lengths, truncation, labels, strategies, batches, folds (`overlap`, NULL: none), texts. */
typedef struct brim_analysis {
  const brim_dataset *dataset;
  const brim_study *study;
  const brim_plan_options *how; /* as brim_study_dataset had it */
  const brim_overlap *overlap;
  const brim_survey *survey;
  const brim_shown_texts *texts;
} brim_analysis;
BRIM_API int brim_page_analysis(brim_page *page, const brim_analysis *analysis, brim_error *err) BRIM_CHECK;

/* ---- during a run, and after it --------------------------------------------------------------------------- */

/* What others look at of one run: TensorBoard's files during it; evaluation.jsonl and report.html when it ends.
 *
 *   brim_views_new(runtime, "run", NULL, NULL, &views, &err);
 *   options.event = brim_views_event, options.evaluated = brim_views_evaluated, options.event_context = views;
 *   status = brim_train(..);
 *   brim_views_close(views, !status);
 *
 * One thread at a time. A run is worth keeping also where a picture of it fails: nothing here stops one, `failed` is called. */
typedef struct brim_views brim_views;
typedef void (*brim_views_failed_fn)(void *context, const char *what, const brim_error *err);
/* `folder`: of the run; it need not be there yet. NULL: nothing is written, evaluations are held for brim_views_judged alone.
 * `failed` may be NULL. */
BRIM_API int brim_views_new(brim_runtime *runtime, const char *folder, brim_views_failed_fn failed, void *context,
                            brim_views **out, brim_error *err) BRIM_CHECK;
/* No files for TensorBoard: to be called before the first event. */
BRIM_API int brim_views_without_tensorboard(brim_views *views, brim_error *err) BRIM_CHECK;
BRIM_API int brim_views_event(void *views, const brim_event *event);                /* a brim_event_fn; always BRIM_OK */
BRIM_API void brim_views_evaluated(void *views, const brim_evaluation *evaluation); /* a brim_evaluated_fn */
/* The last evaluation of each set so far, to put texts into; borrowed until the next event. Who takes one over leaves a zeroed
 * one. */
BRIM_API brim_judged *brim_views_judged(brim_views *views, int *count);
/* Ends them and frees `views`, which may be NULL. `ran`: there is a run in the folder, of which evaluation.jsonl and report.html
 * are written. */
BRIM_API void brim_views_close(brim_views *views, bool ran);

#ifdef __cplusplus
}
#endif
#endif
