#include "batch/pack.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>

#define NO_BIN UINT32_MAX

enum { LEVELS = 3, MAX_UNITS = 1 << 20 };
_Static_assert(MAX_UNITS / (64 * 64 * 64) < 64, "the top level of the bit set is a handful of words");

static size_t words(size_t bits) {
  return bits / 64 + 1;
}

void brim_packer_init(brim_packer *p, brim_runtime *runtime) {
  *p = (brim_packer){.runtime = runtime};
}

void brim_packer_free(brim_packer *p) {
  if (!p->runtime)
    return;
  brim_release(p->runtime, p->heads);
  for (int level = 0; level < LEVELS; level++)
    brim_release(p->runtime, p->bits[level]);
  brim_release(p->runtime, p->bins);
  *p = (brim_packer){0};
}

/* Room for heads 0 .. units; they are empty between packings. */
static int reserve(brim_packer *p, size_t units, brim_error *err) {
  if (units + 1 <= p->unit_capacity)
    return BRIM_OK;
  p->unit_capacity = 0;
  brim_release(p->runtime, p->heads);
  p->heads = brim_alloc_array(p->runtime, units + 1, sizeof *p->heads);
  size_t size = words(units + 1);
  bool have = p->heads != NULL;
  for (int level = 0; level < LEVELS; level++) {
    brim_release(p->runtime, p->bits[level]);
    p->bits[level] = brim_alloc_array_zero(p->runtime, size, sizeof *p->bits[level]);
    have = have && p->bits[level];
    size = words(size);
  }
  if (!have)
    return BRIM_NOMEM(err);
  memset(p->heads, 0xff, (units + 1) * sizeof *p->heads);
  p->unit_capacity = units + 1;
  return BRIM_OK;
}

static void mark(brim_packer *p, size_t unit) {
  for (int level = 0; level < LEVELS; level++, unit /= 64)
    p->bits[level][unit / 64] |= 1ull << (unit % 64);
}

static void unmark(brim_packer *p, size_t unit) {
  for (int level = 0; level < LEVELS; level++, unit /= 64) {
    p->bits[level][unit / 64] &= ~(1ull << (unit % 64));
    if (p->bits[level][unit / 64])
      return;
  }
}

/* The smallest marked unit at or above `unit`, or SIZE_MAX; `units` is the largest there is. */
static size_t find(const brim_packer *p, size_t unit, size_t units) {
  size_t sizes[LEVELS] = {words(units + 1)};
  for (int level = 1; level < LEVELS; level++)
    sizes[level] = words(sizes[level - 1]);
  int level = 0;
  size_t at = unit; /* the bit looked at on this level */
  for (;;) {
    uint64_t word = at / 64 < sizes[level] ? p->bits[level][at / 64] & (~0ull << (at % 64)) : 0;
    if (word) {
      at = at / 64 * 64 + (size_t)__builtin_ctzll(word);
      if (level == 0)
        return at;
      level--;
      at *= 64;
    } else if (level + 1 < LEVELS) {
      level++;
      at = at / 64 + 1;
    } else {
      at = (at / 64 + 1) * 64;
      if (at / 64 >= sizes[level])
        return SIZE_MAX;
    }
  }
}

static void push(brim_packer *p, uint32_t bin, size_t unit) {
  if (p->heads[unit] == NO_BIN)
    mark(p, unit);
  p->bins[bin].next = p->heads[unit];
  p->heads[unit] = bin;
}

static uint32_t pop(brim_packer *p, size_t unit) {
  uint32_t bin = p->heads[unit];
  p->heads[unit] = p->bins[bin].next;
  if (p->heads[unit] == NO_BIN)
    unmark(p, unit);
  return bin;
}

static int open_bin(brim_packer *p, int64_t capacity, uint32_t *bin, brim_error *err) {
  BRIM_TRY(brim_grow(p->runtime, (void **)&p->bins, &p->bin_capacity, p->bin_count + 1, sizeof *p->bins, err));
  *bin = (uint32_t)p->bin_count++;
  p->bins[*bin] = (brim_bin){.left = capacity, .next = NO_BIN};
  return BRIM_OK;
}

typedef struct scale {
  int64_t unit;     /* weight of one unit */
  size_t units;     /* capacity in units */
  int64_t capacity; /* never more than all items weigh */
  int64_t lightest; /* a bin with less left is closed */
  int64_t most;     /* and one with more rows */
} scale;

static scale measure(const int64_t *weights, const uint32_t *sizes, uint64_t count, int64_t capacity, int64_t row_capacity) {
  int64_t total = 0, largest = 1;
  scale s = {.lightest = INT64_MAX};
  for (uint64_t i = 0; i < count; i++) {
    total += weights[i];
    if (weights[i] < s.lightest)
      s.lightest = weights[i];
    if (sizes && sizes[i] > largest)
      largest = sizes[i];
  }
  s.capacity = capacity < total ? capacity : total;
  s.unit = s.capacity <= MAX_UNITS ? 1 : s.capacity / MAX_UNITS + 1;
  s.units = (size_t)(s.capacity / s.unit);
  s.most = row_capacity - largest;
  return s;
}

/* Takes what is left of the lists away, so that the next packing starts clean. */
static void clear(brim_packer *p, const scale *s) {
  for (size_t i = 0; i < p->bin_count; i++) {
    if (p->bins[i].left < s->lightest)
      continue;
    size_t unit = (size_t)(p->bins[i].left / s->unit);
    if (p->heads[unit] == NO_BIN)
      continue;
    p->heads[unit] = NO_BIN;
    unmark(p, unit);
  }
}

static int pack_one(brim_packer *p, const scale *s, int64_t weight, int64_t rows, uint32_t *bin, brim_error *err) {
  size_t need = (size_t)((weight + s->unit - 1) / s->unit), unit = need > s->units ? SIZE_MAX : find(p, need, s->units);
  if (unit == SIZE_MAX) {
    BRIM_TRY(open_bin(p, s->capacity, bin, err));
  } else {
    *bin = pop(p, unit);
  }
  brim_bin *b = &p->bins[*bin];
  b->left -= weight;
  b->rows += rows;
  if (b->left >= s->lightest && b->rows <= s->most)
    push(p, *bin, (size_t)(b->left / s->unit));
  return BRIM_OK;
}

int brim_pack(brim_packer *p, const int64_t *weights, const uint32_t *sizes, uint64_t count, int64_t capacity,
              int64_t row_capacity, uint32_t *bin_of, brim_error *err) {
  scale s = measure(weights, sizes, count, capacity, row_capacity);
  p->bin_count = 0;
  BRIM_TRY(reserve(p, s.units, err));
  int status = BRIM_OK;
  for (uint64_t i = 0; i < count && status == BRIM_OK; i++)
    status = pack_one(p, &s, weights[i], sizes ? sizes[i] : 1, &bin_of[i], err);
  clear(p, &s);
  return status;
}
