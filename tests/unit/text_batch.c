/* text_batch: arrays of texts become the rows that they become one by one, for any number of threads, and so do failures.
 * What an encoder keeps from one array to the next has a bound. */
#include <stdatomic.h>

#include "brim/text.h"
#include "tap.h"

enum { TEXTS = 5000, LONG = 300000 };

static brim_string texts[TEXTS], pairs[TEXTS];

static uint32_t next(uint32_t *state) {
  return (*state = *state * 1664525 + 1013904223) >> 24;
}

/* Words of all lengths, some with bytes that are no UTF-8; every 5th text has no pair. One text is longer than a block. */
static void make_texts(void) {
  static const char *const words[] = {"the ", "Movie's", " caf\u00e9 ",  "[MASK]", "<mask>",
                                      "\xff", "  ",      "unbelievable", "\u4e2d"};
  uint32_t state = 1;
  for (int i = 0; i < 2 * TEXTS; i++) {
    size_t most = i == 77 ? LONG : next(&state), length = 0;
    char *bytes = malloc(most + 32);
    if (!bytes)
      exit(99);
    while (length < most) {
      uint32_t which = next(&state);
      const char *word = words[which > 100 ? which % 9 : 0];
      memcpy(bytes + length, word, strlen(word));
      length += strlen(word);
    }
    if (i < TEXTS)
      texts[i] = (brim_string){bytes, length};
    else
      pairs[i - TEXTS] = i % 5 ? (brim_string){bytes, length} : (free(bytes), (brim_string){0});
  }
}

static void free_texts(void) {
  for (int i = 0; i < TEXTS; i++) {
    free((void *)(uintptr_t)texts[i].bytes);
    free((void *)(uintptr_t)pairs[i].bytes);
  }
}

/* How many rows differ from what brim_tokenizer_encode says. */
static int count_wrong(brim_runtime *runtime, const brim_tokenizer *t, const brim_string *seconds, size_t count,
                       const brim_encode_options *options, const brim_encodings *rows) {
  brim_scratch *scratch;
  brim_encoding one = {0};
  int wrong = 0;
  if (brim_scratch_new(runtime, t, &scratch, NULL) != BRIM_OK)
    exit(99);
  for (size_t i = 0; i < count; i++) {
    brim_string pair = seconds ? seconds[i] : (brim_string){0};
    size_t begin = rows->starts[i], length = rows->starts[i + 1] - begin;
    int status = brim_tokenizer_encode(t, scratch, texts[i].bytes, texts[i].length, pair.bytes, pair.length, options, &one, NULL);
    wrong += status != BRIM_OK || one.length != length || one.lost != rows->lost[i] ||
             (length && (memcmp(one.ids, rows->ids + begin, length * sizeof *one.ids) != 0 ||
                         memcmp(one.type_ids, rows->type_ids + begin, length) != 0));
  }
  brim_encoding_free(&one);
  brim_scratch_free(scratch);
  return wrong;
}

static void check_rows(brim_runtime *runtime, const brim_tokenizer *t, brim_batch_encoder *encoder, int threads) {
  static const brim_encode_options choices[] = {{0}, {.max_length = 20}, {.max_length = 9, .truncation_side = BRIM_SIDE_LEFT}};
  brim_encodings rows = {0};
  brim_error err = {0};
  for (size_t i = 0; i < 6; i++) {
    const brim_encode_options *options = i ? &choices[i % 3] : NULL;
    const brim_string *seconds = i < 3 ? NULL : pairs;
    size_t count = i == 4 ? 3 : TEXTS; /* the arrays are reused */
    int status = brim_batch_encoder_run(encoder, texts, seconds, count, options, &rows, &err);
    ok(status == BRIM_OK && rows.count == count && count_wrong(runtime, t, seconds, count, options, &rows) == 0,
       "%d threads, case %d: %zu rows %s", threads, (int)i, rows.count, err.message);
  }
  ok(brim_batch_encoder_run(encoder, NULL, NULL, 0, NULL, &rows, &err) == BRIM_OK && rows.count == 0 && rows.starts[0] == 0,
     "no texts, no rows");
  brim_encodings_free(&rows);
  brim_encodings_free(&rows);
}

/* Of all texts that are refused the first is named. */
static void check_refusals(brim_batch_encoder *encoder, int threads) {
  brim_encode_options options = {.max_length = 8, .truncation = BRIM_ONLY_SECOND};
  static const brim_string some[] = {{"a", 1}, {"the the the the the the the the the", 35}, {"a", 1}},
                           none[] = {{"b", 1}, {"b", 1}, {"b", 1}};
  brim_string many[TEXTS], others[TEXTS];
  for (int i = 0; i < TEXTS; i++) {
    many[i] = some[i >= 1234];
    others[i] = none[0];
  }
  brim_encodings rows = {0};
  brim_error err = {0};
  int status = brim_batch_encoder_run(encoder, many, others, TEXTS, &options, &rows, &err);
  ok(status == BRIM_E_MISMATCH && strncmp(err.message, "text 1234: ", 11) == 0 && rows.count == 0, "%d threads: \"%s\"", threads,
     err.message);
  options.max_length = 1;
  ok(brim_batch_encoder_run(encoder, many, NULL, TEXTS, &options, &rows, &err) == BRIM_E_USAGE, "no room: \"%s\"", err.message);
  options = (brim_encode_options){0};
  ok(brim_batch_encoder_run(encoder, many, NULL, TEXTS, &options, &rows, &err) == BRIM_OK && rows.count == TEXTS,
     "and afterwards it works");
  brim_encodings_free(&rows);
}

static void check_threads(const char *path, int threads) {
  brim_runtime *runtime;
  brim_tokenizer *t;
  brim_batch_encoder *encoder;
  brim_encodings rows = {0};
  brim_error err = {0};
  brim_runtime_options options = {.threads = threads};
  if (brim_runtime_new(&options, &runtime, &err) != BRIM_OK || brim_tokenizer_load(runtime, path, &t, &err) != BRIM_OK ||
      brim_batch_encoder_new(runtime, t, &encoder, &err) != BRIM_OK) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  check_rows(runtime, t, encoder, threads);
  check_refusals(encoder, threads);
  brim_runtime_cancel(runtime);
  ok(brim_batch_encoder_run(encoder, texts, NULL, TEXTS, NULL, &rows, &err) == BRIM_E_CANCELLED && rows.count == 0, "cancelled");
  brim_encodings_free(&rows);
  brim_batch_encoder_free(encoder);
  brim_tokenizer_free(t);
  brim_runtime_free(runtime);
}

/* ---- what it keeps ------------------------------------------------------------------------------------------ */

static void *take(void *context, size_t size) {
  size_t *block = malloc(size + 16);
  if (!block)
    exit(99);
  block[0] = size;
  atomic_fetch_add((_Atomic size_t *)context, size);
  return block + 2;
}

static void give(void *context, void *pointer) {
  if (!pointer)
    return;
  size_t *block = (size_t *)pointer - 2;
  atomic_fetch_sub((_Atomic size_t *)context, block[0]);
  free(block);
}

static void *change(void *context, void *pointer, size_t size) {
  void *other = take(context, size);
  if (pointer) {
    size_t was = ((size_t *)pointer)[-2];
    memcpy(other, pointer, was < size ? was : size);
    give(context, pointer);
  }
  return other;
}

/* Encodes the array and lets the result go: what is held then, the encoder keeps. */
static size_t kept_after(brim_batch_encoder *encoder, const brim_string *array, size_t count, const _Atomic size_t *held,
                         size_t *tokens) {
  brim_encodings rows = {0};
  if (brim_batch_encoder_run(encoder, array, NULL, count, NULL, &rows, NULL) != BRIM_OK)
    exit(99);
  *tokens = rows.starts[count];
  brim_encodings_free(&rows);
  return atomic_load(held);
}

/* Texts that have a block each: more of them than may be kept, a few, and as many again. */
static void check_kept(const char *path) {
  enum { MANY = 140, FEW = 3, EACH = 160000, SPARE = 16 << 20 }; /* for two scratches */
  static char bytes[EACH];
  static brim_string array[MANY];
  _Atomic size_t held = 0;
  const brim_allocator allocator = {take, change, give, &held};
  const brim_runtime_options options = {.threads = 2, .allocator = &allocator};
  brim_runtime *runtime;
  brim_tokenizer *t;
  brim_batch_encoder *encoder;
  if (brim_runtime_new(&options, &runtime, NULL) || brim_tokenizer_load(runtime, path, &t, NULL))
    exit(99);
  const size_t without = atomic_load(&held);
  if (brim_batch_encoder_new(runtime, t, &encoder, NULL))
    exit(99);
  for (int i = 0; i < EACH; i++)
    bytes[i] = i % 8 ? '~' : ' ';
  for (int i = 0; i < MANY; i++)
    array[i] = (brim_string){bytes, sizeof bytes};
  size_t tokens, few, again;
  const size_t bound = (64 << 20) + SPARE, first = kept_after(encoder, array, FEW, &held, &few) - without,
               most = kept_after(encoder, array, MANY, &held, &tokens) - without;
  ok(tokens * 5 > bound && most > 32 << 20 && most <= bound, "of %.1f MB of tokens %.1f MB are kept", (double)tokens * 5e-6,
     (double)most * 1e-6);
  ok(kept_after(encoder, array, FEW, &held, &few) - without == most && first < most, "and stay for the next arrays");
  ok(kept_after(encoder, array, MANY, &held, &again) - without <= bound && again == tokens, "as many again: the bound holds");
  brim_batch_encoder_free(encoder);
  ok(atomic_load(&held) == without, "an encoder that is freed holds nothing");
  brim_tokenizer_free(t);
  brim_runtime_free(runtime);
}

int main(void) {
  char path[600];
  if (!getenv("BRIM_SOURCE"))
    return 99;
  snprintf(path, sizeof path, "%s/tests/golden/tokenizers/byte-bpe", getenv("BRIM_SOURCE"));
  make_texts();
  for (int threads = 1; threads <= 4; threads++)
    if (tap_takes_of("threads", (uint64_t)threads - 1, 4))
      check_threads(path, threads);
  free_texts();
  if (tap_takes_named("what an encoder keeps"))
    check_kept(path);
  return tap_done();
}
