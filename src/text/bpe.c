/* bpe.c: byte pair encoding: the lowest rank merges first, the leftmost of equals. */
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include "text/model.h"
#include "text/unicode.h"
#include <stdio.h>
#include <string.h>

enum { HEAP_FROM = 24 }; /* longer words use the heap */

/* ---- merges ----------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t pair) {
  pair ^= pair >> 32;
  pair *= 0x9E3779B97F4A7C15u;
  return pair ^ pair >> 29;
}

static const brim_merge *find_merge(const brim_bpe *model, int32_t left, int32_t right) {
  uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
  for (size_t i = mix(pair) & model->merge_mask;; i = (i + 1) & model->merge_mask) {
    if (model->merges[i].pair == pair)
      return &model->merges[i];
    if (model->merges[i].pair == UINT64_MAX)
      return NULL;
  }
}

static int reserve_merges(brim_bpe *model, size_t count, brim_error *err) {
  size_t cells = 16;
  while (cells < count * 2)
    cells *= 2;
  model->merges = brim_alloc_array(model->runtime, cells, sizeof *model->merges);
  if (!model->merges)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < cells; i++)
    model->merges[i] = (brim_merge){.pair = UINT64_MAX};
  model->merge_mask = cells - 1;
  return BRIM_OK;
}

/* A pair that comes twice keeps its later rank, as the reference's map does. */
static void put_merge(brim_bpe *model, int32_t left, int32_t right, uint32_t rank, int32_t id) {
  uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
  size_t i = mix(pair) & model->merge_mask;
  while (model->merges[i].pair != UINT64_MAX && model->merges[i].pair != pair)
    i = (i + 1) & model->merge_mask;
  if (model->merges[i].pair == UINT64_MAX)
    model->merge_count++;
  model->merges[i] = (brim_merge){pair, rank, id};
}

/* ---- loading ---------------------------------------------------------------------------------------------- */

typedef struct half {
  const char *text;
  size_t length;
} half;

/* "a b" or ["a", "b"]. */
static int read_merge(brim_token_model_loader *l, const brim_json_value *value, half *left, half *right) {
  if (value->kind == BRIM_JSON_STRING) {
    const char *blank = memchr(value->as.text, ' ', value->length);
    size_t n = blank ? (size_t)(blank - value->as.text) : 0;
    if (blank && !memchr(blank + 1, ' ', value->length - n - 1)) {
      *left = (half){value->as.text, n};
      *right = (half){blank + 1, value->length - n - 1};
      return BRIM_OK;
    }
  } else if (value->kind == BRIM_JSON_ARRAY && value->length == 2) {
    const brim_json_value *a = brim_json_first(value), *b = brim_json_after(value, a);
    if (a->kind == BRIM_JSON_STRING && b->kind == BRIM_JSON_STRING) {
      *left = (half){a->as.text, a->length};
      *right = (half){b->as.text, b->length};
      return BRIM_OK;
    }
  }
  return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT, "a merge must be two tokens");
}

static int find_token(brim_token_model_loader *l, const brim_json_value *value, const char *text, size_t length, int32_t *id) {
  *id = brim_hashmap_get(&l->model->ids, text, length, -1);
  if (*id >= 0)
    return BRIM_OK;
  return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT,
                         "the merge needs the token \"%.*s\", which is not in the vocabulary", (int)(length < 100 ? length : 100),
                         text);
}

static int load_merge(brim_token_model_loader *l, const brim_json_value *value, uint32_t rank, brim_text *joined) {
  brim_bpe *model = &l->model->bpe;
  half left = {0}, right = {0};
  int32_t left_id, right_id, id;
  BRIM_TRY(read_merge(l, value, &left, &right));
  BRIM_TRY(find_token(l, value, left.text, left.length, &left_id));
  BRIM_TRY(find_token(l, value, right.text, right.length, &right_id));
  if (right.length < model->prefix_length)
    return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT, "the second half of a merge lacks the continuing prefix");
  brim_text_clear(joined);
  brim_text_append(joined, left.text, left.length);
  brim_text_append(joined, right.text + model->prefix_length, right.length - model->prefix_length);
  BRIM_TRY(brim_text_status(joined, l->err));
  BRIM_TRY(find_token(l, value, joined->data ? joined->data : "", joined->length, &id));
  put_merge(model, left_id, right_id, rank, id);
  return BRIM_OK;
}

static int load_merges(brim_token_model_loader *l) {
  const brim_json_value *list = brim_json_get(l->value, "merges");
  if (!list || list->kind != BRIM_JSON_ARRAY)
    return brim_json_error(l->document, l->value, l->err, BRIM_E_FORMAT, "the BPE model needs an array \"merges\"");
  BRIM_TRY(reserve_merges(&l->model->bpe, list->length, l->err));
  brim_text joined;
  brim_text_init(&joined, l->model->runtime);
  uint32_t rank = 0;
  int status = BRIM_OK;
  for (const brim_json_value *v = brim_json_first(list); v && status == BRIM_OK; v = brim_json_after(list, v)) {
    if (v->kind == BRIM_JSON_STRING && v->length >= 8 && memcmp(v->as.text, "#version", 8) == 0)
      continue;
    status = load_merge(l, v, rank++, &joined);
  }
  brim_text_free(&joined);
  return status;
}

static int load_options(brim_token_model_loader *l) {
  brim_bpe *model = &l->model->bpe;
  const char *unknown = NULL, *prefix = "", *suffix = "";
  size_t unknown_length = 0;
  BRIM_TRY(
      brim_fields_known(l->document, l->value, "BPE model",
                        "dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk byte_fallback ignore_merges "
                        "vocab merges",
                        l->err));
  const brim_json_value *dropout = brim_json_get(l->value, "dropout");
  if (dropout && dropout->kind != BRIM_JSON_NULL && brim_json_number(dropout) != 0)
    return brim_json_error(l->document, dropout, l->err, BRIM_E_UNSUPPORTED, "BPE dropout is not supported");
  BRIM_TRY(brim_json_read_string(l->document, l->value, "unk_token", &unknown, &unknown_length, l->err));
  BRIM_TRY(brim_json_read_string(l->document, l->value, "continuing_subword_prefix", &prefix, &model->prefix_length, l->err));
  BRIM_TRY(brim_json_read_string(l->document, l->value, "end_of_word_suffix", &suffix, &model->suffix_length, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, l->value, "fuse_unk", &model->fuse_unknown, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, l->value, "byte_fallback", &model->byte_fallback, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, l->value, "ignore_merges", &model->ignore_merges, l->err));
  model->prefix = brim_copy_string(model->runtime, prefix, model->prefix_length);
  model->suffix = brim_copy_string(model->runtime, suffix, model->suffix_length);
  if (!model->prefix || !model->suffix)
    return BRIM_NOMEM(l->err);
  model->unknown = unknown ? brim_hashmap_get(&l->model->ids, unknown, unknown_length, -2) : -1;
  return BRIM_OK;
}

int brim_bpe_load(brim_token_model_loader *l) {
  brim_token_model *model = l->model;
  model->bpe.runtime = model->runtime;
  BRIM_TRY(load_options(l));
  BRIM_TRY(load_merges(l));
  brim_trie_key *keys = brim_alloc_array(model->runtime, (size_t)model->size + 1, sizeof *keys);
  if (!keys)
    return BRIM_NOMEM(l->err);
  size_t count = 0;
  for (int32_t id = 0; id < model->size; id++)
    if (model->tokens[id])
      keys[count++] = (brim_trie_key){model->tokens[id], model->lengths[id], id};
  int status = brim_trie_build(model->runtime, keys, count, &model->bpe.whole, l->err);
  brim_release(model->runtime, keys);
  for (int byte = 0; byte < 256; byte++) {
    char name[8], text[4];
    snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
    model->bpe.byte_ids[byte] = brim_hashmap_get(&model->ids, name, 6, -1);
    int n = brim_utf8_put(brim_byte_char((uint8_t)byte), text);
    model->bpe.symbols[byte] = brim_hashmap_get(&model->ids, text, (size_t)n, -1);
  }
  return status;
}

void brim_bpe_free(brim_bpe *model) {
  brim_trie_free(&model->whole);
  if (!model->runtime)
    return;
  brim_release(model->runtime, model->merges);
  brim_release(model->runtime, model->prefix);
  brim_release(model->runtime, model->suffix);
}

/* ---- symbols ---------------------------------------------------------------------------------------------- */

static int add_symbol(brim_token_model_work *work, int32_t id, size_t length, brim_error *err) {
  size_t n = work->symbol_count;
  if (n == work->symbol_capacity)
    BRIM_TRY(brim_grow(work->runtime, (void **)&work->symbols, &work->symbol_capacity, n + 1, sizeof *work->symbols, err));
  work->symbols[n] = (brim_symbol){id, (int32_t)n - 1, -1, (uint32_t)length};
  if (n)
    work->symbols[n - 1].next = (int32_t)n;
  work->symbol_count++;
  return BRIM_OK;
}

/* The character bytes[0..size) with the prefix or suffix that its place asks for. */
static int32_t symbol_id(const brim_bpe *model, const char *bytes, size_t size, bool first, bool last) {
  const char *texts[3] = {model->prefix, bytes, model->suffix};
  size_t lengths[3] = {first ? 0 : model->prefix_length, size, last ? model->suffix_length : 0};
  uint32_t node = BRIM_TRIE_ROOT;
  for (int p = 0; p < 3; p++)
    for (size_t i = 0; i < lengths[p]; i++) {
      node = brim_trie_child(&model->whole, node, (uint8_t)texts[p][i]);
      if (!node)
        return -1;
    }
  return model->whole.units[node].value;
}

/* Byte tokens for the character with its prefix and suffix; false when one is missing. */
static bool fall_back(const brim_bpe *model, brim_token_model_work *work, const char *bytes, size_t size, bool first, bool last,
                      int *status, brim_error *err) {
  const char *texts[3] = {model->prefix, bytes, model->suffix};
  size_t lengths[3] = {first ? 0 : model->prefix_length, size, last ? model->suffix_length : 0};
  for (int p = 0; p < 3; p++)
    for (size_t i = 0; i < lengths[p]; i++)
      if (model->byte_ids[(uint8_t)texts[p][i]] < 0)
        return false;
  for (int p = 0; p < 3; p++)
    for (size_t i = 0; i < lengths[p] && *status == BRIM_OK; i++)
      *status = add_symbol(work, model->byte_ids[(uint8_t)texts[p][i]], 1, err);
  return true;
}

static int list_symbols(const brim_bpe *model, brim_token_model_work *work, const char *bytes, size_t length, brim_error *err) {
  size_t unknown = 0; /* bytes of unknown characters that wait to be added */
  work->symbol_count = 0;
  for (size_t i = 0; i < length;) {
    uint32_t code;
    size_t size = (size_t)brim_utf8_next(bytes + i, &code);
    bool first = i == 0, last = i + size == length;
    int32_t id = symbol_id(model, bytes + i, size, first, last);
    int status = BRIM_OK;
    if (id >= 0) {
      if (unknown)
        BRIM_TRY(add_symbol(work, model->unknown, unknown, err));
      unknown = 0;
      BRIM_TRY(add_symbol(work, id, size, err));
    } else if (model->byte_fallback && fall_back(model, work, bytes + i, size, first, last, &status, err)) {
      BRIM_TRY(status);
    } else if (model->unknown == -2) {
      return brim_error_set(err, BRIM_E_MISMATCH, "the text holds an unknown character, and unk_token is not in the vocabulary");
    } else if (model->unknown >= 0) {
      if (unknown && !model->fuse_unknown) {
        BRIM_TRY(add_symbol(work, model->unknown, unknown, err));
        unknown = 0;
      }
      unknown += size;
    }
    i += size;
  }
  return unknown ? add_symbol(work, model->unknown, unknown, err) : BRIM_OK;
}

/* ---- merging ---------------------------------------------------------------------------------------------- */

static void join(brim_symbol *symbols, int32_t symbol, int32_t id) {
  brim_symbol *left = &symbols[symbol], *right = &symbols[left->next];
  left->id = id;
  left->length += right->length;
  right->length = 0;
  left->next = right->next;
  if (left->next >= 0)
    symbols[left->next].previous = symbol;
}

/* Looks for the best pair again after each merge: fastest for short words. */
static void merge_short(const brim_bpe *model, brim_symbol *symbols, size_t count) {
  const brim_merge *pairs[HEAP_FROM];
  for (size_t i = 0; i + 1 < count; i++)
    pairs[i] = find_merge(model, symbols[i].id, symbols[i + 1].id);
  for (;;) {
    int32_t best = -1;
    uint32_t rank = UINT32_MAX;
    for (int32_t i = 0; i >= 0; i = symbols[i].next)
      if (symbols[i].next >= 0 && pairs[i] && pairs[i]->rank < rank) {
        rank = pairs[i]->rank;
        best = i;
      }
    if (best < 0)
      return;
    join(symbols, best, pairs[best]->id);
    int32_t previous = symbols[best].previous, next = symbols[best].next;
    if (previous >= 0)
      pairs[previous] = find_merge(model, symbols[previous].id, symbols[best].id);
    pairs[best] = next >= 0 ? find_merge(model, symbols[best].id, symbols[next].id) : NULL;
  }
}

static int push(brim_token_model_work *work, uint64_t item, brim_error *err) {
  if (work->heap_count == work->heap_capacity)
    BRIM_TRY(brim_grow(work->runtime, (void **)&work->heap, &work->heap_capacity, work->heap_count + 1, sizeof item, err));
  size_t i = work->heap_count++;
  for (; i > 0 && work->heap[(i - 1) / 2] > item; i = (i - 1) / 2)
    work->heap[i] = work->heap[(i - 1) / 2];
  work->heap[i] = item;
  return BRIM_OK;
}

static uint64_t pop(brim_token_model_work *work) {
  uint64_t top = work->heap[0], item = work->heap[--work->heap_count];
  size_t i = 0, n = work->heap_count;
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && work->heap[child + 1] < work->heap[child])
      child++;
    if (work->heap[child] >= item)
      break;
    work->heap[i] = work->heap[child];
  }
  if (n)
    work->heap[i] = item;
  return top;
}

static int push_pair(const brim_bpe *model, brim_token_model_work *work, int32_t symbol, brim_error *err) {
  const brim_symbol *left = &work->symbols[symbol];
  if (left->next < 0)
    return BRIM_OK;
  const brim_merge *merge = find_merge(model, left->id, work->symbols[left->next].id);
  return merge ? push(work, (uint64_t)merge->rank << 32 | (uint32_t)symbol, err) : BRIM_OK;
}

static int merge_long(const brim_bpe *model, brim_token_model_work *work, brim_error *err) {
  work->heap_count = 0;
  for (size_t i = 0; i + 1 < work->symbol_count; i++)
    BRIM_TRY(push_pair(model, work, (int32_t)i, err));
  while (work->heap_count) {
    uint64_t top = pop(work);
    int32_t symbol = (int32_t)(uint32_t)top;
    brim_symbol *left = &work->symbols[symbol];
    if (left->length == 0 || left->next < 0)
      continue;
    const brim_merge *merge = find_merge(model, left->id, work->symbols[left->next].id);
    if (!merge || merge->rank != (uint32_t)(top >> 32))
      continue; /* the pair has changed since */
    join(work->symbols, symbol, merge->id);
    if (left->previous >= 0)
      BRIM_TRY(push_pair(model, work, left->previous, err));
    BRIM_TRY(push_pair(model, work, symbol, err));
  }
  return BRIM_OK;
}

int brim_bpe_merge(const brim_bpe *model, brim_token_model_work *work, brim_error *err) {
  if (work->symbol_count < 2)
    return BRIM_OK;
  if (work->symbol_count >= HEAP_FROM)
    return merge_long(model, work, err);
  merge_short(model, work->symbols, work->symbol_count);
  return BRIM_OK;
}

int brim_bpe_run(const brim_bpe *model, brim_token_model_work *work, const char *bytes, size_t length, brim_piece_tokens *out,
                 brim_error *err) {
  int32_t whole = model->ignore_merges ? brim_trie_get(&model->whole, bytes, length) : -1;
  if (whole >= 0)
    return brim_piece_tokens_add(out, whole, 0, length, err);
  BRIM_TRY(list_symbols(model, work, bytes, length, err));
  BRIM_TRY(brim_bpe_merge(model, work, err));
  size_t from = 0;
  for (size_t i = 0; i < work->symbol_count; i++) {
    if (work->symbols[i].length == 0)
      continue;
    BRIM_TRY(brim_piece_tokens_add(out, work->symbols[i].id, from, from + work->symbols[i].length, err));
    from += work->symbols[i].length;
  }
  return BRIM_OK;
}

int brim_bpe_merge_bytes(const brim_bpe *model, brim_token_model_work *work, const char *bytes, size_t length, brim_error *err) {
  int32_t n = 0;
  BRIM_TRY(brim_token_model_work_reserve(work, length, err));
  for (size_t i = 0; i < length; i++) {
    int32_t id = model->symbols[(uint8_t)bytes[i]];
    if (id < 0)
      continue; /* unknown bytes are dropped, and their neighbours may merge */
    work->symbols[n] = (brim_symbol){id, n - 1, n + 1, 1};
    n++;
  }
  work->symbol_count = (size_t)n;
  if (n == 0)
    return BRIM_OK;
  work->symbols[n - 1].next = -1;
  return brim_bpe_merge(model, work, err);
}
