/* brim/study.h: numbers about data and runs. */
#ifndef BRIM_STUDY_H
#define BRIM_STUDY_H
#include "brim/train.h"
#ifdef __cplusplus
extern "C" {
#endif

/* One way of batching and padding, planned over a whole epoch. */
typedef struct brim_strategy_study {
  brim_batching batching;
  brim_padding padding;
  brim_ledger ledger;   /* drops is not filled */
  double padding_share; /* 1 - tokens / slots */
  double cost;          /* of the epoch, by the plan's cost_linear and cost_square: what is computed, attention included */
  /* What the strategy does to the steps. Bias is the share of the variance of lengths that lies between steps (eta squared): 1
   * where a step's rows are all of one length, and near steps / rows where rows are drawn at random. */
  double step_rows, step_rows_deviation; /* rows of a step, and their standard deviation over steps */
  double length_bias;                    /* 0 where all rows are of one length */
} brim_strategy_study;

typedef struct brim_study {
  uint64_t rows, tokens, truncated, lost;
  uint64_t repeated;      /* of the tokens, those that a window has from the one before */
  brim_windowing windows; /* most above 1: what is truncated is longer than so many windows */
  uint64_t records;       /* what the rows are of: truncated is a share of them. Fewer than rows, where each window is a row */
  uint64_t texts;         /* of these rows: what lengths are of. As many, unless rows have several */
  int32_t shortest, longest;
  double mean, median;
  int32_t percentiles[101]; /* of length: at least p % of the texts are no longer than percentiles[p] */
  uint64_t *histogram;      /* [longest + 1] texts of each length */
  brim_strategy_study *strategies;
  int strategy_count;
  brim_runtime *runtime;
} brim_study;

/* Lengths, truncation and the padding of every strategy side by side (epoch 0 of the given seed), most slots first. Combinations
 * that only repeat another's figures are left out: ragged slots are the tokens and max_length slots are rows times width, whoever
 * goes together. `options` gives batch_size or max_tokens and the rest; its batching and padding are not looked at. What it
 * leaves open: max_length padding takes the longest row, windows are 10,000 rows, and `packed` packs into max_tokens or else into
 * what batch_size rows of full length take. */
BRIM_API int brim_study_dataset(brim_runtime *runtime, const brim_dataset *dataset, const brim_plan_options *options,
                                brim_study *out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_study_free(brim_study *study);

/* The rows of a data set as they were before anything was cut, at another length. */
typedef struct brim_length_study {
  int32_t length;  /* special tokens included */
  uint64_t rows;   /* of masked words, whose windows are rows: texts */
  uint64_t tokens; /* of all texts, without special tokens */
  /* Rows that are cut there. */
  uint64_t cut_rows, lost; /* rows that lose tokens, and how many; as a share: of lost + computed, as brim_study_advice has it */
  uint64_t computed;       /* tokens, special ones included, of an epoch without padding */
  /* Rows that become windows of that length. */
  bool has_windows; /* false: pairs have none, or the overlap leaves a window nothing new */
  uint64_t windows; /* of all rows */
  uint64_t window_cut_rows, window_lost, window_computed;
} brim_length_study;
enum { BRIM_MOST_LENGTHS = 24 };

/* What the rows, encoded by this tokenizer, lose and what they cost, cut or in windows, at 128, 256, 512, .. up to the first
 * length that cuts no row, and at `own` among them, rising (without room for a token: without it). Of rows of which it is not
 * known what was cut off (brim_dataset_losses) it is taken that nothing was. How many lengths there are; 0: rows have several
 * texts that are no windows. */
BRIM_API int brim_study_lengths(const brim_dataset *dataset, const brim_tokenizer *tokenizer, const brim_windowing *windows,
                                int32_t own, brim_length_study out[BRIM_MOST_LENGTHS]);

/* One mode of a comparison. */
typedef struct brim_mode {
  const char *name;
  brim_batching batching;
  brim_padding padding;
  const brim_train_options *options; /* its own, but for batching and padding; NULL: those of the comparison */
} brim_mode;
/* A mode's turn in a round: a share of its run. */
typedef struct brim_mode_round {
  uint64_t steps, tokens, slots;
  double seconds;
  double speed; /* as below, of this round alone */
} brim_mode_round;
enum { BRIM_MOST_ROUNDS = 12, BRIM_LEAST_ROUNDS = 3 }; /* fewer than the latter do not show which mode is faster */
typedef struct brim_mode_result {
  brim_mode mode;
  uint64_t steps, rows, tokens, slots;
  double seconds, tokens_per_second; /* of training alone, at the pace of the median round; real tokens */
  double padding_share, loss;        /* 1 - tokens / slots; mean over the rows of the last epoch */
  brim_metrics metrics;
  bool evaluated;
  /* Real tokens a second of the whole run by those of the first mode: the median of the rounds' ratios, and between which ratios
   * it lies (the least and the greatest; of 8 rounds and more without one of each, of 10 and more without two). NaN: too few
   * rounds. Where 1 is between them, the rounds do not say which of the two is faster. */
  double speed, speed_low, speed_high;
  brim_mode_round rounds[BRIM_MOST_ROUNDS]; /* [round_count] */
  int round_count;
} brim_mode_result;
/* Trains once per mode from identical weights, head and seed; the model's values are restored at the end. Modes take turns, in at
 * most BRIM_MOST_ROUNDS rounds of as many steps as each mode has, so that whatever else the machine does hits all alike; what
 * comes out of a mode is what a separate run gives, to the bit. Those that wait keep their weights and the optimizer's states
 * in memory; where that does not fit into memory_limit, or into what the machine has, there is one round. A step is taken and
 * forgotten before the first clock runs. `eval` may be NULL. Nothing is written; `options->output` is not looked at. Options of a
 * mode may differ in how steps are composed, cut and computed; the optimizer, what is frozen, averaged weights, the memory limit
 * and the group are those of the comparison, or BRIM_E_USAGE names the mode.
 *
 * Events are those of training; before them "rounds" (modes, rounds, steps of all modes, memory_kept in bytes, fits: false if one
 * round is all that memory allows), and before each turn "mode" (name, batching, padding, index, count, round, rounds): the
 * events after it are that mode's. results: [mode_count]. */
BRIM_API int brim_compare(brim_runtime *runtime, brim_model *model, const brim_dataset *train, const brim_dataset *eval,
                          const brim_train_options *options, const brim_mode *modes, int mode_count, brim_mode_result *results,
                          brim_error *err) BRIM_CHECK;

/* ---- folds ------------------------------------------------------------------------------------------------ */

/* Which rows are held out together: fold f is validated by a model that was trained on all others. */
typedef struct brim_folds {
  int32_t count; /* folds */
  uint64_t rows;
  int32_t *fold;   /* [rows] 0 .. count-1 */
  uint64_t *sizes; /* [count] rows of each, none empty */
  int tests;       /* of brim_train_folds: so many of `evals`, the last, are predicted; without labels they are not measured, also
                      where the order of a row's documents would say which is relevant. Embeddings, which have no predictions, are */
  brim_runtime *runtime;
} brim_folds;
enum { BRIM_MOST_FOLDS = 1000 };

/* A random order, cut into `count` runs whose sizes differ by one at most: a pure function of (rows, count, seed). 2 <= count <=
 * rows; BRIM_E_USAGE otherwise. */
BRIM_API int brim_folds_shuffle(brim_runtime *runtime, uint64_t rows, int32_t count, uint64_t seed, brim_folds *out,
                                brim_error *err) BRIM_CHECK;
/* The same of a data set's rows, of which a reranker's stay together where they have one query: then the largest groups are dealt
 * out first, each to the fold with the fewest rows; groups of one size as brim_folds_shuffle deals so many rows. */
BRIM_API int brim_folds_deal(brim_runtime *runtime, const brim_dataset *dataset, int32_t count, uint64_t seed, brim_folds *out,
                             brim_error *err) BRIM_CHECK;
/* The same, with every fold like the whole: each class is dealt out evenly (a class with fewer rows than folds is BRIM_E_USAGE
 * and is named); values are sorted and cut into bins of `count` rows, of which each fold gets one. Needs one label a row, or
 * labels of words: then rows go, those with the rarest classes first, where their rarest class has the fewest words so far; sizes
 * differ by one row at most. A reranker's rows, which stay together by query, are BRIM_E_USAGE. */
BRIM_API int brim_folds_stratify(brim_runtime *runtime, const brim_dataset *dataset, int32_t count, uint64_t seed,
                                 brim_folds *out, brim_error *err) BRIM_CHECK;
/* As the caller says; `count` 0: as many as there are. A number outside 0 .. count-1 or a fold without rows is BRIM_E_USAGE. */
BRIM_API int brim_folds_given(brim_runtime *runtime, const int32_t *fold, uint64_t rows, int32_t count, brim_folds *out,
                              brim_error *err) BRIM_CHECK;
/* As a column of the data set's own files says, whole numbers from 0: the files are read a second time (standard input cannot
 * be). `source` as for the data set; its label column is not looked at. */
BRIM_API int brim_folds_read(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *source,
                             const char *column, const brim_dataset *dataset, int32_t count, brim_folds *out,
                             brim_error *err) BRIM_CHECK;
/* Holds a share of the rows out, above 0 and below 1, rounded to whole rows, of which each part has one at least; both parts in
 * the data set's order, copies. A reranker's rows of one query stay together: it is a share of the queries. Which rows they are
 * is a pure function of (rows, share, seed). */
BRIM_API int brim_hold_out(brim_runtime *runtime, const brim_dataset *dataset, double share, uint64_t seed, brim_dataset **kept,
                           brim_dataset **held, brim_error *err) BRIM_CHECK;
BRIM_API void brim_folds_free(brim_folds *folds); /* what it holds, not the struct */

/* Tokens of a fold's held-out part that its training part never shows: what frozen embeddings could not learn, and what a trained
 * embedding has not learned. A type is a token id, a token one occurrence of it: train_types - both_types are in training
 * alone, both_types in both, unseen_types in the held-out part alone. */
typedef struct brim_token_count {
  int32_t id;
  uint64_t count;
} brim_token_count;
typedef struct brim_fold_overlap {
  uint64_t train_rows, valid_rows, train_tokens, valid_tokens;
  uint64_t train_types, valid_types, both_types;
  uint64_t unseen_types, unseen_tokens, unseen_rows; /* rows: with at least one of them */
  brim_token_count *unseen;                          /* [unseen_types] most frequent first, then by id */
} brim_fold_overlap;
typedef struct brim_overlap {
  brim_fold_overlap *folds; /* [count] */
  int32_t count;
  brim_runtime *runtime;
} brim_overlap;
BRIM_API int brim_study_folds(brim_runtime *runtime, const brim_dataset *dataset, const brim_folds *folds, brim_overlap *out,
                              brim_error *err) BRIM_CHECK;
BRIM_API void brim_overlap_free(brim_overlap *overlap);

typedef struct brim_fold_result {
  uint64_t train_rows, valid_rows;
  brim_train_result run;
  brim_metrics metrics; /* of the held-out part, with the fold's final weights */
} brim_fold_result;
/* A data set as all fold models together see it. */
typedef struct brim_fold_average {
  const char *name; /* borrowed from the caller's list */
  float *logits;    /* [rows or tokens, outputs] the logits of the mean probabilities, or the means of values */
  bool evaluated;   /* every row has a label, or needs none since its texts are compared: there are metrics */
  brim_metrics metrics;
} brim_fold_average;
typedef struct brim_folds_result {
  brim_fold_result *folds; /* [count]; those from `done` on were not reached */
  int32_t count, done;
  float *logits;        /* [rows or tokens, outputs] out of fold, in input order: each row by the model that has not seen it */
  brim_metrics metrics; /* of these, over all rows */
  brim_fold_average *averages; /* [average_count] one for each of `evals` */
  int average_count;
  brim_runtime *runtime;
} brim_folds_result;

/* Trains one model a fold, each from the model's present values and with the same options, and lets it predict its held-out rows
 * and all of `evals` (labels are not needed there). During training a fold is evaluated on its held-out part, "valid", then on
 * those of `evals` that can be measured.
 *
 *   output/folds.csv     row,fold: the assignment, rows by their number in the source
 *   output/fold-N/       a run folder each, as brim_train makes it
 *   output/log.jsonl     "folds", a "fold" with its metrics after each, "end" with those of all rows
 *
 * `options->resume` continues in the fold that was not finished; finished ones only predict again. With `options->overwrite` an
 * earlier run (fold-N, folds.*, predictions*.jsonl, report.html) lies in replaced-run until all folds are done, and is removed
 * then. An assignment other than that of folds.csv is BRIM_E_MISMATCH. Events are those of training, with "fold" (fold, count,
 * train_rows, valid_rows) before each. The model's values are restored at the end. *result is to be freed, also after a failure:
 * it then holds what was done. */
BRIM_API int brim_train_folds(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer,
                              const brim_dataset *dataset, const brim_folds *folds, const brim_named_dataset *evals,
                              int eval_count, const brim_train_options *options, brim_folds_result *result,
                              brim_error *err) BRIM_CHECK;
BRIM_API void brim_folds_result_free(brim_folds_result *result);

/* ---- many ranks ------------------------------------------------------------------------------------------- */

/* What a step of training would take on many ranks. docs/users/scaling.md has the formulas. All pointers are borrowed. */
typedef struct brim_scaling_question {
  brim_runtime *runtime;
  brim_lengths lengths;          /* of the rows, in tokens */
  const brim_plan_options *plan; /* world_size is not looked at */
  brim_model *model;
  const char *folder; /* of the model */
  double bandwidth;   /* bytes a second of a rank's link, each way */
  double latency;     /* seconds from one rank to another */
  double speed;       /* FLOPs a second of a rank, as brim_model_flops counts them; 0: to be measured */
  double update; /* seconds of an optimizer's update on one rank; 0: to be measured, or reckoned from the bytes that it moves */
} brim_scaling_question;

/* Means of the first steps of an epoch, in seconds. */
typedef struct brim_scaling {
  int32_t ranks;
  double rows, tokens_a_row; /* of a rank and step */
  double compute;            /* of the rank that has most to do */
  double balance;            /* its share, by the mean */
  double bytes;              /* of the gradient, as sums of it would send */
  double communication;      /* of a step, alone */
  double exposed;            /* what backward does not hide of it */
  double update;
  double step;    /* compute + exposed + update */
  double sharded; /* the same with the optimizer's state and update shared out */
} brim_scaling;

/* Fills in what is 0 of speed and update from the plan's first part, computed on this machine by the runtime's threads; the model
 * is prepared for it, and its weights stay as they are. BRIM_E_UNSUPPORTED: labels of tokens. */
BRIM_API int brim_scaling_measure(brim_scaling_question *question, brim_error *err) BRIM_CHECK;
/* speed, bandwidth and latency are given. */
BRIM_API int brim_scaling_of(const brim_scaling_question *question, int32_t ranks, brim_scaling *out, brim_error *err) BRIM_CHECK;
/* Seconds of a step where pairs of ranks share every product (tensor parallelism); an even number of ranks. */
BRIM_API int brim_scaling_in_pairs(const brim_scaling_question *question, int32_t ranks, double *seconds,
                                   brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
