/* feed_case.h: a feed with a runtime and a tokenizer for it alone, as programs open one. After scratch_file("vocab.txt") was
 * written. */
#ifndef BRIM_TESTS_FEED_CASE_H
#define BRIM_TESTS_FEED_CASE_H
#include "brim/feed.h"
#include "data_tokenizer.h"

/* The test ends where a call fails that may not. */
static inline void must(int status, const brim_error *err) {
  char text[1200];
  if (status == BRIM_OK)
    return;
  brim_error_text(err, text, sizeof text);
  printf("Bail out! %s\n", text);
  exit(99);
}

typedef struct opened {
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_feed *feed;
} opened;

static inline opened feed_of(const char *const *paths, int count, const brim_feed_options *o, int threads) {
  opened f;
  brim_error err;
  must(brim_runtime_new(&(brim_runtime_options){.threads = threads}, &f.runtime, &err), &err);
  must(brim_tokenizer_load(f.runtime, scratch_file("vocab.txt"), &f.tokenizer, &err), &err);
  must(brim_feed_open(f.runtime, paths, count, f.tokenizer, o, &f.feed, &err), &err);
  return f;
}

static inline void close_feed(opened *f) {
  brim_feed_close(f->feed);
  brim_tokenizer_free(f->tokenizer);
  brim_runtime_free(f->runtime);
}

static inline uint64_t mix(uint64_t h, uint64_t value) {
  return ((h ^ value) * 0x9E3779B97F4A7C15ull) ^ (h >> 29);
}

#endif
