#include "text/encoding.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

void brim_encoding_free(brim_encoding *encoding) {
  if (!encoding || !encoding->runtime)
    return;
  brim_release(encoding->runtime, encoding->ids);
  brim_release(encoding->runtime, encoding->type_ids);
  *encoding = (brim_encoding){0};
}

int brim_encoding_reserve(brim_encoding *out, size_t length, brim_error *err) {
  if (length <= out->capacity)
    return BRIM_OK;
  size_t capacity = out->capacity;
  BRIM_TRY(brim_grow(out->runtime, (void **)&out->ids, &capacity, length, sizeof *out->ids, err));
  uint8_t *types = brim_resize(out->runtime, out->type_ids, capacity);
  if (!types)
    return BRIM_NOMEM(err);
  out->type_ids = types;
  out->capacity = capacity;
  return BRIM_OK;
}

void brim_encoding_put(brim_encoding *out, const int32_t *ids, size_t count, uint8_t type_id) {
  if (!count)
    return;
  memcpy(out->ids + out->length, ids, count * sizeof *ids);
  memset(out->type_ids + out->length, type_id, count);
  out->length += count;
}

int brim_text_lengths_add(brim_runtime *runtime, brim_text_lengths *lengths, size_t length, brim_error *err) {
  BRIM_TRY(brim_grow(runtime, (void **)&lengths->at, &lengths->capacity, lengths->count + 1, sizeof *lengths->at, err));
  lengths->at[lengths->count++] = (int32_t)length;
  return BRIM_OK;
}
