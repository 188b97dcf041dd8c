/* tensors_write.c: writes a safetensors file. */
#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "brim/model.h"
#include "model/files/safetensors.h"

static int64_t tensor_bytes(const brim_tensor *t) {
  int64_t count = 1;
  for (int32_t i = 0; i < t->rank; i++)
    count *= t->shape[i];
  return count * (int64_t)sizeof(float);
}

static void put_tensor(brim_json_writer *json, const brim_tensor *t, int64_t at) {
  brim_json_open_object(json, t->name);
  brim_json_put_string(json, "dtype", "F32");
  brim_json_open_array(json, "shape");
  for (int32_t d = 0; d < t->rank; d++)
    brim_json_put_integer(json, NULL, t->shape[d]);
  brim_json_close_array(json);
  brim_json_open_array(json, "data_offsets");
  brim_json_put_integer(json, NULL, at);
  brim_json_put_integer(json, NULL, at + tensor_bytes(t));
  brim_json_close_array(json);
  brim_json_close_object(json);
}

/* The header with its length before it, filled up with spaces so that the data begins at a multiple of 8. "pt" says to PyTorch
 * programs that the tensors are theirs. */
static void write_header(brim_text *out, const brim_tensor *tensors, int count) {
  brim_json_writer json = {.out = out};
  int64_t at = 0;
  brim_text_append(out, "\0\0\0\0\0\0\0\0", 8);
  brim_json_open_object(&json, NULL);
  brim_json_open_object(&json, "__metadata__");
  brim_json_put_string(&json, "format", "pt");
  brim_json_close_object(&json);
  for (int i = 0; i < count; i++) {
    put_tensor(&json, &tensors[i], at);
    at += tensor_bytes(&tensors[i]);
  }
  brim_json_close_object(&json);
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

static int write_to(brim_runtime *runtime, const char *path, bool own, const brim_tensor *tensors, int count, brim_error *err) {
  brim_text header;
  brim_file *file = NULL;
  brim_text_init(&header, runtime);
  write_header(&header, tensors, count);
  int status = brim_text_status(&header, err);
  if (!status)
    status = own ? brim_file_create_own(runtime, path, &file, err) : brim_file_create(runtime, path, &file, err);
  if (!status)
    status = write_file(file, &header, tensors, count, err);
  brim_file_free(file);
  brim_text_free(&header);
  return status;
}

int brim_tensors_write(brim_runtime *runtime, const char *path, const brim_tensor *tensors, int count, brim_error *err) {
  return write_to(runtime, path, true, tensors, count, err);
}

int brim_tensors_write_named(brim_runtime *runtime, const char *path, const brim_tensor *tensors, int count, brim_error *err) {
  return write_to(runtime, path, false, tensors, count, err);
}
