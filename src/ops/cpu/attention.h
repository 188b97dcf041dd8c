/* attention.h: what both directions of attention share.
 *
 * A task is one head of keys and values of one sequence, with the heads of queries that share it; the longest sequences come
 * first. It runs over blocks of queries, and for each over blocks of keys, so that a block of scores and all it is multiplied
 * with stay in the first-level cache. Scores have keys for rows and queries for columns: what a query's softmax needs is then a
 * lane, and every product finds its sides as they lie.
 *
 * Products are those of single precision, or of 16-bit values with sums in single precision: then queries, keys, values and
 * gradients are multiplied as they are stored, probabilities and gradients of scores are rounded, and all factors (the scores'
 * scale, dropout's) are applied to sums. Scores, softmax and what is summed up over keys and queries stay in single precision.
 * On AMX products of single precision are those of split.h: sides are in three components, scores and what follows are floats.
 *
 * With a window a task goes along its sequence in spans: some queries, and the keys that they see. Of a span all keys are packed,
 * so that memory and time a token are those of the window, however long the text. Without one there is one span. */
#ifndef BRIM_OPS_CPU_ATTENTION_H
#define BRIM_OPS_CPU_ATTENTION_H
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/half.h"
#include "ops/cpu/split.h"
#include "ops/cpu/tile.h"

enum {
  QUERY_BLOCK = 32,                 /* whole panels */
  KEY_BLOCK = BRIM_DROPOUT_STRETCH, /* keys */
  KEY_ROOM = KEY_BLOCK + 16,        /* the last may be so long */
  SPAN_QUERIES = 16 * QUERY_BLOCK,  /* with a window */
  KEYS_TO = 2 * BF16_SPARE,         /* 16-bit values, and three components: there is room for keys up to a multiple of that */
  SCORE_ROOM = (KEY_ROOM + KEYS_TO - 1) / KEYS_TO * KEYS_TO
};

/* How probabilities and gradients of scores are stored for products: as they are; rounded to 16 bits, two that a product takes
 * after each other (of two keys or of two queries) in the order of bf16_tile.h; or in one unit. */
typedef enum attention_store { STORE_SINGLE, STORE_WIDENED, STORE_PAIRS, STORE_PAIRS_IN_C } attention_store;

typedef struct relative_head relative_head; /* relative.h */

/* A tensor that is read, of floats or of 16-bit values. */
typedef struct attention_side {
  bool half;
  const void *at;
} attention_side;

static inline const float *floats_at(attention_side x, int64_t at) {
  return (const float *)x.at + at;
}
static inline const brim_bfloat *halves_at(attention_side x, int64_t at) {
  return (const brim_bfloat *)x.at + at;
}

/* The tensors of a call. */
typedef struct attention_tensors {
  bool half; /* products of 16-bit values: all tensors are */
  attention_side q, k, v, dout;
  brim_typed out, dq, dk, dv;
} attention_tensors;

typedef struct attention_work {
  const brim_attention *a;
  attention_tensors t;
  const brim_relative *relative; /* terms by distance, without groups and windows; NULL: none */
  int64_t longest;               /* with those: most slots of a sequence */
  const int32_t *distance_rows;  /* rows of distances 1 - longest .. longest - 1 */
  const int32_t *row_starts;     /* of each row, and VEC after the last, the first of these that has it or a later one */
  bool steady;                   /* a distance has the row of the one before it or the next row */
  const int32_t *order;          /* [n] sequences, longest first */
  float *scratch;
  int64_t scratch_size; /* values a worker */
  int64_t head_room;    /* head size, rounded up to whole panels: the row length of what is packed */
  int64_t rows;         /* of q and out */
  int64_t group;        /* heads of queries to one of keys and values */
  attention_store store;
  bf16_kernel kernel; /* of 16-bit values */
  bool splits;        /* sides are in three components */
  split_kernel split;
  /* What scores are multiplied with, to powers of two; what sums that make dq, dk and dv are. */
  float to_powers, of_dq, of_dk, of_dv;
} attention_work;

/* Packed rows as the right side of a product that runs over them: [head_room] in panels. */
typedef struct attention_right {
  const char *at;
  int64_t row, panel; /* bytes from one unit of rows, and from one panel, to the next */
} attention_right;

/* One head of one sequence. */
typedef struct attention_head {
  int64_t head, own, queries, keys, slots, size; /* head of queries; that of keys and values */
  int64_t first_query;                           /* row of q, out, dq */
  int64_t first_key;                             /* row of k, v */
  int64_t q, kv;                                 /* where its rows of q, of k and of v begin */
  float *lse;
  uint32_t site, place;
} attention_head;

/* Queries first .. end - 1 of a head; the keys that are packed for them. */
typedef struct attention_span {
  int64_t first, end, key, key_end;
} attention_span;

/* Some queries of a head, and the keys that they see: `columns` is the number of queries, rounded up to whole panels. */
typedef struct attention_block {
  int64_t first, queries, columns;
  int64_t key, key_end;
} attention_block;

/* Whether sides of a head of that size may be in three components: what comes of scores is split too, which narrow heads and
 * short texts do not pay for. By the text's own length, so that a text's bits do not hang on others. */
BRIM_INLINE bool attention_splits(int64_t size, bool half) {
  return SPLITS && !half && size > SPLIT_SIDE;
}
BRIM_INLINE const attention_work *attention_work_of(const attention_work *w, const attention_head *h,
                                                    attention_work *short_text) {
  enum { LEAST_KEYS = 64 };
  if (!w->splits || h->keys >= LEAST_KEYS)
    return w;
  *short_text = *w;
  short_text->splits = false;
  return short_text;
}
/* Values that a side of so many rows takes. */
BRIM_INLINE int64_t attention_side_room(int64_t rows, int64_t head_room, bool splits) {
  return splits ? round_up(rows, SPLIT_SIDE) * head_room * SPLIT_COMPONENTS / 2 : rows * head_room;
}

/* Those of single precision. */
attention_tensors CPU(attention_tensors)(const brim_attention *a);
/* Divides c->workspace and sorts the sequences. */
attention_work CPU(attention_work)(brim_ops_context *c, const brim_attention *a, const attention_tensors *t,
                                   int64_t scratch_size);
attention_head CPU(attention_head)(const attention_work *w, int64_t task);
/* The next head of queries that shares the keys and values. */
void CPU(attention_next_head)(const attention_work *w, attention_head *h);
/* The span that begins at the query `first`. */
attention_span CPU(attention_span)(const attention_work *w, const attention_head *h, int64_t first);
attention_block CPU(attention_block)(const attention_work *w, const attention_head *h, const attention_span *s, int64_t first);
/* Keys of the block that begins at `first`, of those before `end`. */
int64_t CPU(attention_keys)(int64_t first, int64_t end);
/* Scores of keys that a query does not see become far less than any other. */
void CPU(attention_mask)(const attention_work *w, const attention_block *b, int64_t first, int64_t keys, float *scores);
/* [rows, size] times a factor, to rows of head_room floats, zeros at their ends. */
void CPU(attention_pack)(const attention_work *w, int64_t rows, const float *x, int64_t stride, float factor, float *to);
/* Rows as the left side of a product that runs over the head's size. */
void CPU(attention_left)(const attention_work *w, int64_t rows, attention_side x, int64_t at, int64_t stride, float *to);
/* Rows as a right side. Of single precision: those that are packed already, unless they are split. */
attention_right CPU(attention_right)(const attention_work *w, int64_t rows, attention_side x, int64_t at, int64_t stride,
                                     float *to);
attention_right CPU(attention_right_of)(const attention_work *w, const float *rows);
/* From row `row` on, an even one. */
attention_right CPU(attention_right_from)(const attention_work *w, attention_right right, int64_t row);
/* A block's queries (or their gradients) as the right side of a product that runs over the head's size, columns without a query
 * being 0: [columns / TILE_COLUMNS][head_room, TILE_COLUMNS]. In single precision they are in `rows`, which are overwritten after
 * the last query. */
void CPU(attention_turn)(const attention_work *w, const attention_block *b, float *rows, attention_side x, int64_t at,
                         int64_t stride, float *panels);
/* Left sides: where row `row` begins. */
const float *CPU(attention_left_from)(const attention_work *w, const float *left, int64_t row);
/* Before and after the products of a task. */
void CPU(attention_begin)(const attention_work *w);
void CPU(attention_end)(const attention_work *w);
/* Rows of keys times the panels: out [keys, QUERY_BLOCK]. */
void CPU(attention_scores)(const attention_work *w, const attention_block *b, int64_t keys, const float *left,
                           const float *panels, float *out);
/* to [queries, head_room] (+)= p^T rows, with p [keys, QUERY_BLOCK] as store_keys left it. */
void CPU(attention_sum)(const attention_work *w, const attention_block *b, int64_t keys, const float *p, attention_right rows,
                        bool add, float *to);
/* to [keys, head_room] (+)= p rows, with p [keys, QUERY_BLOCK] as store_row left it, and the block's queries for rows. */
void CPU(attention_add)(const attention_work *w, const attention_block *b, int64_t keys, const float *p, attention_right rows,
                        bool add, float *to);
/* Rows of head_room values times a factor, to [rows, size]. */
void CPU(attention_unpack)(const attention_work *w, int64_t rows, const float *from, float factor, brim_typed to, int64_t at,
                           int64_t stride);
/* One row of [size] becomes 0. */
void CPU(attention_clear)(const attention_work *w, brim_typed to, int64_t at);
/* Operations of that many products of queries and keys. */
double CPU(attention_flops)(const brim_attention *a, double products);
/* Most keys of a span, and of a block of queries, as there is room for them; `rounded`: up to a multiple of KEYS_TO. */
int64_t CPU(attention_span_keys)(int64_t max_length, int64_t window, bool rounded);
int64_t CPU(attention_block_keys)(int64_t max_length, int64_t window, bool rounded);
/* Values of scratch that a head needs, for the longest sequence; window 0: none; `half`: with products of 16-bit values. */
int64_t CPU(attention_forward_scratch)(int64_t max_length, int64_t size, int64_t window, bool half);
int64_t CPU(attention_backward_scratch)(int64_t max_length, int64_t size, int64_t window, bool half);

/* ---- attention_split.c: the same for sides in three components */
void CPU(attention_split_left)(const attention_work *w, int64_t rows, const float *x, int64_t stride, char *to);
attention_right CPU(attention_split_right)(const attention_work *w, int64_t rows, const float *x, int64_t stride, char *to);
void CPU(attention_split_turn)(const attention_work *w, const attention_block *b, const float *rows, char *panels);
void CPU(attention_split_scores)(const attention_work *w, int64_t keys, const char *left, const char *panels, float *out);
void CPU(attention_split_sum)(const attention_work *w, const attention_block *b, int64_t keys, const float *p,
                              attention_right rows, bool add, float *to);
void CPU(attention_split_add)(const attention_work *w, const attention_block *b, int64_t keys, const float *p,
                              attention_right rows, bool add, float *to);
BRIM_INLINE int64_t attention_split_row(const attention_work *w) { /* bytes of a left side */
  return w->head_room * SPLIT_COMPONENTS * 2;
}
#endif
