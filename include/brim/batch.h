/* brim/batch.h: which rows go together (plan), and what a batch holds (collation). */
#ifndef BRIM_BATCH_H
#define BRIM_BATCH_H
#include "brim/data.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef enum brim_batching {
  BRIM_SEQUENTIAL = 0, /* file order */
  BRIM_RANDOM,         /* a fresh permutation every epoch */
  BRIM_UNIFORM,        /* sorted by length, random contiguous runs taken until nothing is left */
  BRIM_SORTED,         /* sorted (ties in random order, random first cut), cut, batches shuffled */
  BRIM_BUCKETED,       /* read-ahead windows of a random order, each sorted and cut, batches shuffled; tails carried over */
  BRIM_PACKED          /* best fit to a token budget */
} brim_batching;
typedef enum brim_padding { BRIM_PAD_NONE = 0, BRIM_PAD_LONGEST, BRIM_PAD_MAX_LENGTH } brim_padding;
typedef enum brim_oversize { BRIM_OVERSIZE_ERROR = 0, BRIM_OVERSIZE_TRUNCATE, BRIM_OVERSIZE_ALONE } brim_oversize;

typedef struct brim_plan_options {
  brim_batching batching;
  brim_padding padding;
  int64_t batch_size;          /* rows of an optimizer step over all ranks; 0: none (max_tokens decides) */
  int64_t max_tokens;          /* slots computed at once; 0: no limit. With batch_size it only cuts a step into parts */
  int64_t max_rows;            /* cap on the rows of a token-budget batch; 0: none */
  int64_t accumulate;          /* max_tokens alone: batches of a step, over all ranks; 0: world_size */
  int32_t max_length;          /* lengths are cut here; 0: no cut. Required for BRIM_PAD_MAX_LENGTH */
  int32_t pad_to_multiple_of;  /* widths are rounded up to it; 0 and 1: no rounding */
  int64_t read_ahead;          /* window of bucketed and packed, rows; 0: everything */
  int64_t required_batch_size_multiple; /* 0 and 1: any */
  bool drop_last;
  brim_oversize oversize;
  uint64_t seed;
  int32_t world_size;          /* 0 means 1 */
} brim_plan_options;

typedef struct brim_planned {  /* one part: what is computed at once on one rank */
  uint64_t step;               /* global optimizer step of the epoch, from 0 */
  int32_t rank;
  uint32_t count;              /* rows; may be 0 (a rank with nothing to do in this part) */
  const uint64_t *rows;        /* [count], borrowed from the plan */
  const uint32_t *places;      /* [count] place of each row in its optimizer step (keys dropout) */
  uint32_t step_rows;          /* rows of the whole step over all ranks: the divisor of the loss */
  int32_t width;               /* 0 when ragged */
  int64_t tokens, slots;
} brim_planned;

typedef struct brim_drop { uint64_t row; const char *reason; } brim_drop;
/* Conservation: rows_read = rows_planned + dropped. */
typedef struct brim_ledger {
  uint64_t rows_read, rows_planned, rows_truncated;
  uint64_t tokens, tokens_lost, slots;
  uint64_t batches, steps;
  uint64_t dropped; const brim_drop *drops; /* [dropped] */
  uint64_t hash;   /* over rows and cuts of the whole plan: equal on every rank */
} brim_ledger;

/* The batches of one epoch: a pure function of (lengths, options, epoch), equal on every rank. Immutable: shareable. */
typedef struct brim_plan brim_plan;
BRIM_API int brim_plan_new(brim_runtime *runtime, const int32_t *lengths, uint64_t rows, const brim_plan_options *options,
                           uint64_t epoch, brim_plan **out, brim_error *err) BRIM_CHECK;
BRIM_API void brim_plan_free(brim_plan *plan);
BRIM_API uint64_t brim_plan_steps(const brim_plan *plan);
/* Parts of one rank (equal on every rank). */
BRIM_API uint64_t brim_plan_parts(const brim_plan *plan);
BRIM_API void brim_plan_part(const brim_plan *plan, int32_t rank, uint64_t index, brim_planned *out);
BRIM_API void brim_plan_ledger(const brim_plan *plan, brim_ledger *out);
/* Checks options alone; names the field and what to do. */
BRIM_API int brim_plan_options_check(const brim_plan_options *options, brim_error *err) BRIM_CHECK;
BRIM_API const char *brim_batching_name(brim_batching batching);
BRIM_API const char *brim_padding_name(brim_padding padding);
BRIM_API bool brim_batching_parse(const char *name, brim_batching *out);
BRIM_API bool brim_padding_parse(const char *name, brim_padding *out);

/* A collated batch: always ragged; a padded array is a view made from it. Memory is reused by the next fill. */
typedef struct brim_batch {
  int32_t count;             /* n */
  int32_t width;             /* 0: ragged; else every sequence takes `width` slots when computed */
  int64_t tokens, slots;
  int32_t *ids;              /* [tokens] */
  uint8_t *type_ids;         /* [tokens] */
  int32_t *offsets;          /* [n+1] into ids (cu_seqlens) */
  float *labels;             /* [n] class id or value */
  uint64_t *rows;            /* [n] */
  uint32_t *places;          /* [n] */
  uint32_t step_rows;        /* divisor of the loss */
  uint64_t step;
  /* private */
  brim_runtime *runtime;
  size_t token_capacity, row_capacity;
} brim_batch;
BRIM_API int brim_batch_fill(brim_batch *batch, brim_runtime *runtime, const brim_dataset *dataset, const brim_planned *part,
                             brim_error *err) BRIM_CHECK;
BRIM_API void brim_batch_free(brim_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
