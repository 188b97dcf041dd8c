/* group.h: what ranks do together besides sums. */
#ifndef BRIM_DIST_GROUP_H
#define BRIM_DIST_GROUP_H
#include "brim/dist.h"

/* Every rank calls it with its own status after something that may fail on one of them: all go on, or all fail. A failed rank
 * gets its own status and keeps its own message. */
int brim_group_agree(const brim_group *group, int status, brim_error *err);

#endif
