#include "base/unpack.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

#if BRIM_LZMA
#include <lzma.h>
#endif
#if BRIM_BZIP2
#include <bzlib.h>
#endif

enum { XZ_MEMORY = 192 << 20 }; /* xz -9 needs 65 MiB */

struct brim_unpack {
  brim_runtime *runtime;
  brim_packing packing;
  bool begun;
#if BRIM_LZMA
  lzma_stream xz;
  lzma_allocator allocator;
#endif
#if BRIM_BZIP2
  bz_stream bzip2;
#endif
};

/* ---- kinds ------------------------------------------------------------------------------------------------ */

/* Do the first bytes of the file say so, or could they yet? */
static bool begins(const char *magic, size_t size, const char *bytes, size_t length, bool *more) {
  const bool same = memcmp(bytes, magic, length < size ? length : size) == 0;
  *more = *more || (same && length < size);
  return same && length >= size;
}

brim_packing brim_packing_of(const char *bytes, size_t length, bool *more) {
  *more = false;
  if (begins("\xFD"
             "7zXZ\0",
             6, bytes, length, more))
    return BRIM_PACKING_XZ;
  if (length >= 4 && (bytes[3] < '1' || bytes[3] > '9'))
    return BRIM_PACKING_NONE;
  char magic[] = {'B',  'Z', 'h', length >= 4 ? bytes[3] : '9',
                  0x31, 0x41}; /* the first block, or the end of a file without one */
  if (length == 3 && begins(magic, 3, bytes, 3, more))
    *more = true;
  if (begins(magic, 6, bytes, length, more))
    return BRIM_PACKING_BZIP2;
  magic[4] = 0x17, magic[5] = 0x72;
  return begins(magic, 6, bytes, length, more) ? BRIM_PACKING_BZIP2 : BRIM_PACKING_NONE;
}

const char *brim_packing_name(brim_packing packing) {
  return packing == BRIM_PACKING_XZ ? "xz" : "bzip2";
}

const char *brim_packing_advice(brim_packing packing) {
  return packing == BRIM_PACKING_XZ ? "this build does not read xz (it was made without liblzma): unpack it with xz -d"
                                    : "this build does not read bzip2 (it was made without libbz2): unpack it with bunzip2";
}

bool brim_reads_packed(const char *suffix) {
  if (strcmp(suffix, "xz") == 0)
    return BRIM_LZMA;
  if (strcmp(suffix, "bz2") == 0)
    return BRIM_BZIP2;
  return strcmp(suffix, "gz") == 0 || strcmp(suffix, "zst") == 0;
}

/* ---- xz --------------------------------------------------------------------------------------------------- */

#if BRIM_LZMA
static void *xz_allocate(void *context, size_t count, size_t size) {
  return brim_alloc_array(context, count, size);
}

static void xz_release(void *context, void *pointer) {
  brim_release(context, pointer);
}

static brim_unpack_result xz_result(lzma_ret result) {
  switch (result) {
  case LZMA_OK:
  case LZMA_BUF_ERROR: /* no progress without more bytes, or more room */
    return BRIM_UNPACK_MORE;
  case LZMA_STREAM_END:
    return BRIM_UNPACK_END;
  case LZMA_MEM_ERROR:
    return BRIM_UNPACK_NO_MEMORY;
  case LZMA_MEMLIMIT_ERROR:
    return BRIM_UNPACK_TOO_LARGE;
  default:
    return BRIM_UNPACK_DAMAGED;
  }
}

static brim_unpack_result xz_begin(brim_unpack *u) {
  if (!u->begun)
    u->xz = (lzma_stream)LZMA_STREAM_INIT;
  u->allocator = (lzma_allocator){.alloc = xz_allocate, .free = xz_release, .opaque = u->runtime};
  u->xz.allocator = &u->allocator;
  u->begun = true;
  return xz_result(lzma_stream_decoder(&u->xz, XZ_MEMORY, 0));
}

static brim_unpack_result xz_run(brim_unpack *u, const char *packed, size_t *used, char *text, size_t *made) {
  u->xz.next_in = (const uint8_t *)packed, u->xz.avail_in = *used;
  u->xz.next_out = (uint8_t *)text, u->xz.avail_out = *made;
  const lzma_ret result = lzma_code(&u->xz, LZMA_RUN);
  *used -= u->xz.avail_in;
  *made -= u->xz.avail_out;
  return xz_result(result);
}
#endif

/* ---- bzip2 ------------------------------------------------------------------------------------------------ */

#if BRIM_BZIP2
static void *bzip2_allocate(void *context, int count, int size) {
  return brim_alloc_array(context, (size_t)count, (size_t)size);
}

static void bzip2_release(void *context, void *pointer) {
  brim_release(context, pointer);
}

static brim_unpack_result bzip2_begin(brim_unpack *u) {
  if (u->begun)
    BZ2_bzDecompressEnd(&u->bzip2);
  u->bzip2 = (bz_stream){.bzalloc = bzip2_allocate, .bzfree = bzip2_release, .opaque = u->runtime};
  u->begun = BZ2_bzDecompressInit(&u->bzip2, 0, 0) == BZ_OK;
  return u->begun ? BRIM_UNPACK_MORE : BRIM_UNPACK_NO_MEMORY;
}

static brim_unpack_result bzip2_run(brim_unpack *u, const char *packed, size_t *used, char *text, size_t *made) {
  const unsigned have = (unsigned)(*used < 1u << 30 ? *used : 1u << 30), room = (unsigned)(*made < 1u << 30 ? *made : 1u << 30);
  u->bzip2.next_in = (char *)(uintptr_t)packed, u->bzip2.avail_in = have;
  u->bzip2.next_out = text, u->bzip2.avail_out = room;
  const int result = BZ2_bzDecompress(&u->bzip2);
  *used = have - u->bzip2.avail_in;
  *made = room - u->bzip2.avail_out;
  return result == BZ_OK           ? BRIM_UNPACK_MORE
         : result == BZ_STREAM_END ? BRIM_UNPACK_END
         : result == BZ_MEM_ERROR  ? BRIM_UNPACK_NO_MEMORY
                                   : BRIM_UNPACK_DAMAGED;
}
#endif

/* ---- either ----------------------------------------------------------------------------------------------- */

brim_unpack_result brim_unpack_begin(brim_unpack *u) {
#if BRIM_LZMA
  if (u->packing == BRIM_PACKING_XZ)
    return xz_begin(u);
#endif
#if BRIM_BZIP2
  if (u->packing == BRIM_PACKING_BZIP2)
    return bzip2_begin(u);
#endif
  return u->begun ? BRIM_UNPACK_MORE : BRIM_UNPACK_DAMAGED;
}

brim_unpack_result brim_unpack_run(brim_unpack *u, const char *packed, size_t *used, char *text, size_t *made) {
#if BRIM_LZMA
  if (u->packing == BRIM_PACKING_XZ)
    return xz_run(u, packed, used, text, made);
#endif
#if BRIM_BZIP2
  if (u->packing == BRIM_PACKING_BZIP2)
    return bzip2_run(u, packed, used, text, made);
#endif
  (void)packed, (void)text;
  *used = *made = 0;
  return u->begun ? BRIM_UNPACK_MORE : BRIM_UNPACK_DAMAGED;
}

int brim_unpack_new(brim_runtime *runtime, brim_packing packing, brim_unpack **out, brim_error *err) {
  *out = NULL;
  if (!brim_reads_packed(packing == BRIM_PACKING_XZ ? "xz" : "bz2"))
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "%s", brim_packing_advice(packing));
  brim_unpack *u = brim_alloc_zero(runtime, sizeof *u);
  if (!u)
    return BRIM_NOMEM(err);
  u->runtime = runtime;
  u->packing = packing;
  if (brim_unpack_begin(u) != BRIM_UNPACK_MORE) {
    brim_unpack_free(u);
    return BRIM_NOMEM(err);
  }
  *out = u;
  return BRIM_OK;
}

void brim_unpack_free(brim_unpack *u) {
  if (!u)
    return;
#if BRIM_LZMA
  if (u->packing == BRIM_PACKING_XZ && u->begun)
    lzma_end(&u->xz);
#endif
#if BRIM_BZIP2
  if (u->packing == BRIM_PACKING_BZIP2 && u->begun)
    BZ2_bzDecompressEnd(&u->bzip2);
#endif
  brim_release(u->runtime, u);
}
