/* tensors_write.c: writes a safetensors file. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "brim/model.h"

static int64_t tensor_bytes(const brim_tensor *t) {
  int64_t count = 1;
  for (int32_t i = 0; i < t->rank; i++)
    count *= t->shape[i];
  return count * (int64_t)sizeof(float);
}

/* The header with its length before it, filled up with spaces so that the data begins at a multiple of 8. "pt" tells PyTorch
 * programs that the tensors are theirs. */
static void write_header(brim_text *out, const brim_tensor *tensors, int count) {
  int64_t at = 0;
  brim_text_append(out, "\0\0\0\0\0\0\0\0", 8);
  brim_text_string(out, "{\"__metadata__\":{\"format\":\"pt\"}");
  for (int i = 0; i < count; i++) {
    const brim_tensor *t = &tensors[i];
    brim_text_string(out, ",");
    brim_text_json_string(out, t->name, strlen(t->name));
    brim_text_string(out, ":{\"dtype\":\"F32\",\"shape\":[");
    for (int32_t d = 0; d < t->rank; d++) {
      brim_text_string(out, d ? "," : "");
      brim_text_integer(out, t->shape[d]);
    }
    brim_text_printf(out, "],\"data_offsets\":[%lld,%lld]}", (long long)at, (long long)(at + tensor_bytes(t)));
    at += tensor_bytes(t);
  }
  brim_text_string(out, "}");
  while (out->length % 8 != 0 && !out->failed)
    brim_text_string(out, " ");
  for (int i = 0; i < 8 && !out->failed; i++)
    out->data[i] = (char)((uint64_t)(out->length - 8) >> 8 * i);
}

static int write_file(brim_file *file, const brim_text *header, const brim_tensor *tensors, int count, brim_error *err) {
  BRIM_TRY(brim_file_write(file, header->data, header->length, err));
  for (int i = 0; i < count; i++)
    BRIM_TRY(brim_file_write(file, tensors[i].data, (size_t)tensor_bytes(&tensors[i]), err));
  return brim_file_commit(file, err);
}

int brim_tensors_write(brim_runtime *runtime, const char *path, const brim_tensor *tensors, int count, brim_error *err) {
  brim_text header;
  brim_file *file = NULL;
  brim_text_init(&header, runtime);
  write_header(&header, tensors, count);
  int status = brim_text_status(&header, err);
  if (!status)
    status = brim_file_create(runtime, path, &file, err);
  if (!status)
    status = write_file(file, &header, tensors, count, err);
  brim_file_free(file);
  brim_text_free(&header);
  return status;
}
