/* Older vocabulary files of any bytes: what is made of them is a tokenizer.json that loads, or there is one error. The input is
 * vocab.txt, or vocab.json, NUL, merges.txt; NUL and a tokenizer_config.json may follow. The first byte says which: 'b' or 'w'.
 */
#include "base/memory.h"
#include "fuzz.h"
#include "text/tokenizer.h"

/* The part of [*at, end) up to the next NUL. */
static brim_tokenizer_file next_part(const char *name, const char **at, const char *end) {
  const char *begin = *at, *nul = begin < end ? memchr(begin, 0, (size_t)(end - begin)) : NULL;
  const char *stop = nul ? nul : end;
  *at = nul ? nul + 1 : end;
  return (brim_tokenizer_file){.name = name, .bytes = (char *)(uintptr_t)begin, .length = (size_t)(stop - begin)};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const char *at = (const char *)data + 1, *end = (const char *)data + size;
  bool bpe = data[0] == 'b';
  brim_tokenizer_file vocab = next_part(bpe ? "vocab.json" : "vocab.txt", &at, end);
  brim_tokenizer_file merges = bpe ? next_part("merges.txt", &at, end) : vocab;
  brim_tokenizer_file config = next_part("tokenizer_config.json", &at, end);
  brim_error err = {0};
  brim_text made;
  brim_text_init(&made, fuzz_runtime());
  const brim_tokenizer_file *settings = config.length ? &config : NULL;
  int status = bpe ? brim_legacy_bpe(fuzz_runtime(), &vocab, &merges, settings, &made, &err)
                   : brim_legacy_wordpiece(fuzz_runtime(), &vocab, settings, &made, &err);
  if (status != BRIM_OK) {
    fuzz_check_error(status, &err, (int64_t)size);
  } else {
    brim_tokenizer *t = brim_alloc_zero(fuzz_runtime(), sizeof *t);
    MUST(t);
    t->runtime = fuzz_runtime();
    status = brim_tokenizer_parse(t, made.data, made.length, "tokenizer.json", &err);
    if (status != BRIM_OK)
      fuzz_check_error(status, &err, (int64_t)made.length);
    brim_tokenizer_free(t);
  }
  brim_text_free(&made);
  return 0;
}
