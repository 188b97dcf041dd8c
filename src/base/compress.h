/* compress.h: a whole piece of memory into one gzip member or one zstd frame; stream.h reads them back. */
#ifndef BRIM_BASE_COMPRESS_H
#define BRIM_BASE_COMPRESS_H
#include "brim/base.h"

/* The same bytes in give the same bytes out (gzip without name and time, level 6; zstd with its checksum, level 3). *out is fresh
 * memory, released with brim_release; NULL on failure. */
int brim_compress_gzip(brim_runtime *runtime, const void *bytes, size_t length, char **out, size_t *out_length,
                       brim_error *err) BRIM_CHECK;
int brim_compress_zstd(brim_runtime *runtime, const void *bytes, size_t length, char **out, size_t *out_length,
                       brim_error *err) BRIM_CHECK;

#endif
