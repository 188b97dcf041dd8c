/* machine.h: which machine this is. */
#ifndef BRIM_DIST_MACHINE_H
#define BRIM_DIST_MACHINE_H
#include <stdint.h>

/* Equal where process numbers mean the same: a hash of host, boot and process namespace. */
uint64_t brim_machine_id(void);

#endif
