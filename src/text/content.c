/* content.c: whether two tokenizers are the same, whatever files they came from. */
#include "base/hashmap.h"
#include "base/status.h"
#include "text/encode.h"
#include "text/tokenizer.h"

#include <string.h>

/* Texts in which what two tokenizers may do differently shows: capitals, accents, forms of letters, scripts without spaces,
 * numbers, spaces of all kinds, marks, words of no vocabulary, texts that look like special tokens, nothing. */
static const char *const probes[] = {
    "",
    "The quick brown fox, isn't it? 3.14 + 1,000 = 50% of $20!",
    "UPPER lower Title \xC3\x89t\xC3\xA9 \xC3\x89T\xC3\x89 na\xC3\xAFve cafe\xCC\x81 stra\xC3\x9F"
    "e",
    "\xE4\xB8\xAD\xE6\x96\x87 \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\x8C \xED\x95\x9C\xEA\xB5\xAD \xEF\xBC\xA1\xEF\xBC\xA2 "
    "\xEF\xAC\x81",
    "  two  spaces\ttab\nline\r\n\xC2\xA0"
    "nbsp\xE3\x80\x80wide\xE2\x80\x8B"
    "zero ",
    "antidisestablishmentarianism qzxjkvwq 12345678901234567890 a_b-c.d@e.org",
    "[CLS] [SEP] [MASK] [PAD] [UNK] <s> </s> <mask> <pad> <unk> <|endoftext|>",
    "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB \xD0\x9F\xD1\x80\xD0\xB8 \xD8\xB3\xD9\x84\xD8\xA7\xD9\x85 "
    "\xE0\xB8\xAA\xE0\xB8\xA7"};
enum { PROBES = sizeof probes / sizeof *probes };

static uint64_t hash_tokens(const brim_tokenizer *t) {
  uint64_t hash = (uint64_t)brim_tokenizer_vocab_size(t);
  for (int32_t id = 0; id < brim_tokenizer_vocab_size(t); id++) {
    size_t length;
    const char *token = brim_tokenizer_token(t, id, &length);
    hash = brim_hash64(token ? token : "", token ? length : 0, hash + (token != NULL));
  }
  return hash;
}

/* Of each text, alone and before the next one: its ids and types, or that it cannot be encoded. */
static int hash_probes(const brim_tokenizer *t, brim_scratch *scratch, uint64_t *hash, brim_error *err) {
  brim_encoding encoding = {0};
  const brim_encode_options options = {0};
  int status = BRIM_OK;
  for (int i = 0; i < 2 * PROBES && status != BRIM_E_MEMORY; i++) {
    const char *text = probes[i / 2], *pair = i % 2 ? probes[(i / 2 + 1) % PROBES] : NULL;
    status = brim_tokenizer_encode(t, scratch, text, strlen(text), pair, pair ? strlen(pair) : 0, &options, &encoding, err);
    *hash = brim_hash64(encoding.ids, status ? 0 : encoding.length * sizeof *encoding.ids, *hash + (uint64_t)status);
    *hash = brim_hash64(encoding.type_ids, status ? 0 : encoding.length, *hash);
  }
  brim_encoding_free(&encoding);
  return status == BRIM_E_MEMORY ? status : BRIM_OK;
}

int brim_tokenizer_content(const brim_tokenizer *tokenizer, bool words, uint64_t *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, tokenizer);
  if (words)
    BRIM_TRY(brim_tokenizer_of_words(tokenizer, &tokenizer, err));
  _Atomic uint64_t *kept = &((brim_tokenizer *)tokenizer)->content; /* whoever is first computes it: it is the same for all */
  brim_scratch *scratch;
  *out = *kept;
  if (*out)
    return BRIM_OK;
  BRIM_TRY(brim_scratch_new(tokenizer->runtime, tokenizer, &scratch, err));
  uint64_t hash = hash_tokens(tokenizer);
  const int status = hash_probes(tokenizer, scratch, &hash, err);
  brim_scratch_free(scratch);
  if (status == BRIM_OK)
    *out = *kept = hash | 1;
  return status;
}
