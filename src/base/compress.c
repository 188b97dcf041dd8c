#include "base/compress.h"

#include <string.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/memory.h"
#include "base/status.h"

enum { GZIP_LEVEL = 6, GZIP_WINDOW = 15 + 16 /* with a gzip header */, GZIP_MEMORY = 8, ZSTD_LEVEL = 3 };
#define PIECE ((size_t)1 << 30) /* zlib counts in 32 bits */

static void *z_allocate(void *context, unsigned count, unsigned size) {
  return brim_alloc_array(context, count, size);
}

static void z_release(void *context, void *pointer) {
  brim_release(context, pointer);
}

/* Runs deflate over all of the input; `room` is enough for it. Returns what was written, 0 on failure. */
static size_t deflate_all(z_stream *z, const char *bytes, size_t length, char *out, size_t room) {
  size_t at = 0, used = 0;
  for (int result = Z_OK; result == Z_OK;) {
    uInt in = (uInt)(length - at < PIECE ? length - at : PIECE), space = (uInt)(room - used < PIECE ? room - used : PIECE);
    z->next_in = (Bytef *)(bytes + at);
    z->avail_in = in;
    z->next_out = (Bytef *)(out + used);
    z->avail_out = space;
    result = deflate(z, at + in == length ? Z_FINISH : Z_NO_FLUSH);
    at += in - z->avail_in;
    used += space - z->avail_out;
    if (result == Z_STREAM_END)
      return used;
  }
  return 0;
}

int brim_compress_gzip(brim_runtime *runtime, const void *bytes, size_t length, char **out, size_t *out_length, brim_error *err) {
  z_stream z = {.zalloc = z_allocate, .zfree = z_release, .opaque = runtime};
  *out = NULL;
  if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
    return BRIM_NOMEM(err);
  size_t room = deflateBound(&z, length);
  char *packed = brim_alloc(runtime, room);
  *out_length = packed ? deflate_all(&z, bytes, length, packed, room) : 0;
  deflateEnd(&z);
  if (!packed)
    return BRIM_NOMEM(err);
  if (*out_length == 0) {
    brim_release(runtime, packed);
    return brim_error_set(err, BRIM_E_INTERNAL, "zlib did not compress %zu bytes", length);
  }
  *out = packed;
  return BRIM_OK;
}

static void *zstd_allocate(void *context, size_t size) {
  return brim_alloc(context, size);
}

int brim_compress_zstd(brim_runtime *runtime, const void *bytes, size_t length, char **out, size_t *out_length, brim_error *err) {
  size_t room = ZSTD_compressBound(length);
  char *packed = brim_alloc(runtime, room);
  ZSTD_CCtx *zstd = ZSTD_createCCtx_advanced((ZSTD_customMem){zstd_allocate, z_release, runtime});
  size_t result = 0;
  bool memory = packed && zstd;
  *out = NULL;
  if (memory) {
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    result = ZSTD_compress2(zstd, packed, room, bytes, length);
    memory = !ZSTD_isError(result); /* there is room for any outcome: only its own memory can be missing */
  }
  ZSTD_freeCCtx(zstd);
  if (!memory) {
    brim_release(runtime, packed);
    return BRIM_NOMEM(err);
  }
  *out = packed;
  *out_length = result;
  return BRIM_OK;
}
