/* brim/train.h: fine-tune, evaluate, predict. Emits events, never prints. */
#ifndef BRIM_TRAIN_H
#define BRIM_TRAIN_H
#include "brim/device.h"
#include "brim/dist.h"
#include "brim/feed.h"
#include "brim/model.h"
#ifdef __cplusplus
extern "C" {
#endif

/* How the learning rate falls after the warm-up, which rises linearly from 0. */
typedef enum brim_schedule {
  BRIM_SCHEDULE_LINEAR = 0, /* a line to 0 */
  BRIM_SCHEDULE_COSINE,     /* half a cosine to 0 */
  BRIM_SCHEDULE_CONSTANT    /* not at all */
} brim_schedule;
BRIM_API const char *brim_schedule_name(brim_schedule schedule); /* "linear", "cosine", "constant"; "unknown" */
/* False for any other name. */
BRIM_API bool brim_schedule_parse(const char *name, brim_schedule *out);

/* The weights that a run ends with. */
typedef enum brim_final {
  BRIM_FINAL_AUTO = 0, /* BEST where there is an evaluation set, and patience or best_metric was given; else LAST */
  BRIM_FINAL_LAST,     /* those of the last step, or with swa_start their average */
  BRIM_FINAL_BEST      /* those of the best evaluation; not with swa_start */
} brim_final;
BRIM_API const char *brim_final_name(brim_final final); /* "auto", "last", "best"; "unknown" */
/* False for any other name. */
BRIM_API bool brim_final_parse(const char *name, brim_final *out);

/* When a run evaluates, or writes a checkpoint. Its last step does, unless it never does. */
typedef enum brim_rhythm {
  BRIM_EACH_EPOCH = 0, /* at the end of each epoch, and every so many steps where that is given */
  BRIM_EVERY_STEPS,    /* every so many steps alone; checkpoints without such a number: at the last step, and of the best */
  BRIM_NEVER
} brim_rhythm;

typedef struct brim_eval_options {
  brim_batching batching;
  brim_padding padding;
  int64_t batch_size;       /* rows computed at once; 0: 32 */
  int64_t max_tokens;       /* slots computed at once; 0: no limit */
  int32_t max_length;       /* width of BRIM_PAD_MAX_LENGTH; 0: the dataset's longest row */
  brim_precision precision; /* BF16: the layers' products multiply 16-bit values, as training in bf16 does: the same outputs.
                              INT8: they multiply bytes, which is near fp32. Of brim_predict and brim_evaluate: evaluations of
                              brim_train are fp32. FP16 is BRIM_E_UNSUPPORTED */
  uint64_t *confusion;      /* brim_evaluate counts into it, see brim_confusion_count; NULL: not wanted. Not for regression */
  brim_outcome *outcomes;   /* brim_evaluate fills [rows] of it, in input order; NULL: not wanted. Classification alone; of
                               labels of tokens [labelled tokens] (brim_dataset_token_labels) */
  float *logits;       /* brim_evaluate fills [rows, outputs] of it, in input order; NULL: not wanted. Not for classification */
  brim_event_fn event; /* "progress": phase, done, total (rows), rate, unit */
  void *event_context;
  brim_group group; /* zero: single. Of brim_predict and brim_evaluate: ranks share the rows out, each computes its own, and all
                       have the results of all. Those of brim_train have its group */
} brim_eval_options;

/* What an evaluation came to, with the outputs of every row. All is borrowed for the call that has it. */
typedef struct brim_evaluation {
  const char *name; /* of the set */
  uint64_t step;
  bool averaged; /* of the averaged weights of the end */
  const brim_dataset *dataset;
  const float *logits; /* [rows, outputs] in the order of the set; NULL for classification and tokens, which have outcomes */
  const brim_outcome *outcomes; /* [rows] of classification, or [labelled tokens], in the order of the set; NULL else */
  const brim_metrics *metrics;
  const brim_labels *labels; /* the model's, which logits, outcomes and the set's labels are numbered by; NULL: the set's own */
  int32_t outputs;           /* numbers of a row of logits; of rows of several texts, of each text */
  brim_meaning meaning;      /* of logits */
} brim_evaluation;
typedef void (*brim_evaluated_fn)(void *context, const brim_evaluation *evaluation);

/* A metric of the caller's. */
enum { BRIM_MOST_OWN_METRICS = 16 };
typedef struct brim_own_metric {
  char name[48];
  double value;
} brim_own_metric;
/* Fills metrics[0 .. *count), at most BRIM_MOST_OWN_METRICS; one that is named as one of brim's takes its place. For every
 * task evaluation->logits are there: [rows, outputs], or of labelled tokens in their order. A status ends the run. */
typedef int (*brim_own_metrics_fn)(void *context, const brim_evaluation *evaluation, brim_own_metric *metrics, int *count,
                                   brim_error *err);

typedef struct brim_train_options {
  /* step */
  brim_plan_options plan; /* batching, padding, batch_size, max_tokens, ... */
  double epochs;          /* ignored when max_steps > 0; a fraction of an epoch is its first batches */
  uint64_t max_steps;
  /* model */
  const char *freeze;          /* what is not trained: brim_model_freeze; NULL: everything is */
  const char *train_only;      /* names of tensors, which alone are trained: brim_model_train_only; NULL: all */
  bool checkpoint_activations; /* less memory for a third more computing: brim_model_limits */
  brim_precision precision;    /* of the layers' products, and of what is kept for backward */
  /* fp16: the loss is multiplied, first by loss_scale (a power of two; 0: 65536), so that gradients do not vanish in 16 bits. A
   * step whose gradient is not finite changes no weight and halves the factor; after loss_scale_steps (0: 2000) without one in a
   * row it doubles, up to 2^24. Micikevicius et al., "Mixed precision training" (2018), 3.2 */
  double loss_scale;
  uint64_t loss_scale_steps;
  /* optimizer */
  const char *optimizer; /* brim_optimizer_options; NULL: adamw */
  double lr, beta1, beta2, eps, weight_decay, clip;
  double momentum;           /* of optimizers that have one */
  const char *decay_towards; /* "zero" or NULL; "pretrained": brim_optimizer_options.returns */
  double mixout;             /* brim_optimizer_options.mixout; 0: none */
  double layer_lr_decay;     /* brim_update_options.layer_decay; 1: every layer has lr */
  brim_schedule schedule;
  uint64_t warmup_steps;
  double warmup_ratio; /* share of all steps, used when warmup_steps is 0 */
  /* loss of training; evaluation reports the plain mean over rows */
  brim_loss_options loss;    /* of embeddings and rerankers */
  const char *class_weights; /* NULL: all 1. "NAME=X,NAME=Y": of classes by name, 1 for the rest; a name with a comma
                                in quotes, as a field of csv. "balanced": rows / (classes *
                                rows of the class), as scikit-learn. The mean divides by the sum of the weights of the whole
                                optimizer step's rows. Multi-label: weights of the positive terms, BCEWithLogitsLoss's
                                pos_weight, "balanced" rows without the label / rows with it; the mean is over rows and labels.
                                Of a feed "balanced" goes by brim_labels.rows of its labels, without weights of sources. Not for
                                regression */
  /* Of a model of masked words (ForMaskedLM): the share of a text's tokens, without special ones, that are to be found, at least
   * one; two shares, "0.3:0.15", are of the first and the last step, between which it falls or rises evenly; NULL: 0.15. Which
   * tokens they are follows from `seed`, the epoch and the row; 80 % of them become the mask token, 10 % another of the
   * vocabulary and 10 % stay. Training and evaluation then take rows whose tokens are numbered (brim_encode_options.numbering),
   * without labels; rows whose tokens have ids as labels are masked already. Evaluation masks by the last share, the same tokens
   * at every time and in every run. */
  const char *mask_rate;
  double label_smoothing; /* e of CrossEntropyLoss: e / classes of the target is spread over all classes; classification */
  /* rhythm, in optimizer steps; 0: only at epoch ends (eval, save) or every step (log: 1) */
  uint64_t log_every, eval_every, save_every;
  brim_rhythm eval_when, save_when; /* the best evaluation so far is saved too. NEVER: no checkpoint but that of an interruption,
                                       after whose resume the best evaluation begins again */
  int32_t keep_checkpoints;         /* newest kept besides the best; 0: all */
  const char *best_metric; /* NULL: accuracy or rmse; or loss, f1, matthews, f1_micro, f1_macro, pearson, spearman. Of the first
                              evaluation set, or of another: "mismatched/accuracy". Or one of own_metrics */
  bool best_is_small;      /* of a best_metric of own_metrics, which are needed: less is better */
  brim_final final;        /* without output, or with save_when NEVER, BEST takes the memory of the weights once more */
  uint64_t patience;       /* the run ends after so many evaluations in a row in which best_metric did not become better, by
                              more than min_delta, than at the last that counted; before it is first defined none counts; 0: never */
  double min_delta;
  /* Stochastic weight averaging: the final model is the mean of the weights after step ceil(swa_start * steps) and every
   * swa_every steps after it (0: about twenty times), evaluated once more; checkpoints hold the weights themselves and the
   * average so far. */
  double swa_start; /* share of all steps, such as 0.75; 0: no averaging */
  uint64_t swa_every;
  uint64_t memory_limit; /* bytes that the process may come to hold, evaluation included; 0: no limit. Parts of steps are made
                            as small as that takes (plan.max_tokens), which needs plan.batch_size, and evaluation computes no
                            more at once than they; what does not fit is BRIM_E_USAGE and says what would. A run that is
                            resumed keeps its parts, whatever the limit is then */
  /* How evaluation sets are computed; progress goes to `event` below. batch_size and max_tokens 0: as much at once as the memory
   * of training holds. Results do not depend on it but for rounding. */
  brim_eval_options eval;
  bool resume; /* not with overwrite. Resume from the newest checkpoint of `output` if there is one; more epochs or max_steps than
                  it was begun with make the run longer */
  bool resume_anyway;       /* also where the model was loaded with other kernels than the run was begun with: what is computed
                               from there on differs in rounding from what the former would compute */
  bool overwrite;           /* a folder that holds a run or anything else is refused unless this is set: an old run is replaced
                               (and is in replaced-run until the new one has a checkpoint; a run that fails or is cancelled before
                               its first step puts it back), other files stay, and a "folder" event names them. What is a run is proved by
                               content: a log.jsonl that begins with brim's event, or checkpoints/step-N/state.json with its digest */
  uint64_t seed;            /* of dropout; the plan's order has its own in plan.seed */
  const char *output;       /* RUN folder; NULL: nothing is written */
  const char *options_json; /* a JSON value that the caller wants recorded in the `start` event; NULL: nothing */
  brim_event_fn event;      /* one that returns BRIM_E_CANCELLED stops the run as brim_runtime_cancel does: step finished,
                               checkpoint written; any other status ends it there and then. BRIM_DO_EVALUATE, BRIM_DO_SAVE,
                               or both added together: after this step the run evaluates, or writes a checkpoint; of an event before
                               the first step, or of a checkpoint, after the next step; of one after the last, nothing */
  void *event_context;
  brim_evaluated_fn evaluated; /* after each "eval" event, from the same thread, with event_context; not of masked words, whose
                                  labels have no names; NULL: nobody looks */
  brim_own_metrics_fn own_metrics; /* before each "eval" event, which has them, likewise; NULL: there are none */
  brim_group group;                /* zero: single */
  brim_profile *profile;           /* counts where the time goes; NULL: nobody looks */
} brim_train_options;

/* Defaults of training: batch 16 at random, ragged, 1 epoch, AdamW with lr 5e-5, clip 1, no decay, no warm-up, seed 42.
 */
BRIM_API void brim_train_options_init(brim_train_options *options);
/* BRIM_E_USAGE with the option's name and what to give instead. */
BRIM_API int brim_train_options_check(const brim_train_options *options, brim_error *err) BRIM_CHECK;

typedef struct brim_named_dataset {
  const char *name;
  const brim_dataset *dataset;
} brim_named_dataset;

typedef struct brim_train_result {
  uint64_t steps, rows, tokens, slots;
  double loss; /* mean over the samples of the last epoch */
  double seconds;
  double best_metric;
  const char *metric;  /* what that is: best_metric of the options, or the task's own; NULL without an evaluation */
  uint64_t best_step;  /* NaN and 0 without evaluation */
  uint64_t model_step; /* whose weights the model has: the last, or the best */
  uint64_t averaged; /* steps whose weights were averaged; 0: the model has the last ones (swa_start was not reached, or is 0) */
  bool resumed, interrupted, stopped_early;
} brim_train_result;

/* brim_dataset_load of ranks, all of which load the same sets in the same order: of those on one machine that have the same files
 * and options one reads, and the others map its rows, or read for themselves where that cannot be had. A rank that fails ends
 * all. BRIM_SHARE_ROWS=none in the environment: each reads. */
BRIM_API int brim_dataset_load_together(const brim_group *group, brim_runtime *runtime, const char *const *paths, int path_count,
                                        const brim_tokenizer *tokenizer, const brim_dataset_options *options, brim_dataset **out,
                                        brim_error *err) BRIM_CHECK;

/* Which tokens are masked, and with what. */
typedef struct brim_mask_options {
  const char *rate;                /* brim_train_options.mask_rate, of which the last share counts */
  double mask_share, random_share; /* of those chosen become the mask token, or any other; the rest stay */
  uint64_t seed, epoch;
} brim_mask_options;
/* As an evaluation during training has it, which is the same in every run: BERT's shares. */
BRIM_API void brim_mask_options_init(brim_mask_options *options);
/* Rows whose tokens are numbered (brim_encode_options.numbering), masked: a token that was chosen has its id as label, all others
 * BRIM_NO_LABEL. It is what brim_evaluate takes for a model of masked words. Random tokens are below `ids`, the model's
 * vocabulary, and the tokenizer's; 0: the latter. Borrows the rows: free it before them. */
BRIM_API int brim_dataset_mask(brim_runtime *runtime, const brim_dataset *dataset, const brim_tokenizer *tokenizer, int32_t ids,
                               const brim_mask_options *options, brim_dataset **out, brim_error *err) BRIM_CHECK;

/* Whether encoded rows and a model belong together: what training, evaluation and prediction ask before they begin. Tokenizer (by
 * content, where both are known), length (rows are cut to `cut`; 0: not), ids and types; with `labels` also the task, the classes
 * and that every row has a label. Classes are the same by their names: a set that has them in another order, or lacks some, fits,
 * and *mapped is the set as the model numbers it: it borrows the rows, and is freed before them. NULL: the set is so already, or
 * its labels are class ids or values as the model takes them. What does not fit is BRIM_E_MISMATCH: a line that names both sides
 * and the set (`name`). */
BRIM_API int brim_dataset_fit(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, int32_t cut,
                              bool labels, const char *name, brim_dataset **mapped, brim_error *err) BRIM_CHECK;

/* Trains `model` on `train`, evaluating on each of `evals`, whose names differ.
 *
 *   output/log.jsonl                one event a line: start, step, eval, epoch, checkpoint, end
 *   output/checkpoints/step-N/      weights, config, tokenizer files (a model in itself), optimizer.safetensors, state.json
 *   output/checkpoints/best         link to the best of them, once there was an evaluation
 *   output/                         at the end the model (the last weights, or the best: `final`), with the tokenizer's files
 *                                   (NULL: none)
 *
 * A run that ends with weights of an earlier step evaluates them once more, without a line in the log.
 *
 * Checkpoints are complete or absent. `resume` continues from the newest one: the remaining steps, the weights and the log (but
 * for its seconds) come out as if nothing had happened, with any number of threads. Data, options or a model that do not fit the
 * checkpoint are BRIM_E_MISMATCH, and so are other rows in the set that decides the best evaluation. A run, finished or not, is
 * made longer by more epochs or max_steps: from the step reached on it has the learning rates of the longer run, the best
 * evaluation so far counts, and weights are averaged from swa_start of the longer run on. With BRIM_SCHEDULE_CONSTANT (and the
 * same steps of warm-up) the weights are those of a run begun that long. A run whose patience is at its end is BRIM_E_MISMATCH
 * then. The "resume" event has both rates, and is logged. On cancellation the step is finished, a checkpoint written and
 * BRIM_E_CANCELLED returned; after the last step the run ends as it would have; before the first there is nothing to write, and a
 * run that is not resumed leaves the folder as it was, without an "end" event. A loss or gradient that is not finite is
 * BRIM_E_DIVERGED, naming step and rows; the weights stay as they were before that step. Two runs into one folder are refused.
 * Rank 0 alone writes and emits events; the other ranks may be given the same options. `result` may be NULL. */
BRIM_API int brim_train(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, const brim_dataset *train,
                        const brim_named_dataset *evals, int eval_count, const brim_train_options *options,
                        brim_train_result *result, brim_error *err) BRIM_CHECK;

/* The same on data larger than memory. The feed's plan takes the place of options->plan; it needs labels, those of the model, and
 * max_length, and its rank is the group's. max_steps must be given, and the feed's `epochs` should be 0: one that ends sooner
 * ends the run, with the learning rate that max_steps asked for. The feed is moved to its place by `resume` and may be used by
 * nobody else. Its place is in each checkpoint's feed.json; other files or options are BRIM_E_MISMATCH. */
BRIM_API int brim_train_feed(brim_runtime *runtime, brim_model *model, const brim_tokenizer *tokenizer, brim_feed *feed,
                             const brim_named_dataset *evals, int eval_count, const brim_train_options *options,
                             brim_train_result *result, brim_error *err) BRIM_CHECK;

/* The newest complete checkpoint of a run folder, for those who must know before they load the model. */
typedef struct brim_checkpoint_info {
  char *folder; /* output/checkpoints/step-N */
  uint64_t step;
  int64_t max_tokens; /* slots computed at once, given or chosen by memory_limit; 0: no limit */
  char *kernels;      /* for brim_model_options.kernels: results are bit-identical with the same kernels only */
  brim_runtime *runtime;
} brim_checkpoint_info;
/* No checkpoint (or no folder): BRIM_OK, and folder is NULL. */
BRIM_API int brim_checkpoint_find(brim_runtime *runtime, const char *output, brim_checkpoint_info *out,
                                  brim_error *err) BRIM_CHECK;
BRIM_API void brim_checkpoint_info_free(brim_checkpoint_info *info);

/* Sorted, ragged, 32 rows at once: fast, and the order of the results is the input's anyway. */
BRIM_API void brim_eval_options_init(brim_eval_options *options);

/* logits [rows, outputs] in input order, whatever the batching; where labels are of tokens [tokens, outputs], of all tokens of
 * all rows, which none may cut. `options` NULL: the defaults. Rows must fit the model (length, ids). An output that is not a
 * finite number is BRIM_E_DIVERGED: no class comes of damaged weights. */
BRIM_API int brim_predict(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *options,
                          float *logits, brim_error *err) BRIM_CHECK;
/* Of a model on a GPU: the logits stay there, *out has them when the call returns, and nothing comes to the host. Nobody looks
 * whether they are finite. One process; BRIM_E_UNSUPPORTED: several, or a model in the host's memory. The caller frees *out. */
BRIM_API int brim_predict_gpu(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset,
                              const brim_eval_options *options, brim_gpu_memory **out, brim_error *err) BRIM_CHECK;
/* brim_predict a row at a time, in input order: `logits` [outputs], or of the row's tokens [length, outputs], are borrowed for
 * the call of the function, whose status, if it is not BRIM_OK, ends it. Memory is that of rows_at_once rows (0: what 64 MB of
 * logits hold), which are computed together; results depend on their number by rounding alone. Rows in error messages are numbers
 * in the source (brim_dataset_origin). */
typedef int (*brim_predicted_fn)(void *context, uint64_t row, const float *logits, brim_error *err);
BRIM_API int brim_predict_each(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset,
                               const brim_eval_options *options, uint64_t rows_at_once, brim_predicted_fn predicted,
                               void *context, brim_error *err) BRIM_CHECK;
BRIM_API int brim_evaluate(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset,
                           const brim_eval_options *options, brim_metrics *out, brim_error *err) BRIM_CHECK;
/* Rows of label i that are predicted as j: counts [outputs, outputs]. Multi-label: counts [outputs, 2, 2], of each label rows
 * without and with it, predicted without and with it. Regression and tokens are BRIM_E_USAGE. */
BRIM_API int brim_confusion_count(brim_task task, int32_t outputs, const float *logits, const brim_dataset *dataset,
                                  uint64_t *counts, brim_error *err) BRIM_CHECK;

/* inspect: hidden, logits, loss, grad.*, grad_norm of one batch, dropout off, written to a safetensors file. */
BRIM_API int brim_inspect_gradients(brim_runtime *runtime, brim_model *model, const brim_dataset *batch, brim_padding padding,
                                    const char *output, brim_error *err) BRIM_CHECK;
/* inspect: trains as a golden trajectory.json says, dropout off; each step as a "step" event (step, lr, loss, grad_norm); the
 * weights after the last step go to `output`. */
BRIM_API int brim_inspect_trajectory(brim_runtime *runtime, brim_model *model, const brim_dataset *batch,
                                     const char *hyperparameters, brim_padding padding, const char *output, brim_event_fn event,
                                     void *event_context, brim_error *err) BRIM_CHECK;
/* inspect: one step of an embedding's or reranker's loss without dropout, computed in parts of so many rows (0: at once):
 * embeddings.K or logits, loss, grad.*, written to a safetensors file. A row is [ids of a text, ..] with a label, or without. */
BRIM_API int brim_inspect_step(brim_runtime *runtime, brim_model *model, const brim_dataset *rows, const brim_loss_options *loss,
                               uint64_t rows_at_once, brim_padding padding, const char *output, brim_error *err) BRIM_CHECK;
/* inspect: losses of vectors and scores that a file lists, [{"loss", "options", "columns": [[vector of row 0, ..], ..] or
 * "logits", "labels"?, "groups"?, "texts"?}], with their gradients: a line {"loss", "grad"} for each. A loss that brim does not
 * know is
 * {"unknown": its name}, and BRIM_E_UNSUPPORTED when all lines are written. */
BRIM_API int brim_inspect_losses(brim_runtime *runtime, const char *path, brim_text *out, brim_error *err) BRIM_CHECK;
/* inspect: metrics of numbers in a file, a line for each entry. "similarity": {"pairs": [{"first", "second", "labels"}],
 * "triplets":
 * [{"anchor", "positive", "negative", "margin"}]}. "retrieval": [{"similarity", "queries", "corpus", "relevant", "at"?}], vectors
 * by name. "reranking": [{"queries": [{"scores", "relevant"}]}]. */
BRIM_API int brim_inspect_metrics(brim_runtime *runtime, const char *kind, const char *path, brim_text *out,
                                  brim_error *err) BRIM_CHECK;

/* ---- outputs and inputs ----------------------------------------------------------------------------------- */

/* What a path of a call is for. */
typedef enum brim_path_use {
  BRIM_READS_FILE = 1,
  BRIM_READS_DATA,  /* a file, a folder of files, a pattern, or any of them after NAME= */
  BRIM_READS_MODEL, /* a folder of a model, a tokenizer or a run, or one file of it */
  BRIM_KEEPS,       /* a folder of files that brim writes and reads again */
  BRIM_WRITES_FILE,
  BRIM_WRITES_RESUMABLE, /* PATH, and next to it PATH.partial and PATH.partial.json */
  BRIM_WRITES_RUN        /* the folder of a run */
} brim_path_use;

typedef struct brim_path {
  brim_path_use use;
  const char *name; /* as messages say it: "--output", "output" */
  const char *path;
} brim_path;

/* Looks, before anything is done, whether an output of a call would replace one of its inputs (by inode, files of folders too),
 * another output or what a run writes itself, or cannot be written where it is: BRIM_E_USAGE or BRIM_E_IO. What is wrong with
 * inputs is left to who reads them. `resume`: the run is continued, which decides the words of a message. */
BRIM_API int brim_check_outputs(brim_runtime *runtime, const brim_path *paths, size_t count, bool resume,
                                brim_error *err) BRIM_CHECK;

#ifdef __cplusplus
}
#endif
#endif
