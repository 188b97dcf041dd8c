/* model.h: a model, between the files of this folder.
 *
 * Letters as in ops/ops.h: R slots, n sequences. */
#ifndef BRIM_MODEL_MODEL_H
#define BRIM_MODEL_MODEL_H
#include "brim/model.h"
#include "model/config.h"
#include "model/ready.h"
#include "model/run/optimizer.h"
#include "model/run/queue.h"
#include "model/schedule.h"
#include "ops/ops.h"

/* A batch as it is laid out, and what a pass works in: pieces of the block, in the device's memory. */
typedef struct brim_slots {
  int32_t *ids, *positions, *sequence, *first; /* [R], [R], [R], [n] */
  uint8_t *types;                              /* [R] */
  int32_t *offsets, *lengths;                  /* [n+1], [n] */
  uint32_t *places;                            /* [n] */
  int32_t *skipped;                            /* [n] tokens of prompts that are not pooled; NULL: all are */
  float *labels;                               /* [n, width of labels]; NULL: the memory is the host's, which has them */
  double *class_weights;                       /* [outputs]; likewise */
  int32_t *classes; /* [R] of labels of tokens, on the host too; of masked tokens [chosen]; else NULL */
  int32_t *chosen;  /* [chosen] slots of masked tokens; else NULL */
  void *workspace;
  size_t workspace_size;
  char *memory[BRIM_REGIONS]; /* of a schedule's values */
} brim_slots;

/* Where the slices of the laid out batch end, for each kind of rows that they cut: the host's, which devices with slices share.
 */
typedef struct brim_slice_ends {
  int32_t count; /* 0: there are none, or one */
  int32_t names[BRIM_MOST_SLICES], texts[BRIM_MOST_SLICES], slots[BRIM_MOST_SLICES];
  uint8_t joins[BRIM_MOST_SLICES];
  double losses[BRIM_MOST_SLICES]; /* of each */
} brim_slice_ends;

/* One way of using the block. */
typedef struct brim_stage {
  brim_model_limits limits; /* max_slots 0: not prepared */
  brim_slots slots;
  brim_slots laid[BRIM_MOST_QUEUED]; /* of these the laid out batches that wait to be sent, in host memory: the same pieces where
                                        the device's memory is the host's */
  brim_call_schedule asked, all;     /* of what the head reads, and of all tokens; they share the memory */
} brim_stage;

/* What the last forward was, for backward. */
typedef struct brim_tape {
  brim_layout layout;
  brim_stage *stage;      /* NULL: there was none */
  const brim_slots *laid; /* of the stage */
  const brim_call_schedule *schedule;
  brim_frame frame;
  bool training, all_tokens, backward_done;
  int32_t chosen; /* masked tokens */
  bool seeded;    /* the logits have a gradient that the host computed */
} brim_tape;

struct brim_model {
  brim_runtime *runtime;
  brim_arena arena; /* names and tables */
  brim_config config;
  struct brim_sentence *sentence; /* of embeddings; NULL: of no other task */
  brim_program program;
  const char **unused, **initialized;
  int32_t unused_count, initialized_count;
  uint64_t tokenizer;                       /* brim_model_set_tokenizer */
  int32_t prompt_tokens[BRIM_MOST_PROMPTS]; /* with which the texts of a row begin, and which are not pooled */
  const char **former_classes;              /* [labels]; NULL: the classifier's names are the file's, or the file has none */

  const brim_ops *ops;
  brim_ops timed; /* what `ops` points at while there is a profile */
  brim_ops_context context;

  /* In the device's memory: values, gradients, moments, answers, bytes of rows, and the blocks that they are in. */
  void *values_block;
  real *values;          /* NULL: brim_model_options.no_values */
  double *answers;       /* [BRIM_ANSWERS]: the gradient's sum of squares, and losses */
  int32_t reinit_layers; /* layers from the top whose weights were not read */
  brim_trained trained;
  char *frozen_words, *only_words; /* what says so; NULL: nothing */
  const brim_optimizer *optimizer;
  bool returns;                               /* decay is towards the values at the start of training */
  double mixout;                              /* 0: none */
  real *gradients, *states[BRIM_MOST_STATES]; /* [trained.size]; NULL before prepare(training) */
  real *start, *kept;        /* likewise: values at the start, and of a step while they are mixed; NULL: unused */
  brim_dropout mixing;       /* of the step whose weights were mixed last; off once its gradient is used */
  bool mixed, unmixed;       /* the values are; what makes them whole again is queued */
  brim_update_range *ranges; /* [range_count] in the arena, one a trained tensor */
  int32_t *range_weights;    /* [range_count] whose they are */
  int32_t range_count;
  uint8_t *touched, *alive, *done, *wanted; /* a byte for each row of each trained embedding */
  uint8_t *host_touched, *host_wanted;      /* where the host marks rows: the same memory if it can be */
  size_t embedding_rows;
  brim_update_step *past; /* updates that rows of embeddings may be late by */
  int32_t past_count;
  bool dirty;                           /* gradients may hold something */
  int32_t queued;                       /* forwards whose losses wait in the answers */
  double loss_scales[BRIM_MOST_QUEUED]; /* of these: 1 where there is none */
  bool update_queued;                   /* and an update, which is this step */
  brim_update_step queued_step;
  void *state_block, *rows_block; /* rows_block: host_touched, and host_wanted of each queued forward, if they are others */
  size_t state_size;

  void *int8_block; /* quantized weights; NULL: not prepared for them */
  size_t int8_size;
  void **packed;  /* [packed weights of the program] in the arena; they are in the block */
  bool int8_made; /* and they are those of the values */

  void *half_block; /* weights of products in 16 bits; NULL: not prepared for them */
  size_t half_size;
  brim_bfloat *half; /* in the block: copies of values[half_from .. half_end] */
  int64_t half_from, half_end;
  bool half_made; /* and they are those of the values */

  brim_call_schedule *plan; /* with which sizes are found */
  void *layout_block;       /* host memory of brim_stage.laid, if it is another */
  size_t layout_size;
  void *work_block;
  size_t work_size;
  brim_stage train, predict;
  brim_tape tape;
  const brim_ready_hook *ready; /* of backward, or NULL */
  brim_slice_ends slices;
};

enum { BRIM_ANSWER_SQUARE, BRIM_ANSWER_LOSS, BRIM_ANSWERS = BRIM_ANSWER_LOSS + BRIM_MOST_QUEUED };

/* ---- memory.c */
int brim_model_reserve_schedules(brim_model *model, brim_error *err) BRIM_CHECK;
/* The schedule of passes within these limits, until the next call that plans or prepares. Takes no memory for them. */
int brim_model_plan(const brim_model *model, const brim_model_limits *limits, const brim_call_schedule **out,
                    brim_error *err) BRIM_CHECK;
/* Operations from now on work in this stage's memory. */
void brim_model_enter(brim_model *model, const brim_stage *stage);
/* Writes to all memory of passes, between two of them: where steps are measured, the first large one is not to pay for fresh
 * pages. */
void brim_model_touch_memory(brim_model *model);
void brim_model_release_memory(brim_model *model);
/* BRIM_E_MEMORY: so many bytes of the device's memory could not be had. */
int brim_model_no_memory(const brim_model *model, size_t size, brim_error *err);
/* BRIM_E_USAGE: they were not loaded. */
int brim_model_no_values(brim_error *err);
/* Gradients and states; the model must be prepared again before it is trained. */
void brim_model_release_state(brim_model *model);
/* Whether a weight's values are those of the folder, not made new. */
bool brim_model_is_pretrained(const brim_model *model, const brim_parameter *parameter);
/* Training starts from the values as they are now: those that decay and mixout go back to, where they do. */
void brim_model_mark_start(brim_model *model);

/* Where the gradient of the value at `offset` is added up; NULL: it has none. */
static inline real *brim_model_gradient(const brim_model *model, int64_t offset) {
  const int64_t at = brim_trained_at(&model->trained, offset);
  return at < 0 ? NULL : model->gradients + at;
}

/* Whether the head is of masked words, and how many of them a part may have. */
bool brim_model_masks(const brim_model *model);
int64_t brim_model_most_chosen(const brim_model *model, const brim_model_limits *limits);

/* ---- batch_layout.c: checks a batch and lays it out in the slots of the model's tape */
int brim_model_lay_out(brim_model *model, const brim_batch *batch, const brim_pass *pass, bool labels,
                       brim_error *err) BRIM_CHECK;

/* ---- int8.c: predictions with products of bytes */
void brim_model_release_int8(brim_model *model);
/* Quantizes all products, if the values are others than last time. */
void brim_model_make_int8(brim_model *model);

/* ---- half_weights.c: weights of products in 16 bits */
/* Bytes; where the block's copies are of the program's weights. */
size_t brim_model_half_size(const brim_model *model);
int brim_model_take_half(brim_model *model, brim_error *err) BRIM_CHECK;
void brim_model_release_half(brim_model *model);
/* Rounds them, if the values are others than last time. */
void brim_model_make_half(brim_model *model);
/* Where an update writes the copy of a weight; NULL: there is none. */
brim_bfloat *brim_model_half_copy(const brim_model *model, const brim_weight *weight);

/* ---- update.c */
/* Marks the rows of embeddings that the laid out batch reads. */
void brim_model_touch(brim_model *model);
/* Brings these rows up to date. */
void brim_model_catch_up_batch(brim_model *model);
/* What an update is done with, which counts as queued from here on. */
int brim_model_begin_update(brim_model *model, const brim_update_options *options, brim_update *out, brim_error *err) BRIM_CHECK;
/* The update that was queued has been. */
void brim_model_updated(brim_model *model);

/* ---- weights.c */
/* Where masked words may have either of two heads: that of which the folder has tensors, whatever config.json says. */
int brim_weights_find_head(brim_runtime *runtime, const char *folder, brim_config *config, brim_error *err) BRIM_CHECK;
/* Values from the folder's files, where the model has room for them; fills the lists of unused and initialised tensors. With
 * options->labels a head of another label count is initialised instead of refused. */
int brim_weights_load(brim_model *model, const char *folder, const brim_model_options *options, brim_error *err) BRIM_CHECK;

#endif
