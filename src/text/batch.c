/* batch.c: arrays of texts on all threads. Blocks of whole texts are encoded wherever there is time, each into separate memory;
 * then their places in the result are known, and they are copied there. With one thread there is one block, which becomes the
 * result without a copy. */
#include "base/memory.h"
#include "base/pool.h"
#include "base/runtime.h"
#include "base/status.h"
#include "text/encode.h"
#include "text/tokenizer.h"
#include <string.h>

enum { BLOCK_BYTES = 128 << 10, BLOCK_TEXTS = 1024 }; /* of text; a longer one has a block for itself */
enum { KEPT_BYTES = 64 << 20 };                       /* what blocks keep from one array to the next, in all */

/* Texts [first, last). */
typedef struct block {
  size_t first, last, unread;
  brim_encoding encoding;
} block;

/* The first block that a worker could not encode. */
typedef struct failure {
  int64_t block;
  int status; /* BRIM_OK: none */
  brim_error error;
} failure;

struct brim_batch_encoder {
  brim_runtime *runtime;
  const brim_tokenizer *tokenizer;
  brim_scratch **scratches; /* [threads]; NULL until a worker needs it */
  failure *failures;        /* [threads] */
  block *blocks;            /* [block_capacity]; they keep memory for later arrays, KEPT_BYTES of it */
  size_t block_count, block_capacity;
  size_t blocks_used; /* blocks after these hold no memory */
};

/* One call of run. */
typedef struct job {
  brim_batch_encoder *encoder;
  const brim_string *texts, *pairs;
  size_t count;
  const brim_encode_options *options;
  brim_encodings *out;
} job;

int brim_batch_encoder_new(brim_runtime *runtime, const brim_tokenizer *tokenizer, brim_batch_encoder **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, tokenizer);
  brim_batch_encoder *encoder = brim_alloc_zero(runtime, sizeof *encoder);
  if (!encoder)
    return BRIM_NOMEM(err);
  *encoder = (brim_batch_encoder){.runtime = runtime, .tokenizer = tokenizer};
  encoder->scratches = brim_alloc_array_zero(runtime, (size_t)brim_runtime_threads(runtime), sizeof *encoder->scratches);
  encoder->failures = brim_alloc_array_zero(runtime, (size_t)brim_runtime_threads(runtime), sizeof *encoder->failures);
  if (!encoder->scratches || !encoder->failures) {
    brim_batch_encoder_free(encoder);
    return BRIM_NOMEM(err);
  }
  *out = encoder;
  return BRIM_OK;
}

void brim_batch_encoder_free(brim_batch_encoder *encoder) {
  if (!encoder)
    return;
  for (int i = 0; encoder->scratches && i < brim_runtime_threads(encoder->runtime); i++)
    brim_scratch_free(encoder->scratches[i]);
  for (size_t i = 0; i < encoder->blocks_used; i++)
    brim_encoding_free(&encoder->blocks[i].encoding);
  brim_release(encoder->runtime, encoder->scratches);
  brim_release(encoder->runtime, encoder->failures);
  brim_release(encoder->runtime, encoder->blocks);
  brim_release(encoder->runtime, encoder);
}

void brim_encodings_free(brim_encodings *encodings) {
  if (!encodings || !encodings->runtime)
    return;
  brim_release(encodings->runtime, encodings->ids);
  brim_release(encodings->runtime, encodings->type_ids);
  brim_release(encodings->runtime, encodings->starts);
  brim_release(encodings->runtime, encodings->lost);
  *encodings = (brim_encodings){0};
}

/* ---- cutting ---------------------------------------------------------------------------------------------- */

static int add_block(brim_batch_encoder *encoder, size_t first, brim_error *err) {
  size_t n = encoder->block_count, before = encoder->block_capacity;
  if (n == before) {
    BRIM_TRY(brim_grow(encoder->runtime, (void **)&encoder->blocks, &encoder->block_capacity, n + 1, sizeof(block), err));
    memset(encoder->blocks + before, 0, (encoder->block_capacity - before) * sizeof(block));
  }
  block *b = &encoder->blocks[encoder->block_count++];
  b->first = b->last = first;
  if (encoder->block_count > encoder->blocks_used)
    encoder->blocks_used = encoder->block_count;
  return BRIM_OK;
}

/* Cuts the texts into blocks; where does not depend on the number of threads, unless there is one. */
static int cut(const job *j, brim_error *err) {
  brim_batch_encoder *encoder = j->encoder;
  bool whole = brim_runtime_threads(encoder->runtime) == 1;
  encoder->block_count = 0;
  BRIM_TRY(add_block(encoder, 0, err));
  for (size_t i = 0, bytes = 0; i < j->count; i++) {
    block *b = &encoder->blocks[encoder->block_count - 1];
    if (!whole && (bytes >= BLOCK_BYTES || i - b->first >= BLOCK_TEXTS)) {
      BRIM_TRY(add_block(encoder, i, err));
      b = &encoder->blocks[encoder->block_count - 1];
      bytes = 0;
    }
    b->last = i + 1;
    bytes += j->texts[i].length + (j->pairs ? j->pairs[i].length : 0);
  }
  return BRIM_OK;
}

/* ---- encoding --------------------------------------------------------------------------------------------- */

static int encode_block(const job *j, block *b, brim_scratch **scratch, brim_error *err) {
  static const brim_string none = {0};
  brim_batch_encoder *encoder = j->encoder;
  if (!*scratch)
    BRIM_TRY(brim_scratch_new(encoder->runtime, encoder->tokenizer, scratch, err));
  b->encoding.runtime = encoder->runtime;
  b->encoding.length = b->unread = 0;
  for (size_t i = b->first; i < b->last; i++) {
    BRIM_TRY(brim_check_cancel(encoder->runtime, err));
    brim_error reason = {0};
    int status = brim_encode_append(encoder->tokenizer, *scratch, j->texts[i], j->pairs ? j->pairs[i] : none, j->options,
                                    &b->encoding, &reason);
    if (status != BRIM_OK)
      return brim_error_set(err, status, "text %zu: %s", i, reason.message);
    j->out->starts[i + 1] = b->encoding.length; /* within the block, for now */
    j->out->lost[i] = b->encoding.lost;
    b->unread += b->encoding.unread;
  }
  return BRIM_OK;
}

static void encode_task(void *context, int64_t task, int worker) {
  job *j = context;
  brim_error error = {0};
  const int status = encode_block(j, &j->encoder->blocks[task], &j->encoder->scratches[worker], &error);
  failure *first = &j->encoder->failures[worker];
  if (status != BRIM_OK && (first->status == BRIM_OK || task < first->block))
    *first = (failure){.block = task, .status = status, .error = error};
}

/* ---- joining ---------------------------------------------------------------------------------------------- */

static void copy_task(void *context, int64_t task, int worker) {
  (void)worker;
  const job *j = context;
  const block *b = &j->encoder->blocks[task];
  size_t at = j->out->starts[b->first];
  if (b->encoding.length == 0)
    return;
  memcpy(j->out->ids + at, b->encoding.ids, b->encoding.length * sizeof *b->encoding.ids);
  memcpy(j->out->type_ids + at, b->encoding.type_ids, b->encoding.length);
}

/* Swaps the only block's memory with the result's. */
static void hand_over(block *b, brim_encodings *out) {
  brim_encoding was = b->encoding;
  b->encoding.ids = out->ids;
  b->encoding.type_ids = out->type_ids;
  b->encoding.capacity = out->capacity;
  out->ids = was.ids;
  out->type_ids = was.type_ids;
  out->capacity = was.capacity;
}

static int join(job *j, brim_error *err) {
  brim_batch_encoder *encoder = j->encoder;
  brim_encodings *out = j->out;
  size_t total = 0;
  for (size_t i = 0; i < encoder->block_count; i++) {
    const block *b = &encoder->blocks[i];
    for (size_t row = b->first; row < b->last; row++)
      out->starts[row + 1] += total;
    total += b->encoding.length;
    out->unread += b->unread;
  }
  if (encoder->block_count == 1) {
    hand_over(&encoder->blocks[0], out);
    return BRIM_OK;
  }
  brim_encoding arrays = {.ids = out->ids, .type_ids = out->type_ids, .capacity = out->capacity, .runtime = encoder->runtime};
  int status = brim_encoding_reserve(&arrays, total, err);
  out->ids = arrays.ids;
  out->type_ids = arrays.type_ids;
  out->capacity = arrays.capacity;
  if (status == BRIM_OK)
    brim_pool_run(encoder->runtime, (int64_t)encoder->block_count, copy_task, j);
  return status;
}

/* Room for the rows' starts and losses. */
static int reserve_rows(brim_encodings *out, size_t count, brim_error *err) {
  size_t capacity = out->row_capacity;
  if (out->starts && count < capacity)
    return BRIM_OK;
  BRIM_TRY(brim_grow(out->runtime, (void **)&out->starts, &capacity, count + 1, sizeof *out->starts, err));
  size_t *lost = brim_resize_array(out->runtime, out->lost, capacity, sizeof *lost);
  if (!lost)
    return BRIM_NOMEM(err);
  out->lost = lost;
  out->row_capacity = capacity;
  return BRIM_OK;
}

/* A tokenizer that once encoded a large array should not hold a copy of it from then on, nor look at all its blocks. */
static void keep_some(brim_batch_encoder *encoder) {
  size_t bytes = 0, kept = 0;
  for (; kept < encoder->blocks_used; kept++) {
    const brim_encoding *e = &encoder->blocks[kept].encoding;
    bytes += e->capacity * (sizeof *e->ids + sizeof *e->type_ids);
    if (bytes > KEPT_BYTES)
      break;
  }
  while (encoder->blocks_used > kept)
    brim_encoding_free(&encoder->blocks[--encoder->blocks_used].encoding);
}

static int run(job *j, brim_error *err) {
  brim_batch_encoder *encoder = j->encoder;
  BRIM_TRY(brim_encode_options_check(encoder->tokenizer, j->options, false, err));
  BRIM_TRY(reserve_rows(j->out, j->count, err));
  BRIM_TRY(cut(j, err));
  j->out->starts[0] = 0;
  const size_t workers = (size_t)brim_runtime_threads(encoder->runtime);
  memset(encoder->failures, 0, workers * sizeof *encoder->failures);
  brim_pool_run(encoder->runtime, (int64_t)encoder->block_count, encode_task, j);
  const failure *first = &encoder->failures[0];
  for (size_t i = 1; i < workers; i++)
    if (encoder->failures[i].status != BRIM_OK && (first->status == BRIM_OK || encoder->failures[i].block < first->block))
      first = &encoder->failures[i];
  if (first->status == BRIM_OK)
    return join(j, err);
  if (err)
    *err = first->error;
  return first->status;
}

int brim_batch_encoder_run(brim_batch_encoder *encoder, const brim_string *texts, const brim_string *pairs, size_t count,
                           const brim_encode_options *options, brim_encodings *out, brim_error *err) {
  BRIM_GIVEN(err, encoder, out);
  BRIM_ARRAY(err, texts, count);
  static const brim_encode_options defaults = {0};
  job j = {encoder, texts, pairs, count, options ? options : &defaults, out};
  if (out->runtime != encoder->runtime)
    brim_encodings_free(out);
  out->runtime = encoder->runtime;
  out->count = out->unread = 0;
  const int status = run(&j, err);
  keep_some(encoder);
  if (status == BRIM_OK)
    out->count = count;
  return status;
}
