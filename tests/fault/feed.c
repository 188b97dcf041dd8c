/* A feed that is opened, read, saved and restored when an allocation fails. */
#include "brim/feed.h"
#include "fault.h"

#include <zlib.h>

#include "data_tokenizer.h"

static void make_files(void) {
  scratch_make_folder("shards");
  for (int f = 0; f < 3; f++) {
    char name[32];
    snprintf(name, sizeof name, "shards/%d.csv.gz", f);
    gzFile gz = gzopen(scratch_file(name), "wb");
    gzputs(gz, "text,label,vector\n");
    if (f == 1)
      gzputs(gz, "a,damaged,row,\n");
    for (int i = 0; i < 9; i++)
      gzprintf(gz, "%.*s,%s,\"[%d, 0.5]\"\n", 1 + i * 7 % 20, "abcdefghijklmnopqrstuvwxyz", i % 2 ? "pos" : "neg", i);
    gzclose(gz);
  }
}

typedef struct way {
  int prefetch;
  bool slices;
} way;

static int read_twice(brim_runtime *runtime, const brim_tokenizer *tokenizer, const brim_labels *labels, const way *w,
                      brim_error *err) {
  static const brim_block_column vector = {.column = "vector", .shape = {.name = "teacher", .width = 2}};
  const char *path = scratch_file("shards");
  brim_feed_options options = {.source = {.need_label = true, .skip_damaged = true, .blocks = &vector, .block_count = 1},
                               .labels = labels,
                               .plan = {.batching = BRIM_BUCKETED, .max_tokens = 40, .read_ahead = 6},
                               .window = 10,
                               .epochs = 1,
                               .prefetch = w->prefetch};
  if (w->slices) {
    options.rank_slices = true;
    options.plan.world_size = 2;
    options.plan.batch_size = 4;
    options.rank = 1;
  }
  const brim_batch *batch;
  brim_feed *feed;
  brim_text state;
  brim_text_init(&state, runtime);
  int status = brim_feed_open(runtime, &path, 1, tokenizer, &options, &feed, err);
  for (int i = 0; status == BRIM_OK; i++) {
    status = brim_feed_next(feed, &batch, err);
    if (status == BRIM_OK && i == 5)
      status = brim_feed_save(feed, &state, err);
  }
  if (status == BRIM_END)
    status = brim_feed_restore(feed, state.data, state.length, err);
  while (status == BRIM_OK)
    status = brim_feed_next(feed, &batch, err);
  brim_feed_close(feed);
  brim_text_free(&state);
  return status == BRIM_END ? BRIM_OK : status;
}

static int work(brim_runtime *runtime, void *context, brim_error *err) {
  static const char *const names[] = {"neg", "pos"};
  brim_labels labels;
  brim_tokenizer *tokenizer = NULL;
  int status = brim_labels_make(runtime, BRIM_TASK_CLASSIFICATION, names, 2, &labels, err);
  if (status == BRIM_OK)
    status = brim_tokenizer_load(runtime, scratch_file("vocab.txt"), &tokenizer, err);
  if (status == BRIM_OK)
    status = read_twice(runtime, tokenizer, &labels, context, err);
  brim_tokenizer_free(tokenizer);
  brim_labels_free(&labels);
  return status;
}

int main(void) {
  data_start(1);
  make_files();
  brim_tokenizer_free(data_tokenizer());
  brim_runtime_free(data_runtime);
  fault_check("a feed", 1, work, NULL, &(way){0});
  fault_check("a feed with a thread ahead", 2, work, NULL, &(way){.prefetch = 1});
  fault_check("a slice of a feed", 1, work, NULL, &(way){.slices = true});
  return tap_done();
}
