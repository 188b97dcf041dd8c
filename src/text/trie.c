/* trie.c: building the double array. Nodes are placed depth first; free places are looked for in the last few blocks only, so
 * building stays linear and little room is lost (the scheme of darts-clone). */
#include "text/trie.h"
#include "base/memory.h"
#include "base/status.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, OPEN_BLOCKS = 16, MAX_UNITS = 1 << 23 };

typedef struct builder {
  brim_trie *trie;
  const brim_trie_key *keys;
  uint8_t *base_taken; /* one byte a unit: it is the base of some node */
  size_t capacity;
  size_t open; /* first unit that may still be free */
  brim_error *err;
} builder;

static int compare(const void *a, const void *b) {
  const brim_trie_key *x = a, *y = b;
  uint32_t n = x->length < y->length ? x->length : y->length;
  int order = n ? memcmp(x->bytes, y->bytes, n) : 0;
  if (order)
    return order;
  return x->length != y->length ? (x->length < y->length ? -1 : 1) : (x->value > y->value) - (x->value < y->value);
}

static bool same(const brim_trie_key *a, const brim_trie_key *b) {
  return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Another block of free units. */
static int extend(builder *b) {
  brim_trie *t = b->trie;
  if (t->count + BLOCK > MAX_UNITS)
    return brim_error_set(b->err, BRIM_E_UNSUPPORTED, "the vocabulary is too large: more than %d trie nodes", MAX_UNITS);
  if (t->count + BLOCK > b->capacity) {
    size_t capacity = b->capacity ? b->capacity * 2 : 64 * BLOCK;
    brim_trie_unit *units = brim_resize_array(t->runtime, t->units, capacity, sizeof *units);
    if (!units)
      return BRIM_NOMEM(b->err);
    t->units = units;
    uint8_t *taken = brim_resize(t->runtime, b->base_taken, capacity);
    if (!taken)
      return BRIM_NOMEM(b->err);
    b->base_taken = taken;
    b->capacity = capacity;
  }
  for (size_t i = t->count; i < t->count + BLOCK; i++)
    t->units[i] = (brim_trie_unit){0, -1};
  memset(b->base_taken + t->count, 0, BLOCK);
  t->count += BLOCK;
  if (t->count > OPEN_BLOCKS * BLOCK && b->open < t->count - OPEN_BLOCKS * BLOCK)
    b->open = t->count - OPEN_BLOCKS * BLOCK;
  return BRIM_OK;
}

static bool is_free(const builder *b, size_t unit) {
  return !(b->trie->units[unit].base_label & BRIM_TRIE_USED);
}

static bool fits(const builder *b, size_t base, const uint8_t *labels, int count) {
  if (b->base_taken[base])
    return false;
  for (int i = 0; i < count; i++)
    if (!is_free(b, base ^ labels[i]))
      return false;
  return true;
}

static int find_base(builder *b, const uint8_t *labels, int count, size_t *base) {
  while (b->open < b->trie->count && !is_free(b, b->open))
    b->open++;
  for (size_t unit = b->open; unit < b->trie->count; unit++)
    if (is_free(b, unit) && fits(b, unit ^ labels[0], labels, count)) {
      *base = unit ^ labels[0];
      return BRIM_OK;
    }
  *base = b->trie->count ^ labels[0];
  return extend(b);
}

/* A node whose keys are [begin, end) and agree in the first `depth` bytes. */
typedef struct task {
  size_t begin, end;
  uint32_t node, depth;
} task;

typedef struct tasks {
  task *items;
  size_t count, capacity;
} tasks;

static int add_children(builder *b, task t, tasks *stack) {
  uint8_t labels[256];
  size_t starts[257];
  int count = 0;
  if (b->keys[t.begin].length == t.depth)
    b->trie->units[t.node].value = b->keys[t.begin++].value;
  for (size_t i = t.begin; i < t.end; i++) {
    uint8_t label = (uint8_t)b->keys[i].bytes[t.depth];
    if (count && labels[count - 1] == label)
      continue;
    labels[count] = label;
    starts[count++] = i;
  }
  if (!count)
    return BRIM_OK;
  starts[count] = t.end;
  size_t base;
  BRIM_TRY(find_base(b, labels, count, &base));
  b->base_taken[base] = 1;
  b->trie->units[t.node].base_label |= (uint32_t)base << 9;
  BRIM_TRY(
      brim_grow(b->trie->runtime, (void **)&stack->items, &stack->capacity, stack->count + (size_t)count, sizeof(task), b->err));
  for (int i = count; i-- > 0;) {
    uint32_t child = (uint32_t)(base ^ labels[i]);
    b->trie->units[child].base_label = BRIM_TRIE_USED | labels[i];
    stack->items[stack->count++] = (task){starts[i], starts[i + 1], child, t.depth + 1};
  }
  return BRIM_OK;
}

static int build(builder *b, size_t count) {
  tasks stack = {0};
  int status = extend(b);
  /* The root takes unit 0, and no node may have base 0, so that leaves (base 0) lead to units whose label cannot match. */
  if (status == BRIM_OK) {
    b->trie->units[0].base_label = BRIM_TRIE_USED;
    b->base_taken[0] = 1;
    if (count) {
      status = brim_grow(b->trie->runtime, (void **)&stack.items, &stack.capacity, 1, sizeof(task), b->err);
      if (status == BRIM_OK)
        stack.items[stack.count++] = (task){0, count, 0, 0};
    }
  }
  while (status == BRIM_OK && stack.count)
    status = add_children(b, stack.items[--stack.count], &stack);
  brim_release(b->trie->runtime, stack.items);
  return status;
}

int brim_trie_build(brim_runtime *runtime, brim_trie_key *keys, size_t count, brim_trie *out, brim_error *err) {
  *out = (brim_trie){.runtime = runtime};
  for (size_t i = 0; i < count; i++)
    keys[i].value = keys[i].value < 0 ? 0 : keys[i].value;
  qsort(keys, count, sizeof *keys, compare);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (keys[i].length && (i + 1 == count || !same(&keys[i], &keys[i + 1])))
      keys[kept++] = keys[i];
  builder b = {.trie = out, .keys = keys, .err = err};
  int status = build(&b, kept);
  brim_release(runtime, b.base_taken);
  if (status != BRIM_OK)
    brim_trie_free(out);
  return status;
}

void brim_trie_free(brim_trie *trie) {
  if (trie->runtime)
    brim_release(trie->runtime, trie->units);
  *trie = (brim_trie){0};
}

int32_t brim_trie_get(const brim_trie *trie, const char *bytes, size_t length) {
  uint32_t node = BRIM_TRIE_ROOT;
  for (size_t i = 0; i < length; i++) {
    node = brim_trie_child(trie, node, (uint8_t)bytes[i]);
    if (!node)
      return -1;
  }
  return length ? trie->units[node].value : -1;
}
