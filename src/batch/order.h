/* order.h: permutations and stable sorting of rows. Rows are 32-bit positions: a plan holds at most 2^32 - 2 of them. */
#ifndef BRIM_BATCH_ORDER_H
#define BRIM_BATCH_ORDER_H
#include "base/random.h"
#include "brim/base.h"

/* out[i] = i. */
void brim_order_identity(uint32_t *out, uint64_t count);

/* A uniformly random permutation of 0 .. count-1. It uses the stream's indices 2 * base .. 2 * (base + count) - 1 and nothing
 * else, so two calls with disjoint ranges of `base` are independent. */
int brim_order_shuffle(brim_runtime *runtime, const brim_random *random, uint64_t base, uint32_t *out, uint64_t count,
                       brim_error *err) BRIM_CHECK;

/* Sorts rows by min(lengths[row], limit), longest first; equal lengths stay in the order in which they were. `scratch` has room
 * for `count` rows. */
int brim_order_sort(brim_runtime *runtime, const int32_t *lengths, int32_t limit, uint32_t *order, uint32_t *scratch,
                    uint64_t count, brim_error *err) BRIM_CHECK;

#endif
