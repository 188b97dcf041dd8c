/* evaluate.h: predictions over a planned data set, with memory that is already there: what the training loop calls. */
#ifndef BRIM_TRAIN_EVALUATE_H
#define BRIM_TRAIN_EVALUATE_H
#include "brim/train.h"
#include "target/found.h"

/* Widens `limits` to the largest part of any rank in a plan: the same on every rank. */
void brim_limits_widen(brim_model_limits *limits, const brim_plan *plan, int32_t world_size);

/* Every token has a result: BRIM_E_USAGE where labels are of tokens and some row would be cut to `cut`. */
int brim_refuse_cut(const brim_model *model, const brim_dataset *dataset, int32_t cut, const char *name,
                    brim_error *err) BRIM_CHECK;

/* Room for the logits of a part of these limits, of texts or of tokens. Of masked words there are none: their outcomes come from
 * the model. NULL: no memory. */
float *brim_logits_alloc(brim_runtime *runtime, const brim_model *model, const brim_model_limits *limits);

/* Outcomes that a data set has: one a row, or one a labelled token. */
uint64_t brim_outcome_count(const brim_dataset *dataset);
/* What they are worth, by the task of `labels`. */
int brim_outcomes_judge(brim_runtime *runtime, const brim_labels *labels, const brim_outcome *outcomes,
                        const brim_dataset *dataset, brim_metrics *out, brim_error *err) BRIM_CHECK;

/* Rows of logits that a model gives of a row of a data set: 1, or one for each token or text. */
uint64_t brim_row_logits(const brim_model *model, const brim_dataset *dataset, uint64_t row);
/* Where those of each row begin among those of all rows, [rows + 1], to be released; NULL: a row has one. */
int brim_logit_firsts(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, uint64_t **out,
                      brim_error *err) BRIM_CHECK;

/* One pass over a plan of a data set. Borrowed throughout; nothing is allocated once `batch` has grown. */
typedef struct brim_prediction {
  brim_runtime *runtime;
  brim_model *model; /* prepared for the plan's parts */
  const brim_dataset *dataset;
  const brim_plan *plan;
  const brim_group *group; /* each rank computes its parts; all get all logits */
  brim_batch *batch;
  float *part_logits;     /* brim_logits_alloc */
  brim_outcome *outcomes; /* [brim_outcome_count]: what is wanted where labels are classes; NULL: logits alone are */
  float *there;           /* in the model's device's memory: where logits are wanted, instead of the host's; of one process */
  const uint64_t *firsts; /* [rows + 1] where the logits of each row's tokens or texts begin; NULL: a row has one */
  brim_event_fn event;    /* "progress"; may be NULL */
  void *event_context;
} brim_prediction;

/* logits: [rows, tokens or texts, outputs] in input order; where outcomes are wanted [outcomes, outputs], or NULL. */
int brim_prediction_run(const brim_prediction *prediction, float *logits, brim_error *err);

/* Equal for pairs of one query. */
uint64_t brim_row_query(const brim_sample *pair);
/* Metrics from logits of this meaning. Of tokens classes are named as the data set's
 * mapping says. */
int brim_metrics_compute(brim_runtime *runtime, brim_task task, int32_t outputs, brim_meaning meaning, const float *logits,
                         const brim_dataset *dataset, brim_metrics *out, brim_error *err) BRIM_CHECK;
/* The same of a model's. */
int brim_model_metrics(brim_runtime *runtime, const brim_model *model, const float *logits, const brim_dataset *dataset,
                       brim_metrics *out, brim_error *err) BRIM_CHECK;
/* Whether the task's target finds what became of single rows: `most` of them at equal distances, or all. Close it in any case. */
bool brim_finds_rows(brim_task task);
typedef struct brim_found_rows {
  brim_scored scored;
  brim_row_found *rows; /* [count] rows 0, every, 2 every, .. */
  uint64_t every, count;
  uint64_t *hashes;
} brim_found_rows;
int brim_found_open(brim_runtime *runtime, brim_task task, int32_t outputs, brim_meaning meaning, const float *logits,
                    const brim_dataset *dataset, uint64_t most, brim_found_rows *out, brim_error *err) BRIM_CHECK;
void brim_found_close(brim_found_rows *found);
/* Whether these rows can be measured, before there are outputs: BRIM_E_MISMATCH names the set and the row. Where
 * brim_metrics_tried, *out is NaN if labels do not allow a metric, and any number elsewhere; of other tasks it says nothing.
 * NULL: the check alone. */
bool brim_metrics_tried(brim_task task);
int brim_metrics_possible(brim_runtime *runtime, brim_task task, const brim_dataset *dataset, const char *name, brim_metrics *out,
                          brim_error *err) BRIM_CHECK;

#endif
