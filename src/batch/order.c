#include "batch/order.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>

enum {
  SMALL_SHUFFLE = 1 << 15, /* up to here one Fisher-Yates pass stays in cache */
  BUCKET_ROWS = 1 << 13,   /* mean size of a bucket above */
  SMALL_SORT = 48          /* insertion sort wins below */
};

void brim_order_identity(uint32_t *out, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    out[i] = (uint32_t)i;
}

/* Fisher-Yates; draw i is made with index 2 * (base + i) + 1. */
static void shuffle_in_place(const brim_random *random, uint64_t base, uint32_t *items, uint64_t count) {
  for (uint64_t i = count; i > 1; i--) {
    uint64_t j = brim_random_below(random, 2 * (base + i - 1) + 1, i);
    uint32_t item = items[i - 1];
    items[i - 1] = items[j];
    items[j] = item;
  }
}

/* Rao and Sandelius: every row falls into a random bucket, then the buckets are shuffled one by one. The same distribution as one
 * big Fisher-Yates, but each bucket fits the cache: several times faster on millions of rows. */
static void shuffle_by_buckets(const brim_random *random, uint64_t base, int bits, uint16_t *bucket_of, uint64_t *starts,
                               uint32_t *out, uint64_t count) {
  uint64_t buckets = 1ull << bits, sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    bucket_of[i] = (uint16_t)(brim_random_u64(random, 2 * (base + i)) >> (64 - bits));
    starts[bucket_of[i]]++;
  }
  for (uint64_t b = 0; b < buckets; b++) {
    uint64_t size = starts[b];
    starts[b] = sum;
    sum += size;
  }
  for (uint64_t i = 0; i < count; i++)
    out[starts[bucket_of[i]]++] = (uint32_t)i;
  for (uint64_t b = 0, start = 0; b < buckets; b++) { /* starts[b] is now the end of bucket b */
    shuffle_in_place(random, base + start, out + start, starts[b] - start);
    start = starts[b];
  }
}

int brim_order_shuffle(brim_runtime *runtime, const brim_random *random, uint64_t base, uint32_t *out, uint64_t count,
                       brim_error *err) {
  if (count <= SMALL_SHUFFLE) {
    brim_order_identity(out, count);
    shuffle_in_place(random, base, out, count);
    return BRIM_OK;
  }
  int bits = 1;
  while ((count >> bits) > BUCKET_ROWS && bits < 16)
    bits++;
  uint64_t *starts = brim_alloc_array_zero(runtime, 1ull << bits, sizeof *starts);
  uint16_t *bucket_of = brim_alloc_array(runtime, count, sizeof *bucket_of);
  if (starts && bucket_of)
    shuffle_by_buckets(random, base, bits, bucket_of, starts, out, count);
  bool done = starts && bucket_of;
  brim_release(runtime, starts);
  brim_release(runtime, bucket_of);
  return done ? BRIM_OK : BRIM_NOMEM(err);
}

static inline int32_t cut(const int32_t *lengths, int32_t limit, uint32_t row) {
  return lengths[row] < limit ? lengths[row] : limit;
}

static void insertion_sort(const int32_t *lengths, int32_t limit, uint32_t *order, uint64_t count) {
  for (uint64_t i = 1; i < count; i++) {
    uint32_t row = order[i];
    int32_t length = cut(lengths, limit, row);
    uint64_t j = i;
    for (; j > 0 && cut(lengths, limit, order[j - 1]) < length; j--)
      order[j] = order[j - 1];
    order[j] = row;
  }
}

/* Bottom-up merge sort on insertion-sorted runs: for lengths spread wider than a counting sort's table should be. */
static void merge_sort(const int32_t *lengths, int32_t limit, uint32_t *order, uint32_t *scratch, uint64_t count) {
  for (uint64_t start = 0; start < count; start += SMALL_SORT)
    insertion_sort(lengths, limit, order + start, count - start < SMALL_SORT ? count - start : SMALL_SORT);
  for (uint64_t run = SMALL_SORT; run < count; run *= 2) {
    for (uint64_t start = 0; start < count; start += 2 * run) {
      uint64_t middle = start + run < count ? start + run : count, end = middle + run < count ? middle + run : count;
      for (uint64_t a = start, b = middle, k = start; k < end; k++) {
        bool left = a < middle && (b >= end || cut(lengths, limit, order[a]) >= cut(lengths, limit, order[b]));
        scratch[k] = left ? order[a++] : order[b++];
      }
    }
    memcpy(order, scratch, count * sizeof *order);
  }
}

/* starts has one zeroed counter for each length from `shortest` to `longest`. */
static void counting_sort(const int32_t *lengths, int32_t limit, int32_t shortest, int32_t longest, uint32_t *starts,
                          uint32_t *order, uint32_t *scratch, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    starts[longest - cut(lengths, limit, order[i])]++;
  uint32_t sum = 0;
  for (int64_t k = 0; k <= (int64_t)longest - shortest; k++) {
    uint32_t size = starts[k];
    starts[k] = sum;
    sum += size;
  }
  for (uint64_t i = 0; i < count; i++)
    scratch[starts[longest - cut(lengths, limit, order[i])]++] = order[i];
  memcpy(order, scratch, count * sizeof *order);
}

int brim_order_sort(brim_runtime *runtime, const int32_t *lengths, int32_t limit, uint32_t *order, uint32_t *scratch,
                    uint64_t count, brim_error *err) {
  if (count <= SMALL_SORT) {
    insertion_sort(lengths, limit, order, count);
    return BRIM_OK;
  }
  int32_t shortest = INT32_MAX, longest = INT32_MIN;
  for (uint64_t i = 0; i < count; i++) {
    int32_t length = cut(lengths, limit, order[i]);
    shortest = length < shortest ? length : shortest;
    longest = length > longest ? length : longest;
  }
  uint64_t range = (uint64_t)((int64_t)longest - shortest) + 1;
  if (range > 2 * count) {
    merge_sort(lengths, limit, order, scratch, count);
    return BRIM_OK;
  }
  uint32_t *starts = brim_alloc_array_zero(runtime, range, sizeof *starts);
  if (!starts)
    return BRIM_NOMEM(err);
  counting_sort(lengths, limit, shortest, longest, starts, order, scratch, count);
  brim_release(runtime, starts);
  return BRIM_OK;
}
