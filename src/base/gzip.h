/* gzip.h: one whole gzip member of memory at once, by libdeflate: two to three times as fast as a stream of zlib's. brim can be
 * built without it, and it takes only members that are right in every byte: the caller continues with zlib where it does not. */
#ifndef BRIM_BASE_GZIP_H
#define BRIM_BASE_GZIP_H
#include <stdbool.h>
#include <stddef.h>

typedef struct brim_gzip brim_gzip;

typedef enum brim_gzip_result {
  BRIM_GZIP_DONE,
  BRIM_GZIP_ROOM,   /* the text does not fit (or the data are cut: what is read for want of them is text too) */
  BRIM_GZIP_REFUSED /* damaged, cut, no gzip, or something that only zlib knows */
} brim_gzip_result;

/* NULL: built without libdeflate, or no memory. These 11 KiB are the only ones that do not go through the runtime's allocator,
 * since libdeflate's hook has no context. */
brim_gzip *brim_gzip_new(void);
void brim_gzip_free(brim_gzip *gzip);

/* Inflates the member that begins at packed[0] into text[0, room). DONE: it has *used bytes there and *made of text, and its
 * checksum and size fit. Else text holds nothing of worth. */
brim_gzip_result brim_gzip_member(brim_gzip *gzip, const char *packed, size_t length, size_t *used, char *text, size_t room,
                                  size_t *made);

/* The size of the text as the last member says it, which may be a lie. `length` is at least 4. */
size_t brim_gzip_claim(const char *packed, size_t length);

#endif
