#include "base/gzip.h"

#include <stdint.h>

/* The least that a member can have: header and trailer. A header with its own checksum (FHCRC) is for zlib: libdeflate
 * passes over it. */
enum { HEADER = 10, TRAILER = 8, FLAGS_AT = 3, HEADER_CHECKSUM = 2 };

size_t brim_gzip_claim(const char *packed, size_t length) {
  const unsigned char *end = (const unsigned char *)packed + length;
  return (uint32_t)end[-1] << 24 | (uint32_t)end[-2] << 16 | (uint32_t)end[-3] << 8 | end[-4];
}

#if BRIM_LIBDEFLATE
#include <libdeflate.h>

brim_gzip *brim_gzip_new(void) {
  return (brim_gzip *)libdeflate_alloc_decompressor();
}

void brim_gzip_free(brim_gzip *gzip) {
  libdeflate_free_decompressor((struct libdeflate_decompressor *)gzip);
}

brim_gzip_result brim_gzip_member(brim_gzip *gzip, const char *packed, size_t length, size_t *used, char *text, size_t room,
                                  size_t *made) {
  if (length < HEADER + TRAILER || packed[FLAGS_AT] & HEADER_CHECKSUM)
    return BRIM_GZIP_REFUSED;
  enum libdeflate_result result = libdeflate_gzip_decompress_ex((struct libdeflate_decompressor *)gzip, packed, length, text,
                                                                room, used, made);
  return result == LIBDEFLATE_SUCCESS              ? BRIM_GZIP_DONE
         : result == LIBDEFLATE_INSUFFICIENT_SPACE ? BRIM_GZIP_ROOM
                                                   : BRIM_GZIP_REFUSED;
}
#else
brim_gzip *brim_gzip_new(void) {
  return NULL;
}

void brim_gzip_free(brim_gzip *gzip) {
  (void)gzip;
}

brim_gzip_result brim_gzip_member(brim_gzip *gzip, const char *packed, size_t length, size_t *used, char *text, size_t room,
                                  size_t *made) {
  (void)gzip, (void)packed, (void)length, (void)used, (void)text, (void)room, (void)made;
  return BRIM_GZIP_REFUSED;
}
#endif
