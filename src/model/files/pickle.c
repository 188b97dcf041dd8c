/* pickle.c: see pickle.h. Protocols 2 to 5, as torch.save writes them. */
#include "model/files/pickle.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/status.h"

/* ---- values ----------------------------------------------------------------------------------------------- */

typedef enum value_kind {
  NONE,
  BOOLEAN,
  INTEGER,
  REAL,
  TEXT,
  TUPLE,
  LIST,
  DICTIONARY,
  FUNCTION,
  STORAGE,
  TENSOR,
  MARK
} value_kind;

static const char *const kind_names[] = {"nothing", "a truth value", "an integer", "a number",  "a text",   "a tuple",
                                         "a list",  "a dictionary",  "a function", "a storage", "a tensor", "a mark"};

/* What may be called or named. */
typedef struct callable {
  const char *module, *name, *dtype; /* dtype: it is a class of storages */
} callable;

static const callable callables[] = {
    {"torch._utils", "_rebuild_tensor_v2", NULL},
    {"torch._utils", "_rebuild_parameter", NULL},
    {"collections", "OrderedDict", NULL},
    {"torch", "FloatStorage", "F32"},
    {"torch", "HalfStorage", "F16"},
    {"torch", "BFloat16Storage", "BF16"},
    {"torch", "DoubleStorage", "F64"},
    {"torch", "LongStorage", "I64"},
    {"torch", "IntStorage", "I32"},
    {"torch", "ShortStorage", "I16"},
    {"torch", "CharStorage", "I8"},
    {"torch", "ByteStorage", "U8"},
    {"torch", "BoolStorage", "BOOL"},
};
enum { REBUILD_TENSOR, REBUILD_PARAMETER, ORDERED_DICT, CALLABLES = sizeof callables / sizeof *callables };

typedef struct value {
  value_kind kind;
  size_t byte; /* of the opcode that made it */
  union {
    int64_t integer;
    struct {
      const char *text;
      size_t length;
    };
    struct {
      struct value **items; /* of a dictionary: key, value, key, value, .. */
      size_t count, capacity;
    };
    const callable *function;
    brim_pickled_tensor *tensor; /* of a storage: dtype, key and elements only */
  };
} value;

typedef struct machine {
  brim_runtime *runtime;
  const char *path;
  int64_t base;
  const uint8_t *bytes;
  size_t length, at, op; /* op: byte of the opcode that is carried out */
  brim_arena arena;
  value **stack, **memo;
  size_t depth, stack_capacity, memo_count, memo_capacity;
  value *result;
} machine;

#define FAIL(m, code, ...) brim_error_at(err, code, (m)->path, 0, (m)->base + (int64_t)(m)->op, __VA_ARGS__)

/* ---- stack ------------------------------------------------------------------------------------------------ */

static int push(machine *m, value_kind kind, value **out, brim_error *err) {
  value *v = brim_arena_alloc(&m->arena, sizeof *v);
  if (!v)
    return BRIM_NOMEM(err);
  BRIM_TRY(brim_grow(m->runtime, (void **)&m->stack, &m->stack_capacity, m->depth + 1, sizeof *m->stack, err));
  *v = (value){.kind = kind, .byte = m->op};
  m->stack[m->depth++] = *out = v;
  return BRIM_OK;
}

static int pop(machine *m, value **out, brim_error *err) {
  if (m->depth == 0)
    return FAIL(m, BRIM_E_FORMAT, "the pickle takes a value that is not there: the file is damaged");
  *out = m->stack[--m->depth];
  return BRIM_OK;
}

/* The top of the stack, which must be of some kind. */
static int top(machine *m, value_kind kind, value **out, brim_error *err) {
  if (m->depth == 0 || m->stack[m->depth - 1]->kind != kind)
    return FAIL(m, BRIM_E_FORMAT, "the pickle needs %s here and has %s", kind_names[kind],
                m->depth ? kind_names[m->stack[m->depth - 1]->kind] : kind_names[NONE]);
  *out = m->stack[m->depth - 1];
  return BRIM_OK;
}

static int append(machine *m, value *container, value *item, brim_error *err) {
  if (container->count == container->capacity) {
    const size_t capacity = container->capacity ? 2 * container->capacity : 8;
    value **items = brim_arena_alloc_array(&m->arena, capacity, sizeof(value *));
    if (!items)
      return BRIM_NOMEM(err);
    if (container->count)
      memcpy(items, container->items, container->count * sizeof(value *));
    container->items = items;
    container->capacity = capacity;
  }
  container->items[container->count++] = item;
  return BRIM_OK;
}

/* Everything from stack[first] on becomes items of the container; the stack then ends at `depth`. */
static int collect(machine *m, size_t first, size_t depth, value *container, brim_error *err) {
  for (size_t i = first; i < m->depth; i++)
    BRIM_TRY(append(m, container, m->stack[i], err));
  m->depth = depth;
  return BRIM_OK;
}

/* Place of the last mark. */
static int find_mark(const machine *m, size_t *out, brim_error *err) {
  for (size_t i = m->depth; i-- > 0;)
    if (m->stack[i]->kind == MARK) {
      *out = i;
      return BRIM_OK;
    }
  return FAIL(m, BRIM_E_FORMAT, "the pickle goes back to a mark that is not there: the file is damaged");
}

/* ---- operands --------------------------------------------------------------------------------------------- */

static int take(machine *m, size_t count, const uint8_t **out, brim_error *err) {
  if (count > m->length - m->at)
    return FAIL(m, BRIM_E_FORMAT, "the pickle is cut off");
  *out = m->bytes + m->at;
  m->at += count;
  return BRIM_OK;
}

/* An unsigned number of 1 to 8 bytes, little-endian. */
static int take_number(machine *m, size_t size, uint64_t *out, brim_error *err) {
  const uint8_t *bytes = NULL;
  BRIM_TRY(take(m, size, &bytes, err));
  *out = 0;
  for (size_t i = 0; i < size; i++)
    *out |= (uint64_t)bytes[i] << 8 * i;
  return BRIM_OK;
}

/* Up to the end of the line. */
static int take_line(machine *m, const char **text, size_t *length, brim_error *err) {
  const uint8_t *end = memchr(m->bytes + m->at, '\n', m->length - m->at);
  if (!end)
    return FAIL(m, BRIM_E_FORMAT, "the pickle is cut off");
  *text = (const char *)m->bytes + m->at;
  *length = (size_t)(end - (m->bytes + m->at));
  m->at += *length + 1;
  return BRIM_OK;
}

/* ---- plain values ----------------------------------------------------------------------------------------- */

static int push_integer(machine *m, value_kind kind, int64_t integer, brim_error *err) {
  value *v = NULL;
  BRIM_TRY(push(m, kind, &v, err));
  v->integer = integer;
  return BRIM_OK;
}

static int op_none(machine *m, brim_error *err) {
  return push_integer(m, NONE, 0, err);
}
static int op_true(machine *m, brim_error *err) {
  return push_integer(m, BOOLEAN, 1, err);
}
static int op_false(machine *m, brim_error *err) {
  return push_integer(m, BOOLEAN, 0, err);
}
static int op_mark(machine *m, brim_error *err) {
  return push_integer(m, MARK, 0, err);
}

static int op_int1(machine *m, brim_error *err) {
  uint64_t n = 0;
  BRIM_TRY(take_number(m, 1, &n, err));
  return push_integer(m, INTEGER, (int64_t)n, err);
}
static int op_int2(machine *m, brim_error *err) {
  uint64_t n = 0;
  BRIM_TRY(take_number(m, 2, &n, err));
  return push_integer(m, INTEGER, (int64_t)n, err);
}
static int op_int4(machine *m, brim_error *err) {
  uint64_t n = 0;
  BRIM_TRY(take_number(m, 4, &n, err));
  return push_integer(m, INTEGER, (int32_t)(uint32_t)n, err);
}

/* A length and as many bytes of two's complement. */
static int op_long(machine *m, brim_error *err) {
  uint64_t size = 0, n = 0;
  BRIM_TRY(take_number(m, 1, &size, err));
  if (size > 8)
    return FAIL(m, BRIM_E_UNSUPPORTED, "the pickle has an integer of %d bytes, more than 8", (int)size);
  BRIM_TRY(take_number(m, size, &n, err));
  if (size > 0 && size < 8 && n >> (8 * size - 1))
    n |= ~(uint64_t)0 << 8 * size;
  return push_integer(m, INTEGER, (int64_t)n, err);
}

/* Numbers with a fraction are only in what is not looked at. */
static int op_real(machine *m, brim_error *err) {
  const uint8_t *bytes = NULL;
  BRIM_TRY(take(m, 8, &bytes, err));
  return push_integer(m, REAL, 0, err);
}

static int push_text(machine *m, size_t length_size, brim_error *err) {
  uint64_t length = 0;
  const uint8_t *bytes = NULL;
  value *v = NULL;
  BRIM_TRY(take_number(m, length_size, &length, err));
  BRIM_TRY(take(m, length, &bytes, err));
  BRIM_TRY(push(m, TEXT, &v, err));
  v->text = (const char *)bytes;
  v->length = length;
  return BRIM_OK;
}
static int op_text1(machine *m, brim_error *err) {
  return push_text(m, 1, err);
}
static int op_text4(machine *m, brim_error *err) {
  return push_text(m, 4, err);
}

/* ---- containers ------------------------------------------------------------------------------------------- */

static int op_empty_tuple(machine *m, brim_error *err) {
  value *v = NULL;
  return push(m, TUPLE, &v, err);
}
static int op_empty_list(machine *m, brim_error *err) {
  value *v = NULL;
  return push(m, LIST, &v, err);
}
static int op_empty_dictionary(machine *m, brim_error *err) {
  value *v = NULL;
  return push(m, DICTIONARY, &v, err);
}

/* A tuple of stack[first ..], which is put where `depth` is. */
static int make_tuple(machine *m, size_t first, size_t depth, brim_error *err) {
  value *tuple = brim_arena_alloc(&m->arena, sizeof *tuple);
  if (!tuple)
    return BRIM_NOMEM(err);
  *tuple = (value){.kind = TUPLE, .byte = m->op};
  BRIM_TRY(collect(m, first, depth, tuple, err));
  BRIM_TRY(brim_grow(m->runtime, (void **)&m->stack, &m->stack_capacity, m->depth + 1, sizeof *m->stack, err));
  m->stack[m->depth++] = tuple;
  return BRIM_OK;
}

static int op_tuple(machine *m, brim_error *err) {
  size_t mark = 0;
  BRIM_TRY(find_mark(m, &mark, err));
  return make_tuple(m, mark + 1, mark, err);
}

/* TUPLE1, TUPLE2, TUPLE3. */
static int op_short_tuple(machine *m, brim_error *err) {
  const size_t count = (size_t)m->bytes[m->op] - 0x84;
  if (count > m->depth)
    return FAIL(m, BRIM_E_FORMAT, "the pickle takes a value that is not there: the file is damaged");
  return make_tuple(m, m->depth - count, m->depth - count, err);
}

/* The container below stack[first] gets the rest; the stack then ends at `depth`, after the container. */
static int fill(machine *m, size_t first, size_t depth, value_kind kind, brim_error *err) {
  if (depth == 0 || m->stack[depth - 1]->kind != kind || (kind == DICTIONARY && (m->depth - first) % 2 != 0))
    return FAIL(m, BRIM_E_FORMAT, "the pickle adds to what is not %s", kind_names[kind]);
  return collect(m, first, depth, m->stack[depth - 1], err);
}
static int op_append(machine *m, brim_error *err) {
  return m->depth < 2 ? FAIL(m, BRIM_E_FORMAT, "the pickle adds to what is not a list")
                      : fill(m, m->depth - 1, m->depth - 1, LIST, err);
}
static int op_appends(machine *m, brim_error *err) {
  size_t mark = 0;
  BRIM_TRY(find_mark(m, &mark, err));
  return fill(m, mark + 1, mark, LIST, err);
}
static int op_set(machine *m, brim_error *err) {
  return m->depth < 3 ? FAIL(m, BRIM_E_FORMAT, "the pickle adds to what is not a dictionary")
                      : fill(m, m->depth - 2, m->depth - 2, DICTIONARY, err);
}
static int op_sets(machine *m, brim_error *err) {
  size_t mark = 0;
  BRIM_TRY(find_mark(m, &mark, err));
  return fill(m, mark + 1, mark, DICTIONARY, err);
}

/* State of an object: the notes that PyTorch hangs on a dictionary of tensors, which nobody needs here. */
static int op_build(machine *m, brim_error *err) {
  value *state, *object;
  BRIM_TRY(pop(m, &state, err));
  return top(m, DICTIONARY, &object, err);
}

/* ---- memo: values that are named to be used again --------------------------------------------------------- */

static int put_memo(machine *m, uint64_t index, brim_error *err) {
  if (m->depth == 0 || index > m->length)
    return FAIL(m, BRIM_E_FORMAT, "the pickle keeps a value that is not there: the file is damaged");
  BRIM_TRY(brim_grow(m->runtime, (void **)&m->memo, &m->memo_capacity, (size_t)index + 1, sizeof *m->memo, err));
  for (; m->memo_count <= index; m->memo_count++)
    m->memo[m->memo_count] = NULL;
  m->memo[index] = m->stack[m->depth - 1];
  return BRIM_OK;
}
static int op_put1(machine *m, brim_error *err) {
  uint64_t index = 0;
  BRIM_TRY(take_number(m, 1, &index, err));
  return put_memo(m, index, err);
}
static int op_put4(machine *m, brim_error *err) {
  uint64_t index = 0;
  BRIM_TRY(take_number(m, 4, &index, err));
  return put_memo(m, index, err);
}
static int op_memoize(machine *m, brim_error *err) {
  return put_memo(m, m->memo_count, err);
}

static int get_memo(machine *m, size_t size, brim_error *err) {
  uint64_t index = 0;
  BRIM_TRY(take_number(m, size, &index, err));
  if (index >= m->memo_count || !m->memo[index])
    return FAIL(m, BRIM_E_FORMAT, "the pickle uses a value that was not kept: the file is damaged");
  BRIM_TRY(brim_grow(m->runtime, (void **)&m->stack, &m->stack_capacity, m->depth + 1, sizeof *m->stack, err));
  m->stack[m->depth++] = m->memo[index];
  return BRIM_OK;
}
static int op_get1(machine *m, brim_error *err) {
  return get_memo(m, 1, err);
}
static int op_get4(machine *m, brim_error *err) {
  return get_memo(m, 4, err);
}

/* ---- functions -------------------------------------------------------------------------------------------- */

static bool is_text(const char *text, size_t length, const char *want) {
  return strlen(want) == length && memcmp(text, want, length) == 0;
}

static int push_function(machine *m, const char *module, size_t module_length, const char *name, size_t name_length,
                         brim_error *err) {
  for (int i = 0; i < CALLABLES; i++)
    if (is_text(module, module_length, callables[i].module) && is_text(name, name_length, callables[i].name)) {
      value *v = NULL;
      BRIM_TRY(push(m, FUNCTION, &v, err));
      v->function = &callables[i];
      return BRIM_OK;
    }
  return FAIL(
      m, BRIM_E_UNSUPPORTED,
      "the file asks for %.*s.%.*s, which a file of weights does not need and brim does not call: save the weights alone, "
      "best as safetensors",
      (int)(module_length < 80 ? module_length : 80), module, (int)(name_length < 80 ? name_length : 80), name);
}

static int op_global(machine *m, brim_error *err) {
  const char *module = NULL, *name = NULL;
  size_t module_length = 0, name_length = 0;
  BRIM_TRY(take_line(m, &module, &module_length, err));
  BRIM_TRY(take_line(m, &name, &name_length, err));
  return push_function(m, module, module_length, name, name_length, err);
}

static int op_stack_global(machine *m, brim_error *err) {
  value *module = NULL, *name = NULL;
  BRIM_TRY(top(m, TEXT, &name, err));
  m->depth--;
  BRIM_TRY(top(m, TEXT, &module, err));
  m->depth--;
  return push_function(m, module->text, module->length, name->text, name->length, err);
}

static bool has_kinds(const value *tuple, const value_kind *kinds, size_t count) {
  if (tuple->count < count)
    return false;
  for (size_t i = 0; i < count; i++)
    if (tuple->items[i]->kind != kinds[i])
      return false;
  return true;
}

/* ("storage", class, key, where it was, elements) names a storage. */
static int op_persistent(machine *m, brim_error *err) {
  static const value_kind kinds[] = {TEXT, FUNCTION, TEXT, TEXT, INTEGER};
  value *id = NULL, *v = NULL;
  BRIM_TRY(top(m, TUPLE, &id, err));
  m->depth--;
  if (!has_kinds(id, kinds, 5) || !is_text(id->items[0]->text, id->items[0]->length, "storage") ||
      !id->items[1]->function->dtype || id->items[4]->integer < 0)
    return FAIL(m, BRIM_E_UNSUPPORTED, "the pickle refers to something that is not a storage of numbers");
  BRIM_TRY(push(m, STORAGE, &v, err));
  v->tensor = brim_arena_alloc(&m->arena, sizeof *v->tensor);
  if (!v->tensor)
    return BRIM_NOMEM(err);
  *v->tensor = (brim_pickled_tensor){.dtype = id->items[1]->function->dtype,
                                     .storage = id->items[2]->text,
                                     .storage_length = id->items[2]->length,
                                     .elements = id->items[4]->integer};
  return BRIM_OK;
}

/* A tuple of integers from 0 on. */
static int read_sizes(const machine *m, const value *tuple, int64_t sizes[BRIM_PICKLE_RANK], brim_error *err) {
  if (tuple->count > BRIM_PICKLE_RANK)
    return FAIL(m, BRIM_E_UNSUPPORTED, "the pickle has a tensor of more than %d dimensions", BRIM_PICKLE_RANK);
  for (size_t i = 0; i < tuple->count; i++) {
    if (tuple->items[i]->kind != INTEGER || tuple->items[i]->integer < 0)
      return FAIL(m, BRIM_E_FORMAT, "sizes and strides of a tensor are integers from 0 on");
    sizes[i] = tuple->items[i]->integer;
  }
  return BRIM_OK;
}

/* _rebuild_tensor_v2(storage, offset, shape, stride, requires_grad, hooks, ..) */
static int rebuild_tensor(machine *m, const value *arguments, value *result, brim_error *err) {
  static const value_kind kinds[] = {STORAGE, INTEGER, TUPLE, TUPLE};
  if (!has_kinds(arguments, kinds, 4) || arguments->items[2]->count != arguments->items[3]->count)
    return FAIL(m, BRIM_E_FORMAT, "a tensor is made of a storage, an offset, a shape and strides");
  brim_pickled_tensor *t = brim_arena_alloc(&m->arena, sizeof *t);
  if (!t)
    return BRIM_NOMEM(err);
  *t = *arguments->items[0]->tensor;
  t->offset = arguments->items[1]->integer;
  t->rank = (int32_t)arguments->items[2]->count;
  t->byte = m->base + (int64_t)m->op;
  BRIM_TRY(read_sizes(m, arguments->items[2], t->shape, err));
  BRIM_TRY(read_sizes(m, arguments->items[3], t->stride, err));
  result->kind = TENSOR;
  result->tensor = t;
  return BRIM_OK;
}

static int op_reduce(machine *m, brim_error *err) {
  value *arguments = NULL, *function = NULL, *result = NULL;
  BRIM_TRY(top(m, TUPLE, &arguments, err));
  m->depth--;
  BRIM_TRY(top(m, FUNCTION, &function, err));
  m->depth--;
  BRIM_TRY(push(m, DICTIONARY, &result, err));
  switch (function->function - callables) {
  case REBUILD_TENSOR:
    return rebuild_tensor(m, arguments, result, err);
  case REBUILD_PARAMETER:
    if (!has_kinds(arguments, (const value_kind[]){TENSOR}, 1))
      return FAIL(m, BRIM_E_FORMAT, "a parameter is made of a tensor");
    *result = *arguments->items[0];
    return BRIM_OK;
  case ORDERED_DICT:
    return arguments->count == 0 ? BRIM_OK : FAIL(m, BRIM_E_UNSUPPORTED, "the pickle makes an OrderedDict of something");
  default:
    return FAIL(m, BRIM_E_UNSUPPORTED, "the pickle calls %s", function->function->name);
  }
}

/* ---- the machine ------------------------------------------------------------------------------------------ */

static int op_protocol(machine *m, brim_error *err) {
  uint64_t version = 0;
  BRIM_TRY(take_number(m, 1, &version, err));
  if (version < 2 || version > 5)
    return FAIL(m, BRIM_E_UNSUPPORTED, "the pickle has protocol %d; brim reads 2 to 5", (int)version);
  return BRIM_OK;
}

/* How long the next piece is, which need not be known. */
static int op_frame(machine *m, brim_error *err) {
  uint64_t length = 0;
  return take_number(m, 8, &length, err);
}

static int op_stop(machine *m, brim_error *err) {
  return top(m, DICTIONARY, &m->result, err);
}

/* Opcodes by their bytes, with pickletools' names next to those that differ. */
static int (*const operations[256])(machine *m, brim_error *err) = {
    [0x80] = op_protocol,    [0x95] = op_frame,
    ['N'] = op_none,         [0x88] = op_true,
    [0x89] = op_false,       ['K'] = op_int1,
    ['M'] = op_int2,         ['J'] = op_int4,
    [0x8a] = op_long,        ['G'] = op_real,
    ['X'] = op_text4,        [0x8c] = op_text1,
    ['('] = op_mark,         [')'] = op_empty_tuple,
    ['t'] = op_tuple,        [0x85] = op_short_tuple,
    [0x86] = op_short_tuple, [0x87] = op_short_tuple,
    [']'] = op_empty_list,   ['a'] = op_append,
    ['e'] = op_appends,      ['}'] = op_empty_dictionary,
    ['s'] = op_set,          ['u'] = op_sets,
    ['b'] = op_build,        ['q'] = op_put1,
    ['r'] = op_put4,         [0x94] = op_memoize,
    ['h'] = op_get1,         ['j'] = op_get4,
    ['c'] = op_global,       [0x93] = op_stack_global,
    ['Q'] = op_persistent,   ['R'] = op_reduce,
    ['.'] = op_stop,
};

static int run(machine *m, brim_error *err) {
  while (!m->result) {
    m->op = m->at;
    if (m->at == m->length)
      return FAIL(m, BRIM_E_FORMAT, "the pickle is cut off");
    const uint8_t code = m->bytes[m->at++];
    if (!operations[code])
      return FAIL(m, BRIM_E_UNSUPPORTED, "the pickle has opcode 0x%02x, which weights do not need", (unsigned)code);
    BRIM_TRY(operations[code](m, err));
  }
  return BRIM_OK;
}

static int emit(machine *m, brim_pickled_fn fn, void *context, brim_error *err) {
  for (size_t i = 0; i < m->result->count; i += 2) {
    const value *key = m->result->items[i], *item = m->result->items[i + 1];
    m->op = item->byte;
    if (key->kind != TEXT || item->kind != TENSOR)
      return FAIL(m, BRIM_E_UNSUPPORTED, "%.*s is %s, not a tensor: this is not a file of weights alone",
                  key->kind == TEXT ? (int)(key->length < 100 ? key->length : 100) : 8,
                  key->kind == TEXT ? key->text : "an entry", kind_names[item->kind]);
    BRIM_TRY(fn(context, key->text, key->length, item->tensor, err));
  }
  return BRIM_OK;
}

int brim_pickle_read(brim_runtime *runtime, const char *path, int64_t base, const uint8_t *bytes, size_t length,
                     brim_pickled_fn fn, void *context, brim_error *err) {
  machine m = {.runtime = runtime, .path = path, .base = base, .bytes = bytes, .length = length};
  brim_arena_init(&m.arena, runtime, 0);
  int status = run(&m, err);
  if (!status)
    status = emit(&m, fn, context, err);
  brim_release(runtime, m.stack);
  brim_release(runtime, m.memo);
  brim_arena_free(&m.arena);
  return status;
}
