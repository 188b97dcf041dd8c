/* Vocabulary files of any bytes, and what stands beside them: what is made of them is a tokenizer.json that loads, or there is
 * one error. The input is vocab.txt, or tokenizer.json, or vocab.json, NUL, merges.txt; tokenizer_config.json,
 * special_tokens_map.json, added_tokens.json and config.json may follow, with a NUL before each. The first byte says which: 'w',
 * 'j' or 'b'. */
#include "base/memory.h"
#include "fuzz.h"
#include "text/resolve.h"

/* The part of [*at, end) up to the next NUL. */
static brim_tokenizer_file next_part(const char *name, const char **at, const char *end) {
  const char *begin = *at, *nul = begin < end ? memchr(begin, 0, (size_t)(end - begin)) : NULL;
  const char *stop = nul ? nul : end;
  *at = nul ? nul + 1 : end;
  return (brim_tokenizer_file){.name = name, .bytes = (char *)(uintptr_t)begin, .length = (size_t)(stop - begin)};
}

/* A file beside, where there is one that holds an object. */
static brim_json_document *next_document(const char *name, const char **at, const char *end) {
  brim_json_document *document = NULL;
  brim_tokenizer_file file = next_part(name, at, end);
  if (file.length == 0 || brim_json_parse(fuzz_runtime(), file.bytes, file.length, name, &document, NULL) != BRIM_OK)
    return NULL;
  if (brim_json_root(document)->kind == BRIM_JSON_OBJECT)
    return document;
  brim_json_free(document);
  return NULL;
}

static void check_made(const brim_text *made) {
  brim_error err = {0};
  brim_tokenizer *t = brim_alloc_zero(fuzz_runtime(), sizeof *t);
  MUST(t);
  t->runtime = fuzz_runtime();
  int status = brim_tokenizer_parse(t, made->data, made->length, "tokenizer.json", &err);
  if (status != BRIM_OK)
    fuzz_check_error(status, &err, (int64_t)made->length);
  brim_tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const char *at = (const char *)data + 1, *end = (const char *)data + size;
  const bool bpe = data[0] == 'b', whole = data[0] == 'j';
  brim_tokenizer_file vocab = next_part(whole ? "tokenizer.json" : bpe ? "vocab.json" : "vocab.txt", &at, end);
  brim_tokenizer_file merges = bpe ? next_part("merges.txt", &at, end) : (brim_tokenizer_file){0};
  brim_beside beside = {.config = next_document("tokenizer_config.json", &at, end),
                        .map = next_document("special_tokens_map.json", &at, end),
                        .added = next_document("added_tokens.json", &at, end),
                        .model = next_document("config.json", &at, end)};
  brim_vocabulary from = {.file = &vocab, .merges = bpe ? &merges : NULL};
  brim_json_document *document = NULL;
  brim_resolved resolved;
  brim_error err = {0};
  brim_text made;
  brim_text_init(&made, fuzz_runtime());
  int status = BRIM_OK;
  if (bpe || whole)
    status = brim_json_parse(fuzz_runtime(), vocab.bytes, vocab.length, vocab.name, &document, &err);
  from.document = document;
  if (status == BRIM_OK)
    status = brim_resolve(fuzz_runtime(), &beside, &from, &resolved, &made, &err);
  if (status != BRIM_OK)
    fuzz_check_error(status, &err, (int64_t)size);
  else if (made.length)
    check_made(&made);
  brim_text_free(&made);
  brim_json_free(document);
  brim_beside_free(&beside);
  return 0;
}
