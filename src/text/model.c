/* model.c: the vocabulary, and which model it belongs to. */
#include "text/model.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include <string.h>

enum { MAX_ID = 1 << 26 };

int brim_piece_tokens_add(brim_piece_tokens *tokens, int32_t id, size_t from, size_t to, brim_error *err) {
  if (tokens->count == tokens->capacity)
    BRIM_TRY(brim_grow(tokens->runtime, (void **)&tokens->at, &tokens->capacity, tokens->count + 1, sizeof *tokens->at, err));
  tokens->at[tokens->count++] = (brim_piece_token){id, (uint32_t)from, (uint32_t)to};
  return BRIM_OK;
}

/* ---- vocabulary ------------------------------------------------------------------------------------------- */

/* Sizes the tables for ids below `size` and texts of `bytes` bytes. */
static int reserve(brim_token_model *model, int64_t size, size_t count, size_t bytes, brim_error *err) {
  model->size = (int32_t)size;
  model->tokens = brim_alloc_array_zero(model->runtime, (size_t)size + 1, sizeof *model->tokens);
  model->lengths = brim_alloc_array_zero(model->runtime, (size_t)size + 1, sizeof *model->lengths);
  model->text = brim_alloc(model->runtime, bytes + 1);
  if (!model->tokens || !model->lengths || !model->text)
    return BRIM_NOMEM(err);
  return brim_hashmap_reserve(&model->ids, count, bytes, err);
}

/* {"token": id, ...} */
static int load_object(brim_token_model_loader *l, const brim_json_value *vocab) {
  int64_t top = -1;
  size_t bytes = 0, used = 0, limit = (size_t)vocab->length * 16 + 65536;
  for (const brim_json_value *key = brim_json_first(vocab); key; key = brim_json_after(vocab, key)) {
    const brim_json_value *id = brim_json_member(key);
    if (id->kind != BRIM_JSON_INT || id->as.integer < 0 || id->as.integer >= MAX_ID || (size_t)id->as.integer >= limit)
      return brim_json_error(l->document, id, l->err, BRIM_E_FORMAT,
                             "the id of \"%.*s\" must be a whole number from 0, not far above the number of tokens",
                             (int)(key->length < 100 ? key->length : 100), key->as.text);
    if (id->as.integer > top)
      top = id->as.integer;
    bytes += key->length;
  }
  brim_token_model *model = l->model;
  BRIM_TRY(reserve(model, top + 1, vocab->length, bytes, l->err));
  for (const brim_json_value *key = brim_json_first(vocab); key; key = brim_json_after(vocab, key)) {
    int32_t id = (int32_t)brim_json_member(key)->as.integer;
    bool existed;
    BRIM_TRY(brim_hashmap_put(&model->ids, key->as.text, key->length, id, &existed, NULL, l->err));
    if (existed || model->tokens[id])
      return brim_json_error(l->document, key, l->err, BRIM_E_FORMAT, "the %s of \"%.*s\" is in the vocabulary twice",
                             existed ? "text" : "id", (int)(key->length < 100 ? key->length : 100), key->as.text);
    memcpy(model->text + used, key->as.text, key->length);
    model->tokens[id] = model->text + used;
    model->lengths[id] = key->length;
    used += key->length;
  }
  return BRIM_OK;
}

/* [["piece", score], ...]: the id is the index; a piece that comes twice is found by its last id. */
static int load_array(brim_token_model_loader *l, const brim_json_value *vocab) {
  brim_token_model *model = l->model;
  size_t bytes = 0, used = 0;
  int32_t id = 0;
  for (const brim_json_value *v = brim_json_first(vocab); v; v = brim_json_after(vocab, v)) {
    const brim_json_value *piece = v->kind == BRIM_JSON_ARRAY && v->length == 2 ? brim_json_first(v) : NULL;
    const brim_json_value *score = piece ? brim_json_after(v, piece) : NULL;
    if (!piece || piece->kind != BRIM_JSON_STRING || (score->kind != BRIM_JSON_REAL && score->kind != BRIM_JSON_INT))
      return brim_json_error(l->document, v, l->err, BRIM_E_FORMAT, "a piece must be [\"text\", score]");
    bytes += piece->length;
  }
  if (vocab->length >= MAX_ID)
    return brim_json_error(l->document, vocab, l->err, BRIM_E_FORMAT, "the vocabulary is too large");
  BRIM_TRY(reserve(model, vocab->length, vocab->length, bytes, l->err));
  for (const brim_json_value *v = brim_json_first(vocab); v; v = brim_json_after(vocab, v), id++) {
    const brim_json_value *piece = brim_json_first(v);
    BRIM_TRY(brim_hashmap_put(&model->ids, piece->as.text, piece->length, id, NULL, NULL, l->err));
    memcpy(model->text + used, piece->as.text, piece->length);
    model->tokens[id] = model->text + used;
    model->lengths[id] = piece->length;
    used += piece->length;
  }
  return BRIM_OK;
}

/* ---- which model ------------------------------------------------------------------------------------------ */

/* Old files have no "type": BPE has merges, Unigram's vocabulary is an array. */
static int find_family(brim_token_model_loader *l) {
  const char *type = NULL;
  size_t length = 0;
  BRIM_TRY(brim_json_read_string(l->document, l->value, "type", &type, &length, l->err));
  const brim_json_value *vocab = brim_json_get(l->value, "vocab");
  if (!type && vocab) {
    type = brim_json_get(l->value, "merges") ? "BPE" : vocab->kind == BRIM_JSON_ARRAY ? "Unigram" : "WordPiece";
    length = strlen(type);
  }
  if (type && brim_fields_is(type, length, "WordPiece"))
    l->model->family = BRIM_WORDPIECE;
  else if (type && brim_fields_is(type, length, "BPE"))
    l->model->family = BRIM_BPE;
  else if (type && brim_fields_is(type, length, "Unigram"))
    l->model->family = BRIM_UNIGRAM;
  else
    return brim_json_error(l->document, l->value, l->err, BRIM_E_UNSUPPORTED, "the model \"%.*s\" is not supported",
                           (int)(length < 100 ? length : 100), type ? type : "");
  return BRIM_OK;
}

int brim_token_model_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                          const char *bytes, size_t length, bool nearest, brim_token_model *out, brim_error *err) {
  *out = (brim_token_model){.runtime = runtime};
  brim_hashmap_init(&out->ids, runtime);
  brim_token_model_loader l = {document, value, bytes, length, nearest, out, err};
  if (!value || value->kind != BRIM_JSON_OBJECT)
    return brim_json_error(document, value, err, BRIM_E_FORMAT, "the file has no \"model\" object");
  BRIM_TRY(find_family(&l));
  const brim_json_value *vocab = brim_json_get(value, "vocab");
  uint8_t kind = out->family == BRIM_UNIGRAM ? BRIM_JSON_ARRAY : BRIM_JSON_OBJECT;
  if (!vocab || vocab->kind != kind)
    return brim_json_error(document, vocab ? vocab : value, err, BRIM_E_FORMAT, "the model needs a \"vocab\" that is %s",
                           brim_json_kind_name((brim_json_kind)kind));
  if (vocab->length == 0)
    return brim_json_error(document, vocab, err, BRIM_E_FORMAT, "the vocabulary is empty");
  BRIM_TRY(kind == BRIM_JSON_ARRAY ? load_array(&l, vocab) : load_object(&l, vocab));
  switch (out->family) {
  case BRIM_WORDPIECE:
    return brim_wordpiece_load(&l);
  case BRIM_BPE:
    return brim_bpe_load(&l);
  default:
    return brim_unigram_load(&l);
  }
}

void brim_token_model_free(brim_token_model *model) {
  brim_wordpiece_free(&model->wordpiece);
  brim_bpe_free(&model->bpe);
  brim_unigram_free(&model->unigram);
  if (!model->runtime)
    return;
  brim_hashmap_free(&model->ids);
  brim_release(model->runtime, model->tokens);
  brim_release(model->runtime, model->lengths);
  brim_release(model->runtime, model->text);
}

void brim_token_model_work_free(brim_token_model_work *work) {
  if (!work->runtime)
    return;
  brim_release(work->runtime, work->symbols);
  brim_release(work->runtime, work->heap);
  brim_release(work->runtime, work->nodes);
}

int brim_token_model_work_reserve(brim_token_model_work *work, size_t count, brim_error *err) {
  if (count <= work->symbol_capacity)
    return BRIM_OK;
  return brim_grow(work->runtime, (void **)&work->symbols, &work->symbol_capacity, count, sizeof *work->symbols, err);
}

int brim_token_model_run(const brim_token_model *model, brim_token_model_work *work, const char *bytes, size_t length,
                         brim_piece_tokens *out, brim_error *err) {
  switch (model->family) {
  case BRIM_WORDPIECE:
    return brim_wordpiece_run(&model->wordpiece, bytes, length, out, err);
  case BRIM_BPE:
    return brim_bpe_run(&model->bpe, work, bytes, length, out, err);
  default:
    return brim_unigram_run(&model->unigram, work, bytes, length, out, err);
  }
}
