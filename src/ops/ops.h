/* ops.h: layer-sized operations on ragged tensors: the only door to a device.
 *
 * An operation is a function of the context and of a struct that holds all of its operands; list.h names them all. What a struct
 * says is the contract of its operation. The struct itself, and what it points to that is not a tensor (ranges and steps of an
 * update), may be forgotten when the call returns; tensors may not, until they are no longer needed.
 *
 * Letters: R rows (slots) of a tensor, H hidden, F feed-forward, A heads, D = H / A, n sequences, C outputs. Matrices are
 * row-major; a weight is [out, in] as in PyTorch. `real` is float in the product and double in the finite-difference build
 * (BRIM_REAL_DOUBLE), which has the reference only.
 *
 * Every operation gives the same bits for any number of threads: work is tiled by shape, and sums are taken in a fixed order.
 * No operation allocates: working memory is sized once by the device's `workspace`. Where nothing else is said, the memory of
 * what an operation writes is not that of anything it reads.
 *
 * Rows of padding (padded modes) are computed like any other row; only attention looks at `lengths`, to leave padded keys out. */
#ifndef BRIM_OPS_H
#define BRIM_OPS_H
#include "brim/task.h"
#include "ops/list.h"
#include "ops/pooling.h"
#include "ops/rules.h"
#include "task/loss.h"

#ifdef BRIM_REAL_DOUBLE
typedef double real;
#define brim_ops_ref      brim_ops_ref64
#define brim_dropout_key  brim_dropout_key64
#define brim_dropout_make brim_dropout_make64
#define brim_distance_row brim_distance_row64
#define brim_ops_profile  brim_ops_profile64
#else
typedef float real;
#endif

/* bfloat16: the upper half of a float; or IEEE's half precision, where the context says so (fp16). */
typedef uint16_t brim_bfloat;

/* A tensor, [.., width], of `real` or brim_bfloat. What is computed from it is not of 16 bits; what is written to it is rounded
 * once. */
typedef enum brim_type { BRIM_TYPE_REAL = 0, BRIM_TYPE_BF16 } brim_type;
typedef struct brim_typed {
  brim_type type;
  void *at; /* NULL: there is none */
} brim_typed;

typedef struct brim_layout {
  int32_t n;               /* sequences */
  int32_t slots;           /* rows of a full tensor: real tokens when ragged, n * width otherwise */
  int32_t tokens;          /* real tokens */
  int32_t max_length;      /* longest key length */
  const int32_t *offsets;  /* [n+1] first slot of each sequence; offsets[n] == slots */
  const int32_t *lengths;  /* [n] real tokens: the key length */
  const uint32_t *places;  /* [n] place of each sequence in its planned optimizer step: keys dropout */
  const int32_t *sequence; /* [slots] sequence of each slot */
} brim_layout;

/* Dropout of one site. The keep-mask of an element is a pure function of (key, place, site, token, column): 16 bits of
 * Philox4x32-7, dropped when they are less than the threshold. Columns go in stretches of 64, which take eight blocks, with
 * counters (place, site, token, block): of its stretch, columns 0 to 31 have the lower halves of words, columns 32 to 63 the
 * upper halves; in each half column i has block i % 16 / 2 of the stretch, and there word 1, 0 (i even, odd) below 16, word 3, 2
 * above. Vectors of any width find their words in place that way; the reference (ref/rows.c) spells it out. For hidden tensors
 * token is the index in the sequence and column the feature; for attention token is the query, column the key, and the head is
 * added to the site (sites are numbered so that this does not collide). */
enum { BRIM_DROPOUT_ROUNDS = 7, BRIM_DROPOUT_STRETCH = 64, BRIM_DROPOUT_BLOCKS = 8 };
typedef struct brim_dropout {
  bool on;            /* false: identity */
  uint32_t threshold; /* p in 65536ths, rounded; at most 65535 */
  real scale;         /* 1 / (1 - threshold / 65536), so that expected values stay; 0 when all is dropped */
  uint32_t key[2];    /* from (seed, optimizer step): brim_dropout_key */
  uint32_t site;
} brim_dropout;
void brim_dropout_key(uint64_t seed, uint64_t optimizer_step, uint32_t key[2]);
brim_dropout brim_dropout_make(double p, const uint32_t key[2], uint32_t site); /* p below 2^-17: off */

typedef enum brim_activation {
  BRIM_ACT_NONE = 0,
  BRIM_ACT_GELU,
  BRIM_ACT_GELU_NEW,
  BRIM_ACT_RELU,
  BRIM_ACT_TANH,
  BRIM_ACT_SILU
} brim_activation;

/* Which rows a gathered tensor [n, ..] came from: NULL rows means "all slots". */
typedef struct brim_rows {
  int32_t count;       /* rows of the tensor at hand */
  const int32_t *slot; /* [count] slot of each row, or NULL: row i is slot i */
} brim_rows;

/* Slices of a batch: runs of neighbouring rows at whose ends sums over rows are cut. A gradient of a weight is such a sum, and so
 * is a loss. The sum of each slice has the bits that it would have if there were no other rows; these sums are added along a
 * fixed tree (base/reduce_tree.h). What comes out is added to the gradient, once. The arrays are the host's, like the ranges of
 * an update. */
typedef struct brim_row_slices {
  int32_t count;        /* 0: there are none, and the sum is one */
  const int32_t *names; /* [count] which slices of the step they are, ascending; together one node of the tree */
  const int32_t *ends;  /* [count] the row after a slice's last, of the rows that are summed; each has at least one */
  const uint8_t *joins; /* [count] how often the last two sums are added after this one: brim_reduce_tree_joins */
} brim_row_slices;

/* ---- embeddings
 *
 * Forward: sum[r] = word[id] + position[position] + type[type]; out = dropout(norm(sum)). Without gamma there is no norm, and
 * mean and rstd are not looked at.
 * Backward, from dout: adds to dword, dposition, dtype, dgamma, dbeta (each NULL: frozen, or there is none). Rows of padding must
 * have dout = 0. The order of addition within a row of an embedding is that of the slots. */
typedef struct brim_embed {
  brim_layout layout;
  const int32_t *ids;                 /* [R] */
  const uint8_t *type_ids;            /* [R], NULL: all 0 */
  const int32_t *positions;           /* [R] rows of the position embedding */
  const real *word, *position, *type; /* embeddings [.., H]; position and type may be NULL */
  int32_t types;                      /* rows of `type`; 0: who calls does not say */
  const real *gamma, *beta;           /* each may be NULL */
  real eps;
  int32_t hidden;
  brim_dropout dropout; /* after the norm */
  real *sum;            /* [R, H]: forward writes it, backward reads it, and so the next two */
  real *mean, *rstd;    /* [R] */
  real *out;            /* [R, H] */
  const real *dout;     /* backward, [R, H] */
  real *dsum;           /* scratch of backward, [R, H] */
  real *dword, *dposition, *dtype, *dgamma, *dbeta;
  brim_row_slices slices; /* backward; of the slots */
} brim_embed;

/* ---- matrix products */

/* y[rows, out] = x[rows, in] w^T + b; `add`: y += that. */
typedef struct brim_linear {
  int64_t rows;
  int32_t in, out;
  const real *x; /* rows are x_stride values apart */
  int64_t x_stride;
  const real *w, *b; /* [out, in]; [out] or NULL */
  real *y;
  int64_t y_stride;
  bool add;
} brim_linear;

/* dx = dy w, or dx += dy w with `add` (dx NULL: not needed, nor is w); dw += dy^T x; db += column sums of dy (NULL: frozen). */
typedef struct brim_linear_gradient {
  int64_t rows;
  int32_t in, out;
  const real *x; /* for dw only */
  int64_t x_stride;
  const real *w, *dy;
  int64_t dy_stride;
  real *dx;
  int64_t dx_stride;
  bool add;
  real *dw, *db;
  brim_row_slices slices;
} brim_linear_gradient;

/* pre = x w^T + b; y = act(pre). pre may be NULL when it need not be kept (prediction). Contiguous rows. */
typedef struct brim_linear_act {
  int64_t rows;
  int32_t in, out;
  const real *x, *w, *b;
  brim_activation act;
  real *pre, *y;
} brim_linear_act;

/* Backward of z = act(pre) w^T: dpre [rows, in] = (dz w) * act'(pre), and pre becomes act(pre), which forward did not keep and
 * the gradient of w takes. Not for TANH. */
typedef struct brim_linear_act_gradient {
  int64_t rows;
  int32_t in, out;
  const real *w, *dz;
  brim_activation act;
  real *pre, *dpre;
} brim_linear_act_gradient;

/* What a branch is added to, and the norm that follows: norm(residual + dropout(branch)), for at.count rows. */
typedef struct brim_residual {
  brim_layout layout;
  brim_rows at; /* which slot each row is: keys dropout */
  brim_dropout dropout;
  const real *residual, *gamma, *beta;
  real eps;
} brim_residual;

/* sum = residual + dropout(x w^T + b); y = norm(sum). sum may be the residual's memory; y is neither that nor x's. */
typedef struct brim_linear_norm {
  int32_t in, out;
  const real *x, *w, *b;
  brim_residual residual;
  real *sum, *mean, *rstd, *y; /* mean, rstd: [rows] */
} brim_linear_norm;

/* ---- norm and activation */

/* y = (sum - mean) * rstd * gamma + beta, [rows, width], from what a forward kept: the same bits as its y. beta may be NULL. */
typedef struct brim_norm {
  int64_t rows;
  int32_t width;
  brim_typed sum;
  const real *mean, *rstd, *gamma, *beta;
  brim_typed y;
} brim_norm;

/* Backward of y = norm(sum), sum = residual + dropout(branch): dsum written (gradient of the residual, to which others add),
 * dbranch = dropout backward of dsum (may be dsum when dropout is off; may be NULL); dgamma, dbeta += (NULL: frozen). */
typedef struct brim_norm_gradient {
  brim_layout layout;
  brim_rows at;
  brim_dropout dropout;
  int32_t width;
  brim_typed sum;
  const real *mean, *rstd, *gamma, *dy;
  real *dsum;
  brim_typed dbranch;
  real *dgamma, *dbeta;
  brim_row_slices slices;
} brim_norm_gradient;

/* dpre = dy * act'(pre) (for TANH `pre` holds the output y; for ReLU it may). dpre may be dy's memory. */
typedef struct brim_act_gradient {
  int64_t count;
  brim_activation act;
  const real *pre, *dy;
  real *dpre;
} brim_act_gradient;

/* ---- attention */

/* With a window, rows of padding have a context, a log-sum-exp and dq of 0. */
typedef struct brim_attention {
  brim_layout layout;
  int32_t heads, head_size;
  int32_t group;  /* heads of queries that share one of keys and values: those have heads / group; 0: as 1 */
  int32_t window; /* a query sees keys that are at most so many tokens away; 0: all */
  real scale;
  bool first_only;       /* queries only for the first token of each sequence: q, out, dq have n rows */
  brim_dropout dropout;  /* on the probabilities, after softmax */
  const real *q, *k, *v; /* row r, head a: x + r * stride + a * head_size; of k and v, a / group */
  int64_t q_stride, kv_stride;
  real *out;
  int64_t out_stride; /* context: [R or n, A*D] */
  real *lse;          /* [A, R or n]: log-sum-exp of each query's scores */
  /* backward */
  const real *dout;   /* same shape as out */
  real *dq, *dk, *dv; /* written (not added to); dk and dv of padded keys are 0; strides as q and kv */
} brim_attention;

/* ---- attention that knows how far apart tokens are
 *
 * The score of query i and key j, both counted in their text, has terms of row t = brim_distance_row(i - j) of distance
 * embeddings:
 *
 *   scale (q_i . k_j + q_i . keys[t] + k_j . queries[t]) + bias[t]
 *
 * The rows of a text of L tokens are those of -(L - 1) to L - 1. */
typedef enum brim_distance_rule {
  BRIM_DISTANCE_HALVES = 0, /* MPNet, as T5: the first half for i >= j, the second for i < j, each exact and then logarithmic */
  BRIM_DISTANCE_CENTERED    /* DeBERTa: row `rows / 2` for i = j; up to half of that exact, then logarithmic to `farthest` */
} brim_distance_rule;
typedef struct brim_distances {
  brim_distance_rule rule;
  int32_t rows;     /* of the embeddings */
  int32_t farthest; /* from here on all distances are alike; CENTERED, 0: no logarithm, farther ones have the last row */
} brim_distances;
int32_t brim_distance_row(const brim_distances *d, int32_t distance);

typedef struct brim_relative {
  brim_attention attention; /* as above */
  brim_distances distances;
  const real *bias;           /* [rows, A]; NULL: none */
  const real *queries, *keys; /* row t, head a: x + t * stride + a * head_size; both NULL: none */
  int64_t stride;
  /* backward */
  real *dbias;            /* += ; NULL: frozen */
  real *dqueries, *dkeys; /* written, strides as above; NULL where there are no embeddings */
} brim_relative;

/* ---- rows */

/* y[i] = x[at.slot[i]] */
typedef struct brim_gather {
  brim_rows at;
  int32_t width;
  const real *x;
  int64_t x_stride;
  real *y;
} brim_gather;

/* dx[at.slot[i]] += dy[i] */
typedef struct brim_scatter {
  brim_rows at;
  int32_t width;
  const real *dy;
  real *dx;
  int64_t dx_stride;
} brim_scatter;

/* y[i] [n, width]: the mean of the tokens of sequence i; or, when `chosen` [n, width] is not NULL, the largest of each column,
 * whose slot it gets (the first of equal ones; NaN is larger than all). */
typedef struct brim_pool {
  brim_layout layout;
  int32_t width;
  const real *x;
  int32_t *chosen;
  real *y;
} brim_pool;

/* Writes dx for all slots; that of padding is 0. */
typedef struct brim_pool_gradient {
  brim_layout layout;
  int32_t width;
  const real *dy;
  const int32_t *chosen;
  real *dx;
} brim_pool_gradient;

/* y [n, modes.count * width]: each sequence's tokens pooled by each of the modes (ops/pooling.h), side by side, without the first
 * skipped[i] of them (`skipped` NULL: with all). `chosen` [n, width] is of the largest, as in brim_pool;
 * NULL: that is none of the modes. Backward, from dy: writes dx for all slots; that of padding and of what is left out is 0. */
typedef struct brim_pool_joined {
  brim_layout layout;
  int32_t width;
  brim_pool_list modes;
  const int32_t *skipped;
  const real *x;
  int32_t *chosen; /* forward writes it, backward reads it */
  real *y;
  const real *dy; /* these two are of backward */
  real *dx;
} brim_pool_joined;

/* y = dropout(x), [at.count, width]; backward is the same call on the gradient. y may be x's memory. Without a layout (all zero)
 * rows are of no text: place 0, and a row is its own token. */
typedef struct brim_dropout_rows {
  brim_layout layout;
  brim_rows at;
  int32_t width;
  brim_dropout dropout;
  const real *x;
  real *y;
} brim_dropout_rows;

typedef struct brim_add { /* y += x */
  int64_t count;
  const real *x;
  real *y;
} brim_add;

typedef struct brim_zero { /* x = 0 */
  int64_t count;
  real *x;
} brim_zero;

/* y = x rounded to the nearest bfloat16, to even between two (NaN stays NaN). */
typedef struct brim_to_bfloat {
  int64_t count;
  const real *x;
  brim_bfloat *y;
} brim_to_bfloat;

typedef struct brim_from_bfloat { /* and back, exactly */
  int64_t count;
  const brim_bfloat *x;
  real *y;
} brim_from_bfloat;

/* ---- loss */

/* Formulas: ref/loss.c; kinds: task/loss.h. */
typedef struct brim_loss {
  int32_t n, outputs;
  brim_loss_kind kind;
  const real *logits;     /* [n, C] */
  const float *labels;    /* cross entropy: [n] classes; else [n, C] values, or 0 and 1 */
  const int32_t *classes; /* of cross entropy, in their place where it is not NULL: [n], negative for a row without a label */
  const double *weights;  /* [C] of the classes; binary: of the positive terms. NULL: all 1. Not for squared errors */
  double smoothing;       /* of cross entropy */
  double divisor;         /* of the whole optimizer step: its rows, or the sum of their weights */
  double *loss;           /* out: sum over rows / divisor; with slices one for each */
  real *dlogits;          /* out, [n, C], may be NULL */
  brim_row_slices slices;
} brim_loss;

/* Cross entropy of the rows' classes among so many that the logits, x w^T + b, are never there at once: `block` of their columns
 * are made at a time, and once more by backward.
 *
 * Forward: lse[r] = log of the sum of exp(logits); an outcome a row; *loss = sum over rows of lse - the class's logit / divisor.
 * Backward: dx is written, dw and db are added to, from the gradient of that loss: (exp(logit - lse) - [the class]) / divisor,
 * which is rounded to 16 bits where x has them. Formulas: ref/vocabulary.c. */
typedef struct brim_vocabulary {
  int64_t rows;
  int32_t in, out, block;
  brim_typed x, w;        /* [rows, in], [out, in], of one type */
  const real *b;          /* [out] or NULL */
  const int32_t *classes; /* [rows] */
  double divisor;         /* of the whole optimizer step */
  real *logits;           /* scratch [rows, block] */
  brim_bfloat *half;      /* scratch of backward, where x has 16 bits, [rows, block] */
  real *lse;              /* [rows]: forward writes it, backward reads it */
  brim_outcome *outcomes; /* [rows]: forward writes them; where a logit is no number the loss is NaN, and predicted is 0 */
  double *loss;           /* out; NULL: not wanted */
  real *dx, *dw, *db;     /* of backward: [rows, in], [out, in], [out]; each may be NULL */
} brim_vocabulary;

/* ---- products of bytes, for predictions
 *
 * A row q of x, and the weights of each output, are divided by their scale, which is the largest magnitude / 127, and rounded to
 * the nearest (to even between two): bytes from -127 to 127. Sums of products are exact integers, so every device has the same: y
 * = sum * (x's scale * w's scale) + b, each operation rounded once in single precision. A row's result depends on that row alone.
 * A row whose magnitudes are below 2^-100 counts as zeros; one with a value that is not finite gives NaN. Sums wrap beyond 2^31:
 * `in` must be less than 2^17. */

/* A weight and its bias, quantized and packed as this device likes it: int8_size bytes, aligned to 64. */
typedef struct brim_int8 {
  int32_t in, out;
  void *packed;
} brim_int8;

typedef struct brim_int8_pack {
  const real *w, *b; /* b may be NULL */
  brim_int8 to;
} brim_int8_pack;

typedef struct brim_int8_linear { /* y = x w^T + b */
  int64_t rows;
  brim_int8 w;
  const real *x;
  int64_t x_stride;
  real *y;
  int64_t y_stride;
} brim_int8_linear;

typedef struct brim_int8_norm { /* y = norm(residual + dropout(x w^T + b)); y is neither the residual nor x */
  brim_int8 w;
  const real *x;
  brim_residual residual;
  real *y;
} brim_int8_norm;

typedef struct brim_int8_feed { /* y = norm(residual + dropout(act(x up^T + b) down^T + b)); x may be the residual, y neither */
  brim_int8 up, down;
  brim_activation act;
  const real *x;
  brim_residual residual;
  real *y;
} brim_int8_feed;

#include "ops/bf16.h"
#include "ops/stream.h"

/* ---- optimizer */

typedef struct brim_update_range { /* a tensor that is trained */
  int64_t offset, count;           /* of gradients, states, values at the start */
  int64_t frozen;                  /* values before it that have none of these: its own values begin at offset + frozen */
  bool decay;
  double rate;            /* factor of the learning rate, decay included: 1, or less in lower layers */
  int64_t row_size;       /* > 0: an embedding with rows of this size, see `touched` */
  const uint8_t *touched; /* [count / row_size]: rows whose gradient may be non-zero; NULL: all */
  uint8_t *alive;         /* [count / row_size]: rows that ever had a gradient (their moments may be non-zero) */
  uint8_t *done;          /* [count / row_size]: how many of brim_update.past a row has had; NULL: none is ever late */
  const uint8_t *wanted;  /* [count / row_size]: rows that catch_up is to look at */
  brim_bfloat *copy;      /* [count]: the values in 16 bits, which update writes as it goes; NULL: none. Not of embeddings */
  bool returns;           /* decay is towards the values at the start, not towards 0 */
  bool mixed;             /* mixout takes part of it */
} brim_update_range;

/* A range in pieces, of each of which gradient_square takes one sum: so many values, or whole rows of an embedding. */
enum { BRIM_UPDATE_PIECE = 1 << 14 };
static inline int64_t brim_update_rows(const brim_update_range *timed) {
  return timed->row_size < BRIM_UPDATE_PIECE ? BRIM_UPDATE_PIECE / timed->row_size : 1;
}
static inline int64_t brim_update_pieces(const brim_update_range *range) {
  if (range->row_size <= 0)
    return (range->count + BRIM_UPDATE_PIECE - 1) / BRIM_UPDATE_PIECE;
  const int64_t rows = brim_update_rows(range);
  return (range->count / range->row_size + rows - 1) / rows;
}

/* The numbers of a step, for all rules; each takes those that it knows. */
typedef struct brim_update_step {
  double lr, eps, weight_decay;
  double beta1, beta2, correction1, correction2; /* ADAMW; the corrections are 1 - beta1^t, 1 - beta2^t, or 1 */
  double momentum;                               /* of rules that have one */
  uint64_t number;                               /* of the step, from 1 on */
} brim_update_step;

enum { BRIM_UPDATE_PAST = 64 }; /* most updates that a row may be late: a row's count is a byte, and a flush is rare enough */

/* With a scale all that is said of the gradient is meant of the gradient divided by it.
 *
 * gradient_square: *square = sum of squares of the gradient over the ranges, in double, in an order fixed by the ranges; NaN
 * where one of `losses` is not finite.
 *
 * update: clip (factor min(1, clip / (sqrt(*square) + 1e-6)) when clip > 0), then the rule (rules.h). AdamW decays before the
 * update, and has eps outside the root. Rows of an embedding that are neither touched nor alive are skipped when that changes
 * nothing (no decay). Zeroes the gradient it used. Where a range counts what is done, rows that are not touched are left as they
 * are, late by one update more; those that are touched catch up first. The caller then adds the step to the past. Does nothing
 * where *square is not finite.
 *
 * mark_alive: alive[row] = whether a state of the row is not 0, for every range with rows.
 *
 * catch_up: rows that are late, all of them or those wanted, get the past updates that they missed: the very operations of update
 * with a gradient of 0, so the bits are those of rows that were never late. Reads no gradient; step, clip and square do not
 * count.
 */
typedef struct brim_update {
  brim_rule rule;
  real *values, *gradients, *states[BRIM_MOST_STATES]; /* as many states as the rule has, then NULL */
  const real *start; /* the values at the start of training; NULL: neither rule nor ranges look at them */
  const brim_update_range *ranges;
  int32_t range_count;
  brim_update_step step;
  double clip;
  double scale; /* what the gradient was multiplied by, a power of two; 0: nothing. For devices with the feature FP16 */
  const brim_update_step *past;
  int32_t past_count;   /* earlier updates that rows of tables may not have had, oldest first; the
                           embeddings' rate is in their lr */
  double *square;       /* of the whole gradient: gradient_square writes it, update reads it */
  const double *losses; /* [loss_count] of the step, which is none where one is not finite: gradient_square reads them */
  int32_t loss_count;
  bool all;    /* catch_up */
  bool leaves; /* update writes the new weights into the gradient's buffer (not of embeddings). Set only with `squares` */
} brim_update;

/* Mixout (Lee, Cho and Kang, "Mixout: effective regularization to finetune large-scale pretrained language models"): dropout of
 * what training has changed. With probability p a weight is what it was at the start, else start + (value - start) / (1 - p), for
 * all passes of a step.
 *
 * mixout_forward: of every range that is mixed keeps the values and puts the mixed ones in their place.
 * mixout_backward: the gradient of the mixed values becomes that of the kept ones. The caller has put these back. */
typedef struct brim_mixout {
  real *values, *gradients, *kept;
  const real *start;
  const brim_update_range *ranges;
  int32_t range_count;
  brim_dropout dropout; /* of the step: threshold, scale and key. A weight's 16 bits are those of its place in the buffers: block
                           place / 8, in it half place % 8, counter (block, block >> 32, purpose, 0) */
} brim_mixout;

/* ---- a device's operations */

typedef struct brim_ops_stats { /* with which tests see that no padding was computed */
  int64_t gemm_max_rows;        /* most activation rows that any matrix product of this kind had */
  double gemm_flops;            /* 2 * m * n * k summed */
  double attention_flops;
} brim_ops_stats;

typedef struct brim_ops_limits {
  int64_t max_slots;
  int32_t max_sequences, max_length;
  int32_t hidden;       /* widest norm, and longest smaller side of a weight */
  int32_t intermediate; /* longest row that a product of bytes takes */
  int32_t heads;        /* no head is wider than hidden / heads */
  int32_t window;       /* no attention sees farther; 0: some sees all */
  int32_t distances;    /* rows of distance embeddings; 0: there are none */
  bool int8;            /* the operations on bytes are used too */
  bool bf16;            /* and those on 16-bit values */
  int32_t slices;       /* most slices of a batch, empty ones between them included; 0: there are none */
  int32_t longest;      /* longest side of a product's weight; 0: no longer than the others here */
  int64_t weight;       /* values of the largest weight of a product, [out, in] with `in` rounded up to 64 */
} brim_ops_limits;

/* Context: runtime, working memory, statistics. One per model. */
typedef struct brim_ops_context {
  brim_runtime *runtime;
  void *workspace;
  size_t workspace_size;
  brim_ops_stats stats;
  struct brim_profile *profile; /* these two: of operations that are timed, else NULL. A card reports its own times to it */
  const struct brim_ops *inner;
  int32_t card; /* which of the machine's GPUs, from 1 on; 0: the process's own. Set before `open`, as the next */
  bool tf32;    /* products of fp32 may be of TF32: of a GPU */
  void *device; /* the device's own, from open to close */
  bool fp16;    /* what 16-bit values are; of devices with that feature */
} brim_ops_context;

/* What a device may lack (list.h), as bits. An operation that is not there is NULL. */
#define BRIM_FEATURE_INDEX(name, ...) BRIM_FEATURE_AT_##name,
#define BRIM_FEATURE_BIT(name, ...)   BRIM_FEATURE_##name = 1 << BRIM_FEATURE_AT_##name,
enum { BRIM_FEATURES_LIST(BRIM_FEATURE_INDEX) BRIM_FEATURES };
enum { BRIM_FEATURES_LIST(BRIM_FEATURE_BIT) };

enum { BRIM_RANKS_KEY = 128 }; /* bytes */

#define BRIM_OPS_ENTRY(name, operands, ...) void (*name)(brim_ops_context * c, const operands *op);

typedef struct brim_ops {
  const char *name; /* recorded in checkpoints: "cpu-avx512", "cpu-avx2", "ref" */
  /* recorded instead, of runs in 16 bits too, where `open` decides it ("cuda-sm90"); or NULL */
  const char *(*exact_name)(const brim_ops_context *c, bool half);
  uint32_t features; /* BRIM_FEATURE_... that are there */
  /* bytes of working memory for these limits; c->workspace should be aligned to 64 bytes */
  size_t (*workspace)(const brim_ops_context *c, const brim_ops_limits *limits);
  size_t (*int8_size)(int32_t in, int32_t out); /* bytes of a packed weight; NULL without INT8 */

  /* ---- memory and order. All tensors of operations, and what they write (a loss, a sum of squares), are in the device's memory.
   * Nobody else looks into it: an address is handed on, and moved within its block. Operations, and the calls below from `write`
   * to `clear`, are queued and done in order. */
  int (*open)(brim_ops_context *c, brim_error *err);             /* before all other calls but `workspace` and `int8_size` */
  void (*close)(brim_ops_context *c);                            /* after all memory was released */
  void *(*alloc)(brim_ops_context *c, size_t size, bool zeroed); /* aligned to 16 bytes or more; NULL: there is no more */
  void (*release)(brim_ops_context *c, void *memory);            /* may be NULL. What is queued is done before */
  void (*write)(brim_ops_context *c, void *to, const void *from, size_t size); /* `from`, the host's, stays as it is until sync */
  void (*read)(brim_ops_context *c, void *to, const void *from, size_t size);  /* `to`, the host's, is there after sync */
  void (*copy)(brim_ops_context *c, void *to, const void *from, size_t size);
  void (*clear)(brim_ops_context *c, void *memory, size_t size);
  /* Waits for all that is queued. The first failure since the last sync, after which nothing was done. */
  int (*sync)(brim_ops_context *c, brim_error *err);
  /* NULL, or: the operations from `begin` to `end`, of so many slots, come again and again with other operands, so a device may
   * hand them over at once, when they end: true. Nothing else is called in between then. End is true where none was queued, and
   * they are to be called once more. */
  bool (*begin)(brim_ops_context *c, int64_t slots);
  bool (*end)(brim_ops_context *c);
  /* NULL, or: devices of several processes add up themselves. Rank 0's key brings all of them together; each calls join, which
   * waits for the others. Sums are queued, in place, on all ranks in the same order: after what is queued so far, and along with
   * what is queued later, which comes after all of them from ranks_wait on. leave may be called at any time; `broken`: whatever
   * the others do, and sums that nothing waits for yet come to nothing. */
  int (*ranks_key)(brim_ops_context *c, char key[BRIM_RANKS_KEY], brim_error *err);
  int (*ranks_join)(brim_ops_context *c, const char key[BRIM_RANKS_KEY], int32_t rank, int32_t world, brim_error *err);
  void (*ranks_sum)(brim_ops_context *c, real *x, int64_t count);
  void (*ranks_wait)(brim_ops_context *c);
  void (*ranks_leave)(brim_ops_context *c, bool broken);
  /* NULL, or gradient_square in two halves, for ranks that have shards of the ranges (reduce/shards.c): the sum of each
   * piece, in their order; and what those of all ranges come to, with the very bits. */
  void (*squares)(brim_ops_context *c, const brim_update *u, double *sums);
  void (*square_of)(brim_ops_context *c, const brim_update *u, const double *sums);

  BRIM_OPS_LIST(BRIM_OPS_ENTRY)
} brim_ops;

/* Makes operations that do what `inner` does and count their time in the profile. They work with this context only. */
void brim_ops_profile(brim_ops_context *c, struct brim_profile *profile, const brim_ops *inner, brim_ops *timed);

/* The reference: plain loops, in order, float or double. */
const brim_ops *brim_ops_ref(void);
#ifndef BRIM_REAL_DOUBLE
/* The CPU's operations for a level. BRIM_CPU_PLAIN has plain C kernels and BLAS-free matrix products. */
const brim_ops *brim_ops_cpu(brim_cpu_level level);
/* An NVIDIA GPU's. Its `open` finds driver, card and compiler, or says what is missing (ops/cuda). */
const brim_ops *brim_ops_cuda(void);
/* What a run records, and what a run that resumes from it must have: the device's name, for 16-bit products how they are made
 * where that decides their bits (AMX), and for a card its architecture. Of an open context; the name lives as long as it. */
const char *brim_ops_class(const brim_ops *ops, const brim_ops_context *c, bool bf16);
/* Whether a recorded name is that of products in TF32: it ends with this. */
#define BRIM_TF32_NAME "-tf32"
bool brim_ops_is_tf32(const char *name);
/* By the name recorded in a checkpoint; NULL if this build or machine lacks it. A card of another architecture is found too. */
const brim_ops *brim_ops_find(const brim_runtime *runtime, const char *name);
#endif
#endif
