#include "text/prompt.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"

int brim_prompt_put(const char *prompt, brim_text *bytes, brim_string *text, brim_error *err) {
  brim_text_clear(bytes);
  brim_text_string(bytes, prompt);
  brim_text_append(bytes, text->bytes, text->length);
  BRIM_TRY(brim_text_status(bytes, err));
  *text = (brim_string){bytes->data, bytes->length};
  return BRIM_OK;
}

/* An empty text's last token is the one that ends a text, if any is. */
static int count(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *prompt, int32_t max_length, brim_encoding *e,
                 int32_t *out, brim_error *err) {
  const brim_encode_options how = {.max_length = max_length};
  BRIM_TRY(brim_tokenizer_encode(tokenizer, scratch, "", 0, NULL, 0, NULL, e, err));
  const int32_t last = e->length > 0 ? e->ids[e->length - 1] : -1;
  BRIM_TRY(brim_tokenizer_encode(tokenizer, scratch, prompt, strlen(prompt), NULL, 0, &how, e, err));
  *out = (int32_t)e->length - (e->length > 0 && e->ids[e->length - 1] == last);
  return BRIM_OK;
}

int brim_prompt_tokens(brim_runtime *runtime, const brim_tokenizer *tokenizer, const char *prompt, int32_t max_length,
                       int32_t *out, brim_error *err) {
  brim_encoding encoding = {0};
  brim_scratch *scratch;
  BRIM_TRY(brim_scratch_new(runtime, tokenizer, &scratch, err));
  const int status = count(tokenizer, scratch, prompt, max_length, &encoding, out, err);
  brim_encoding_free(&encoding);
  brim_scratch_free(scratch);
  return status;
}
