/* The hash map and its hash. */
#include "base/hashmap.h"
#include "tap.h"

/* Stored in states: these may never change. */
static void stable(void) {
  static const struct {
    size_t length;
    uint64_t want;
  } cases[] = {{0, 0x5cf741b8549a3c57u},  {1, 0x83d05a719252ad34u},  {8, 0x12c14d850639d37eu}, {9, 0xf9e349284c226b3au},
               {16, 0xbf2cc4b9826cc514u}, {17, 0x1189577fdab17393u}, {64, 0xf7b6ba4103830204u}};
  char bytes[64];
  for (int i = 0; i < 64; i++)
    bytes[i] = (char)(i * 7);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    ok(brim_hash64(bytes, cases[i].length, 42) == cases[i].want, "the hash of %zu bytes is what it always was", cases[i].length);
  ok(brim_hash64("", 0, 0) != brim_hash64("", 0, 1), "the seed counts");
  ok(brim_hash64("a", 1, 0) != brim_hash64("a\0", 2, 0), "the length counts");
  ok(brim_hash64("\0", 1, 0) != brim_hash64("\0\0", 2, 0), "zeros count");
}

/* Each bit of the input should flip each bit of the hash about half of the time. */
static void spreads(void) {
  unsigned char key[24];
  double worst = 0;
  for (size_t length = 1; length <= sizeof key; length++)
    for (size_t bit = 0; bit < length * 8; bit++) {
      int flips = 0;
      for (int trial = 0; trial < 64; trial++) {
        for (size_t i = 0; i < length; i++)
          key[i] = (unsigned char)(trial * 37 + (int)i * 101 + trial * (int)i);
        uint64_t a = brim_hash64(key, length, 0);
        key[bit / 8] ^= (unsigned char)(1 << bit % 8);
        flips += __builtin_popcountll(a ^ brim_hash64(key, length, 0));
      }
      double off = fabs(flips / (64.0 * 64) - 0.5);
      worst = off > worst ? off : worst;
    }
  ok(worst < 0.06, "every bit matters everywhere (worst bias %.3f)", worst);
}

static void map(brim_runtime *runtime) {
  brim_hashmap map;
  brim_error err;
  bool existed;
  int32_t old = 0;
  brim_hashmap_init(&map, runtime);
  ok_int(brim_hashmap_get(&map, "x", 1, -1), -1, "an empty map holds nothing");
  ok(brim_hashmap_put(&map, "", 0, 5, &existed, NULL, &err) == BRIM_OK && !existed, "\"\" is a key");
  ok(brim_hashmap_put(&map, "a\0b", 3, 6, &existed, NULL, &err) == BRIM_OK && !existed, "so is one with NUL");
  ok(!brim_hashmap_has(&map, "a", 1) && brim_hashmap_get(&map, "a\0b", 3, -1) == 6, "lengths count");
  ok(brim_hashmap_put(&map, "", 0, 7, &existed, &old, &err) == BRIM_OK && existed && old == 5, "replacing tells the old value");
  ok(map.count == 2 && brim_hashmap_get(&map, "", 0, -1) == 7, "and counts once");
  ok_int(brim_hashmap_reserve(&map, (size_t)INT32_MAX + 1, 10, &err), BRIM_E_UNSUPPORTED, "too many keys are refused");
  ok_int(brim_hashmap_reserve(&map, 10, UINT32_MAX, &err), BRIM_E_UNSUPPORTED, "too many bytes are refused");
  bool good = true;
  char key[32];
  for (int i = 0; i < 100000; i++) {
    int n = snprintf(key, sizeof key, "key%d", i * 7);
    good = good && brim_hashmap_put(&map, key, (size_t)n, i, &existed, NULL, &err) == BRIM_OK && !existed;
  }
  for (int i = 0; i < 700000; i++) {
    int n = snprintf(key, sizeof key, "key%d", i);
    good = good && brim_hashmap_get(&map, key, (size_t)n, -1) == (i % 7 ? -1 : i / 7);
  }
  ok(good && map.count == 100002, "a hundred thousand keys");
  ok(map.cell_count <= 262144, "in no more cells than needed");
  brim_hashmap_free(&map);
  brim_hashmap_free(NULL);
}

int main(void) {
  brim_runtime *runtime;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  stable();
  spreads();
  map(runtime);
  brim_runtime_free(runtime);
  return tap_done();
}
