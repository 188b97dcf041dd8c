/* model.h: a model, between the files of this folder.
 *
 * Letters as in ops/ops.h: R slots, H hidden, F intermediate, A heads, n sequences, C outputs, L layers. */
#ifndef BRIM_MODEL_MODEL_H
#define BRIM_MODEL_MODEL_H
#include "brim/model.h"
#include "model/config.h"
#include "model/parameters.h"
#include "ops/ops.h"

/* What a training forward keeps of a layer: 10 R H values where F = 4H, and the norms' and softmax' sums. Outputs of the norms
 * and the activation are made anew in backward. The last layer has n rows instead of R (but for keys and values), unless the pass
 * is for all tokens.
 *
 * With checkpoints the trained layers share one such set and each keeps its input; backward runs their forward again. In bf16
 * they share one set too, and each keeps its input and, without checkpoints, a copy of the set in 16 bits (the sums of norms and
 * softmax stay as they are), so that parts of the set which are not needed at once lie in the same memory. Frozen layers, and all
 * layers of a prediction, pass through shared memory and keep nothing. */
typedef struct brim_narrow_slots {
  brim_bfloat *input, *qkv, *context, *attention_sum, *pre, *output_sum;
} brim_narrow_slots;

typedef struct brim_layer_slots {
  real *input;   /* [R, H] of the lowest trained layer, with checkpoints of each; or NULL */
  real *qkv;     /* [R, 3H]; last layer: keys and values [R, 2H] */
  real *context; /* [R, H] */
  real *lse;     /* [A, R] */
  real *attention_sum, *attention_mean, *attention_rstd; /* [R, H], [R], [R] */
  real *pre;                                             /* [R, F] */
  real *output_sum, *output_mean, *output_rstd;          /* [R, H], [R], [R] */
  brim_narrow_slots narrow;                              /* as those of the same names; or NULL */
} brim_layer_slots;

/* All working memory of a pass, carved from one block. NULL in a prediction: what only backward needs. */
typedef struct brim_slots {
  int32_t *ids, *positions, *sequence, *first;                   /* [R], [R], [R], [n] */
  uint8_t *types;                                                /* [R] */
  int32_t *offsets, *lengths;                                    /* [n+1], [n] */
  uint32_t *places;                                              /* [n] */
  real *embed_sum, *embed_mean, *embed_rstd;                     /* [R, H], [R], [R] */
  brim_bfloat *narrow_embed_sum;                                 /* [R, H]; then embed_sum is y */
  brim_layer_slots *layers;                                      /* [L], in the arena */
  real *first_input, *first_query;                               /* [n, H] of the last layer: rows of its input, queries */
  int32_t *chosen;                                               /* [n, H] where the largest values were; NULL: not asked for */
  real *x, *y, *wide;                                            /* [R, H], [R, H], [R, max(F, 3H)] */
  real *gradient, *branch;                                       /* [R, H], [R, H] */
  real *head_input, *head_hidden, *head_dropped, *head_gradient; /* [n, H] */
  real *logits, *dlogits;                                        /* [n, C] */
  void *workspace;
  size_t workspace_size;
} brim_slots;

/* A layer's weights as bytes. */
typedef struct brim_int8_layer {
  brim_int8 query, keys_values, attention_output, up, down;
} brim_int8_layer;

/* One way of using the block. */
typedef struct brim_stage {
  brim_model_limits limits; /* max_slots 0: not prepared */
  brim_slots slots;
} brim_stage;

/* What the last forward was, for backward. */
typedef struct brim_tape {
  brim_layout layout;
  brim_stage *stage; /* NULL: there was none */
  bool training, dropout, all_tokens, backward_done;
  uint32_t key[2];
} brim_tape;

struct brim_model {
  brim_runtime *runtime;
  brim_arena arena; /* names and tables */
  brim_config config;
  brim_parameters parameters;
  const char **unused, **initialized;
  int32_t unused_count, initialized_count;
  const char **former_classes; /* [labels]; NULL: the classifier's names are the file's, or the file has none */

  const brim_ops *ops;
  brim_ops timed; /* what `ops` points at while there is a profile */
  brim_ops_context context;

  real *values;
  int32_t frozen;                      /* parts from below: 1 the embeddings, 1 + n these and n layers; 0: nothing */
  char frozen_name[24];                /* the same in words */
  int64_t trained;                     /* offset of the first trained value */
  real *gradients, *moment1, *moment2; /* of values[trained ..]; NULL before prepare(training) */
  brim_update_range *ranges;           /* [range_count], one a trained tensor; offsets count from `trained` */
  int32_t range_count;
  uint8_t *touched, *alive, *done, *wanted; /* a byte for each row of each trained table */
  size_t table_rows;
  brim_update_step *past; /* updates that rows of tables may be late by */
  int32_t past_count;
  bool dirty; /* gradients may hold something */
  void *state_block;
  size_t state_size;

  void *int8_block; /* quantized weights; NULL: not prepared for them */
  size_t int8_size;
  brim_int8_layer *int8_layers; /* [layers] */
  bool int8_made;               /* and they are those of the values */

  void *work_block;
  size_t work_size;
  brim_stage train, predict;
  brim_tape tape;
};

/* ---- memory.c */
/* Operations from now on work in this stage's memory. */
void brim_model_enter(brim_model *model, const brim_stage *stage);
void brim_model_release_memory(brim_model *model);
/* Gradients and moments; the model must be prepared anew before it is trained. */
void brim_model_release_state(brim_model *model);

/* ---- freeze.c */
/* The lowest layer that is trained; the number of layers: only the head is. */
int32_t brim_model_lowest_layer(const brim_model *model);
/* Where the gradient of the parameter at `offset` is added up; NULL: it is frozen. */
static inline real *brim_model_gradient(const brim_model *model, int64_t offset) {
  return offset < model->trained ? NULL : model->gradients + (offset - model->trained);
}

/* ---- batch_layout.c: checks a batch and lays it out in the slots of the model's tape */
int brim_model_lay_out(brim_model *model, const brim_batch *batch, const brim_pass *pass, bool labels,
                       brim_error *err) BRIM_CHECK;

/* ---- sites of dropout: stable, since they are part of what makes a run reproducible */
enum { BRIM_SITE_EMBEDDING = 0, BRIM_SITE_HEAD_INPUT = 1, BRIM_SITE_HEAD_HIDDEN = 2 };
enum { BRIM_SITE_ATTENTION_OUTPUT = 0, BRIM_SITE_OUTPUT = 1, BRIM_SITE_ATTENTION = 0x100 /* + head */ };
static inline uint32_t brim_site_of_layer(int32_t layer, uint32_t site) {
  return ((uint32_t)layer + 1) << 16 | site;
}
brim_dropout brim_model_dropout(const brim_model *model, double p, uint32_t site); /* off in passes without dropout */

/* ---- encoder.c: what forward and backward of a layer agree on */
brim_dropout brim_model_attention_output_dropout(const brim_model *model, int32_t layer);
brim_dropout brim_model_output_dropout(const brim_model *model, int32_t layer);
brim_attention brim_model_attention(const brim_model *model, int32_t layer);
brim_embed brim_model_embed(const brim_model *model);
/* What a branch of a layer is added to, and the norm that follows. */
brim_residual brim_model_residual(const brim_model *model, int32_t layer, brim_dropout dropout, const real *residual,
                                  brim_pair_at norm);
/* The last layer is computed only for the first token of each sequence, unless the pass is for all tokens or the head sees all.
 */
bool brim_model_first_only(const brim_model *model, int32_t layer);
brim_rows brim_model_first_rows(const brim_model *model);
brim_rows brim_model_layer_rows(const brim_model *model, int32_t layer);

/* ---- forward.c */
/* One layer from x to `out`, which may be x itself unless the layer is kept for backward. */
void brim_layer_forward(brim_model *model, int32_t layer, const real *x, real *out);

/* ---- int8.c: predictions with products of bytes */
void brim_model_release_int8(brim_model *model);
/* Quantizes all layers, if the values are others than last time. */
void brim_model_make_int8(brim_model *model);
/* As brim_layer_forward. */
void brim_layer_forward_int8(brim_model *model, int32_t layer, const real *x, real *out);
static inline bool brim_model_is_int8(const brim_model *model) {
  return model->tape.stage->limits.precision == BRIM_PRECISION_INT8;
}

/* ---- keep.c: what a forward in bf16 keeps for backward; nothing to do in fp32 */
void brim_embedding_keep(brim_model *model);
void brim_embedding_recall(brim_model *model);
/* The input of a layer, slots.x, before its forward; x becomes what was kept. */
void brim_layer_keep_input(brim_model *model, int32_t layer);
/* Queries, keys, values and context, before the rest is computed; and the rest. */
void brim_layer_keep_attention(brim_model *model, int32_t layer);
void brim_layer_keep_output(brim_model *model, int32_t layer);
/* Makes that of the layer's set what it was, rounded: from its copy, or in place where it is still there. */
void brim_layer_recall_output(brim_model *model, int32_t layer);
void brim_layer_recall_attention(brim_model *model, int32_t layer);
/* The layer's input in slots.x. */
void brim_layer_recall_input(brim_model *model, int32_t layer);

/* ---- head.c */
void brim_head_forward(brim_model *model);
/* From dlogits to the gradient of the first tokens, slots.gradient [n, H], if anything below the head is trained. */
void brim_head_backward(brim_model *model);

/* ---- update.c */
/* Marks the rows of tables that the laid out batch reads. */
void brim_model_touch(brim_model *model);
/* Brings these rows up to date. */
void brim_model_catch_up_batch(brim_model *model);

/* ---- weights.c */
/* Values from the folder's files; fills the lists of unused and initialised tensors. With options->labels a head of another label
 * count is initialised instead of refused. */
int brim_weights_load(brim_model *model, const char *folder, const brim_model_options *options, brim_error *err) BRIM_CHECK;

#endif
