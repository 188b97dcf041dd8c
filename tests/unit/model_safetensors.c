/* Safetensors: what is read, what is refused and where, and that what is written reads back. */
#include "model/files/dtype.h"
#include "model/files/safetensors.h"
#include "model_case.h"

/* A file with this header; `data` bytes of zeros follow. Returns its length. */
static size_t make_file(uint8_t *out, const char *header, size_t data) {
  const size_t length = strlen(header);
  memset(out, 0, 8 + length + data);
  for (int i = 0; i < 8; i++)
    out[i] = (uint8_t)((uint64_t)length >> 8 * i);
  memcpy(out + 8, header, length);
  return 8 + length + data;
}

static int parse(const char *header, size_t data, brim_error *err) {
  static uint8_t bytes[4096];
  brim_store *store;
  const size_t length = make_file(bytes, header, data);
  *err = (brim_error){0};
  const int status = brim_store_parse(case_runtime, "x.safetensors", bytes, length, (int64_t)length, &store, err);
  brim_store_close(store);
  return status;
}

static void check_refused(const char *what, const char *header, size_t data, int code, int64_t byte) {
  brim_error err;
  const int status = parse(header, data, &err);
  if (!ok(status == code && *err.message && (byte < 0 || err.byte == byte), "refused: %s", what))
    printf("# status %d, byte %lld: %s\n", status, (long long)err.byte, err.message);
}

static void check_headers(void) {
  brim_error err;
  ok(parse("{}", 0, &err) == BRIM_OK, "a file without tensors");
  ok(parse("{\"__metadata__\":{\"format\":\"pt\"}}   ", 0, &err) == BRIM_OK, "metadata and spaces");
  ok(parse("{\"b\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[4,16]},\"a\":{\"dtype\":\"F32\",\"shape\":[],"
           "\"data_offsets\":[0,4]},\"e\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[16,16]}}",
           16, &err) == BRIM_OK,
     "tensors in any order, a scalar, an empty one");
  check_refused("no object", "[]", 0, BRIM_E_FORMAT, 8);
  check_refused("no JSON", "{\"a\":", 0, BRIM_E_FORMAT, -1);
  check_refused("a tensor that is no object", "{\"a\":3}", 0, BRIM_E_FORMAT, 9);
  check_refused("no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, BRIM_E_UNSUPPORTED, -1);
  check_refused("an unknown dtype", "{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, BRIM_E_UNSUPPORTED, -1);
  check_refused("no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, BRIM_E_FORMAT, -1);
  check_refused("nine dimensions", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
                BRIM_E_FORMAT, -1);
  check_refused("a negative dimension", "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, BRIM_E_FORMAT,
                -1);
  check_refused("a shape that overflows", "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",
                4, BRIM_E_FORMAT, -1);
  check_refused("bytes that overflow", "{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}", 0,
                BRIM_E_FORMAT, -1);
  check_refused("no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, BRIM_E_FORMAT, -1);
  check_refused("offsets backwards", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, BRIM_E_FORMAT, -1);
  check_refused("a real offset", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.0,4]}}", 4, BRIM_E_FORMAT, -1);
  check_refused("too few bytes", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, BRIM_E_FORMAT, -1);
  check_refused("a tensor past the end", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, BRIM_E_FORMAT,
                66);
  check_refused("a gigabyte past the end", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1073741824],\"data_offsets\":[0,1073741824]}}", 4,
                BRIM_E_FORMAT, -1);
  check_refused("an overlap",
                "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[3,6]}}",
                6, BRIM_E_FORMAT, -1);
  check_refused("an overlap that a gap makes up for",
                "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[3,6]}}",
                7, BRIM_E_FORMAT, -1);
  check_refused("a gap", "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[1,5]}}", 5, BRIM_E_FORMAT, -1);
  check_refused("bytes after the end", "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 5, BRIM_E_FORMAT, -1);
  check_refused("a name twice",
                "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                2, BRIM_E_FORMAT, -1);
}

static void check_lengths(void) {
  brim_store *store;
  brim_error err;
  const uint8_t huge[16] = {0, 0, 0, 64, 0, 0, 0, 0, '{', '}'}, most[16] = {255, 255, 255, 255, 255, 255, 255, 255};
  ok(brim_store_parse(case_runtime, "x", huge, 16, 16, &store, &err) == BRIM_E_FORMAT, "a header of a gigabyte is refused");
  ok(brim_store_parse(case_runtime, "x", most, 16, 16, &store, &err) == BRIM_E_FORMAT, "a header of 2^64 - 1 bytes is refused");
  static const struct {
    const char *bytes, *said;
  } others[] = {{"version https://git-lfs.github.com/spec/v1", "git lfs pull"},
                {"<!DOCTYPE html><html>", "a page or a message"},
                {"{\"error\":\"Not Found\"}", "a page or a message"},
                {"PK\3\4\0\0\10\10\0\0\0\0", "pytorch_model.bin"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    ok(brim_store_parse(case_runtime, "x", (const uint8_t *)others[i].bytes, 16, 16, &store, &err) == BRIM_E_FORMAT &&
           strstr(err.message, others[i].said),
       "in the place of weights: %s", err.message);
  ok(brim_store_parse(case_runtime, "x", huge, 7, 7, &store, &err) == BRIM_E_FORMAT, "seven bytes are refused");
  ok(brim_store_open(case_runtime, scratch_file("nothing"), &store, &err) == BRIM_E_IO, "a missing file is refused");
  ok(brim_store_open(case_runtime, scratch_folder(), &store, &err) == BRIM_E_IO, "a folder is refused");
}

/* ---- numbers ---- */

static void check_numbers(void) {
  static const struct {
    uint16_t bits;
    float value;
  } halves[] = {{0x0000, 0},        {0x8000, -0.0f},        {0x3c00, 1},        {0xc000, -2},          {0x7bff, 65504},
                {0x0001, 0x1p-24f}, {0x03ff, 0x1.ff8p-15f}, {0x0400, 0x1p-14f}, {0x3555, 0x1.554p-2f}, {0x7c00, INFINITY},
                {0xfc00, -INFINITY}};
  bool good = true;
  for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
    const float got = brim_half_value(halves[i].bits);
    good = good && memcmp(&got, &halves[i].value, sizeof got) == 0;
  }
  ok(good && isnan(brim_half_value(0x7e01)), "half precision: normal, subnormal, infinite, not a number");
}

/* One tensor of each dtype, four values each. */
static void check_dtypes(void) {
  static const char header[] = "{\"f64\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,32]},"
                               "\"f32\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[32,48]},"
                               "\"f16\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[48,56]},"
                               "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[56,64]},"
                               "\"i64\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[64,72]}}";
  static const double f64[4] = {0, 1.5, -0.25, 3};
  static const float f32[4] = {0, 1.5f, -0.25f, 3};
  static const uint16_t f16[4] = {0, 0x3e00, 0xb400, 0x4200}, bf16[4] = {0, 0x3fc0, 0xbe80, 0x4040};
  static const char *const names[] = {"f64", "f32", "f16", "bf16"};
  uint8_t bytes[1024];
  const size_t length = make_file(bytes, header, 72), data = length - 72;
  memcpy(bytes + data, f64, 32);
  memcpy(bytes + data + 32, f32, 16);
  memcpy(bytes + data + 48, f16, 8);
  memcpy(bytes + data + 56, bf16, 8);
  brim_store *store;
  brim_error err;
  if (brim_store_open(case_runtime, scratch_write_bytes("dtypes", bytes, length), &store, &err))
    case_stop("dtypes", &err);
  float got[4];
  for (int i = 0; i < 4; i++) {
    const brim_stored *t = brim_store_find(store, names[i], strlen(names[i]));
    ok(t && brim_store_read(store, t, got, &err) == BRIM_OK && memcmp(got, f32, sizeof got) == 0, "%s is read", names[i]);
  }
  ok(brim_store_read(store, brim_store_find(store, "i64", 3), got, &err) == BRIM_E_UNSUPPORTED && strstr(err.message, "I64"),
     "integers are not weights");
  ok(!brim_store_find(store, "none", 4), "an absent tensor");
  brim_store_close(store);
}

/* ---- files ---- */

/* Every cut of a real file is refused, with its name and a byte. */
static void check_cuts(void) {
  char path[600];
  size_t length;
  snprintf(path, sizeof path, "%s/model.safetensors", case_golden("roberta-regression"));
  char *bytes = case_read_file(path, &length);
  bool good = true;
  for (int i = 0; i < 50; i++) {
    brim_store *store;
    brim_error err = {0};
    const size_t cut = length * (size_t)i / 50;
    const int status = brim_store_open(case_runtime, scratch_write_bytes("cut", bytes, cut), &store, &err);
    good = good && status == BRIM_E_FORMAT && !store && err.byte >= 0 && strstr(err.file, "cut");
    brim_store_close(store);
  }
  ok(good, "a file that is cut anywhere is refused with its place");
  brim_runtime_release(case_runtime, bytes);
}

static void check_written(void) {
  static const float a[6] = {1, 2, 3, 4, 5, 6}, b[1] = {-7};
  const brim_tensor tensors[] = {{"a \"quoted\" \303\251", 2, {2, 3}, a}, {"b", 1, {1}, b}};
  const char *path = scratch_file("written.safetensors");
  brim_error err;
  brim_store *store;
  if (brim_tensors_write(case_runtime, path, tensors, 2, &err) || brim_store_open(case_runtime, path, &store, &err))
    case_stop("written", &err);
  const brim_stored *t = brim_store_find(store, tensors[0].name, strlen(tensors[0].name));
  float got[6];
  ok(t && t->rank == 2 && t->shape[0] == 2 && t->shape[1] == 3 && t->offset % 8 == 0 &&
         brim_store_read(store, t, got, &err) == BRIM_OK && memcmp(got, a, sizeof a) == 0,
     "what is written reads back");
  ok(brim_store_count(store) == 2 && strcmp(brim_store_tensor(store, 1)->name, "b") == 0, "in its order");
  brim_store_close(store);
  ok(brim_tensors_write(case_runtime, scratch_file("no/such/folder"), tensors, 2, &err) == BRIM_E_IO, "a folder that is missing");
}

/* ---- shards ---- */

static int open_shards(const char *index) {
  static int number;
  char name[32];
  brim_store *store;
  brim_error err;
  static const float a[2] = {1, 2}, b[2] = {3, 4};
  snprintf(name, sizeof name, "shards-%d", number++);
  const char *folder = scratch_make_folder(name);
  char path[600];
  snprintf(path, sizeof path, "%s/one.safetensors", folder);
  int status = brim_tensors_write(case_runtime, path, &(brim_tensor){"a", 1, {2}, a}, 1, &err);
  snprintf(path, sizeof path, "%s/two.safetensors", folder);
  status |= brim_tensors_write(case_runtime, path, &(brim_tensor){"b", 1, {2}, b}, 1, &err);
  case_write(folder, "model.safetensors.index.json", index, strlen(index));
  if (status)
    case_stop("shards", &err);
  status = brim_store_open_folder(case_runtime, folder, &store, &err);
  if (!status) {
    float got[2];
    const brim_stored *t = brim_store_find(store, "b", 1);
    status = !t || brim_store_read(store, t, got, &err) || memcmp(got, b, sizeof b) != 0 || brim_store_count(store) != 2;
  }
  brim_store_close(store);
  return status;
}

static void check_shards(void) {
  brim_store *store;
  brim_error err;
  ok(open_shards("{\"metadata\":{},\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\"}}") == BRIM_OK,
     "two shards");
  ok(open_shards("{\"weight_map\":{\"a\":\"two.safetensors\"}}") == BRIM_E_FORMAT, "a tensor that is not in its shard");
  ok(open_shards("{\"weight_map\":{\"a\":\"none.safetensors\"}}") == BRIM_E_IO, "a shard that is missing");
  ok(open_shards("{\"weight_map\":{\"a\":\"../one.safetensors\"}}") == BRIM_E_FORMAT, "a shard outside the folder");
  ok(open_shards("{\"weight_map\":[]}") == BRIM_E_FORMAT, "an index without a map");
  ok(brim_store_open_folder(case_runtime, scratch_make_folder("empty"), &store, &err) == BRIM_E_IO &&
         strstr(err.message, "model.safetensors"),
     "a folder without weights");
}

int main(void) {
  case_start(1);
  check_headers();
  check_lengths();
  check_numbers();
  check_dtypes();
  check_cuts();
  check_written();
  check_shards();
  brim_runtime_free(case_runtime);
  return tap_done();
}
