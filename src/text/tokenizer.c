/* tokenizer.c: questions about a loaded tokenizer. */
#include "text/tokenizer.h"

#include "text/files.h"

int32_t brim_tokenizer_vocab_size(const brim_tokenizer *tokenizer) {
  return tokenizer->added.size;
}

const char *brim_tokenizer_family(const brim_tokenizer *tokenizer) {
  static const char *const names[] = {"wordpiece", "bpe", "unigram"};
  return names[tokenizer->model.family];
}

/* Of a file without a folder, by the names that nearly all have. */
int32_t brim_tokenizer_mask_id(const brim_tokenizer *t) {
  static const char *const names[] = {"[MASK]", "<mask>"};
  int32_t id = t->roles[BRIM_ROLE_MASK];
  for (size_t i = 0; i < sizeof names / sizeof *names && id < 0; i++)
    id = brim_tokenizer_token_id(t, names[i], strlen(names[i]));
  return id;
}

int32_t brim_tokenizer_pad_id(const brim_tokenizer *tokenizer) {
  return tokenizer->pad_id;
}

int32_t brim_tokenizer_token_id(const brim_tokenizer *tokenizer, const char *token, size_t length) {
  const brim_added_token *added = brim_added_find(&tokenizer->added, token, length);
  return added ? added->id : brim_hashmap_get(&tokenizer->model.ids, token, length, -1);
}

const char *brim_tokenizer_token(const brim_tokenizer *tokenizer, int32_t id, size_t *length) {
  const brim_added_token *added = brim_added_by_id(&tokenizer->added, id);
  *length = 0;
  if (added) {
    *length = added->length;
    return added->content;
  }
  if (id < 0 || id >= tokenizer->model.size || !tokenizer->model.tokens[id])
    return NULL;
  *length = tokenizer->model.lengths[id];
  return tokenizer->model.tokens[id];
}

int32_t brim_tokenizer_max_length(const brim_tokenizer *tokenizer) {
  return tokenizer->facts.max_length > INT32_MAX ? 0 : (int32_t)tokenizer->facts.max_length;
}

brim_windowing brim_tokenizer_windows(const brim_tokenizer *tokenizer) {
  return tokenizer->facts.windows;
}

brim_truncation brim_tokenizer_truncation(const brim_tokenizer *tokenizer) {
  return tokenizer->facts.truncation ? tokenizer->facts.truncation : BRIM_LONGEST_FIRST;
}

const char *brim_truncation_name(brim_truncation truncation) {
  static const char *const names[] = {"tokenizer", "longest_first", "only_first", "only_second"};
  return (unsigned)truncation <= BRIM_ONLY_SECOND ? names[truncation] : "unknown";
}

bool brim_tokenizer_truncates_left(const brim_tokenizer *tokenizer) {
  return tokenizer->facts.left > 0;
}

int32_t brim_tokenizer_added(const brim_tokenizer *tokenizer, bool pair) {
  return pair ? tokenizer->processor.pair.added : tokenizer->processor.single.added;
}

bool brim_tokenizer_gives_types(const brim_tokenizer *tokenizer) {
  return !brim_template_is_plain(&tokenizer->processor.single) || !brim_template_is_plain(&tokenizer->processor.pair);
}

uint64_t brim_tokenizer_fingerprint(const brim_tokenizer *tokenizer) {
  return tokenizer->fingerprint;
}

bool brim_tokenizer_lowers(const brim_tokenizer *tokenizer) {
  bool lowers = false;
  for (size_t i = 0; i < tokenizer->normalizer.count; i++)
    lowers |= tokenizer->normalizer.steps[i].kind == BRIM_NORMAL_LOWER;
  return lowers;
}
