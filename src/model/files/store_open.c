/* store_open.c: opens files of tensors, whatever their format, and folders that hold such files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/store.h"

#define INDEX_LIMIT ((size_t)100 << 20) /* bytes */

/* A zip archive, which PyTorch writes, begins with the letters PK; before 1.6 it wrote a row of pickles. */
static int read_headers(brim_store *s, int32_t file, brim_error *err) {
  static const uint8_t old[4] = {0x80, 2, 0x8a, 10};
  uint8_t bytes[4] = {0};
  if (s->files[file].size >= 4)
    BRIM_TRY(brim_store_read_bytes(&s->files[file], bytes, 4, 0, err));
  if (memcmp(bytes, old, 4) == 0)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, s->files[file].path, 0, 0,
                         "PyTorch before 1.6 wrote this file: load it with torch and save it again, best as safetensors");
  return memcmp(bytes, "PK", 2) == 0 ? brim_torch_read(s, file, err) : brim_safetensors_read(s, file, err);
}

static int open_one(brim_store *s, const char *path, brim_error *err) {
  struct stat about;
  int32_t file;
  int descriptor;
  BRIM_TRY(brim_file_open_plain(path, &descriptor, err));
  if (fstat(descriptor, &about) != 0) {
    close(descriptor);
    return brim_error_system(err, path, "read", errno);
  }
  BRIM_TRY(brim_store_add_file(s, path, descriptor, about.st_size, &file, err));
  return read_headers(s, file, err);
}

static int finish(brim_store *s, int status, brim_store **out) {
  if (status)
    brim_store_close(s);
  else
    *out = s;
  return status;
}

int brim_store_open(brim_runtime *runtime, const char *path, brim_store **out, brim_error *err) {
  *out = NULL;
  brim_store *s = brim_store_new(runtime);
  return s ? finish(s, open_one(s, path, err), out) : BRIM_NOMEM(err);
}

/* ---- shards ------------------------------------------------------------------------------------------------ */

static bool has_file(const brim_store *s, const char *path) {
  for (size_t i = 0; i < s->file_count; i++)
    if (strcmp(s->files[i].path, path) == 0)
      return true;
  return false;
}

/* The file of one entry "NAME": "FILE" of weight_map; it must lie in the folder itself. */
static int open_shard(brim_store *s, const brim_json_document *index, const char *folder, const brim_json_value *key,
                      brim_error *err) {
  const brim_json_value *file = brim_json_member(key);
  if (file->kind != BRIM_JSON_STRING || file->length == 0 || file->length > 255 || file->as.text[0] == '.' ||
      memchr(file->as.text, '/', file->length) || memchr(file->as.text, 0, file->length))
    return brim_json_error(index, file, err, BRIM_E_FORMAT, "weight_map must name a file in the same folder for every tensor");
  char name[256];
  memcpy(name, file->as.text, file->length);
  name[file->length] = 0;
  char *path = brim_path_join(s->runtime, folder, name);
  if (!path)
    return BRIM_NOMEM(err);
  int status = has_file(s, path) ? BRIM_OK : open_one(s, path, err);
  brim_release(s->runtime, path);
  if (!status && !brim_store_find(s, key->as.text, key->length))
    status = brim_json_error(index, key, err, BRIM_E_FORMAT, "tensor %.*s is not in %s",
                             (int)(key->length < 200 ? key->length : 200), key->as.text, name);
  return status;
}

static int open_shards(brim_store *s, const char *folder, const char *index_path, brim_error *err) {
  brim_json_document *index;
  BRIM_TRY(brim_json_load(s->runtime, index_path, INDEX_LIMIT, &index, err));
  const brim_json_value *map = brim_json_get(brim_json_root(index), "weight_map");
  int status = BRIM_OK;
  if (!map || map->kind != BRIM_JSON_OBJECT)
    status = brim_json_error(index, map, err, BRIM_E_FORMAT,
                             "an index needs a \"weight_map\" that names the file of every tensor");
  for (const brim_json_value *key = brim_json_first(map); key && !status; key = brim_json_after(map, key))
    status = open_shard(s, index, folder, key, err);
  brim_json_free(index);
  return status;
}

/* What the folder has in their place, and what to do with it. */
static int find_other(const brim_store *s, const char *folder, const char **hint, brim_error *err) {
  static const struct {
    const char *name, *hint;
  } others[] = {
      {"adapter_model.safetensors", "; it holds an adapter of PEFT: merge_and_unload() and save_pretrained() make a model of it"},
      {"adapter_model.bin", "; it holds an adapter of PEFT: merge_and_unload() and save_pretrained() make a model of it"},
      {"tf_model.h5", "; tf_model.h5 is of TensorFlow: from_pretrained(FOLDER, from_tf=True) of transformers 4 reads it"},
      {"flax_model.msgpack",
       "; flax_model.msgpack is of Flax: from_pretrained(FOLDER, from_flax=True) of transformers 4 reads it"}};
  *hint = "";
  for (size_t i = 0; i < sizeof others / sizeof *others && !**hint; i++) {
    char *path = brim_path_join(s->runtime, folder, others[i].name);
    if (!path)
      return BRIM_NOMEM(err);
    if (brim_path_exists(path))
      *hint = others[i].hint;
    brim_release(s->runtime, path);
  }
  return BRIM_OK;
}

/* Weights under the names that Hugging Face gives them, in the order in which it looks for them. */
static int open_folder(brim_store *s, const char *folder, brim_error *err) {
  static const struct {
    const char *name;
    bool index; /* of shards */
  } files[] = {{"model.safetensors", false},
               {"model.safetensors.index.json", true},
               {"pytorch_model.bin", false},
               {"pytorch_model.bin.index.json", true}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *path = brim_path_join(s->runtime, folder, files[i].name);
    if (!path)
      return BRIM_NOMEM(err);
    const bool there = brim_path_is_taken(path);
    const int status = !there ? BRIM_OK : files[i].index ? open_shards(s, folder, path, err) : open_one(s, path, err);
    brim_release(s->runtime, path);
    if (there)
      return status;
  }
  const char *other;
  BRIM_TRY(find_other(s, folder, &other, err));
  return brim_error_at(
      err, BRIM_E_IO, folder, 0, -1,
      "there is neither model.safetensors nor pytorch_model.bin, nor an index of one (.index.json), in this folder%s", other);
}

int brim_store_open_folder(brim_runtime *runtime, const char *folder, brim_store **out, brim_error *err) {
  *out = NULL;
  brim_store *s = brim_store_new(runtime);
  return s ? finish(s, open_folder(s, folder, err), out) : BRIM_NOMEM(err);
}
