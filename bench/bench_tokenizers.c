/* The brim side of `make bench-tokenizers`.
 *
 *   bench_tokenizers TOKENIZER TEXTS THREADS
 *
 * TEXTS holds texts with a NUL behind each. For every line on standard input all of them are tokenized once, ids only, and a line
 * "SECONDS TOKENS HASH" is printed; the hash covers all ids in order. Threads take blocks of whole texts of about 1 MiB each;
 * what comes out does not depend on their number.
 *
 *   bench_tokenizers TOKENIZER --sizes
 *
 * Times of texts of doubling size that are hard for tokenizers: each kind must grow in a straight line. */
#include "brim/text.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK_BYTES = 1 << 20, MAX_THREADS = 256 };

typedef struct text {
  const char *bytes;
  size_t length;
} text;

/* Texts [first, last) and the ids that they become. */
typedef struct block {
  size_t first, last, count, capacity;
  int32_t *ids;
} block;

static brim_runtime *runtime;
static brim_tokenizer *tokenizer;
static text *texts;
static block *blocks;
static size_t block_count;
static atomic_size_t next_block;

static void die(const char *what) {
  fprintf(stderr, "bench_tokenizers: %s\n", what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_block(brim_scratch *scratch, brim_encoding *encoding, block *b) {
  brim_error err;
  b->count = 0;
  for (size_t i = b->first; i < b->last; i++) {
    if (brim_tokenizer_encode(tokenizer, scratch, texts[i].bytes, texts[i].length, NULL, 0, NULL, encoding, &err) != BRIM_OK)
      die(err.message);
    if (b->count + encoding->length > b->capacity) {
      b->capacity = (b->count + encoding->length) * 2;
      b->ids = realloc(b->ids, b->capacity * sizeof *b->ids);
      if (!b->ids)
        die("no memory");
    }
    memcpy(b->ids + b->count, encoding->ids, encoding->length * sizeof *b->ids);
    b->count += encoding->length;
  }
}

/* A thread and what it keeps between passes. */
typedef struct worker {
  brim_scratch *scratch;
  brim_encoding encoding;
} worker;

static void *work(void *context) {
  worker *w = context;
  for (size_t i; (i = atomic_fetch_add(&next_block, 1)) < block_count;)
    run_block(w->scratch, &w->encoding, &blocks[i]);
  return NULL;
}

static void run_pass(worker *workers, int threads) {
  pthread_t handles[MAX_THREADS];
  double begin = now();
  atomic_store(&next_block, 0);
  for (int i = 1; i < threads; i++)
    if (pthread_create(&handles[i], NULL, work, &workers[i]) != 0)
      die("cannot start a thread");
  work(&workers[0]);
  for (int i = 1; i < threads; i++)
    pthread_join(handles[i], NULL);
  double seconds = now() - begin;
  size_t tokens = 0;
  uint64_t hash = 0;
  for (size_t i = 0; i < block_count; i++) {
    tokens += blocks[i].count;
    for (size_t j = 0; j < blocks[i].count; j++)
      hash = (hash ^ (uint64_t)blocks[i].ids[j]) * 0x9E3779B97F4A7C15u;
  }
  printf("%.6f %zu %016llx\n", seconds, tokens, (unsigned long long)hash);
  fflush(stdout);
}

static void cut_texts(char *bytes, size_t length) {
  size_t count = 0, capacity = 0, filled = BLOCK_BYTES, block_capacity = 0;
  for (char *at = bytes, *end; at < bytes + length; at = end + 1) {
    end = memchr(at, 0, (size_t)(bytes + length - at));
    if (!end)
      die("the last text has no NUL behind it");
    if (count == capacity)
      texts = realloc(texts, (capacity = capacity * 2 + 1024) * sizeof *texts);
    if (block_count == block_capacity)
      blocks = realloc(blocks, (block_capacity = block_capacity * 2 + 64) * sizeof *blocks);
    if (!texts || !blocks)
      die("no memory");
    if (filled >= BLOCK_BYTES) {
      blocks[block_count++] = (block){.first = count};
      filled = 0;
    }
    texts[count++] = (text){at, (size_t)(end - at)};
    blocks[block_count - 1].last = count;
    filled += (size_t)(end - at) + 1;
  }
}

/* ---- sizes ------------------------------------------------------------------------------------------------ */

static double best_time(worker *w, const char *bytes, size_t length) {
  double best = 1e9;
  brim_error err;
  for (int i = 0; i < 3; i++) {
    double begin = now();
    if (brim_tokenizer_encode(tokenizer, w->scratch, bytes, length, NULL, 0, NULL, &w->encoding, &err) != BRIM_OK)
      die(err.message);
    if (now() - begin < best)
      best = now() - begin;
  }
  return best;
}

static void print_sizes(worker *w) {
  static const char *const pieces[] = {"a",  "'",      "xyz-",          "[MASK]", "<mask>",       " ",
                                       "\n", "\u00e9", "e\u0301\u0323", "\u4e2d", "\u0e01\u0e34", "1"};
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
      printf(" %7.2f ms", 1e3 * best_time(w, bytes, full / n / part * n));
    printf("\n");
    free(bytes);
  }
}

int main(int count, char **words) {
  brim_error err;
  if (count != 4 && !(count == 3 && strcmp(words[2], "--sizes") == 0))
    die("usage: bench_tokenizers TOKENIZER (TEXTS THREADS | --sizes)");
  int threads = count == 4 ? atoi(words[3]) : 1;
  if (threads < 1 || threads > MAX_THREADS)
    die("THREADS must be 1 to 256");
  brim_runtime_options options = {.threads = 1};
  if (brim_runtime_new(&options, &runtime, &err) != BRIM_OK ||
      brim_tokenizer_load(runtime, words[1], &tokenizer, &err) != BRIM_OK)
    die(err.message);
  worker *workers = calloc((size_t)threads, sizeof *workers);
  for (int i = 0; i < threads; i++)
    if (!workers || brim_scratch_new(runtime, tokenizer, &workers[i].scratch, &err) != BRIM_OK)
      die("no memory");
  if (count == 3) {
    print_sizes(&workers[0]);
  } else {
    char *bytes = NULL, line[64];
    size_t length = 0;
    if (brim_file_read_all(runtime, words[2], 0, &bytes, &length, &err) != BRIM_OK)
      die(err.message);
    cut_texts(bytes, length);
    while (fgets(line, sizeof line, stdin))
      run_pass(workers, threads);
  }
  return 0;
}
