/* stream.c: batches from files larger than memory, and how to go on after an interruption.
 *
 *   cc stream.c $(pkg-config --cflags --libs brim) -o stream
 *   ./stream TOKENIZER shards STATE 100
 *
 * Prints 100 batches, one a line, and writes STATE; the next call continues after them. One pass over the data, then it ends. */
#include <brim/brim.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct program {
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_feed *feed;
  brim_error error;
} program;

/* At most 2,048 tokens a batch, rows of like length together, whatever the size of the files. */
static int open_feed(program *p, const char *tokenizer, const char *files) {
  const brim_feed_options options = {
      .encode.max_length = 128,
      .plan = {.batching = BRIM_BUCKETED, .padding = BRIM_PAD_LONGEST, .max_tokens = 2048, .read_ahead = 10000, .seed = 42},
      .window = 100000,
      .epochs = 1,
      .prefetch = 1,
  };
  int status = brim_tokenizer_load(p->runtime, tokenizer, &p->tokenizer, &p->error);
  if (!status)
    status = brim_feed_open(p->runtime, &files, 1, p->tokenizer, &options, &p->feed, &p->error);
  return status;
}

/* Goes to where the last call stopped, if there was one. */
static int go_on(program *p, const char *path) {
  char *state = NULL;
  size_t length = 0;
  FILE *there = fopen(path, "r");
  if (!there)
    return BRIM_OK;
  fclose(there);
  int status = brim_file_read_all(p->runtime, path, 0, &state, &length, &p->error);
  if (!status)
    status = brim_feed_restore(p->feed, state, length, &p->error);
  brim_runtime_release(p->runtime, state);
  return status;
}

static int print_batches(program *p, long count) {
  for (long i = 0; i < count; i++) {
    const brim_batch *batch;
    int status = brim_feed_next(p->feed, &batch, &p->error);
    if (status == BRIM_END)
      break;
    if (status)
      return status;
    printf("batch %llu: %d rows of up to %d tokens, the first from %s, record %llu\n", (unsigned long long)batch->step,
           (int)batch->count, (int)batch->width, brim_feed_file_name(p->feed, brim_feed_file(batch->rows[0])),
           (unsigned long long)brim_feed_record(batch->rows[0]));
  }
  brim_feed_ledger ledger;
  brim_feed_tell(p->feed, &ledger);
  printf("%llu rows so far, %.1f %% padding, %llu wait\n", (unsigned long long)ledger.rows_yielded,
         ledger.slots ? 100.0 * (1.0 - (double)ledger.tokens / (double)ledger.slots) : 0.0,
         (unsigned long long)ledger.rows_waiting);
  return BRIM_OK;
}

static int save(program *p, const char *path) {
  brim_text state;
  brim_text_init(&state, p->runtime);
  int status = brim_feed_save(p->feed, &state, &p->error);
  if (!status)
    status = brim_file_write_all(p->runtime, path, state.data, state.length, &p->error);
  brim_text_free(&state);
  return status;
}

int main(int argc, char **argv) {
  program p = {0};
  if (argc != 5) {
    fprintf(stderr, "usage: stream TOKENIZER FILES STATE COUNT\n");
    return 2;
  }
  int status = brim_runtime_new(&(brim_runtime_options){0}, &p.runtime, &p.error);
  if (!status)
    status = open_feed(&p, argv[1], argv[2]);
  if (!status)
    status = go_on(&p, argv[3]);
  if (!status)
    status = print_batches(&p, strtol(argv[4], NULL, 10));
  if (!status)
    status = save(&p, argv[3]);
  if (status) {
    char text[1200];
    brim_error_text(&p.error, text, sizeof text);
    fprintf(stderr, "stream: %s\n", text);
  }
  brim_feed_close(p.feed);
  brim_tokenizer_free(p.tokenizer);
  brim_runtime_free(p.runtime);
  return status ? 1 : 0;
}
