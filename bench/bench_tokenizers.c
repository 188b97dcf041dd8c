/* The brim side of `make bench-tokenizers`.
 *
 *   bench_tokenizers TOKENIZER TEXTS THREADS
 *
 * TEXTS holds texts with a NUL after each. After "ready" all of them are tokenized once for every line on standard input, ids
 * only, and a line "SECONDS TOKENS HASH" is printed; the hash covers all ids in order.
 *
 *   bench_tokenizers TOKENIZER --sizes
 *
 * Times of texts of doubling size that are hard for tokenizers: each kind must grow in a straight line. */
#include "brim/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static brim_runtime *runtime;
static brim_tokenizer *tokenizer;

static void die(const char *what) {
  fprintf(stderr, "bench_tokenizers: %s\n", what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- passes ----------------------------------------------------------------------------------------------- */

/* The texts in bytes[0..length), each with a NUL after it. */
static brim_string *cut_texts(const char *bytes, size_t length, size_t *count) {
  brim_string *texts = NULL;
  size_t capacity = 0;
  *count = 0;
  for (const char *at = bytes, *end; at < bytes + length; at = end + 1) {
    end = memchr(at, 0, (size_t)(bytes + length - at));
    if (!end)
      die("the last text has no NUL after it");
    if (*count == capacity)
      texts = realloc(texts, (capacity = capacity * 2 + 1024) * sizeof *texts);
    if (!texts)
      die("no memory");
    texts[(*count)++] = (brim_string){at, (size_t)(end - at)};
  }
  return texts;
}

static void run_pass(brim_batch_encoder *encoder, const brim_string *texts, size_t count, brim_encodings *out) {
  brim_error err;
  double begin = now();
  if (brim_batch_encoder_run(encoder, texts, NULL, count, NULL, out, &err) != BRIM_OK)
    die(err.message);
  double seconds = now() - begin;
  size_t tokens = out->starts[count];
  uint64_t hash = 0;
  for (size_t i = 0; i < tokens; i++)
    hash = (hash ^ (uint64_t)out->ids[i]) * 0x9E3779B97F4A7C15u;
  printf("%.6f %zu %016llx\n", seconds, tokens, (unsigned long long)hash);
  fflush(stdout);
}

static void run_passes(const char *path) {
  brim_error err;
  brim_batch_encoder *encoder;
  brim_encodings out = {0};
  char *bytes, line[64];
  size_t length, count;
  if (brim_batch_encoder_new(runtime, tokenizer, &encoder, &err) != BRIM_OK ||
      brim_file_read_all(runtime, path, 0, &bytes, &length, &err) != BRIM_OK)
    die(err.message);
  brim_string *texts = cut_texts(bytes, length, &count);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin))
    run_pass(encoder, texts, count, &out);
  free(texts);
  brim_runtime_release(runtime, bytes);
  brim_encodings_free(&out);
  brim_batch_encoder_free(encoder);
}

/* ---- sizes ------------------------------------------------------------------------------------------------ */

/* Processor time, so that others on the machine do not bend the line. */
static double own_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_time(brim_scratch *scratch, brim_encoding *encoding, const char *bytes, size_t length) {
  double best = 1e9;
  brim_error err;
  for (int i = 0; i < 3; i++) {
    double begin = own_time();
    if (brim_tokenizer_encode(tokenizer, scratch, bytes, length, NULL, 0, NULL, encoding, &err) != BRIM_OK)
      die(err.message);
    if (own_time() - begin < best)
      best = own_time() - begin;
  }
  return best;
}

static void print_sizes(void) {
  static const char *const pieces[] = {"a",  "'",      "xyz-",          "[MASK]", "<mask>",       " ",
                                       "\n", "\u00e9", "e\u0301\u0323", "\u4e2d", "\u0e01\u0e34", "1"};
  brim_encoding encoding = {0};
  brim_scratch *scratch;
  brim_error err;
  if (brim_scratch_new(runtime, tokenizer, &scratch, &err) != BRIM_OK)
    die(err.message);
  printf("%-14s %10s %10s %10s %10s\n", "text of", "125 kB", "250 kB", "500 kB", "1 MB");
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    size_t n = strlen(pieces[i]), full = 1000000 / n * n;
    char *bytes = malloc(full + n);
    if (!bytes)
      die("no memory");
    for (size_t at = 0; at < full; at += n)
      memcpy(bytes + at, pieces[i], n);
    printf("%-14s", strcmp(pieces[i], "\n") == 0 ? "line ends" : pieces[i]);
    for (size_t part = 8; part; part /= 2)
      printf(" %7.2f ms", 1e3 * best_time(scratch, &encoding, bytes, full / n / part * n));
    printf("\n");
    free(bytes);
  }
  brim_encoding_free(&encoding);
  brim_scratch_free(scratch);
}

int main(int count, char **words) {
  brim_error err;
  if (count != 4 && !(count == 3 && strcmp(words[2], "--sizes") == 0))
    die("usage: bench_tokenizers TOKENIZER (TEXTS THREADS | --sizes)");
  int threads = count == 4 ? atoi(words[3]) : 1;
  if (threads < 1)
    die("THREADS must be at least 1");
  brim_runtime_options options = {.threads = threads};
  if (brim_runtime_new(&options, &runtime, &err) != BRIM_OK ||
      brim_tokenizer_load(runtime, words[1], &tokenizer, &err) != BRIM_OK)
    die(err.message);
  if (count == 3)
    print_sizes();
  else
    run_passes(words[2]);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(runtime);
  return 0;
}
