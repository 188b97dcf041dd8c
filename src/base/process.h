/* process.h: what the system says of this process. */
#ifndef BRIM_BASE_PROCESS_H
#define BRIM_BASE_PROCESS_H
#include "brim/base.h"

/* Bytes of this process that are in memory now; 0 where that cannot be known. */
uint64_t brim_process_resident(void);
/* The most bytes that it has had in memory so far; 0 where that cannot be known. Some 20 microseconds. */
uint64_t brim_process_peak(void);
/* Bytes that it may still take: what the machine has free or can free, and what its container leaves. UINT64_MAX where that
 * cannot be known. */
uint64_t brim_process_room(void);

#endif
