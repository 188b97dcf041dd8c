/* trainer.h: one training run, between its parts. */
#ifndef BRIM_TRAIN_TRAINER_H
#define BRIM_TRAIN_TRAINER_H
#include "reduce/reduce.h"
#include "task/task.h"
#include "train/answers/evaluate.h"
#include "train/checkpoint.h"
#include "train/host_loss.h"
#include "train/memory.h"
#include "train/schedule.h"
#include "train/supply.h"

typedef struct brim_eval_set {
  const char *name;
  const brim_dataset *dataset;
  brim_dataset *mapped; /* as the model numbers its labels, which is then `dataset`; NULL: it was so */
  uint64_t *firsts;     /* brim_logit_firsts */
  brim_plan *plan;      /* made once: the same parts at every evaluation */
  bool evaluated;       /* by this process */
} brim_eval_set;

/* What a run that is resumed has otherwise than before. */
typedef struct brim_resumed {
  bool longer, other_kernels;
  bool log_lost;            /* log.jsonl does not reach as far as the checkpoint knows */
  uint64_t former_steps;    /* of the whole run, as it was planned */
  double rate, former_rate; /* of the next step */
  char former_kernels[64];
} brim_resumed;

typedef struct brim_trainer {
  brim_runtime *runtime;
  brim_model *model;
  const brim_tokenizer *tokenizer;
  brim_train_options options; /* a copy, with everything that was left open filled in */
  brim_supply supply;         /* of the training data */
  brim_outlook outlook;
  brim_model_limits eval_limits; /* of the largest parts of the evaluation sets */
  uint64_t warmup;
  double *class_weights;     /* [outputs] or NULL */
  const brim_metric *metric; /* what decides the best, of evals[metric_set]; NULL: one of options.own_metrics */
  int metric_set;
  bool decides;         /* it was asked for: the rows of its set have to allow it */
  bool small;           /* of it less is better */
  brim_eval_set *evals; /* [eval_room] */
  int eval_count, eval_room;
  brim_dataset **masked; /* [masked_count] evaluation sets of masked words */
  int masked_count;
  brim_run_folder folder;
  brim_run_found found; /* in it, by rank 0 */
  brim_train_identity identity;

  brim_train_state state;
  brim_train_state safe; /* the last moment that a checkpoint may be made of */
  uint64_t saved_step;   /* of the newest checkpoint; NO_STEP: none */
  brim_resumed resumed;

  brim_reduce *reduce;      /* from the ranks' gradients to every rank's weights */
  brim_host_loss host_loss; /* where the target's loss is not the device's */
  brim_batch batch;
  float *logits, *part_logits; /* of evaluation */
  brim_outcome *outcomes;      /* instead of logits: classification; with own metrics besides */
  bool evaluated;              /* by this process */
  float *best;                 /* weights of the best evaluation, where no checkpoint has them, or NULL */
  brim_train_state best_state; /* theirs */
  uint64_t model_step;         /* whose weights the model has at the end */
  int asked;                   /* BRIM_DO_.. since the last boundary, on rank 0 */
  float *average;              /* of the weights, or NULL */
  uint64_t average_first, average_every;
  brim_memory_plan memory;
  struct brim_turns *turns; /* turn.h; NULL: the run is made at once */

  double start;          /* when this process began to train */
  double earlier;        /* seconds that the run had taken before */
  uint64_t tokens_here;  /* trained since `start` */
  brim_rank_times times; /* likewise, of this rank */
} brim_trainer;

#define BRIM_NO_STEP UINT64_MAX

/* start.c: checks everything, plans, takes all memory, opens the run folder and finds where to begin. */
int brim_trainer_open(brim_trainer *trainer, const brim_named_dataset *evals, int eval_count, brim_error *err) BRIM_CHECK;
/* After it, on all ranks: how their gradients come together. */
int brim_trainer_open_reduce(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
void brim_trainer_close(brim_trainer *trainer);
/* Makes the supply ready for the next step. */
int brim_trainer_open_epoch(brim_trainer *trainer, brim_error *err) BRIM_CHECK;

/* resume.c: goes to the newest checkpoint, if there is one, and sees whether the run has become longer. */
int brim_trainer_resume(brim_trainer *trainer, brim_error *err) BRIM_CHECK;

/* step.c: one optimizer step. Leaves the state pending; weights are as before when it fails. BRIM_E_CANCELLED when the runtime
 * was cancelled, with the step done (pending) or not begun. */
int brim_trainer_step(brim_trainer *trainer, brim_error *err) BRIM_CHECK;

/* boundary.c: what follows a step: evaluation, end of epoch, checkpoint. */
int brim_trainer_boundary(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
/* Goes back to the last safe moment and writes a checkpoint of it, if there is none yet. */
int brim_trainer_interrupt(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
/* The final model, into the run folder itself. */
int brim_trainer_finish(brim_trainer *trainer, brim_error *err) BRIM_CHECK;

/* turn.c, of a run in turns: it becomes what it was when it began to wait, if it has, and its clock begins; it begins to wait. */
int brim_trainer_take_turn(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
int brim_trainer_keep_turn(brim_trainer *trainer, brim_error *err) BRIM_CHECK;

/* events.c. A brim_event_fn of a trainer: the caller's function hears of it, and what it asks for is noted. */
int brim_trainer_hear(void *trainer, const brim_event *event);
/* Every rank calls these; rank 0 writes. */
double brim_trainer_seconds(const brim_trainer *trainer);
/* Epochs done, as a fraction. */
double brim_trainer_epochs_done(const brim_trainer *trainer);
int brim_trainer_emit_start(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
/* What is said of the run's folder, if anything is. */
int brim_trainer_emit_folder(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
/* Removes checkpoints that are not kept, and says what of others was in them. On rank 0 alone. */
int brim_trainer_prune(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
int brim_trainer_emit_resume(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
int brim_trainer_emit_step(brim_trainer *trainer, double loss, double lr, double norm, brim_error *err) BRIM_CHECK;
/* `own`: metrics of the caller's. */
int brim_trainer_emit_eval(brim_trainer *trainer, const char *name, const brim_metrics *metrics, const brim_own_metric *own,
                           int own_count, bool averaged, bool logged, brim_error *err) BRIM_CHECK;
/* Quartiles of cosines of what belongs together and of what does not; nothing where rows have scores instead. */
int brim_trainer_emit_cosines(brim_trainer *trainer, const char *name, const brim_found_rows *found, bool logged,
                              brim_error *err) BRIM_CHECK;
int brim_trainer_emit_epoch(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
int brim_trainer_emit_checkpoint(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
/* Of several ranks: where the time of each went. */
int brim_trainer_emit_ranks(brim_trainer *trainer, brim_error *err) BRIM_CHECK;
/* `failure` NULL: the run reached its end. */
int brim_trainer_emit_end(brim_trainer *trainer, const char *failure, brim_error *err) BRIM_CHECK;

#endif
