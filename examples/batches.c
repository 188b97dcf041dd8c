/* batches.c: a file in memory, and its batches as a training program takes them: ragged, and padded for those who want that.
 *
 *   cc batches.c $(pkg-config --cflags --libs brim) -o batches
 *   ./batches TOKENIZER train.csv CACHE
 *
 * The rows are encoded once; the folder CACHE keeps them for the next call. Nothing is dropped, and steps are plain random ones:
 * without padding there is no reason to bias them. */
#include <brim/brim.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct program {
  brim_runtime *runtime;
  brim_tokenizer *tokenizer;
  brim_dataset *rows;
  brim_plan *plan;
  brim_batch batch; /* its memory is used again for each batch */
  brim_error error;
} program;

static int load(program *p, const char *tokenizer, const char *file, const char *cache) {
  const brim_dataset_options options = {.source.need_label = true, .encode.max_length = 64, .cache = cache};
  int status = brim_tokenizer_load(p->runtime, tokenizer, &p->tokenizer, &p->error);
  if (!status)
    status = brim_dataset_load(p->runtime, &file, 1, p->tokenizer, &options, &p->rows, &p->error);
  return status;
}

/* Sixteen rows a step, at most 256 tokens computed at once: a step may come in several parts, and its loss is divided by the rows
 * of the whole step (batch.step_rows), so that the parts change nothing. */
static int plan(program *p, uint64_t epoch) {
  const brim_plan_options options = {
      .batching = BRIM_RANDOM, .padding = BRIM_PAD_NONE, .batch_size = 16, .max_tokens = 256, .seed = 42};
  return brim_plan_new(p->runtime, brim_dataset_lengths(p->rows), brim_dataset_rows(p->rows), &options, epoch, &p->plan,
                       &p->error);
}

/* Sequence i is ids[offsets[i] .. offsets[i + 1]); type_ids likewise. */
static void print_ragged(const brim_batch *batch) {
  printf("step %llu: %d of %u rows, %lld tokens; the first row has %d tokens from id %d to id %d, label %g\n",
         (unsigned long long)batch->step, (int)batch->count, (unsigned)batch->step_rows, (long long)batch->tokens,
         (int)batch->offsets[1], (int)batch->ids[0], (int)batch->ids[batch->offsets[1] - 1], (double)batch->labels[0]);
}

/* The same batch as arrays [count, width], as other libraries want it. */
static void print_padded(const brim_batch *batch, int32_t pad_id) {
  int32_t width = brim_batch_width(batch);
  size_t slots = (size_t)batch->count * (size_t)width, zeros = 0;
  int32_t *ids = malloc(slots * sizeof *ids);
  uint8_t *mask = malloc(slots);
  if (ids && mask) {
    brim_batch_pad(batch, width, pad_id, ids, NULL, mask);
    for (size_t i = 0; i < slots; i++)
      zeros += mask[i] == 0;
    printf("padded to %d columns, %zu of %zu slots would be padding\n", (int)width, zeros, slots);
  }
  free(ids);
  free(mask);
}

static int print_batches(program *p) {
  for (uint64_t i = 0; i < brim_plan_parts(p->plan); i++) {
    brim_planned part;
    brim_plan_part(p->plan, 0, i, &part);
    int status = brim_batch_fill(&p->batch, p->runtime, p->rows, &part, &p->error);
    if (status)
      return status;
    print_ragged(&p->batch);
    if (i == 0)
      print_padded(&p->batch, 0);
  }
  return BRIM_OK;
}

int main(int argc, char **argv) {
  program p = {0};
  if (argc != 4) {
    fprintf(stderr, "usage: batches TOKENIZER FILE CACHE\n");
    return 2;
  }
  int status = brim_runtime_new(&(brim_runtime_options){0}, &p.runtime, &p.error);
  if (!status)
    status = load(&p, argv[1], argv[2], argv[3]);
  if (!status)
    status = plan(&p, 0);
  if (!status)
    status = print_batches(&p);
  if (status) {
    char text[1200];
    brim_error_text(&p.error, text, sizeof text);
    fprintf(stderr, "batches: %s\n", text);
  }
  brim_batch_free(&p.batch);
  brim_plan_free(p.plan);
  brim_dataset_free(p.rows);
  brim_tokenizer_free(p.tokenizer);
  brim_runtime_free(p.runtime);
  return status ? 1 : 0;
}
