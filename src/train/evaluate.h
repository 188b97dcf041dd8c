/* evaluate.h: predictions over a planned data set, with memory that is already there: what the training loop calls. */
#ifndef BRIM_TRAIN_EVALUATE_H
#define BRIM_TRAIN_EVALUATE_H
#include "brim/train.h"

/* Widens `limits` to the largest part of any rank in a plan over rows of these lengths: the same on every rank. */
void brim_limits_widen(brim_model_limits *limits, const brim_plan *plan, int32_t world_size, const int32_t *lengths);

/* Every row of the data set fits the model: length (rows are cut to `cut`; 0: not), ids and, with `labels`, labels. */
int brim_dataset_fits(const brim_model *model, const brim_dataset *dataset, int32_t cut, bool labels, const char *name,
                      brim_error *err) BRIM_CHECK;

/* Results are kept by rows so far: BRIM_E_UNSUPPORTED where the model's labels are of tokens. */
int brim_refuse_tokens(const brim_model *model, brim_error *err) BRIM_CHECK;

/* One pass over a plan of a data set. Borrowed throughout; nothing is allocated once `batch` has grown. */
typedef struct brim_prediction {
  brim_runtime *runtime;
  brim_model *model; /* prepared for the plan's parts */
  const brim_dataset *dataset;
  const brim_plan *plan;
  const brim_group *group; /* each rank computes its parts; all get all logits */
  brim_batch *batch;
  float *part_logits;     /* [most rows of a part, outputs] */
  brim_outcome *outcomes; /* [rows]: what is wanted of a classification; NULL: logits are */
  brim_event_fn event;    /* "progress"; may be NULL */
  void *event_context;
} brim_prediction;

/* logits: [rows, outputs] in input order; not looked at where outcomes are wanted. */
int brim_prediction_run(const brim_prediction *prediction, float *logits, brim_error *err);

#endif
