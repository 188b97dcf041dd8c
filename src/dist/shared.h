/* shared.h: memory that all ranks of a group see, where all are on one machine. */
#ifndef BRIM_DIST_SHARED_H
#define BRIM_DIST_SHARED_H
#include "brim/dist.h"

typedef struct brim_shared brim_shared;

/* Every rank calls it with the same size: so many bytes of each, all zero. *out NULL: ranks are on several machines, or cannot
 * open one another's memory, or one of them is not `able`; the same on all. Nothing has a name, so nothing is left where ranks
 * are killed, and no file system has to have room. */
int brim_shared_open(const brim_group *group, brim_runtime *runtime, bool able, size_t bytes, brim_shared **out,
                     brim_error *err) BRIM_CHECK;
/* What is there is seen by all ranks after the next sum of the group. */
void *brim_shared_of(const brim_shared *shared, int32_t rank);
/* Others may still use theirs. */
void brim_shared_close(brim_shared *shared);
#endif
