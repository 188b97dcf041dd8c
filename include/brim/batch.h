/* brim/batch.h: which rows go together (plan), and what a batch holds (collation). */
#ifndef BRIM_BATCH_H
#define BRIM_BATCH_H
#include "brim/data.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Two independent choices: who goes together (batching) and what is computed (padding). Length always means tokens after
 * truncation, special tokens included.
 *
 * A row is one text, or several (brim_dataset_firsts), each computed as a sequence by itself. Rows are what steps are made of,
 * what is shuffled, dropped and counted, and a row is never split over two parts. What is computed at once is counted in texts:
 * slots are tokens, or texts * width; a row's cost is the sum over its texts; rows are sorted by their tokens or, padded, by
 * their longest text. */
typedef enum brim_batching {
  BRIM_SEQUENTIAL = 0, /* file order */
  BRIM_RANDOM,         /* a fresh permutation every epoch */
  BRIM_UNIFORM,        /* sorted by length, random contiguous runs taken until nothing is left */
  BRIM_SORTED,         /* sorted (ties in random order, random first cut), cut, batches shuffled */
  BRIM_BUCKETED,       /* read-ahead windows of a random order, each sorted and cut, batches shuffled; rows that fill no batch
                          and (once) the batch of least like rows, go into the next window. One window for all: like sorted */
  BRIM_PACKED          /* best fit to a token budget. Padded: like bucketed, which there takes the fewest batches. With
                          batch_size: steps as in random, packed inside */
} brim_batching;
typedef enum brim_padding { BRIM_PAD_NONE = 0, BRIM_PAD_LONGEST, BRIM_PAD_MAX_LENGTH } brim_padding;
/* A row that takes more than max_tokens by itself: refuse it, cut it, or compute it alone, over the budget. */
typedef enum brim_oversize { BRIM_OVERSIZE_ERROR = 0, BRIM_OVERSIZE_TRUNCATE, BRIM_OVERSIZE_ALONE } brim_oversize;
/* How token-budget batches come to several ranks (with batch_size a step is always shared out by rows).
 *  RESPLIT: a step's rows are cut again where that leaves the costliest rank less to do, so that a step with fewer batches than
 *           ranks keeps all of them busy too;
 *  FILL:    batches stay whole, and some ranks may get empty parts;
 *  DROP:    like RESPLIT, and drop_last. */
typedef enum brim_tail { BRIM_TAIL_RESPLIT = 0, BRIM_TAIL_FILL, BRIM_TAIL_DROP } brim_tail;

/* Texts that may be computed at once when the longest of them has `longest` tokens; one row may always. A pure function: it is
 * asked in any order and as often as a plan likes. */
typedef int64_t (*brim_rows_fn)(void *context, int32_t longest);

/* All zero means: sequential, ragged, seed 0, one rank; batch_size or max_tokens (or rows_for) must then be set. */
typedef struct brim_plan_options {
  brim_batching batching;
  brim_padding padding;
  int64_t batch_size;         /* rows of an optimizer step over all ranks; 0: none (max_tokens decides) */
  int64_t max_tokens;         /* slots computed at once; 0: no limit. With batch_size it only cuts a step into parts */
  int64_t max_rows;           /* cap on the texts computed at once; 0: none */
  int64_t accumulate;         /* max_tokens alone: batches of a step, over all ranks; 0: world_size. With batch_size: a full step
                                 is cut into at least so many parts, over all ranks; the step stays as it is */
  int32_t max_length;         /* lengths are cut here; 0: no cut. Required for BRIM_PAD_MAX_LENGTH. Rows of several texts are cut
                                 when they are encoded: here a longer text is an error, and so is BRIM_OVERSIZE_TRUNCATE */
  int32_t pad_to_multiple_of; /* widths are rounded up to it; 0 and 1: no rounding. Nothing to round when ragged */
  int64_t read_ahead;         /* window of bucketed and packed, rows; 0: everything */
  int64_t required_batch_size_multiple; /* a part has a multiple of so many rows, or fewer: where max_tokens holds no more, and
                                           what remains at the end of a step, window or epoch. 0 and 1: any */
  bool drop_last; /* drop what falls short: a step with fewer rows than batch_size; with max_tokens alone the batch
                     that the end of the rows cut short and a last step with fewer batches than `accumulate` */
  brim_oversize oversize;
  uint64_t seed;
  int32_t world_size; /* 0 means 1 */
  int32_t slices; /* a step's rows are dealt to so many slices of nearly equal cost, whatever world_size is; each rank takes a run
                     of neighbouring slices, and each part is some of them, whole: one node of the tree in which slices are
                     added, as many as may be computed at once. What a part may take (max_tokens, max_rows, rows_for) refuses a
                     slice that is larger. Padded, and with rows_for or a required multiple, each is a part. In a step of
                     fewer than 128 tokens a slice those are empty with which no rank of 2, 3, 4, 6 or 8 begins. 0: none */
  brim_tail tail;
  double cost_linear, cost_square; /* cost of a sequence of s slots: linear * s + square * s^2; ranks are balanced by it. Both 0:
                                      4608 and 1, the shape of a BERT of hidden size 768; see brim_plan_cost_shape */
  brim_rows_fn rows_for;           /* NULL: none. Another limit besides max_tokens, or instead of it */
  void *rows_context;
} brim_plan_options;

typedef struct brim_planned { /* one part: what is computed at once on one rank */
  uint64_t step;              /* global optimizer step of the epoch, from 0 */
  int32_t rank;
  uint32_t count;         /* rows; may be 0 (a rank with nothing to do in this part) */
  uint32_t texts;         /* of these rows: what is computed at once */
  const uint64_t *rows;   /* [count], borrowed from the plan, in order of place */
  const uint32_t *places; /* [count] place of each row in its optimizer step (keys dropout): with batch_size the same for any
                             world_size, max_tokens and padding; with max_tokens alone for any world_size */
  uint32_t step_rows;     /* rows of the whole step over all ranks: the divisor of the loss */
  int32_t width;          /* slots of every text; 0 when ragged and for an empty part */
  int32_t longest;        /* tokens of the longest text, cut */
  int64_t tokens, slots;  /* slots: tokens when ragged, texts * width otherwise */
  int32_t cut;            /* rows are cut to this many tokens (brim_batch_fill does it); 0: no row of the plan is */
  const uint8_t *slices;  /* [count] which of the step's slices each row is in: rows come slice by slice, in order of place in
                             each. NULL: there are none */
  double cost;            /* in the units of cost_linear and cost_square */
} brim_planned;

typedef struct brim_drop {
  uint64_t row;
  const char *reason;
} brim_drop; /* reason: static storage */
/* Conservation: rows_read = rows_planned + dropped, and the sum of all lengths = tokens + tokens_lost + those of dropped rows.
 * Where texts are windows, tokens - tokens_repeated are those of the long texts, each once, and special ones. */
typedef struct brim_ledger {
  uint64_t rows_read, rows_planned, rows_truncated; /* truncated: of the rows read */
  uint64_t tokens, tokens_lost, slots;              /* lost: by truncation, of the rows read */
  uint64_t tokens_repeated;                         /* of `tokens`, those that the window before has too */
  uint64_t batches, steps;                          /* batches: parts that hold rows, over all ranks */
  uint64_t dropped;
  const brim_drop *drops; /* [dropped], borrowed from the plan */
  uint64_t hash;          /* over rows and cuts of the whole plan: equal on every rank */
} brim_ledger;

/* The batches of one epoch: a pure function of (lengths, options, epoch), equal on every rank: no rank asks another. Immutable:
 * shareable.
 *  - batch_size: a step has batch_size rows; which rows they are depends on neither world_size nor max_tokens nor padding (but
 *    where rows of several texts are sorted, they are sorted otherwise when they are padded).
 *  - max_tokens alone: a step is `accumulate` batches of at most max_tokens slots; which rows they are does not depend on
 *    world_size when `accumulate` or `slices` is given (accumulate 0 is then 1).
 * In both cases the step is then shared out: every rank gets the same number of parts, of nearly equal cost.
 *
 * `lengths` is read during the call only; a caller may give any measure of its rows. Every row needs at least one token (a length
 * below 1 is BRIM_E_FORMAT and names the row); at most 2^32 - 2 rows. No rows make an empty plan. */
typedef struct brim_plan brim_plan;
BRIM_API int brim_plan_new(brim_runtime *runtime, const int32_t *lengths, uint64_t rows, const brim_plan_options *options,
                           uint64_t epoch, brim_plan **out, brim_error *err) BRIM_CHECK;
/* What is planned, where rows may have several texts. Read during the call only. */
typedef struct brim_lengths {
  uint64_t rows;
  const int32_t *lengths;      /* [rows] tokens, of all texts of a row together */
  const uint64_t *firsts;      /* [rows + 1] where each row's texts begin; NULL: each row is one text */
  const int32_t *text_lengths; /* [firsts[rows]] tokens of each text, at least 1; a row has at least one text */
  const brim_dataset *dataset; /* that has the rows, of which it is asked what they repeat; NULL: nothing is */
} brim_lengths;
BRIM_API brim_lengths brim_lengths_of(const brim_dataset *dataset);
/* brim_plan_new of any rows: with firsts NULL the same. A row that takes more than max_tokens, or has more texts than max_rows,
 * is an error or alone, as `oversize` says. */
BRIM_API int brim_plan_new_of(brim_runtime *runtime, const brim_lengths *lengths, const brim_plan_options *options,
                              uint64_t epoch, brim_plan **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_plan_free(brim_plan *plan);
BRIM_API uint64_t brim_plan_steps(const brim_plan *plan);
/* Parts of one rank (equal on every rank). */
BRIM_API uint64_t brim_plan_parts(const brim_plan *plan);
/* Part `index` (below brim_plan_parts) of `rank` (below world_size): steps in order. */
BRIM_API void brim_plan_part(const brim_plan *plan, int32_t rank, uint64_t index, brim_planned *out);
BRIM_API void brim_plan_ledger(const brim_plan *plan, brim_ledger *out);
/* Sets cost_linear and cost_square to the training FLOPs of a model: 6 N s + 12 L H s^2 with N parameters in the layers
 * (embeddings not counted), L layers and hidden size H. */
BRIM_API void brim_plan_cost_shape(brim_plan_options *options, double parameters, int32_t layers, int32_t hidden);
BRIM_API const char *brim_batching_name(brim_batching batching); /* "sequential" ... "packed"; "unknown" */
BRIM_API const char *brim_padding_name(brim_padding padding);    /* "none", "longest", "max_length" */
BRIM_API const char *brim_oversize_name(brim_oversize oversize); /* "error", "truncate", "alone" */
BRIM_API const char *brim_tail_name(brim_tail tail);             /* "resplit", "fill", "drop" */
BRIM_API bool brim_batching_parse(const char *name, brim_batching *out);
BRIM_API bool brim_padding_parse(const char *name, brim_padding *out); /* "max-length" is fine too */
BRIM_API bool brim_oversize_parse(const char *name, brim_oversize *out);
BRIM_API bool brim_tail_parse(const char *name, brim_tail *out);

/* A collated batch: always ragged; a padded array is a view made from it. Memory is reused by the next fill. */
typedef struct brim_batch {
  int32_t count;     /* n: texts, the sequences that are computed. Rows, where each is one text */
  int32_t row_count; /* m */
  int32_t *firsts;   /* [m+1] row i has the texts firsts[i] .. firsts[i + 1] - 1; NULL: row i is text i */
  int32_t width;     /* 0: ragged; else every sequence takes `width` slots when computed */
  int64_t tokens, slots;
  int32_t *ids;          /* [tokens] */
  uint8_t *type_ids;     /* [tokens] */
  int32_t *offsets;      /* [n+1] into ids (cu_seqlens) */
  int32_t label_width;   /* labels of a row: 1, or one an output (several values, or 0 and 1 for each of many labels) */
  float *labels;         /* [m, label_width] class id or value; NULL: labels are of tokens */
  int32_t *token_labels; /* [tokens] classes of tokens, BRIM_NO_LABEL for none; NULL: labels are of rows */
  int32_t block_count;   /* 0: these three are all there is, as in a batch that nobody filled. Else they are views of blocks[0] */
  brim_block_shape shapes[BRIM_MOST_BLOCKS]; /* [block_count] as brim_dataset_blocks has them: the label's, and further ones */
  void *blocks[BRIM_MOST_BLOCKS];            /* of rows [m, width], of texts [n, width], of tokens [tokens, width] */
  uint64_t *rows;                            /* [m] */
  uint32_t *places;                          /* [n] text t of the row at place p: p * K + t, with K of brim_dataset_most_texts */
  uint32_t step_rows;                        /* rows of the whole optimizer step */
  double divisor;                            /* of the loss; 0, what a fill sets: step_rows */
  uint64_t step;
  /* With how many tokens of a prompt text 0, 1, .. of each row begins, and further ones as the last, which are not pooled where
   * the model's folder says so. Where nobody has counted them (prompted is false) they are those that the model was trained with.
   */
  bool prompted;
  int32_t prompt_tokens[BRIM_MOST_PROMPTS];
  uint8_t *slices; /* [n] which of the step's slices a text's row is in, ascending; NULL: there are none */
  /* private */
  brim_runtime *runtime;
  size_t token_capacity, text_capacity, row_capacity, first_capacity;
  int32_t *first_room;                 /* firsts, if there are any */
  size_t block_room[BRIM_MOST_BLOCKS]; /* bytes */
  uint8_t *slice_room;                 /* slices, likewise */
} brim_batch;
/* The texts of row i: *first, and their number. */
static inline int32_t brim_batch_texts(const brim_batch *batch, int32_t row, int32_t *first) {
  *first = batch->firsts ? batch->firsts[row] : row;
  return batch->firsts ? batch->firsts[row + 1] - *first : 1;
}
/* Copies a part's rows out of the dataset. `batch` is zeroed before its first fill. Rows longer than part->cut are cut to it and
 * keep their last token (the final special token). BRIM_E_MISMATCH when the part was planned from other lengths. */
BRIM_API int brim_batch_fill(brim_batch *batch, brim_runtime *runtime, const brim_dataset *dataset, const brim_planned *part,
                             brim_error *err) BRIM_CHECK;
/* A copy of the rows. `to`, another batch, is zeroed before its first use, and reused by the next. */
BRIM_API int brim_batch_copy(brim_batch *to, brim_runtime *runtime, const brim_batch *from, brim_error *err) BRIM_CHECK;
BRIM_API void brim_batch_free(brim_batch *batch);
/* Width of the padded view: batch->width, or the longest text of a ragged batch. */
BRIM_API int32_t brim_batch_width(const brim_batch *batch);
/* The padded view: arrays [count, width] with width = brim_batch_width or more; ids are filled up with pad_id, type_ids with 0;
 * mask is 1 on tokens and 0 on padding. Each array may be NULL. */
BRIM_API void brim_batch_pad(const brim_batch *batch, int32_t width, int32_t pad_id, int32_t *ids, uint8_t *type_ids,
                             uint8_t *mask);

#ifdef __cplusplus
}
#endif
#endif
