/* calls.h: how a kind writes down the device's calls.
 *
 *   brim_linear op = {.in = 384, .out = 384};                  what is known now
 *   brim_fill(l, &op.x, brim_read(l, x), BRIM_READS);          what a run knows: addresses, counts, dropout
 *   brim_fill(l, &op.y, brim_write(l, y), BRIM_WRITES);
 *   BRIM_CALL(l, linear_forward, op);
 *
 * Fields are filled in the device's own operands, in the order in which they are wanted; a call takes what was filled since the
 * one before. lowering.c and gradients.c write them. */
#ifndef BRIM_MODEL_CALLS_H
#define BRIM_MODEL_CALLS_H
#include <stddef.h>

#include "model/kind.h"
#include "model/schedule.h"

/* Of a weight of shape [out, in] and the bias declared after it, if it has one. */
static inline brim_product brim_product_of(const brim_program *p, int32_t weight) {
  const int32_t bias = brim_bias_of(p, weight);
  return (brim_product){brim_weight_columns(p, weight), brim_weight_rows(p, weight), brim_weight_at(p, weight),
                        bias == BRIM_NONE ? -1 : brim_weight_at(p, bias)};
}

/* Columns of a version of a value. */
typedef struct brim_at {
  int32_t version, column;
} brim_at;

/* A field that stays NULL. */
#define BRIM_NOWHERE ((brim_at){BRIM_NONE, 0})

/* Where all rows that are computed of a value can be read; it is made again if need be. */
brim_at brim_read(brim_lowering *l, int32_t value);
/* Where its chosen rows can be read: its own, or gathered from all. */
brim_at brim_read_chosen(brim_lowering *l, int32_t value);
/* Those of its rows that `rows` says: the chosen ones, or all. */
static inline brim_at brim_read_rows(brim_lowering *l, int32_t value, brim_row_kind rows) {
  return rows == BRIM_ROW_CHOSEN ? brim_read_chosen(l, value) : brim_read(l, value);
}
/* The same in 16 bits: as they are stored, or a copy. */
brim_at brim_read_half(brim_lowering *l, int32_t value);
brim_at brim_read_chosen_half(brim_lowering *l, int32_t value);
/* A new version of a value, to be written as it is stored. */
brim_at brim_write(brim_lowering *l, int32_t value);
/* And its copy in 16 bits, which the same call may write; or the copy alone, where the value is made again. Nowhere if nobody
 * reads it, or the value itself is of 16 bits. */
brim_at brim_write_half(brim_lowering *l, int32_t value);
/* The same for two values whose columns lie side by side, `*second` after `first`. */
brim_at brim_write_beside(brim_lowering *l, int32_t first, int32_t second, brim_at *after);
/* Memory for one call. */
brim_at brim_spare(brim_lowering *l, brim_row_kind rows, int32_t width);
brim_at brim_spare_half(brim_lowering *l, brim_row_kind rows, int32_t width);
brim_at brim_rounded(brim_lowering *l, brim_at at); /* a copy in 16 bits, for one call */
/* From now on `value` is what lies in a version of another one. */
void brim_becomes(brim_lowering *l, int32_t value, brim_at at);
/* `to` may have the memory of `from`, if this call is the last that reads it. */
void brim_may_replace(brim_lowering *l, brim_at to, brim_at from);
/* An inner value that nobody keeps need not be written. */
bool brim_is_kept(const brim_lowering *l, int32_t value);

/* Gradients: whether anybody wants one; where it can be read; and where to add to it. `*add` false: it is to be written, since
 * this is its first contribution. Gradients of values that lie side by side do so too. */
bool brim_wants_gradient(const brim_lowering *l, int32_t value);
brim_at brim_gradient(brim_lowering *l, int32_t value);
brim_at brim_gradient_half(brim_lowering *l, int32_t value); /* in 16 bits: as it is stored, or a copy */
brim_at brim_add_gradient(brim_lowering *l, int32_t value, bool *add);
brim_at brim_add_gradient_chosen(brim_lowering *l, int32_t value, bool *add);
/* All of the gradient of `from` is passed to `to`, of which `from` is a sum with something else. To be called last: the gradient
 * of `to` may from then on be in the same memory. The rows of `from` are those of `to`, or the chosen ones. */
void brim_share_gradient(brim_lowering *l, int32_t from, int32_t to);
/* The value has no separate gradient: it is the chosen rows of another one. */
void brim_pass_gradient_on(brim_lowering *l, int32_t from, int32_t chosen_of);
/* Where a call writes that cannot add: the first contribution, or scratch where no gradient is wanted. */
brim_at brim_write_gradient(brim_lowering *l, int32_t value, brim_row_kind rows);
/* Whether these rows have a contribution before this one; and what adds another, from separate memory, to theirs. */
bool brim_has_gradient(const brim_lowering *l, int32_t value, brim_row_kind rows);
void brim_add_to_gradient(brim_lowering *l, brim_at from, int32_t value, brim_row_kind rows);
bool brim_is_trained(const brim_lowering *l, const brim_operation *o);

/* Distance of rows, in elements. */
int32_t brim_stride(const brim_lowering *l, brim_at at);
/* Of a product of this many rows with a weight. */
static inline double brim_product_flops(const brim_program *p, int32_t weight, double rows) {
  return 2 * rows * brim_weight_rows(p, weight) * brim_weight_columns(p, weight);
}
/* The kind of rows that are computed of a value. */
brim_row_kind brim_rows_of(const brim_lowering *l, int32_t value);
const brim_program *brim_program_of(const brim_lowering *l);
/* Products are of bytes: a prediction in int8. */
bool brim_in_bytes(const brim_lowering *l);
/* The pass gives logits of masked words, and no loss of them. */
bool brim_gives_logits(const brim_lowering *l);
/* Products are of 16-bit values: a kind with products writes other calls. */
bool brim_uses_half(const brim_lowering *l);
/* What an operation makes again is read as floats: 16 bits of it would not do. */
bool brim_wants_wide(const brim_lowering *l);
/* The operation reads this input in 16 bits. */
bool brim_reads_half(const brim_lowering *l, const brim_operation *o, int input);
/* Stored in 16 bits. */
bool brim_is_half(const brim_lowering *l, int32_t value);

void brim_fill(brim_lowering *l, void *field, brim_at at, brim_access access);
void brim_fill_typed(brim_lowering *l, brim_typed *field, brim_at at, brim_access access); /* its type too */
/* An offset among rows of distances: from the first on that the batch reaches. */
void brim_fill_reached(brim_lowering *l, void *field, brim_at at, brim_access access);
/* A field of a weight that is BRIM_NONE stays NULL. */
void brim_fill_weight(brim_lowering *l, void *field, int32_t weight);
void brim_fill_weight_from(brim_lowering *l, void *field, int32_t weight, int64_t element);
/* Its copy in 16 bits, of a weight that has its bit in `half`. */
void brim_fill_weight_half(brim_lowering *l, void *field, int32_t weight, int64_t element);
/* The weight is there, and trained, or adjoins one that is. */
bool brim_has_weight_gradient(const brim_lowering *l, int32_t weight);
/* From `element` on; NULL where it has none. */
void brim_fill_weight_gradient(brim_lowering *l, void *field, int32_t weight, int64_t element);
/* Where the call changes `count` values from there on, which may be those of weights that adjoin, and none after them. */
void brim_fill_weight_gradients(brim_lowering *l, void *field, int32_t weight, int64_t element, int64_t count);
void brim_fill_packed(brim_lowering *l, brim_int8 *field, const brim_operation *o, int product);
void brim_fill_count(brim_lowering *l, int64_t *field, brim_row_kind rows, int64_t times); /* rows * times */
void brim_fill_rows(brim_lowering *l, brim_rows *field, brim_row_kind rows);
void brim_fill_slices(brim_lowering *l, brim_row_slices *field, brim_row_kind rows);
void brim_fill_layout(brim_lowering *l, brim_layout *field);
void brim_fill_dropout(brim_lowering *l, brim_dropout *field, double rate, uint32_t site);
/* Other things of a batch and its pass: a field of brim_frame with the same type. */
void brim_fill_from_frame(brim_lowering *l, void *field, size_t frame_offset, size_t size);

#define BRIM_CALL(l, name, op) brim_call_device(l, BRIM_OP_##name, &(op), sizeof(op))
void brim_call_device(brim_lowering *l, brim_device_op which, const void *operands, size_t size);
/* The last call is left out where no loss is wanted. */
void brim_only_with_loss(brim_lowering *l);

#endif
