/* collate.h: memory of a batch, ahead of its fills. */
#ifndef BRIM_BATCH_COLLATE_H
#define BRIM_BATCH_COLLATE_H
#include "brim/batch.h"

/* Room for parts of so many tokens and texts, with so many labels a row: fills within it allocate nothing, but for labels of
 * tokens the first time. `several`: rows have several texts. */
int brim_batch_reserve(brim_batch *batch, brim_runtime *runtime, int64_t tokens, int32_t texts, bool several, int32_t label_width,
                       brim_error *err) BRIM_CHECK;

#endif
