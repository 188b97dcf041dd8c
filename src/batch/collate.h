/* collate.h: memory of a batch, ahead of its fills. */
#ifndef BRIM_BATCH_COLLATE_H
#define BRIM_BATCH_COLLATE_H
#include "brim/batch.h"

/* Room for parts of so many tokens and texts, with these blocks: fills within it allocate nothing. `several`: rows have several
 * texts. The batch's blocks are these. */
int brim_batch_reserve(brim_batch *batch, brim_runtime *runtime, int64_t tokens, int32_t texts, bool several,
                       const brim_block_shape *shapes, int block_count, brim_error *err) BRIM_CHECK;
/* Bytes of the blocks of so many rows, texts and tokens. */
uint64_t brim_blocks_memory(const brim_block_shape *shapes, int count, uint64_t rows, uint64_t texts, uint64_t tokens);
/* Passes over so many rows, texts and tokens of all blocks. */
void brim_batch_skip(brim_batch *batch, int64_t rows, int64_t texts, int64_t tokens);

#endif
