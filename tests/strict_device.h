/* strict_device.h: the processor as a device that forgives nothing. Programs that are linked with it get its tables from
 * brim_ops_cpu and brim_ops_find, under the processor's names.
 *
 * Its memory cannot be read or written outside operations (page protection). Nothing is done before `sync`; until then what a
 * read is to fill holds other bytes, and what a write is to send may not change. Operands are copied when they are queued, and
 * working memory, like all that was not zeroed, is full of NaN. */
#ifndef BRIM_TESTS_STRICT_DEVICE_H
#define BRIM_TESTS_STRICT_DEVICE_H
#include "ops/ops.h"

/* From now on the n-th thing that is done (0: the next one) fails, and with it all that is queued after it; -1: nothing does. */
void strict_fail(long n);
/* How many things were done so far, and how often somebody waited for them. */
long strict_done(void);
long strict_syncs(void);
#endif
