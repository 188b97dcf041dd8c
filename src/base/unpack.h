/* unpack.h: xz and bzip2, where the build has their libraries. */
#ifndef BRIM_BASE_UNPACK_H
#define BRIM_BASE_UNPACK_H
#include "brim/base.h"

typedef enum brim_packing { BRIM_PACKING_NONE = 0, BRIM_PACKING_XZ, BRIM_PACKING_BZIP2 } brim_packing;

enum { BRIM_PACKING_BYTES = 6 }; /* that show a packing */

/* By the first bytes of a file. *more: further ones could still show it. */
brim_packing brim_packing_of(const char *bytes, size_t length, bool *more);
const char *brim_packing_name(brim_packing packing); /* "xz", "bzip2" */
/* What to do without it: a message. */
const char *brim_packing_advice(brim_packing packing);

typedef struct brim_unpack brim_unpack;
typedef enum brim_unpack_result {
  BRIM_UNPACK_MORE, /* continues with more bytes, or more room */
  BRIM_UNPACK_END,  /* a stream of the file is over; another may begin */
  BRIM_UNPACK_DAMAGED,
  BRIM_UNPACK_TOO_LARGE, /* its dictionary takes more memory than is given */
  BRIM_UNPACK_NO_MEMORY
} brim_unpack_result;

/* BRIM_E_UNSUPPORTED where the build has no library for it. Memory is the runtime's, and bounded. */
int brim_unpack_new(brim_runtime *runtime, brim_packing packing, brim_unpack **out, brim_error *err) BRIM_CHECK;
void brim_unpack_free(brim_unpack *unpack);
/* Takes from packed[0, *used) and writes to text[0, *made); both are then what was taken and written. What is decompressed before
 * damage is given with it. After END or a failure it has to begin again. */
brim_unpack_result brim_unpack_run(brim_unpack *unpack, const char *packed, size_t *used, char *text, size_t *made);
/* At the beginning of a stream. */
brim_unpack_result brim_unpack_begin(brim_unpack *unpack);

#endif
