/* Texts of any bytes through the small tokenizers: the fused pipelines against the exact one, with a cache that has seen
 * everything before; offsets, windows and decoding hold together. The first byte chooses the tokenizer and the options. */
#include "fuzz.h"
#include "text/fast.h"
#include "text/tokenizer.h"
#include "text/windows.h"

enum { TOKENIZERS = 4 };
static brim_tokenizer *tokenizers[TOKENIZERS];
static brim_scratch *scratches[TOKENIZERS];
static brim_encoding encoding;
static brim_offsets offsets;
static brim_windows windows;

static void load_all(void) {
  static const char *const names[TOKENIZERS] = {"wordpiece-uncased", "wordpiece-cased", "byte-bpe", "unigram"};
  const char *source = getenv("BRIM_SOURCE");
  for (int i = 0; i < TOKENIZERS && !tokenizers[i]; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s/tests/golden/tokenizers/%s", source ? source : ".", names[i]);
    MUST(brim_tokenizer_load(fuzz_runtime(), path, &tokenizers[i], NULL) == BRIM_OK);
    MUST(brim_scratch_new(fuzz_runtime(), tokenizers[i], &scratches[i], NULL) == BRIM_OK);
  }
}

static void check_ids(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length) {
  static const brim_encode_options bare = {.no_special_tokens = true};
  MUST(brim_tokenizer_encode(t, s, text, length, NULL, 0, &bare, &encoding, NULL) == BRIM_OK);
  s->exact.count = 0;
  MUST(brim_clean_utf8(s, 0, &text, &length, NULL) == BRIM_OK && brim_exact_run(t, s, text, length, NULL) == BRIM_OK);
  MUST(encoding.length == s->exact.count);
  for (size_t i = 0; i < encoding.length; i++)
    MUST(encoding.ids[i] == s->exact.at[i].id && s->exact.at[i].from <= s->exact.at[i].to && s->exact.at[i].to <= length);
}

/* Windows of one text cover all its tokens, each beginning with the last ones of the window before. */
static void check_windows(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, bool left) {
  const brim_encode_options options = {
      .max_length = 8, .no_special_tokens = true, .truncation_side = left ? BRIM_SIDE_LEFT : BRIM_SIDE_RIGHT};
  size_t all = encoding.length;
  MUST(brim_tokenizer_encode_windows(t, s, text, length, NULL, 0, &options, 3, &encoding, &offsets, &windows, NULL) == BRIM_OK);
  MUST(windows.count >= 1 && windows.starts[0] == 0 && windows.starts[windows.count] == encoding.length);
  MUST(encoding.length == all + 3 * (windows.count - 1) && offsets.length == encoding.length);
  for (size_t i = 0; i < windows.count; i++)
    MUST(windows.starts[i + 1] - windows.starts[i] <= 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  load_all();
  int which = data[0] % TOKENIZERS;
  const char *text = (const char *)data + 1;
  brim_text decoded;
  brim_text_init(&decoded, fuzz_runtime());
  check_ids(tokenizers[which], scratches[which], text, size - 1);
  MUST(brim_tokenizer_decode(tokenizers[which], encoding.ids, encoding.length, false, &decoded, NULL) == BRIM_OK);
  check_windows(tokenizers[which], scratches[which], text, size - 1, data[0] & 4);
  brim_text_free(&decoded);
  return 0;
}
