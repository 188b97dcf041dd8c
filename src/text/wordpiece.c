/* wordpiece.c: greedy longest match from the left; one miss makes the whole word unknown. */
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include "text/model.h"
#include "text/unicode.h"
#include <string.h>

static int build_tries(brim_token_model *model, brim_trie_key *keys, const char *prefix, size_t prefix_length, brim_error *err) {
  size_t count = 0;
  for (int32_t id = 0; id < model->size; id++)
    if (model->tokens[id])
      keys[count++] = (brim_trie_key){model->tokens[id], model->lengths[id], id};
  BRIM_TRY(brim_trie_build(model->runtime, keys, count, &model->wordpiece.begin, err));
  count = 0;
  for (int32_t id = 0; id < model->size; id++) {
    const char *token = model->tokens[id];
    if (!token || model->lengths[id] < prefix_length || memcmp(token, prefix, prefix_length) != 0)
      continue;
    keys[count++] = (brim_trie_key){token + prefix_length, model->lengths[id] - (uint32_t)prefix_length, id};
  }
  return brim_trie_build(model->runtime, keys, count, &model->wordpiece.inside, err);
}

int brim_wordpiece_load(brim_token_model_loader *l) {
  const char *unknown = "[UNK]", *prefix = "##";
  size_t unknown_length = 5, prefix_length = 2;
  int64_t max_chars = 100;
  BRIM_TRY(brim_fields_known(l->document, l->value, "WordPiece model",
                             "unk_token continuing_subword_prefix max_input_chars_per_word vocab", l->err));
  BRIM_TRY(brim_json_read_string(l->document, l->value, "unk_token", &unknown, &unknown_length, l->err));
  BRIM_TRY(brim_json_read_string(l->document, l->value, "continuing_subword_prefix", &prefix, &prefix_length, l->err));
  BRIM_TRY(brim_json_read_int(l->document, l->value, "max_input_chars_per_word", 0, UINT32_MAX, &max_chars, l->err));
  brim_token_model *model = l->model;
  brim_wordpiece *w = &model->wordpiece;
  w->unknown = brim_hashmap_get(&model->ids, unknown, unknown_length, -1);
  w->max_chars = (uint32_t)max_chars;
  brim_trie_key *keys = brim_alloc_array(model->runtime, (size_t)model->size + 1, sizeof *keys);
  if (!keys)
    return BRIM_NOMEM(l->err);
  int status = build_tries(model, keys, prefix, prefix_length, l->err);
  brim_release(model->runtime, keys);
  return status;
}

void brim_wordpiece_free(brim_wordpiece *model) {
  brim_trie_free(&model->begin);
  brim_trie_free(&model->inside);
}

static int put_unknown(const brim_wordpiece *model, size_t length, brim_piece_tokens *out, brim_error *err) {
  if (model->unknown < 0)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "a word of the text is not in the vocabulary, and the tokenizer has no unknown token");
  return brim_piece_tokens_add(out, model->unknown, 0, length, err);
}

int brim_wordpiece_run(const brim_wordpiece *model, const char *bytes, size_t length, brim_piece_tokens *out, brim_error *err) {
  size_t chars = 0, before = out->count;
  for (size_t i = 0; i < length; i++)
    chars += ((uint8_t)bytes[i] & 0xC0) != 0x80;
  if (chars > model->max_chars)
    return put_unknown(model, length, out, err);
  for (size_t at = 0; at < length;) {
    size_t end = at;
    int32_t best = brim_wordpiece_longest(model, bytes, at, length, &end);
    if (best < 0) {
      out->count = before;
      return put_unknown(model, length, out, err);
    }
    BRIM_TRY(brim_piece_tokens_add(out, best, at, end, err));
    at = end;
  }
  return BRIM_OK;
}
