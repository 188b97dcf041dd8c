/* program.h: a model is a program: a list of operations on values, written once, forward, in the order in which a text passes
 * them.
 *
 *   ids ─ lookup ─▶ embedded ─ project ─▶ queries, keys and values ─ attend ─▶ context ─ join ─▶ attended ─ feed_forward ─▶ ..
 *                      └───────────────── residual ────────────────────────────────────┘
 *
 * A family (families/) is a function that appends these operations and declares the weights that they use. What the rest of this
 * folder does follows from the list, step by step, each in a file that can be read alone:
 *
 *   passes/rows.c      which rows of each value somebody reads: of a classifier's last layer only those of first tokens
 *   passes/gradient.c  which operations take part in backward: freezing
 *   passes/types.c     what each value is stored as: fp32, or 16 bits where all who write and read it say that they can
 *   passes/keep.c      what backward reads: kept, made again from what is kept, kept in 16 bits, or computed again in a segment
 *   kinds/             the device's calls for an operation, forward and backward: a kind's `forward` and `backward`
 *   schedule_make.c    all calls in order, with what each reads and writes
 *   passes/placement.c where each version of a value is in memory, from its first and last use
 *   run.c              a pass: the calls one after the other, with this batch's counts and addresses
 *   listing.c          the schedule as a table for readers: brim inspect program
 *
 * The program is never rewritten: a pass over it makes lists besides. Letters as in ops/ops.h. */
#ifndef BRIM_MODEL_PROGRAM_H
#define BRIM_MODEL_PROGRAM_H
#include "base/arena.h"
#include "brim/model.h"
#include "model/config.h"
#include "ops/ops.h"

enum { BRIM_NONE = -1 };

/* What a row of a value belongs to. How many there are is known when a part is run. */
typedef enum brim_row_kind {
  BRIM_ROW_TEXTS = 0, /* one a text */
  BRIM_ROW_CHOSEN,    /* tokens that the pass asks for: the first of each text; or those that are masked */
  BRIM_ROW_TOKENS,    /* one a slot: tokens, and padding where a batch is padded */
  BRIM_ROW_DISTANCES, /* rows of a distance embedding: the same for all batches */
  BRIM_ROW_REACHED,   /* those of them that a batch's texts reach, or all: they adjoin */
  BRIM_ROW_KINDS
} brim_row_kind;

typedef enum brim_value_type { BRIM_AS_REAL = 0, BRIM_AS_BF16, BRIM_AS_INDEX } brim_value_type;

typedef struct brim_value {
  const char *name;
  brim_row_kind rows; /* BRIM_ROW_TEXTS, BRIM_ROW_TOKENS, or of masked tokens BRIM_ROW_CHOSEN; passes may find that only some rows
                         are needed */
  int32_t width;
  brim_value_type type; /* real, or index; a schedule may store a real one in 16 bits */
  bool exact;           /* sums of a norm or a softmax, which no precision rounds */
  int32_t maker;        /* the operation that writes it */
} brim_value;

/* What selects an embedding's rows. */
typedef enum brim_read_by { BRIM_BY_NOTHING = 0, BRIM_BY_IDS, BRIM_BY_POSITIONS, BRIM_BY_TYPES } brim_read_by;

/* A tensor of the checkpoint, declared where it is used. Its uses are the operations that list it: its gradient is complete when
 * the first of them has added to it in backward, and it belongs to that one's section. */
typedef struct brim_weight {
  brim_parameter is;     /* name, shape, offset in the flat buffers, decay, sparse rows */
  bool one;              /* initialised with ones: a norm's */
  bool half;             /* products in bf16 read it: there is a copy in 16 bits */
  bool labels;           /* its rows are those of the labels */
  bool bare;             /* no bias was declared after it */
  int32_t at_once;       /* rows of it that a product takes at once; 0: all */
  bool adjoins;          /* the weight before it */
  brim_read_by selected; /* which rows of an embedding a batch reads */
  int32_t section;       /* in which it was declared: that of the first use, or one before */
  bool used;
} brim_weight;

/* Values or weights of an operation. Of weights some may be BRIM_NONE: absent. A kind has a bit for each (kind.h). */
enum { BRIM_MOST_LISTED = 32 };
typedef struct brim_list {
  int32_t count, of[BRIM_MOST_LISTED];
} brim_list;
#define BRIM_LIST(...)                                                                                                           \
  {                                                                                                                              \
    sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), {                                                                        \
      __VA_ARGS__                                                                                                                \
    }                                                                                                                            \
  }

/* Whatever an operation needs to know besides values and weights. */
typedef struct brim_terms {
  double dropout; /* rate */
  uint32_t site;  /* of dropout: part of what makes a run reproducible */
  double eps;     /* of the norm */
  int32_t heads;
  brim_distances distances; /* of attention with terms by distance; rows 0: there are none */
  int32_t group;            /* heads of queries that share one of keys and values; 0: as 1 */
  int32_t window;           /* attend: a query sees keys that are at most so many tokens away; 0: all */
  double theta;             /* project: of rotary positions; 0: none */
  double factor;            /* and by what they are divided; 0: as 1 */
  bool rms;                 /* norm: without mean */
  bool second;              /* gate: the activation takes the second half */
  brim_activation activation;
  brim_loss_kind loss;
  bool largest;          /* pool: the largest of each column, not the mean */
  brim_pool_list modes;  /* pool_joined */
  int32_t empty_rows[2]; /* lookup: rows of the embeddings of words and of positions that have no gradient; BRIM_NONE: all have */
} brim_terms;

struct brim_kind;

typedef struct brim_operation {
  const struct brim_kind *kind;
  int32_t section;          /* embeddings, a layer, the head: what is frozen, decayed and computed again as one */
  brim_list in, out, inner; /* values; `inner` are for its own backward. In the order that the kind says, as the next */
  brim_list weights;
  int32_t first_packed; /* its first product's index in the list of weights as bytes; see brim_kind.products. Operations with the
                           same weights have the same */
  brim_terms terms;
} brim_operation;

typedef struct brim_section {
  const char *name; /* "embeddings", "layer 3", "head" */
  bool layer;       /* one of many alike: may be computed again in backward */
  int32_t first;    /* operation */
  int32_t first_weight;
  int32_t input; /* value that the section before made; BRIM_NONE for the first */
} brim_section;

typedef struct brim_program {
  brim_runtime *runtime;
  brim_arena *arena; /* of names */
  brim_value *values;
  brim_operation *operations;
  brim_weight *weights;
  brim_section *sections;
  size_t value_count, operation_count, weight_count, section_count;
  size_t value_room, operation_room, weight_room, section_room;
  int32_t hidden, logits; /* values that a caller may read */
  int32_t outcomes;       /* likewise, of masked words; else BRIM_NONE */
  int32_t packed_count;   /* products that may be made in bytes */
  int64_t flat_size;      /* elements of the flat buffers */
  int status;             /* of building: the first failure */
} brim_program;

/* Everything but the names is released by brim_program_free; zeroed memory is a program to free. */
int brim_program_make(brim_program *p, brim_runtime *runtime, brim_arena *arena, const brim_config *config,
                      brim_error *err) BRIM_CHECK;
void brim_program_free(brim_program *p);

/* ---- for families and kinds: building. A failure is kept in `status`, and what follows does nothing */

/* Operations from now on belong to a new section whose input is the value `input`. */
void brim_begin_section(brim_program *p, const char *name, bool layer, int32_t input);
/* Appends a value that the next operation makes. */
int32_t brim_add_value(brim_program *p, const char *name, brim_row_kind rows, int32_t width);
int32_t brim_add_exact(brim_program *p, const char *name, brim_row_kind rows, int32_t width);
int32_t brim_add_index(brim_program *p, const char *name, brim_row_kind rows, int32_t width);
/* Appends a copy. */
void brim_add_operation(brim_program *p, const brim_operation *o);

/* How a weight is placed and treated. Tensors begin at multiples of 16 elements, but one that adjoins begins right after the one
 * before, so that both are one matrix. */
enum {
  BRIM_WEIGHT_DECAY = 1,
  BRIM_WEIGHT_SPARSE = 2,
  BRIM_WEIGHT_ONE = 4,
  BRIM_WEIGHT_ADJOINS = 8,
  BRIM_WEIGHT_LABELS = 16,
  BRIM_WEIGHT_SHARED = 32, /* it may have been declared before: its first declaration counts */
  BRIM_WEIGHT_BARE = 64    /* a linear layer's or a norm's that has no bias */
};
/* Declares the tensor NAME of shape [rows, columns], or [rows] when columns is 0; returns its index. */
int32_t brim_declare(brim_program *p, const char *name, int64_t rows, int64_t columns, int flags);

/* Whether a weight of a layer below this section is used in the section or above: they cannot be treated as two. */
bool brim_program_shares(const brim_program *p, int32_t section);

/* Of a value; 0 after a failure. */
static inline int32_t brim_width_of(const brim_program *p, int32_t value) {
  return p->status ? 0 : p->values[value].width;
}
/* The bias that was declared after a weight; BRIM_NONE: it has none. */
static inline int32_t brim_bias_of(const brim_program *p, int32_t weight) {
  return p->status || weight == BRIM_NONE || p->weights[weight].bare ? BRIM_NONE : weight + 1;
}
/* Where the weights of a section begin in the flat buffers. */
static inline int64_t brim_section_at(const brim_program *p, int32_t section) {
  return p->weights[p->sections[section].first_weight].is.offset;
}
static inline int64_t brim_weight_at(const brim_program *p, int32_t weight) {
  return p->weights[weight].is.offset;
}
static inline int32_t brim_weight_rows(const brim_program *p, int32_t weight) {
  return (int32_t)p->weights[weight].is.shape[0];
}
static inline int32_t brim_weight_columns(const brim_program *p, int32_t weight) {
  return (int32_t)p->weights[weight].is.shape[1];
}

/* ---- of a whole program */

/* Its sections are the embeddings, the layers and the head. */
static inline int32_t brim_layer_count(const brim_program *p) {
  return (int32_t)p->section_count - 2;
}
/* The sizes by which a device sizes its working memory: those of ops.h that do not depend on batches. */
brim_ops_limits brim_program_limits(const brim_program *p);

#endif
