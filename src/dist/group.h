/* group.h: what ranks do together by sums. */
#ifndef BRIM_DIST_GROUP_H
#define BRIM_DIST_GROUP_H
#include "brim/dist.h"

/* What those ranks say that had to stop because of another one. */
#define BRIM_FAILED_ELSEWHERE "another rank failed; its message says why"
/* Every rank calls it with its own status, after something that may fail on one of them: all get BRIM_OK, or all fail, or all are
 * cancelled. A rank that failed keeps its own status and message. */
int brim_group_agree(const brim_group *group, int status, brim_error *err);
/* The same for those who have summed it up: how many ranks `failed`, and how many others are `cancelled`. */
int brim_group_decide(int status, double failed, double cancelled, brim_error *err);

/* Its rank is one of its ranks, and several have the functions that add up. */
int brim_group_check(const brim_group *group, brim_error *err) BRIM_CHECK;
/* What every rank has: `bytes` of each, in the order of the ranks, into all [world_size][bytes]. Every rank calls it with the
 * same number of bytes. */
int brim_group_gather(const brim_group *group, brim_runtime *runtime, const void *mine, size_t bytes, void *all,
                      brim_error *err) BRIM_CHECK;
/* The same where each rank has its own number of bytes: fresh memory, one text after another, each closed by a 0 byte. The texts
 * hold none themselves. */
int brim_group_gather_texts(const brim_group *group, brim_runtime *runtime, const char *mine, char **all,
                            brim_error *err) BRIM_CHECK;
/* *value becomes the largest of all ranks. */
int brim_group_largest(const brim_group *group, brim_runtime *runtime, uint64_t *value, brim_error *err) BRIM_CHECK;

#endif
