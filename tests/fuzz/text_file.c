/* A tokenizer.json of any bytes: a tokenizer whose fused pipeline gives the ids of the exact one, or one error. */
#include "base/memory.h"
#include "fuzz.h"
#include "text/fast.h"
#include "text/tokenizer.h"

static const char text[] =
    "Hello  the caf\u00e9's\u00a0end\n\u4e2d\u6587 e\u0301\u0323 [MASK] <mask> \u2581a 12 \uff21\u0301 xyzxyz \u0130.";

/* A mismatch is a character that such a vocabulary cannot spell; what is not supported takes too many steps or characters. */
static void check_texts(const brim_tokenizer *t) {
  brim_encoding encoding = {0};
  brim_offsets offsets = {0};
  brim_scratch *scratch;
  brim_error err = {0};
  brim_text decoded;
  brim_text_init(&decoded, fuzz_runtime());
  MUST(brim_scratch_new(fuzz_runtime(), t, &scratch, &err) == BRIM_OK);
  static const brim_encode_options bare = {.no_special_tokens = true};
  int fast = brim_tokenizer_encode(t, scratch, text, sizeof text - 1, NULL, 0, &bare, &encoding, &err);
  scratch->exact.count = 0;
  int exact = brim_exact_run(t, scratch, text, sizeof text - 1, &err);
  MUST(fast == exact && (fast == BRIM_OK || fast == BRIM_E_MISMATCH || fast == BRIM_E_UNSUPPORTED));
  if (fast == BRIM_OK) {
    MUST(encoding.length == scratch->exact.count);
    for (size_t i = 0; i < encoding.length; i++)
      MUST(encoding.ids[i] == scratch->exact.at[i].id && encoding.ids[i] < brim_tokenizer_vocab_size(t));
    MUST(brim_tokenizer_encode_offsets(t, scratch, text, sizeof text - 1, text, 20, NULL, &encoding, &offsets, &err) == BRIM_OK);
    int back = brim_tokenizer_decode(t, encoding.ids, encoding.length, true, &decoded, &err);
    MUST(back == BRIM_OK || back == BRIM_E_UNSUPPORTED);
  }
  brim_text_free(&decoded);
  brim_offsets_free(&offsets);
  brim_encoding_free(&encoding);
  brim_scratch_free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  brim_error err = {0};
  brim_tokenizer *t = brim_alloc_zero(fuzz_runtime(), sizeof *t);
  MUST(t);
  t->runtime = fuzz_runtime();
  int status = brim_tokenizer_parse(t, (const char *)data, size, "tokenizer.json", &err);
  if (status == BRIM_OK)
    check_texts(t);
  else
    fuzz_check_error(status, &err, (int64_t)size);
  brim_tokenizer_free(t);
  return 0;
}
