/* brim/train.h: fine-tune, evaluate, predict. Emits events, never prints. */
#ifndef BRIM_TRAIN_H
#define BRIM_TRAIN_H
#include "brim/dist.h"
#include "brim/model.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct brim_train_options {
  /* step */
  brim_plan_options plan;      /* batching, padding, batch_size, max_tokens, ... */
  double epochs;               /* ignored when max_steps > 0 */
  uint64_t max_steps;
  /* optimizer */
  double lr, beta1, beta2, eps, weight_decay, clip;
  uint64_t warmup_steps;
  double warmup_ratio;         /* share of all steps, used when warmup_steps is 0 */
  /* rhythm, in optimizer steps; 0: only at epoch ends (eval, save) or every step (log: 1) */
  uint64_t log_every, eval_every, save_every;
  int32_t keep_checkpoints;    /* newest kept besides the best; 0: all */
  const char *best_metric;     /* NULL: accuracy or rmse */
  bool resume;                 /* go on from the newest checkpoint of `output` if there is one */
  bool overwrite;              /* a run folder that holds something else is refused unless this is set */
  uint64_t seed;
  const char *output;          /* RUN folder; NULL: nothing is written */
  const char *options_json;    /* what the caller wants recorded in the `start` event; NULL: nothing */
  brim_event_fn event;
  void *event_context;
  brim_group group;            /* zero: single */
} brim_train_options;

/* Defaults of training (design, section 6). */
BRIM_API void brim_train_options_init(brim_train_options *options);
BRIM_API int brim_train_options_check(const brim_train_options *options, brim_error *err) BRIM_CHECK;

typedef struct brim_named_dataset { const char *name; const brim_dataset *dataset; } brim_named_dataset;

typedef struct brim_train_result {
  uint64_t steps, rows, tokens, slots;
  double loss;            /* mean over the samples of the last epoch */
  double seconds;
  double best_metric; uint64_t best_step; /* NaN and 0 without evaluation */
  bool resumed, interrupted;
} brim_train_result;

/* Trains `model` on `train`, evaluating on each of `evals`. Writes output/log.jsonl, output/checkpoints/step-N, and at the end the
 * final model (the last weights) in output/. The tokenizer's files are saved with it (NULL: none). On cancellation a checkpoint is
 * written first and BRIM_E_CANCELLED returned. */
BRIM_API int brim_train(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, const brim_dataset *train,
                        const brim_named_dataset *evals, int eval_count, const brim_train_options *options,
                        brim_train_result *result, brim_error *err) BRIM_CHECK;

/* Learning rate of optimizer step k (from 1): linear warm-up from 0, then linear decay to 0 at `total` (Hugging Face's schedule,
 * lr(k) = lr * lambda(k-1)). */
BRIM_API double brim_linear_schedule(double lr, uint64_t step, uint64_t warmup, uint64_t total);

typedef struct brim_metrics {
  uint64_t rows, tokens, slots;
  double loss;                       /* mean over rows */
  double accuracy, f1, matthews;     /* classification; f1: of class 1 for two classes, macro otherwise. NaN where undefined */
  double rmse, pearson, spearman;    /* regression */
  double seconds;
} brim_metrics;

typedef struct brim_eval_options {
  int64_t batch_size;      /* rows computed at once; 0: 32 */
  int64_t max_tokens;      /* 0: none */
  brim_batching batching;  /* default sorted */
  brim_padding padding;
  brim_event_fn event;     /* "progress" */
  void *event_context;
} brim_eval_options;

/* logits [rows, outputs] in input order, whatever the batching. */
BRIM_API int brim_predict(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                          float *logits, brim_error *err) BRIM_CHECK;
BRIM_API int brim_evaluate(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                           brim_metrics *out, brim_error *err) BRIM_CHECK;
/* Metrics from logits that the caller has. */
BRIM_API int brim_metrics_compute(brim_runtime *runtime, brim_task task, int32_t outputs, const float *logits,
                                  const brim_dataset *dataset, brim_metrics *out, brim_error *err) BRIM_CHECK;
/* Softmax of one row of logits in double, largest first subtracted. */
BRIM_API void brim_softmax(const float *logits, int32_t count, double *probabilities);

/* inspect: hidden, logits, loss, grad.*, grad_norm of one batch, dropout off, written to a safetensors file. */
BRIM_API int brim_inspect_gradients(brim_runtime *runtime, brim_model *model, const brim_dataset *batch, brim_padding padding,
                                    const char *output, brim_error *err) BRIM_CHECK;
/* inspect: trains as a golden trajectory.json says, dropout off; each step as a "step" event (step, lr, loss, grad_norm); the
 * weights after the last step go to `output`. */
BRIM_API int brim_inspect_trajectory(brim_runtime *runtime, brim_model *model, const brim_dataset *batch, const char *hyperparameters,
                                     brim_padding padding, const char *output, brim_event_fn event, void *event_context,
                                     brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
