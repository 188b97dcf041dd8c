/* task.h: what the rest of the library knows of a task: its labels, its loss, its metrics, what its outputs mean.
 *
 * A task is a file of src/target with one brim_task_rules, and its line in brim/task.h. Nobody else names a task: code asks for
 * the rule, or the part of a shape, that it needs. */
#ifndef BRIM_TASK_TASK_H
#define BRIM_TASK_TASK_H
#include "base/status.h"
#include "brim/task.h"
#include "task/rules.h"

/* ---- task.c: the table */
/* NULL: AUTO, or no task. */
const brim_task_rules *brim_task_rules_of(brim_task task);
/* BRIM_E_USAGE: a number that is no task. */
int brim_task_check(brim_task task, brim_error *err) BRIM_CHECK;
/* By problem_type; AUTO: there is none of that name. */
brim_task brim_task_of_problem(const char *problem, size_t length);
/* By the end of a class's name, where its task has one; AUTO otherwise. */
brim_task brim_task_of_class(const char *name, size_t length);
/* Whether it ends as the class of a model with a head does. */
bool brim_task_class_has_head(const char *name, size_t length);
/* "single_label_classification, multi_label_classification, regression" */
void brim_task_problems(char *text, size_t size);
/* Without a task: of a model with so many outputs; and of a first label that is a decimal number or not, a list or not. */
brim_task brim_task_of_outputs(int32_t outputs);
brim_task brim_task_of_label(bool decimal, bool list);
brim_task brim_task_of_words(void);                   /* the first whose texts are lists of words */
brim_task brim_task_of_folder(brim_folder_form form); /* the first whose models' folders are such */
brim_task brim_task_of_made(void);                    /* the first whose labels are made of the texts */

/* A row as messages name it: "row 17", or "eval.csv: row 17" where a set is named. */
typedef struct brim_row_name {
  const char *set; /* NULL: none */
  unsigned long long row;
} brim_row_name;
int brim_row_error(brim_error *err, int status, brim_row_name row, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Whether a row's label of `width` numbers fits a model with so many outputs: the one check, and its words. NULL and NaN: there
 * is none, which may be so or not. BRIM_E_MISMATCH. */
int brim_label_fits(brim_task task, int32_t outputs, const float *label, int32_t width, bool may_lack, brim_row_name row,
                    brim_error *err) BRIM_CHECK;
/* The same for a row's labels of tokens. */
int brim_token_labels_fit(brim_task task, int32_t outputs, const int32_t *labels, int32_t length, brim_row_name row,
                          brim_error *err) BRIM_CHECK;
/* Tokens that have a label, of the first `length` tokens of `whole`, of which a cut keeps the last. */
int64_t brim_token_labels_count(const int32_t *labels, int32_t length, int32_t whole);

/* What outcomes are worth: metrics of brim_metrics_none(rows) at first. BRIM_E_DIVERGED names the row of one that is no number.
 */
int brim_judge_outcomes(brim_task task, const brim_outcomes *outcomes, brim_metrics *out, brim_error *err) BRIM_CHECK;

/* ---- metric.c: metrics by name */
typedef struct brim_metric {
  const char *name;
  size_t offset; /* of the double in brim_metrics */
  bool small;    /* less is better */
} brim_metric;
/* By name among those of a task (AUTO: of any task), or NULL. */
const brim_metric *brim_metric_find(brim_task task, const char *name);
double brim_metric_value(const brim_metric *metric, const brim_metrics *metrics);
/* "loss, accuracy, f1, matthews" */
enum { BRIM_METRIC_NAMES = 320 }; /* room for all of them */
void brim_metric_names(brim_task task, char *text, size_t size);
/* Of so many rows, none measured. */
brim_metrics brim_metrics_none(uint64_t rows);

/* correlation.c: of two series; NaN where one is constant. x and y become their ranks. work: BRIM_CORRELATION_WORK bytes for each
 * of `count`. */
typedef struct brim_correlation {
  double pearson, spearman; /* spearman: of the ranks, equal numbers sharing the mean of theirs */
} brim_correlation;
enum { BRIM_CORRELATION_WORK = sizeof(double) + sizeof(uint64_t) };
brim_correlation brim_correlate(double *x, double *y, uint64_t count, void *work);

/* ---- similarity.c */
const char *brim_similarity_name(brim_similarity similarity);
bool brim_similarity_named(const char *name, size_t length, brim_similarity *out);
/* The metric of scored pairs of vectors that are compared by it. */
const char *brim_similarity_metric(brim_similarity own);
/* Numbers of a vector of `width` that a cut to `wanted` leaves; 0: there is none. */
int32_t brim_kept_dimensions(int32_t wanted, int32_t width);
/* A vector as the folder gives it, of what the model gives: brought to length 1, and cut. Returns its width. */
int32_t brim_give_vector(const brim_meaning *meaning, const float *from, int32_t width, double *to);

/* ---- score.c: what several tasks have in common */
/* BRIM_E_DIVERGED, which names the row, where an output is no finite number. */
int brim_outputs_finite(const float *logits, int32_t outputs, uint64_t row, brim_error *err) BRIM_CHECK;
/* A row's label, which has to fit. */
int brim_scored_label(const brim_scored *s, uint64_t row, const float **label, brim_error *err) BRIM_CHECK;
/* Rules of values. measure: the mean squared error as the loss, its root, and the mean of the outputs' correlations. */
enum { BRIM_MEASURING_VALUES = 2 * sizeof(double) + BRIM_CORRELATION_WORK };
bool brim_fits_value(int32_t outputs, float number);
void brim_opinion_of_values(const float *logits, int32_t outputs, double *out);
float brim_logit_of_value(float mean);
int brim_measure_values(const brim_scored *s, brim_metrics *out, brim_error *err) BRIM_CHECK;
/* Rules of one class. */
bool brim_fits_class(int32_t outputs, float number);
float brim_logit_of_class(float mean);

/* Rows of each class: in the labels, in the predictions, and in both at once. */
typedef struct brim_class_counts {
  uint64_t *truth, *predicted, *hit; /* [classes] each; the block is truth's */
} brim_class_counts;
int brim_class_counts_make(brim_runtime *runtime, int32_t classes, brim_class_counts *out, brim_error *err) BRIM_CHECK;
/* F1 of one class; the mean over the classes that occur among labels or predictions; and of all counted together. */
double brim_f1_of(const brim_class_counts *counts, int32_t c);
double brim_f1_macro(const brim_class_counts *counts, int32_t classes);
double brim_f1_micro(const brim_class_counts *counts, int32_t classes);

/* The outcome of one row of logits [outputs], by the one formula that all have. */
brim_outcome brim_outcome_of(const float *logits, int32_t outputs, int32_t label);
/* Metrics of a classification from its outcomes [rows]. */
int brim_outcomes_metrics(brim_runtime *runtime, int32_t outputs, const brim_outcome *outcomes, uint64_t rows, brim_metrics *out,
                          brim_error *err) BRIM_CHECK;
/* What predictions are made of, in double: softmax of one row of logits (largest first subtracted), and of one logit
 * 1 / (1 + exp(-logit)). */
void brim_softmax(const float *logits, int32_t count, double *probabilities);
double brim_sigmoid(double logit);

/* ---- answer.c: answers of values, and of one class, for rules */
/* Bytes of a name that are shown, of `most`: whole characters. */
int brim_answer_shown(const char *name, size_t most);
/* Of values: their mean squared error, "0.25 1.5", and a decimal or a list of them. */
double brim_answer_cost_of_values(const brim_answer *a, brim_class_count *classes);
void brim_answer_say_values(const brim_answer *a, bool predicted, char *text, size_t size);
void brim_answer_put_values(brim_json_writer *json, const brim_answer *a);
/* A decimal, also where it is whole: who trains on it again sees values, not classes. */
void brim_answer_put_value(brim_json_writer *json, const char *name, double value);

/* Of one class. */
double brim_answer_cost_of_class(const brim_answer *a, brim_class_count *classes);
void brim_answer_say_class(const brim_answer *a, bool predicted, char *text, size_t size);
void brim_answer_put_class(brim_json_writer *json, const brim_answer *a);
/* The class of the largest logit, by its name or number; the scores are its softmax. */
void brim_answer_put_best(brim_json_writer *json, const char *name, const brim_answer *a);
void brim_answer_put_name(brim_json_writer *json, const char *name, const brim_answer *a, int32_t class);

#endif
