/* Files of torch.save: what it writes is read, and what no weights need is refused with its byte. */
#include "model/files/pickle.h"
#include "model/files/safetensors.h"
#include "model_case.h"

/* ---- tensors of every kind --------------------------------------------------------------------------------- */

typedef struct expected {
  const char *name, *dtype;
  int32_t rank;
  int64_t shape[3];
  real values[12];
} expected;

static void check_tensor(const brim_store *store, const expected *e) {
  const brim_stored *t = brim_store_find(store, e->name, strlen(e->name));
  real values[12] = {0};
  brim_error err = {0};
  bool good = t && strcmp(t->dtype, e->dtype) == 0 && t->rank == e->rank && t->count <= 12 &&
              memcmp(t->shape, e->shape, (size_t)e->rank * sizeof *e->shape) == 0;
  if (good && brim_store_read(store, t, values, &err))
    case_stop(e->name, &err);
  for (int i = 0; i < 12; i++)
    good = good && fabs((double)(values[i] - e->values[i])) < 1e-7;
  ok(good, "%s, %s of %d dimensions", e->name, e->dtype, e->rank);
}

static void check_views(void) {
  static const expected list[] = {
      {"whole", "F32", 2, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"turned", "F32", 2, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
      {"row", "F32", 1, {4}, {4, 5, 6, 7}},
      {"column", "F32", 1, {3}, {2, 6, 10}},
      {"half", "F16", 2, {2, 3}, {0, 0.25f, 0.5f, 0.75f, 1, 1.25f}},
      {"bfloat", "BF16", 2, {2, 3}, {0, 0.25f, 0.5f, 0.75f, 1, 1.25f}},
      {"double", "F64", 1, {3}, {0, 1.0f / 3, 2.0f / 3}},
      {"parameter", "F32", 1, {2}, {1, 1}},
      {"scalar", "F32", 0, {0}, {2.5f}},
      {"empty", "F32", 2, {0, 3}, {0}},
      {"spread", "F32", 2, {2, 3}, {7, 7, 7, 7, 7, 7}},
      {"cut", "F32", 3, {2, 2, 2}, {4, 6, 8, 10, 16, 18, 20, 22}},
  };
  char path[600];
  brim_store *store;
  brim_error err = {0};
  const char *source = getenv("BRIM_SOURCE");
  snprintf(path, sizeof path, "%s/tests/golden/torch/views.bin", source ? source : ".");
  if (brim_store_open(case_runtime, path, &store, &err))
    case_stop(path, &err);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    check_tensor(store, &list[i]);
  real values[4];
  const brim_stored *ids = brim_store_find(store, "ids", 3);
  ok(brim_store_count(store) == 13 && ids && strcmp(ids->dtype, "I64") == 0 &&
         brim_store_read(store, ids, values, &err) == BRIM_E_UNSUPPORTED,
     "integers are listed, not read");
  brim_store_close(store);
}

/* ---- pickles ------------------------------------------------------------------------------------------------ */

static int count_tensor(void *context, const char *name, size_t length, const brim_pickled_tensor *tensor, brim_error *err) {
  (void)name, (void)length, (void)tensor, (void)err;
  ++*(int *)context;
  return BRIM_OK;
}

#define STORAGE "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\14tQ"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define TENSOR  REBUILD STORAGE "K\0K\3K\4\206K\4K\1\206\211ccollections\nOrderedDict\n)RtR"
#define NAME    "X\1\0\0\0a"

typedef struct program {
  const char *what, *bytes;
  size_t length;
  int status, tensors;
  int64_t byte; /* of the error, or -1: not looked at */
  const char *words;
} program;

#define PROGRAM(what, bytes, status, tensors, byte, words) {what, bytes, sizeof bytes - 1, status, tensors, byte, words}

static void check_programs(void) {
  static const program list[] = {
      PROGRAM("nothing", "\200\2}.", BRIM_OK, 0, -1, ""),
      PROGRAM("one tensor", "\200\2}" NAME TENSOR "s.", BRIM_OK, 1, -1, ""),
      PROGRAM("two at once", "\200\2}(" NAME TENSOR "X\1\0\0\0b" TENSOR "u.", BRIM_OK, 2, -1, ""),
      PROGRAM("notes on a dictionary", "\200\2ccollections\nOrderedDict\n)R" NAME TENSOR "s}X\1\0\0\0_}sb.", BRIM_OK, 1, -1, ""),
      PROGRAM("protocol 4",
              "\200\4\225\0\0\0\0\0\0\0\0}\214\1a\224\214\14torch._utils\214\22_rebuild_tensor_v2\223" STORAGE
              "K\0K\3\205K\1\205\211NtRs.",
              BRIM_OK, 1, -1, ""),
      PROGRAM("a call", "\200\2}" NAME "cposix\nsystem\nX\4\0\0\0boom\205Rs.", BRIM_E_UNSUPPORTED, 0, 109, "posix.system"),
      PROGRAM("a call of an allowed name elsewhere", "\200\2}" NAME "cbuiltins\nOrderedDict\n)Rs.", BRIM_E_UNSUPPORTED, 0, 109,
              "builtins.OrderedDict"),
      PROGRAM("an instance", "\200\2}" NAME "(ios\nsystem\n.", BRIM_E_UNSUPPORTED, 0, 110, "opcode 0x69"),
      PROGRAM("an extension", "\200\2\202\1.", BRIM_E_UNSUPPORTED, 0, 102, "opcode 0x82"),
      PROGRAM("a storage that is called", "\200\2ctorch\nFloatStorage\n)R.", BRIM_E_UNSUPPORTED, 0, -1, "FloatStorage"),
      PROGRAM("a reference to something else", "\200\2(X\6\0\0\0moduletQ.", BRIM_E_UNSUPPORTED, 0, -1, "storage"),
      PROGRAM("a number", "\200\2}" NAME "K\3s.", BRIM_E_UNSUPPORTED, 0, 109, "a is an integer"),
      PROGRAM("a list", "\200\2].", BRIM_E_FORMAT, 0, -1, "a dictionary"),
      PROGRAM("protocol 0", "(dp0\n.", BRIM_E_UNSUPPORTED, 0, -1, "opcode 0x64"),
      PROGRAM("protocol 9", "\200\11}.", BRIM_E_UNSUPPORTED, 0, 100, "protocol 9"),
      PROGRAM("no end", "\200\2}", BRIM_E_FORMAT, 0, 103, "cut off"),
      PROGRAM("a text of a gigabyte", "\200\2X\0\0\0\100a.", BRIM_E_FORMAT, 0, 102, "cut off"),
      PROGRAM("an empty stack", "\200\2b.", BRIM_E_FORMAT, 0, 102, "not there"),
      PROGRAM("no mark", "\200\2}u.", BRIM_E_FORMAT, 0, 103, "mark"),
      PROGRAM("nothing kept", "\200\2h\5.", BRIM_E_FORMAT, 0, 102, "not kept"),
      PROGRAM("kept far away", "\200\2}r\377\377\377\177.", BRIM_E_FORMAT, 0, 103, "not there"),
      PROGRAM("a key without a value", "\200\2}(" NAME "u.", BRIM_E_FORMAT, 0, -1, "dictionary"),
      PROGRAM("itself", "\200\2}q\0" NAME "h\0s.", BRIM_E_UNSUPPORTED, 0, -1, "a is a dictionary"),
      PROGRAM("a negative size", "\200\2}" NAME REBUILD STORAGE "K\0J\377\377\377\377\205K\1\205NNtRs.", BRIM_E_FORMAT, 0, -1,
              "from 0 on"),
      PROGRAM("sizes without strides", "\200\2}" NAME REBUILD STORAGE "K\0K\1\205)NNtRs.", BRIM_E_FORMAT, 0, -1, "strides"),
      PROGRAM("nine dimensions", "\200\2}" NAME REBUILD STORAGE "K\0(K\1K\1K\1K\1K\1K\1K\1K\1K\1tq\1h\1NNtRs.",
              BRIM_E_UNSUPPORTED, 0, -1, "8 dimensions"),
      PROGRAM("a huge integer", "\200\2\212\11\1\2\3\4\5\6\7\10\11.", BRIM_E_UNSUPPORTED, 0, 102, "9 bytes"),
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    const program *p = &list[i];
    brim_error err = {0};
    int count = 0;
    const int status = brim_pickle_read(case_runtime, "x.bin", 100, (const uint8_t *)p->bytes, p->length, count_tensor, &count,
                                        &err);
    if (!ok(status == p->status && count == p->tensors && (p->byte < 0 || err.byte == p->byte) &&
                (!status || strstr(err.message, p->words)),
            "pickle: %s", p->what))
      printf("# status %d, %d tensors, byte %lld: %s\n", status, count, (long long)err.byte, err.message);
  }
}

int main(void) {
  case_start(1);
  check_views();
  check_programs();
  brim_runtime_free(case_runtime);
  return tap_done();
}
