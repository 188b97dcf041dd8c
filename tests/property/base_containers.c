/* Hash map against a plain array, numbers against strtod, text written as JSON and read back. */
#include "base/hashmap.h"
#include "base/json.h"
#include "base/number.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tap.h"

static brim_runtime *runtime;
static brim_random source;
static uint64_t drawn;

static uint64_t draw(uint64_t bound) {
  return brim_random_below(&source, drawn++, bound);
}

/* Keys of one to three of four letters collide often and are few enough to keep in an array by number. */
static void map_against_array(void) {
  enum { KEYS = 4 + 16 + 64 };
  bool good = true;
  for (int trial = 0; trial < 50; trial++) {
    int32_t plain[KEYS];
    size_t count = 0;
    brim_hashmap map;
    brim_hashmap_init(&map, runtime);
    for (int i = 0; i < KEYS; i++)
      plain[i] = -1;
    for (int step = 0; step < 300; step++) {
      char key[3];
      size_t length = 1 + (size_t)draw(3), number = 0;
      for (size_t i = 0; i < length; i++) {
        key[i] = (char)draw(4);
        number = number * 4 + (size_t)key[i];
      }
      number += length == 1 ? 0 : length == 2 ? 4 : 20;
      int32_t old = -1, value = (int32_t)draw(1000);
      bool existed = false;
      good = good && brim_hashmap_get(&map, key, length, -1) == plain[number];
      good = good && brim_hashmap_put(&map, key, length, value, &existed, &old, NULL) == BRIM_OK;
      good = good && existed == (plain[number] >= 0) && old == plain[number];
      count += !existed;
      plain[number] = value;
      good = good && map.count == count;
    }
    brim_hashmap_free(&map);
  }
  ok(good, "a hash map holds what an array holds");
}

/* An item has its key first, and then bytes that come along with it. */
static bool key_is_larger(const void *a, const void *b, const void *context) {
  const int32_t *one = a, *other = b;
  return *(const int *)context > 0 ? *one > *other : *one < *other;
}

static void sort_against_counts(void) {
  enum { MOST = 200, KEYS = 50, SIZES = 4 };
  static const size_t sizes[SIZES] = {4, 12, 64, 200};
  static unsigned char items[MOST * 200];
  bool sorted = true, kept = true;
  for (int trial = 0; trial < 400; trial++) {
    const size_t size = sizes[trial % SIZES], count = (size_t)draw(MOST);
    const int direction = trial % 3 ? 1 : -1;
    int counts[KEYS] = {0};
    for (size_t i = 0; i < count; i++) {
      const int32_t key = (int32_t)draw(KEYS);
      memset(items + i * size, key, size); /* whatever belongs to a key */
      memcpy(items + i * size, &key, sizeof key);
      counts[key]++;
    }
    brim_sort(items, count, size, key_is_larger, &direction);
    int32_t before = direction > 0 ? 0 : KEYS;
    for (size_t i = 0; i < count; i++) {
      int32_t key;
      memcpy(&key, items + i * size, sizeof key);
      sorted = sorted && (key - before) * direction >= 0;
      counts[key]--;
      for (size_t k = sizeof key; k < size; k++)
        kept = kept && items[i * size + k] == key;
      before = key;
    }
    for (int key = 0; key < KEYS; key++)
      kept = kept && counts[key] == 0;
  }
  ok(sorted, "items are sorted, up and down");
  ok(kept, "each of them is still there, whole");
}

static void reals_against_strtod(void) {
  bool good = true;
  char text[64];
  for (int i = 0; i < 200000 && good; i++) {
    uint64_t bits = brim_random_u64(&source, drawn++);
    double value, got = 0;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value) || i % 2)
      value = (double)(int64_t)draw(UINT64_MAX) * pow(10, (double)draw(60) - 40);
    int n = snprintf(text, sizeof text, i % 3 ? "%.*g" : "%.*e", 1 + (int)draw(20), value);
    double want = strtod(text, NULL);
    bool read = brim_number_real(text, (size_t)n, &got);
    good = isinf(want) ? !read : read && memcmp(&want, &got, sizeof got) == 0;
  }
  ok(good, "decimal numbers as strtod reads them (%s)", text);
}

static void numbers_read_back(void) {
  brim_text text;
  bool good = true;
  brim_text_init(&text, runtime);
  for (int i = 0; i < 50000 && good; i++) {
    uint64_t bits = brim_random_u64(&source, drawn++);
    double value, back;
    float single = (float)brim_random_normal(&source, drawn++);
    memcpy(&value, &bits, sizeof value);
    if (i % 2)
      value = (double)single;
    if (!isfinite(value))
      continue;
    brim_text_clear(&text);
    brim_text_json_number(&text, value);
    good = brim_number_real(text.data, text.length, &back) && memcmp(&back, &value, sizeof back) == 0;
  }
  ok(good, "a double written is the double read");
  brim_text_free(&text);
}

/* Any bytes: the JSON string that is written holds them, with U+FFFD for each malformed byte. */
static void strings_read_back(void) {
  brim_text text;
  brim_json_reader reader;
  bool good = true;
  brim_text_init(&text, runtime);
  brim_json_reader_init(&reader, runtime, NULL);
  for (int i = 0; i < 20000 && good; i++) {
    static const unsigned char lively[] = {0,    'a',  '"',  '\\', '\n', 0x7F, 0x80, 0xC3,
                                           0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0xED, 0xA0};
    char bytes[40], want[120];
    size_t length = (size_t)draw(sizeof bytes), used = 0;
    for (size_t k = 0; k < length; k++)
      bytes[k] = (char)(draw(4) ? lively[draw(sizeof lively)] : draw(256));
    for (size_t k = 0; k < length;) {
      int n = brim_utf8_length(bytes + k, length - k);
      memcpy(want + used, n ? bytes + k : "\xEF\xBF\xBD", n ? (size_t)n : 3);
      used += n ? (size_t)n : 3;
      k += n ? (size_t)n : 1;
    }
    brim_json_token token;
    brim_text_clear(&text);
    brim_text_json_string(&text, bytes, length);
    brim_json_reader_start(&reader, text.data, text.length, 0, 0);
    good = brim_json_next(&reader, &token, NULL) == BRIM_OK && token.kind == BRIM_JSON_STRING && token.length == used &&
           memcmp(token.text, want, used) == 0;
  }
  ok(good, "any bytes written as a JSON string are read back");
  brim_json_reader_free(&reader);
  brim_text_free(&text);
}

int main(void) {
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, NULL) != BRIM_OK)
    return 1;
  source = brim_random_make(20, 0, BRIM_PURPOSE_SAMPLE);
  map_against_array();
  sort_against_counts();
  reals_against_strtod();
  numbers_read_back();
  strings_read_back();
  brim_runtime_free(runtime);
  return tap_done();
}
