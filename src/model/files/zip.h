/* zip.h: the table of a zip archive whose entries are stored, not compressed.
 * https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3 */
#ifndef BRIM_MODEL_ZIP_H
#define BRIM_MODEL_ZIP_H
#include "model/files/store.h"

typedef struct brim_zip_entry {
  const char *name; /* not NUL-terminated */
  size_t name_length;
  int64_t offset, size; /* of its bytes in the archive, within which they lie */
} brim_zip_entry;

typedef struct brim_zip {
  brim_runtime *runtime;
  uint8_t *directory; /* holds the names */
  brim_zip_entry *entries;
  size_t count, capacity;
  brim_hashmap index;
} brim_zip;

/* Zero *out first; close it in any case. BRIM_E_FORMAT, BRIM_E_UNSUPPORTED (compressed or encrypted) with the byte. */
int brim_zip_read(brim_runtime *runtime, const brim_store_file *file, brim_zip *out, brim_error *err) BRIM_CHECK;
void brim_zip_close(brim_zip *zip);
const brim_zip_entry *brim_zip_find(const brim_zip *zip, const char *name, size_t length); /* NULL: absent */

#endif
