/* args.h: what kernels take: a struct by value each. C, NVRTC and the emulation of tests/cuda read this file, so it has plain
 * types only. Letters and contracts are those of ops.h. GLOBAL(type) is an address in the device's memory; it may be NULL where
 * ops.h says so. */
#ifndef BRIM_CUDA_ARGS_H
#define BRIM_CUDA_ARGS_H
#ifndef GLOBAL
#define GLOBAL(type) type *
#endif

typedef struct cu_dropout {
  int on;
  unsigned threshold;
  float scale;
  unsigned key0, key1, site;
} cu_dropout;

typedef struct cu_layout {
  GLOBAL(const int) offsets;
  GLOBAL(const int) lengths;
  GLOBAL(const int) sequence;
  GLOBAL(const unsigned) places;
} cu_layout;

/* Rows and their slots; `slot` NULL: row i is slot i. */
typedef struct cu_rows {
  int count;
  GLOBAL(const int) slot;
} cu_rows;

/* A tensor of numbers of 32 bits (wide) or of 16 (half): bfloat16, or, where `fp16`, IEEE's half precision. Both NULL: there is
 * none. */
typedef struct cu_typed {
  GLOBAL(float) wide;
  GLOBAL(unsigned short) half;
  int fp16;
} cu_typed;

/* ---- rows */

typedef struct cu_gather { /* y[i] = x[slot[i]] */
  cu_rows at;
  int width;
  long long x_stride;
  GLOBAL(const float) x;
  GLOBAL(float) y;
} cu_gather;

typedef struct cu_scatter { /* dx[slot[i]] += dy[i]; no slot twice */
  cu_rows at;
  int width;
  long long dx_stride;
  GLOBAL(const float) dy;
  GLOBAL(float) dx;
} cu_scatter;

typedef struct cu_drop { /* y = dropout(x); y may be x */
  cu_layout layout;
  cu_rows at;
  cu_dropout dropout;
  int width;
  GLOBAL(const float) x;
  GLOBAL(float) y;
} cu_drop;

typedef struct cu_add { /* y += x; y may be x */
  long long count;
  GLOBAL(const float) x;
  GLOBAL(float) y;
} cu_add;

typedef struct cu_convert { /* y = x as y is stored */
  long long count;
  cu_typed x, y;
} cu_convert;

typedef struct cu_pool { /* forward: y from x; backward: dx from dy */
  cu_layout layout;
  int n, slots, width;
  GLOBAL(const float) x;
  GLOBAL(int) chosen;
  GLOBAL(float) y;
  GLOBAL(const float) dy;
  GLOBAL(float) dx;
} cu_pool;

/* ---- norms */

typedef struct cu_norm { /* y = (sum - mean) * rstd * gamma + beta; beta may be NULL, also below */
  int rows, width;
  cu_typed sum;
  GLOBAL(const float) mean;
  GLOBAL(const float) rstd;
  GLOBAL(const float) gamma;
  GLOBAL(const float) beta;
  cu_typed y;
} cu_norm;

/* sum = residual + dropout(branch), and the norm of the sum as it is stored, twice where there is a copy of y; sum may be the
 * residual, y the branch. */
typedef struct cu_join {
  cu_layout layout;
  cu_rows at;
  cu_dropout dropout;
  int width;
  float eps;
  cu_typed residual, branch;
  GLOBAL(const float) gamma;
  GLOBAL(const float) beta;
  cu_typed sum;
  GLOBAL(float) mean;
  GLOBAL(float) rstd;
  cu_typed y, copy;
} cu_join;

typedef struct cu_norm_gradient { /* dsum may be dy */
  cu_layout layout;
  cu_rows at;
  cu_dropout dropout;
  int width;
  cu_typed sum;
  GLOBAL(const float) mean;
  GLOBAL(const float) rstd;
  GLOBAL(const float) gamma;
  cu_typed dy;
  GLOBAL(float) dsum;
  cu_typed dbranch;
  GLOBAL(float) dgamma; /* of columns */
  GLOBAL(float) dbeta;
  int each; /* of columns: rows of a block */
  GLOBAL(float)
  block_sums; /* [blocks of rows, 2, width], which have the sums then, of gamma and of beta; NULL: dgamma and dbeta have */
} cu_norm_gradient;

/* ---- a stream: the same of stream.h */

typedef struct cu_prenorm { /* rows: dx from dy, added to what is there with `add` */
  int rows, width, rms, add;
  float eps;
  cu_typed x;
  GLOBAL(const float) gamma;
  GLOBAL(const float) beta;
  GLOBAL(float) mean;
  GLOBAL(float) rstd;
  cu_typed y, dy;
  GLOBAL(float) dx;
} cu_prenorm;

typedef struct cu_stream_sum { /* y = residual + dropout(x), twice where there is a copy of y; y may be x */
  cu_layout layout;
  cu_rows at;
  cu_dropout dropout;
  int width;
  cu_typed residual, x, y, copy;
} cu_stream_sum;

typedef struct cu_gate { /* dpre may be pre */
  cu_layout layout;
  cu_rows at;
  cu_dropout dropout;
  int width, act, second;
  cu_typed pre, y, dy, dpre;
} cu_gate;

enum { CU_HALF_HEAD = 128 };

typedef struct cu_rotary {
  cu_layout layout;
  cu_rows at;
  int heads, head_size, back;
  long long stride;
  cu_typed x;
  float frequency[CU_HALF_HEAD]; /* of columns i and i + head_size / 2 */
} cu_rotary;

/* ---- embeddings */

typedef struct cu_embed {
  cu_layout layout;
  cu_dropout dropout;
  int slots, width;
  float eps;
  GLOBAL(const int) ids;
  GLOBAL(const int) positions;
  GLOBAL(const unsigned char) types;
  GLOBAL(const float) word;
  GLOBAL(const float) position;
  GLOBAL(const float) type;
  GLOBAL(const float) gamma;
  GLOBAL(const float) beta;
  GLOBAL(float) sum;
  GLOBAL(float) mean;
  GLOBAL(float) rstd;
  GLOBAL(float) y;
} cu_embed;

/* embedding[row of slot] += dsum[slot], in the order of slots; the row is index's, or bytes', or 0. */
typedef struct cu_embedding_gradient {
  int slots, width;
  GLOBAL(const int) index;
  GLOBAL(const unsigned char) bytes;
  GLOBAL(const float) dsum;
  GLOBAL(float) embedding;
} cu_embedding_gradient;

/* ---- activations (of the number in brim_activation) and products */

enum { CU_EACH = 4 };

typedef struct cu_activate { /* forward: y = act(pre). turn: dy becomes that of pre, and pre becomes act(pre) */
  long long count;
  int act;
  cu_typed pre, dy, y;
} cu_activate;

/* y[m, n] = sum over k of a[m, k] b[k, n], + bias[n], + what y was; element a[m, k] is at a + m * a_m + k * a_k. */
typedef struct cu_product {
  long long m, a_m, a_k, b_k, b_n, y_m, k;
  int n, add;
  cu_typed a, b;
  GLOBAL(const float) bias;
  cu_typed y;
} cu_product;

typedef struct cu_columns {     /* y[c] += sum of x[r, c] over the rows, or over those whose byte is `only` */
  long long rows, stride, each; /* each: rows of a block */
  int width, only;
  cu_typed x;
  GLOBAL(const unsigned char) bytes;
  GLOBAL(float) y;
  GLOBAL(float) block_sums; /* [blocks of rows, width], which have the sums then; NULL: y has */
} cu_columns;

/* ---- attention: blocks of the kernels of tensor cores that run at the same time, with heads of up to 32 columns and with
 * wider ones */

enum { CU_BLOCKS_NARROW = 3, CU_BLOCKS_WIDE = 2 };

typedef struct cu_attention {
  cu_layout layout;
  cu_dropout dropout;
  int tiles; /* blocks of queries, or of keys, that each text has */
  int texts;
  int head_size, first_only, group, window;
  int held; /* by tensor cores: pairs of tiles, of keys and of values, that a block's shared memory has room for */
  float scale;
  long long rows; /* of q */
  long long q_stride, kv_stride, out_stride;
  cu_typed q, k, v, out, dout, dq, dk, dv; /* of one type */
  GLOBAL(float) lse;
  GLOBAL(float) delta; /* [A, rows]: the kernel of queries writes it, that of keys reads it */
} cu_attention;

/* ---- attention by distance
 *
 * How far a distance is of an embedding's first row, or of its middle: the distance itself up to `exact`, and one more for each
 * of the thresholds, in order, that it reaches. The processor made them, since rows are rounded logarithms. */

enum { CU_STEPS = 512 };

typedef struct cu_distances {
  int rows, halves, exact, steps; /* halves: the second half of the rows is for distances below 0 */
  int threshold[CU_STEPS];
} cu_distances;

typedef struct cu_relative {
  cu_attention of;
  int heads;
  long long stride;
  GLOBAL(const float) bias; /* [rows, heads], or NULL */
  GLOBAL(const float) queries;
  GLOBAL(const float) keys; /* embeddings, or NULL */
  GLOBAL(float) dbias;
  GLOBAL(float) dqueries;
  GLOBAL(float) dkeys;
  cu_distances distances;
} cu_relative;

/* ---- loss */

typedef struct cu_loss {
  int n, outputs, kind;
  double smoothing, divisor;
  GLOBAL(const float) logits;
  GLOBAL(const float) labels;
  GLOBAL(const int) classes;
  GLOBAL(const double) weights;
  GLOBAL(double) loss;
  GLOBAL(float) dlogits;
} cu_loss;

/* ---- optimizer: some ranges at a time, cut into pieces of CU_PIECE values */

enum { CU_RANGES = 32, CU_PIECE = 4096, CU_SUMS = 512, CU_PAST = 64 };

typedef struct cu_range {
  long long offset, count;
  long long frozen;   /* its values begin at offset + frozen */
  long long row_size; /* 0: no embedding */
  int first_piece, decay;
  float keep, step; /* AdamW: factor of the values, and of the change */
  GLOBAL(const unsigned char) touched;
  GLOBAL(unsigned char) alive;
  GLOBAL(unsigned char) done; /* an embedding whose rows may be late: those that are not touched stay so */
  GLOBAL(unsigned short) copy;
} cu_range;

typedef struct cu_update {
  GLOBAL(float) values;
  GLOBAL(float) gradients;
  GLOBAL(float) moment1;
  GLOBAL(float) moment2;
  GLOBAL(double) square;
  GLOBAL(double) sums; /* [CU_SUMS]: of blocks */
  double clip;
  float new1, beta2, new2, root, eps;
  int range_count, pieces;
  float unscale; /* factor of the gradient */
  int fp16;      /* what copies are */
  cu_range ranges[CU_RANGES];
} cu_update;

/* An update of a value from its gradient. */
typedef struct cu_step {
  float new1, beta2, new2, root, eps, keep, step; /* keep, step: factor of the value, and of the change */
  int decay;
} cu_step;

/* Rows that are late get the updates that they missed; `wanted` NULL: all rows. */
typedef struct cu_late {
  long long row_size;
  GLOBAL(float) values;
  GLOBAL(float) moment1;
  GLOBAL(float) moment2;
  GLOBAL(const unsigned char) wanted;
  GLOBAL(const unsigned char) alive;
  GLOBAL(unsigned char) done;
  GLOBAL(const double) square; /* of the update that follows, which is not if this is not finite; or NULL */
  int count;
  cu_step past[CU_PAST];
} cu_late;

typedef struct cu_finish { /* *square = the sum of `count` sums; NaN where a loss is not finite */
  int count, loss_count;
  GLOBAL(const double) sums;
  GLOBAL(const double) losses;
  GLOBAL(double) square;
} cu_finish;

typedef struct cu_alive { /* alive[row] = whether a moment of the row is not 0 */
  long long row_size;
  GLOBAL(const float) moment1;
  GLOBAL(const float) moment2;
  GLOBAL(unsigned char) alive;
} cu_alive;
#endif
