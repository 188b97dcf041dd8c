/* brim/model.h: encoders. Config and weights in Hugging Face layout, forward, loss and gradients on ragged batches.
 *
 * load -> prepare -> (forward -> backward)* -> update -> ... -> save
 *
 * Models: bert (MiniLM too), roberta, camembert, xlm-roberta, distilbert, electra, albert, mpnet, deberta-v2, modernbert,
 * nomic_bert, gte, eurobert, with a classifier or a regression on the first token. What they compute is what Hugging Face
 * transformers computes without padding; formulas are in src/ops/ref and src/model/kinds. A model is used by one thread at a
 * time; it runs its operations on the runtime's pool. Results do not depend on the number of threads. */
#ifndef BRIM_MODEL_H
#define BRIM_MODEL_H
#include "brim/batch.h"
#include "brim/profile.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct brim_model brim_model;

/* REFERENCE: plain loops with sums in double; slow, for tests. */
typedef enum brim_device { BRIM_DEVICE_CPU = 0, BRIM_DEVICE_CUDA = 1, BRIM_DEVICE_REFERENCE = 2 } brim_device;

/* What the head sees of the last layer: each family's own is the first token; or the mean, or the largest value of each column,
 * over a text's tokens, special tokens included. Saved in config.json as "brim_pooling": other programs do not know it and would
 * look at the first token. The first token and the mean of a ModernBERT are "classifier_pooling" there, which others know.
 *
 * Embeddings have three more, and several side by side: a number with three bits for each, from the lowest on. Their folders say
 * it in 1_Pooling, as sentence-transformers does. With n tokens h_1 .. h_n: */
typedef enum brim_pooling {
  BRIM_POOLING_CONFIG = 0, /* as the folder says; where it says nothing cls, and of embeddings the mean */
  BRIM_POOLING_CLS,
  BRIM_POOLING_MEAN,
  BRIM_POOLING_MAX,
  BRIM_POOLING_MEAN_SQRT,     /* sum h / sqrt(n) */
  BRIM_POOLING_WEIGHTED_MEAN, /* sum p h_p / sum p */
  BRIM_POOLING_LAST,          /* h_n */
  BRIM_POOLING_MOST = (1 << 18) - 1
} brim_pooling;
enum { BRIM_POOLING_NAME = 56 };
/* "mean"; of several "cls,mean"; "unknown". Returns `name`. */
BRIM_API const char *brim_pooling_name(brim_pooling pooling, char name[BRIM_POOLING_NAME]);
/* "cls", "mean", "max", "mean-sqrt", "weighted-mean", "last", or several with commas between, each once: they are put into the
 * order in which sentence-transformers joins them (cls, max, mean, mean-sqrt, weighted-mean, last). False for anything else. */
BRIM_API bool brim_pooling_parse(const char *name, brim_pooling *out);

typedef struct brim_model_options {
  const brim_labels *labels; /* training: task, classes, names (copied); NULL: as the folder's config.json says */
  uint64_t seed;             /* of a head that has to be initialised */
  brim_device device;
  int32_t card;        /* of CUDA: which of the GPUs that the driver shows, from 1 on; 0: the process's own (brim_gpu_info) */
  const char *kernels; /* NULL: by CPU level; else the name that a checkpoint has (resume) */
  brim_pooling pooling;
  /* Which layers' tokens the head sees, of texts and of embeddings: "weighted" (the mean of all layers, of which each has a
   * weight that is trained; 1 each at first), "weighted:N" (of the last N; one more than the model has is with the embeddings),
   * "joined:N" (the last N side by side, the lowest first), "last". NULL: as the folder says, else the last. Saved as
   * "brim_layers"; of embeddings as a module. */
  const char *layers;
  int32_t dense; /* embeddings: one more dense layer, of so many numbers with a bias, follows pooling and the folder's; 0: none */
  const char *dense_activation; /* "identity" (NULL) or "tanh" */
  bool no_type_ids;             /* every token has type 0, whatever the data say; saved as "brim_type_ids": false */
  int32_t reinit_layers;        /* that many layers from the top are initialised, not read */
  /* CUDA: products of fp32 round what they multiply to TF32, which has 10 bits after the point; sums stay fp32. The bits
   * are others, and so it is part of the kernels' name. BRIM_E_UNSUPPORTED: no cuBLASLt, a card older than compute
   * capability 8.0, or no card. */
  bool tf32;
  /* To ask about a model: tensors' names and shapes are read, and no memory is taken for their values, which are not there.
   * brim_model_prepare, brim_model_read and brim_model_save are BRIM_E_USAGE then. */
  bool no_values;
} brim_model_options;

/* What config.json alone says: known before weights and labels are. Errors as brim_model_load's. */
typedef struct brim_model_info {
  char type[32];      /* "bert", ... */
  int32_t max_length; /* positions that fit a text */
  int32_t vocab_size;
  int32_t layers, hidden, heads;
  int32_t window;        /* tokens to each side that a layer with a window sees; 0: no layer has one */
  int32_t window_layers; /* how many have */
  int32_t type_count;    /* token types that are embedded; 0: type_ids are not looked at (DistilBERT, "brim_type_ids": false) */
  /* What the folder's 1_Pooling/config.json, which sentence-transformers writes, says that the model was made for: CLS, MEAN or
   * MAX. CONFIG: there is none, or it says something else. It changes nothing by itself: a classifier of this family looks at the
   * first token, as transformers computes it. */
  brim_pooling made_for;
  /* Tokens at which its sentence_bert_config.json, or an older name of it, where there is a modules.json, cuts texts that become
   * vectors, and the pairs of a cross-encoder's folder; 0: it says none. */
  int32_t made_length, scored_length;
  /* What the folder's modules.json puts after the encoder, in words: "mean, Dense 384 to 64 (Tanh), Normalize; prompts query,
   * document". "": there is no modules.json. */
  char modules[400];
  brim_task task; /* where the class of the model says it, as ..ForTokenClassification does; else AUTO */
} brim_model_info;
BRIM_API int brim_model_describe(brim_runtime *runtime, const char *folder, brim_model_info *out, brim_error *err) BRIM_CHECK;
/* Where the rows of a task are cut; own: brim_tokenizer_max_length. */
BRIM_API int32_t brim_model_info_length(const brim_model_info *info, brim_task task, int32_t own);

/* Loads config.json and model.safetensors (or the shards of model.safetensors.index.json; F32, F16, BF16, F64) from a folder;
 * where there is neither, pytorch_model.bin (or its shards), of which nothing is executed: what is not plain weights is refused.
 * Accepts weights with or without the encoder's prefix ("bert."), the old names LayerNorm.gamma/beta, and a missing head or
 * pooler, which is initialised: normal(0, initializer_range), biases 0, norms 1, a function of (seed, name, index) alone. With
 * `labels` a head of another label count is initialised too, and one whose classes config.json names in another order (or another
 * case) is read in the order of `labels`. `options` NULL: all zero.
 *
 * BRIM_E_UNSUPPORTED: an unknown model_type or an option that brim lacks; BRIM_E_FORMAT: a damaged file, with its byte;
 * BRIM_E_MISMATCH: a tensor of the encoder is missing or has another shape, both of which are named. */
BRIM_API int brim_model_load(brim_runtime *runtime, const char *folder, const brim_model_options *options, brim_model **out,
                             brim_error *err) BRIM_CHECK;
BRIM_API void brim_model_free(brim_model *model);
/* Tensors of the file that the model does not use, and tensors of the model that were initialised. Names live as long as the
 * model. */
BRIM_API int brim_model_unused_count(const brim_model *model);
BRIM_API const char *brim_model_unused_name(const brim_model *model, int index);
BRIM_API int brim_model_initialized_count(const brim_model *model);
BRIM_API const char *brim_model_initialized_name(const brim_model *model, int index);
/* The name that config.json has for class `index`, where the file's classifier was continued for as many classes whose names are
 * others (LABEL_0 and the like are none): its rows kept their order, which may not be what is meant. NULL otherwise. */
BRIM_API const char *brim_model_former_class(const brim_model *model, int32_t index);

/* How rows were encoded, which the folder says for those who read others with it. */
typedef struct brim_saving {
  int32_t max_length;     /* tokens that rows were cut to; 0: what the tokenizer says */
  brim_windowing windows; /* of long rows */
  brim_cutting cutting;   /* of those that are cut; 0: as the tokenizer says */
} brim_saving;
/* What was found where a model is written. */
typedef struct brim_saved {
  int links;       /* names that were links and are the folder's own files now; what they pointed at is as it was */
  char link[80];   /* the first of them; "" */
  bool own_readme; /* README.md is somebody's own and stays, where brim's would say how transformers computes the model */
} brim_saved;
/* Writes the folder of a model, which is made if need be: model.safetensors (F32, Hugging Face's names), config.json, what
 * sentence-transformers reads of embeddings and rerankers, the tokenizer's files (NULL: none), and where transformers computes
 * otherwise than brim (another pooling) a README.md with lines of Python that give the same logits, unless there is one of
 * somebody else's. Each file is complete or as it was. config.json keeps what was read, in its order, but for architectures,
 * id2label, label2id, problem_type and dtype.
 *
 * Before anything is written BRIM_E_USAGE names what is in the way: a folder or a link where the other is needed, and files of
 * another model or another tokenizer that would be read with this one; BRIM_E_MISMATCH: `tokenizer` gives other ids than the one
 * that the model knows (brim_model_set_tokenizer). `saving` NULL: all 0; `saved` may be NULL. */
BRIM_API int brim_model_save(brim_model *model, const brim_tokenizer *tokenizer, const brim_saving *saving, const char *folder,
                             brim_saved *saved, brim_error *err) BRIM_CHECK;

BRIM_API int32_t brim_model_max_length(const brim_model *model); /* positions that fit a text */
BRIM_API int32_t brim_model_outputs(const brim_model *model);    /* logits per row */
/* Rows of a batch's logits: its texts, or its tokens where the task's labels are of tokens; of masked words the tokens with a
 * label, or all tokens of a batch without labels. */
BRIM_API int64_t brim_model_logit_rows(const brim_model *model, const brim_batch *batch);
BRIM_API brim_task brim_model_task(const brim_model *model);
BRIM_API const brim_shape *brim_model_shape(const brim_model *model); /* of its task */
BRIM_API const brim_labels *brim_model_labels(const brim_model *model);
BRIM_API int32_t brim_model_vocab_size(const brim_model *model);
BRIM_API int32_t brim_model_hidden_size(const brim_model *model);
BRIM_API const char *brim_model_type(const brim_model *model); /* "bert", ... */
/* The tokenizer whose ids the model knows (brim_tokenizer_content): rows that another one encoded are refused. 0, as after load:
 * not known, and nothing is compared. brim_train sets what is not known to the tokenizer that it is given; another one than the
 * model's is BRIM_E_MISMATCH there and where the model is saved. */
BRIM_API void brim_model_set_tokenizer(brim_model *model, uint64_t content);
BRIM_API uint64_t brim_model_tokenizer(const brim_model *model);
/* What it was trained on, which config.json keeps: 1: pairs of texts; 0: single texts; -1: not known, and any rows fit. */
BRIM_API int brim_model_pairs(const brim_model *model);
BRIM_API brim_pooling brim_model_pooling(const brim_model *model);
/* "weighted:4", "joined:2" or "last", as options have it. Returns `name`. */
enum { BRIM_LAYERS_NAME = 24 };
BRIM_API const char *brim_model_layers(const brim_model *model, char name[BRIM_LAYERS_NAME]);
/* Of a reranker: its answers are its scores as they are, not their sigmoid. */
BRIM_API bool brim_model_scores_bare(const brim_model *model);
BRIM_API brim_meaning brim_model_meaning(const brim_model *model); /* of its outputs */
BRIM_API const char *brim_model_kernels(const brim_model *model);

/* The flat parameter table: one buffer of values and one of gradients, each tensor a range of it. Offsets are multiples of 16,
 * but the weights of query, key and value lie one directly after the other, and so do their biases. What lies between tensors is
 * 0. */
typedef struct brim_parameter {
  const char *name; /* Hugging Face name */
  int32_t rank;
  int64_t shape[2];      /* weights [out, in], tables [rows, hidden]; rank 1: [shape[0]] */
  int64_t offset, count; /* elements */
  bool decay;            /* weight decay applies (not to biases and layer norms) */
  bool sparse_rows;      /* an embedding: only rows that occur in the batch have a gradient */
} brim_parameter;
BRIM_API int32_t brim_model_parameter_count(const brim_model *model);
BRIM_API const brim_parameter *brim_model_parameter(const brim_model *model, int32_t index);
BRIM_API int64_t brim_model_flat_size(const brim_model *model); /* elements of the flat buffers, padding included */
/* Which of the flat buffers. Gradients and the optimizer's states are those of what is trained (brim_model_freeze), and are there
 * after brim_model_prepare with training: as many states as the optimizer keeps of a value (AdamW's are the first and the second
 * moment). */
typedef enum brim_flat { BRIM_VALUES, BRIM_GRADIENTS, BRIM_STATE0, BRIM_STATE1 } brim_flat;
/* Copies `count` elements out of a buffer or into it, wherever the device has its memory. `offset` is that of the parameter table
 * (brim_parameter.offset) for every buffer; what is copied at once is one parameter, or several of which all are there. After a
 * write the model knows of it: nothing else is to be called. BRIM_E_USAGE: there is no such buffer, or no such elements. */
BRIM_API int brim_model_read(brim_model *model, brim_flat which, int64_t offset, int64_t count, float *to,
                             brim_error *err) BRIM_CHECK;
BRIM_API int brim_model_write(brim_model *model, brim_flat which, int64_t offset, int64_t count, const float *from,
                              brim_error *err) BRIM_CHECK;
/* Addresses, where the device's memory is the host's (a processor's is); NULL elsewhere: brim_model_read and brim_model_write
 * serve everywhere. The address stays the same. An update leaves rows of embeddings that have no gradient as they are; what they
 * miss is computed when somebody reads them: a pass that looks them up, a save, or a call for this address or a state's. Call
 * again after updates. */
BRIM_API float *brim_model_values(brim_model *model);

/* What training leaves as it is: words with commas between them. "embeddings" (with their layer norm), "layers:N" or "N" (the
 * embeddings and the lowest N layers), "encoder" (all but the head, to which BERT's pooler belongs), names of tensors (of
 * brim_parameter) with the wildcards *, ? and [], such as "*.bias"; NULL or "" (nothing). What is frozen computes as before,
 * dropout too, but has no part in the gradient's norm and no states that are saved; no weight decay touches it. Backward ends
 * below the lowest tensor that is trained. Gradients and states of an earlier prepare are given back when this changes something.
 *
 * Weights of query, key and value that lie one after the other are one product: where one of them is trained, all have memory for
 * a gradient and states.
 *
 * BRIM_E_USAGE: another text, too many layers, a name that no tensor has, a tensor that is new and would stay random, or nothing
 * that is left to train. */
BRIM_API int brim_model_freeze(brim_model *model, const char *parts, brim_error *err) BRIM_CHECK;
/* Likewise, but what is trained are these tensors alone, again names with wildcards, without those that `frozen` says. Both may
 * be NULL. */
BRIM_API int brim_model_train_only(brim_model *model, const char *tensors, const char *frozen, brim_error *err) BRIM_CHECK;
/* The words that were given, in an order that does not depend on theirs; "": none. Owned by the model until the next call. */
BRIM_API const char *brim_model_frozen(const brim_model *model);
BRIM_API const char *brim_model_trained_only(const brim_model *model);
BRIM_API bool brim_model_is_trained(const brim_model *model, int32_t parameter);

/* How a gradient changes the weights: docs/developers/numerics.md has the formula of each optimizer. Rates that are right for one
 * are not for another. */
typedef struct brim_optimizer_options {
  const char *name; /* as brim_optimizer_names has it, or transformers' adamw_torch, adamw_torch_fused, adamw_hf; NULL: adamw */
  bool returns;  /* weight decay goes towards the weights that training starts from, not towards 0 (Li et al., "Explicit inductive
                    bias for transfer learning", 2018). Weights that were made new decay towards 0 */
  double mixout; /* with this probability a weight of a matrix is the one that training started from, for all passes of a step
                    between brim_model_mix and brim_model_unmix: dropout of what was learnt (Lee, Cho and Kang, "Mixout", 2020).
                    Not of tables, biases, norms and what was made new. brim_train does so in each step; 0: none */
} brim_optimizer_options;
BRIM_API const char *brim_optimizer_names(void); /* "adamw|bert_adam|sgd" and so on */
/* BRIM_E_USAGE: a name that there is not, or a share of mixout that is none. */
BRIM_API int brim_optimizer_check(const brim_optimizer_options *options, brim_error *err) BRIM_CHECK;
/* Training starts from the weights as they are when brim_model_prepare takes memory for it, or when brim_train begins. Gradients
 * and states of an earlier prepare are given back when this changes something. BRIM_E_UNSUPPORTED comes from prepare, where the
 * device knows AdamW alone. */
BRIM_API int brim_model_use_optimizer(brim_model *model, const brim_optimizer_options *options, brim_error *err) BRIM_CHECK;
BRIM_API const char *brim_model_optimizer(const brim_model *model); /* its name */

/* What layers multiply, and keep for backward. Weights that are trained, saved and read, sums, softmax, statistics of norms,
 * head, loss, gradients of weights and states of the optimizer are fp32 in any case. */
typedef enum brim_precision {
  BRIM_PRECISION_FP32 = 0,
  BRIM_PRECISION_BF16, /* products of 16-bit values with sums in fp32, from a copy of the weights that the update keeps; 20 hidden
                          bytes are kept a layer and token, not 40 */
  BRIM_PRECISION_FP16, /* the same in IEEE's half precision, whose small numbers end at 6e-8: training multiplies the loss
                          (brim_pass.loss_scale). Needs a device that has it; the CPU refuses it */
  BRIM_PRECISION_INT8  /* predictions only: the layers' matrix products multiply bytes (src/ops/ops.h); all else is fp32 */
} brim_precision;
BRIM_API const char *brim_precision_name(brim_precision precision); /* "fp32", "bf16", "fp16", "int8"; "unknown" */
/* Whether layers multiply 16-bit values. */
static inline bool brim_precision_is_half(brim_precision precision) {
  return precision == BRIM_PRECISION_BF16 || precision == BRIM_PRECISION_FP16;
}
/* False for any other name. */
BRIM_API bool brim_precision_parse(const char *name, brim_precision *out);

/* Slots are what is computed: real tokens when ragged, rows x width when padded. */
typedef struct brim_model_limits {
  int64_t max_slots; /* of one part */
  int32_t max_sequences;
  int32_t max_length; /* longest sequence or width */
  bool training;
  bool all_tokens;             /* training passes may ask for all tokens (predictions always may) */
  bool checkpoint_activations; /* keep the input of each layer only; backward runs its forward again. The same bits */
  brim_precision precision; /* FP16 and BF16: BRIM_E_UNSUPPORTED from prepare where the device has no such products, and both at
                               once BRIM_E_USAGE. INT8: not with training (BRIM_E_USAGE). Weights in 16 bits or bytes are made at
                               the first forward, again after values changed, and given back by a prepare for another precision */
  /* Masked words: at most this share of a part's slots has a label, and one more a sequence; 0: all may have. */
  double chosen_share;
  bool logits;    /* masked words: predictions give logits of the masked tokens, or of all tokens of a batch without labels; else
                     they give outcomes alone, and logits, which would be as wide as the vocabulary, are never made */
  int32_t slices; /* most slices of a training batch (brim_batch.slices), empty ones between them included; 0: none */
} brim_model_limits;
/* Bytes that prepare will take for these limits on a fresh model, exactly: activations, working memory and, with training,
 * gradients and the optimizer's states; in int8 the quantized weights, in bf16 those in 16 bits. Values are held already. A token
 * costs 40 hidden bytes a trained layer in training where intermediate = 4 hidden, with checkpoints 4 hidden bytes a layer and 40
 * for one of them. UINT64_MAX where there is no memory to find out. */
BRIM_API uint64_t brim_model_memory(const brim_model *model, const brim_model_limits *limits);
/* The part of it that does not depend on the limits: gradients, the optimizer's states, and copies of the weights at the start
 * where something goes back to them. */
BRIM_API uint64_t brim_model_state_memory(const brim_model *model);
/* Allocates everything for batches within the limits; later calls within them allocate nothing. A model prepared for training
 * serves predictions within the same limits too. May be called again: states and gradients, once there, are kept, and a call for
 * prediction does not take training's memory away. A forward before it is forgotten. */
BRIM_API int brim_model_prepare(brim_model *model, const brim_model_limits *limits, brim_error *err) BRIM_CHECK;

/* Appends the program that passes within these limits run, as tables: operations with the rows that they compute, what they keep
 * for backward and what they multiply, and the device's calls with the places that they read and write. With all_tokens that of
 * such passes. The model need not be prepared, nor have values. */
BRIM_API int brim_model_list_program(brim_model *model, const brim_model_limits *limits, brim_text *out,
                                     brim_error *err) BRIM_CHECK;

typedef struct brim_pass {
  bool training;   /* keep activations for backward */
  bool dropout;    /* as config.json says, keyed by (seed, batch.step or step below, place, site, token, column) */
  bool all_tokens; /* compute the last layer for every token (hidden); else only for the rows that feed the head */
  uint64_t seed;
  uint64_t optimizer_step;     /* keys dropout: counts over the whole run */
  const double *class_weights; /* [outputs], of the loss; NULL: all 1. Not for regression */
  double label_smoothing;      /* of classification's loss; 0: none */
  double loss_scale;           /* factor of gradients, not of the loss that is returned, a power of two; 0: none. With FP16 */
} brim_pass;

/* Loss and gradient are sums over the batch's rows divided by batch->divisor (0: batch->step_rows; 0 too: its count). `loss` gets
 * this batch's part of the loss, where a row's is
 *  - of classification: cross entropy, with class weights w and label smoothing e as PyTorch's CrossEntropyLoss, whose mean over
 *    rows divides by the sum of w[label]: give that sum over the whole optimizer step as the divisor;
 *  - of multi-label: the mean over the outputs of PyTorch's BCEWithLogitsLoss, with class_weights as its pos_weight;
 *  - of regression: the mean over the outputs of the squared error;
 *  - of labels of tokens, and of masked words: cross entropy too, and the divisor is the step's tokens that have one (0: the
 *    batch's).
 *
 * logits: [n, outputs], or [tokens, outputs] (brim_model_logit_rows), may be NULL. Labels are needed for the loss only: pass loss
 * NULL to predict. Backward follows a pass with a loss. An empty batch adds nothing. A row that does not fit the model (length,
 * ids, types, label) is BRIM_E_MISMATCH or BRIM_E_FORMAT and is named by batch->rows; a batch beyond the limits is BRIM_E_USAGE.
 */
BRIM_API int brim_model_forward(brim_model *model, const brim_batch *batch, const brim_pass *pass, double *loss, float *logits,
                                brim_error *err) BRIM_CHECK;
/* After a training forward of the same batch: adds this batch's gradient to the gradient buffer. */
BRIM_API int brim_model_backward(brim_model *model, const brim_batch *batch, const brim_pass *pass, brim_error *err) BRIM_CHECK;
/* Hidden states of the last layer after a forward with all_tokens (and before its backward): real tokens only, [tokens,
 * hidden]. */
BRIM_API int brim_model_hidden(brim_model *model, const brim_batch *batch, float *hidden, brim_error *err) BRIM_CHECK;
/* Zeroes the gradient buffer, touching only what the last backwards touched. */
BRIM_API void brim_model_zero_gradients(brim_model *model);

/* Of one update. Which of the numbers count is the optimizer's affair. */
typedef struct brim_update_options {
  double lr, beta1, beta2, eps, weight_decay;
  double momentum;    /* of optimizers that have one */
  double clip;        /* largest gradient norm; 0: no clipping */
  double layer_decay; /* the learning rate of each part is that of the part above times this: the head has lr, the top layer
                         lr * layer_decay, .., the embeddings lr * layer_decay^(layers + 1); 0: all have lr. Howard and Ruder,
                         "Universal language model fine-tuning" (2018), 3.2 */
  uint64_t step;      /* from 1 */
  double loss_scale;  /* that of the passes: the norm is of the gradient without it; 0: none */
} brim_update_options;
/* To be called after values or states were written from outside (resume, a fresh start): rows of an embedding whose states are
 * not all zero take part in updates again; anything derived from the values is made again. */
BRIM_API void brim_model_state_written(brim_model *model);
/* Computes what rows of embeddings have missed so far, for those who hold addresses of values or states. Training does it before
 * evaluations and checkpoints, and when it ends. No result depends on when it is called. */
BRIM_API void brim_model_catch_up(brim_model *model);
/* L2 norm of the gradient, then one update by the model's optimizer, which leaves the gradient zero; norm (before clipping) to
 * *norm. A non-finite norm changes nothing and returns BRIM_E_DIVERGED. */
BRIM_API int brim_model_update(brim_model *model, const brim_update_options *options, double *norm, brim_error *err) BRIM_CHECK;

/* Useful FLOPs of a full forward and backward of the layers over texts of these lengths s, as their operations say: for BERT the
 * sum of 6 N s + 12 L H s^2, with N weights in the layers, L layers and hidden size H. A third of it without training, and for
 * layers that are frozen. NaN where there is no memory to find out. */
BRIM_API double brim_model_flops(const brim_model *model, const int32_t *lengths, uint64_t count, bool training);
/* Which share of them, for texts of this length, multiplies 16-bit values in a precision that has them: 0 to 1. */
BRIM_API double brim_model_half_share(const brim_model *model, int32_t length);

/* Their names in earlier sources. */
#define brim_model_narrow_share  brim_model_half_share
#define brim_precision_is_narrow brim_precision_is_half

#ifdef __cplusplus
}
#endif
#endif
