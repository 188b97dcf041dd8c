/* brim/study.h: numbers about data and runs. */
#ifndef BRIM_STUDY_H
#define BRIM_STUDY_H
#include "brim/train.h"
#ifdef __cplusplus
extern "C" {
#endif

/* One way of batching and padding, planned over a whole epoch. */
typedef struct brim_strategy_study {
  brim_batching batching; brim_padding padding;
  brim_ledger ledger;      /* drops is not filled */
  double padding_share;    /* 1 - tokens / slots */
} brim_strategy_study;

typedef struct brim_study {
  uint64_t rows, tokens, truncated, lost;
  int32_t shortest, longest; double mean, median;
  int32_t percentiles[101];     /* of length: at least p % of the rows are no longer than percentiles[p] */
  uint64_t *histogram;          /* [longest + 1] rows of each length */
  brim_strategy_study *strategies; int strategy_count;
  brim_runtime *runtime;
} brim_study;

/* Lengths, truncation and the padding of every strategy side by side (epoch 0 of the given seed), most slots first. Combinations that
 * only repeat another's figures are left out: ragged slots are the tokens and max_length slots are rows times width, whoever goes
 * together. `options` gives batch_size or max_tokens and the rest; its batching and padding are not looked at. What it leaves open:
 * max_length padding takes the longest row, windows are 10,000 rows, and `packed` packs into max_tokens or else into what batch_size
 * rows of full length take. */
BRIM_API int brim_study_dataset(brim_runtime *runtime, const brim_dataset *dataset, const brim_plan_options *options, brim_study *out,
                                brim_error *err) BRIM_CHECK;
BRIM_API void brim_study_free(brim_study *study);

/* One mode of a comparison. */
typedef struct brim_mode { const char *name; brim_batching batching; brim_padding padding; } brim_mode;
typedef struct brim_mode_result {
  brim_mode mode;
  uint64_t steps, rows, tokens, slots;
  double seconds, tokens_per_second; /* of training alone; real tokens */
  double padding_share, loss;        /* 1 - tokens / slots; mean over the rows of the last epoch */
  brim_metrics metrics; bool evaluated;
} brim_mode_result;
/* Trains once per mode from identical weights, head and seed: the model's values are restored between modes and at the end. One step
 * is taken and forgotten before the first clock runs. `eval` may be NULL. Nothing is written; `options->output` is not looked at.
 * Events are those of training, with "mode" (name, batching, padding, index, count) before each. results: [mode_count]. */
BRIM_API int brim_compare(brim_runtime *runtime, brim_model *model, const brim_dataset *train, const brim_dataset *eval,
                          const brim_train_options *options, const brim_mode *modes, int mode_count, brim_mode_result *results,
                          brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
