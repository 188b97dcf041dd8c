/* tree.h: the gradient of a step, slice by slice, with the same bits for any number of ranks, whatever way they are added up. */
#ifndef BRIM_REDUCE_TREE_H
#define BRIM_REDUCE_TREE_H
#include "dist/tree.h"
#include "model/run/gradient.h"
#include "reduce/reduce.h"

typedef struct brim_slice_sums brim_slice_sums;

/* Bytes for a rank of a group; `cut`: where a limit of memory cuts steps into smaller parts. */
uint64_t brim_slice_sums_memory(const brim_reduce_how *how, bool cut);
/* The model is prepared for training; BRIM_E_UNSUPPORTED: its device has other memory than the host's. */
int brim_slice_sums_open(const brim_reduce_how *how, brim_slice_sums **out, brim_error *err) BRIM_CHECK;
void brim_slice_sums_close(brim_slice_sums *sums); /* NULL: nothing happens */

/* ---- sums of this rank, that wait while it computes another one; the last one is the model's gradient */

/* The most of them, on the rank that has most. */
int32_t brim_slice_sums_most(const brim_slice_sums *sums);
/* Number `index` of them is in this memory from now on, which is zero and as large as a gradient. Borrowed. */
void brim_slice_sums_use_buffer(brim_slice_sums *sums, int32_t index, float *values);
/* No two sums of a rank are added after its last backward, which completes its last sum. */
bool brim_slice_sums_are_whole(const brim_slice_sums *sums);

/* A step begins: nothing is waiting. */
void brim_slice_sums_begin(brim_slice_sums *sums);
/* The rows of the part from row `first` on whose gradient may be computed next, as a batch that borrows from it until the next
 * call: one slice, or all where the model computes several at once. Its sum is begun: the model's gradient is zero. */
int brim_slice_sums_next(brim_slice_sums *sums, const brim_batch *part, int32_t first, brim_batch *out,
                         brim_error *err) BRIM_CHECK;
/* After the rank's last slice. */
void brim_slice_sums_end(brim_slice_sums *sums);
/* The loss of a slice. */
void brim_slice_sums_note(brim_slice_sums *sums, int32_t slice, double loss);

/* ---- sums of all ranks */

enum { BRIM_SLICE_MORE = 8 };
/* Adds up over all ranks: the loss, in the order of slices, into *loss, and each of `more` [count, at most BRIM_SLICE_MORE]. All
 * know then who has which sums. */
int brim_slice_sums_share(brim_slice_sums *sums, double *loss, double *more, int count, brim_error *err) BRIM_CHECK;
/* The latter alone, before a rank's losses are known. */
int brim_slice_sums_find_owners(brim_slice_sums *sums, brim_error *err) BRIM_CHECK;
bool brim_slice_sums_any_waits(const brim_slice_sums *sums); /* on any rank */
/* Sets the bits of rows of embeddings that waiting sums have. */
void brim_slice_sums_rows(const brim_slice_sums *sums, uint8_t *bits);
/* Packs waiting sums, as brim_rows_pack. */
void brim_slice_sums_pack(brim_slice_sums *sums, const brim_gradient_view *g);
/* Values offset .. offset + count - 1 of `gradients`, which hold this rank's last sum, become the sum of all. */
int brim_slice_sums_add(brim_slice_sums *sums, float *gradients, brim_tree_call call, int64_t offset, int64_t count,
                        brim_error *err) BRIM_CHECK;

/* All sums of all ranks, in the order of the tree, where somebody sees them all: their names, the rank of each, and its buffer
 * there: -1: the model's gradient, else a number of those that wait. Returns how many. */
int32_t brim_slice_sums_list(const brim_slice_sums *sums, int32_t *names, int32_t *ranks, int32_t *buffers);
#endif
