/* state.h: where a run is between two optimizer steps, and how that is written and compared. */
#ifndef BRIM_TRAIN_STATE_H
#define BRIM_TRAIN_STATE_H
#include "brim/train.h"

/* Sums over rows since some moment. */
typedef struct brim_tally {
  double loss;   /* summed over rows, each with its weight */
  double weight; /* sum of these weights: the rows, but with class weights */
  uint64_t rows, tokens, slots;
} brim_tally;

/* Independent of the number of ranks and threads.
 *
 *   step k -> pending -> evaluation, end of epoch -> not pending -> checkpoint (scheduled) -> step k + 1
 *
 * An interrupted run may have to write its checkpoint at any of these arrows. */
typedef struct brim_train_state {
  uint64_t step;              /* optimizer steps done */
  uint64_t epoch, epoch_step; /* epoch of the next step, and its steps done */
  bool pending;               /* what follows step `step` has not been done yet */
  bool scheduled;             /* this checkpoint is one that an uninterrupted run writes too */
  brim_tally run, since_epoch, since_log;
  uint64_t negatives, left_out; /* brim_loss_found since the last "step" event */
  double last_loss;             /* mean over the rows of the last finished epoch */
  double best;
  uint64_t best_step;
  double seconds;     /* spent until here, earlier parts of the run included */
  uint64_t log_bytes; /* length of log.jsonl that belongs to this state */
  double reference;   /* best_metric at the last evaluation that patience counts as better */
  uint64_t waited;    /* evaluations since then */
  bool stopped;       /* patience is at its end: no further step */
  uint64_t averaged;  /* weights in the average */
  /* fp16: the factor of the loss of the next step (0: as the options say, or there is none), steps that it has served since it
   * changed, and steps whose gradient was not finite with theirs, which changed no weight */
  double loss_scale;
  uint64_t scaled, skipped;
} brim_train_state;

/* Where a rank's time goes in its steps, in seconds: up to its own gradient; until all ranks have theirs; what is left of the sum
 * of all. */
typedef struct brim_rank_times {
  double compute, wait, communication;
} brim_rank_times;

/* What may be otherwise in the run that resumes, as it was when the checkpoint was written. */
typedef struct brim_train_former {
  double epochs; /* 0: max_steps were given */
  uint64_t max_steps, judged_by;
  char kernels[64];
} brim_train_former;

/* What a checkpoint must share with the run that resumes from it; kernels only without resume_anyway. */
typedef struct brim_train_identity {
  const brim_train_options *options;
  const char *model_type, *kernels;
  char pooling[BRIM_POOLING_NAME + BRIM_LAYERS_NAME + 16]; /* and of which layers */
  const brim_model *model;                                 /* for what its config.json says */
  bool type_ids;                                           /* the model looks at them */
  uint64_t initial_weights;                                /* hash of the weights that the run began with */
  uint64_t data_rows, data_fingerprint;
  uint64_t judged_by; /* fingerprint of the evaluation set that decides which checkpoint is the best; 0: there is none */
} brim_train_identity;

/* Hashes that show a damaged checkpoint. */
typedef struct brim_train_hashes {
  uint64_t values, optimizer, average; /* optimizer: of its states */
} brim_train_hashes;

/* The options that decide the weights and the best of them, as fields: for the start event, the state and its comparison. What
 * was not given is null. Returns their number. */
enum { BRIM_TRAIN_OPTION_FIELDS = 69 };
int brim_train_option_fields(const brim_train_options *options, brim_field fields[BRIM_TRAIN_OPTION_FIELDS]);
/* As the field of an option is called where it is given: the order's seed is the run's there. */
const char *brim_train_option_name(const char *field);

/* {"name":value,...} */
void brim_fields_put(brim_json_writer *json, const char *name, const brim_field *fields, int count);

int brim_train_state_write(brim_runtime *runtime, const char *path, const brim_train_state *state,
                           const brim_train_identity *identity, const brim_train_hashes *hashes, brim_error *err) BRIM_CHECK;
/* Appends ,"digest":"..."} and a line end: the hash of all bytes before it. By it a state.json proves to be brim's, and whole. */
void brim_train_state_seal(brim_text *text);
/* Is the file a state.json whose digest fits, or one of the version before, which had none? False where there is none. */
int brim_train_state_is_ours(brim_runtime *runtime, const char *path, bool *ours, brim_error *err) BRIM_CHECK;
/* May the file be a state.json, whole or damaged? Another program's is not. */
bool brim_train_state_begins_well(const char *path);
/* BRIM_E_MISMATCH when the state is another run's, with the first thing that differs. How long the run was to be is not compared:
 * it goes to *former, which may be NULL. */
int brim_train_state_read(brim_runtime *runtime, const char *path, const brim_train_identity *identity, brim_train_state *state,
                          brim_train_hashes *hashes, brim_train_former *former, brim_error *err) BRIM_CHECK;
/* Only the kernels' name, in fresh memory, and the option max_tokens. */
int brim_train_state_kernels(brim_runtime *runtime, const char *path, char **kernels, int64_t *max_tokens,
                             brim_error *err) BRIM_CHECK;

#endif
