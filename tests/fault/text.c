/* A tokenizer's life: each allocation may fail. */
#include "brim/text.h"
#include "fault.h"
#include "text/windows.h"

typedef struct life {
  const char *path;
  brim_tokenizer *tokenizer;
  brim_scratch *scratch;
  brim_encoding encoding;
  brim_offsets offsets;
  brim_windows windows;
} life;

static const char *saved;

static const char text[] = "  Hello, w\u00f6rld! It's\u00a0 caf\u00e9 time <mask> [MASK] \u4e2d\u6587 e\u0301\u0323\u0327 12345 "
                           "antidisestablishmentarianism aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \xFF end\n";

static int encode(brim_runtime *runtime, life *l, brim_error *err) {
  const brim_encode_options options = {.max_length = 16};
  int status = brim_tokenizer_encode(l->tokenizer, l->scratch, text, sizeof text - 1, text, 40, &options, &l->encoding, err);
  if (!status)
    status = brim_tokenizer_encode_windows(l->tokenizer, l->scratch, text, sizeof text - 1, NULL, 0, &options, 2, &l->encoding,
                                           &l->offsets, &l->windows, err);
  if (status)
    return status;
  brim_text decoded;
  brim_text_init(&decoded, runtime);
  status = brim_tokenizer_decode(l->tokenizer, l->encoding.ids, l->encoding.length, false, &decoded, err);
  brim_text_free(&decoded);
  return status;
}

static int live(brim_runtime *runtime, void *context, brim_error *err) {
  life l = {.path = context};
  int status = brim_tokenizer_load(runtime, l.path, &l.tokenizer, err);
  if (!status)
    status = brim_scratch_new(runtime, l.tokenizer, &l.scratch, err);
  if (!status)
    status = encode(runtime, &l, err);
  if (!status)
    status = brim_tokenizer_save(l.tokenizer, saved, NULL, err);
  brim_encoding_free(&l.encoding);
  brim_offsets_free(&l.offsets);
  brim_windows_free(&l.windows);
  brim_scratch_free(l.scratch);
  brim_tokenizer_free(l.tokenizer);
  return status;
}

/* Arrays of texts; the second array is larger. */
static int live_in_batches(brim_runtime *runtime, void *context, brim_error *err) {
  brim_tokenizer *tokenizer = NULL;
  brim_batch_encoder *encoder = NULL;
  brim_encodings rows = {0};
  brim_string texts[3000];
  for (size_t i = 0; i < 3000; i++)
    texts[i] = (brim_string){text, sizeof text - 1};
  int status = brim_tokenizer_load(runtime, context, &tokenizer, err);
  if (!status)
    status = brim_batch_encoder_new(runtime, tokenizer, &encoder, err);
  for (size_t count = 1; !status && count <= 3000; count += 2999)
    status = brim_batch_encoder_run(encoder, texts, texts, count, NULL, &rows, err);
  brim_encodings_free(&rows);
  brim_batch_encoder_free(encoder);
  brim_tokenizer_free(tokenizer);
  return status;
}

static void check_golden(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/tokenizers/%s", getenv("BRIM_SOURCE"), name);
  fault_check(name, 1, live, NULL, path);
}

int main(void) {
  static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nhello\n";
  const char *path = scratch_file("vocab.txt");
  saved = fault_file("saved");
  FILE *f = fopen(path, "w");
  if (!getenv("BRIM_SOURCE") || !f || fputs(vocabulary, f) < 0 || fclose(f) != 0)
    return 99;
  fault_check("vocab.txt", 1, live, NULL, (void *)(uintptr_t)path);
  fault_check("batches", 1, live_in_batches, NULL, (void *)(uintptr_t)path);
  fault_check("batches on three threads", 3, live_in_batches, NULL, (void *)(uintptr_t)path);
  check_golden("wordpiece-uncased");
  check_golden("byte-bpe");
  check_golden("unigram");
  return tap_done();
}
