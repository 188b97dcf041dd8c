/* added.c: loading and finding added tokens: leftmost, then longest; a rejected match is passed over whole. */
#include "text/added.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/fields.h"
#include "text/unicode.h"
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- loading ---------------------------------------------------------------------------------------------- */

typedef struct loader {
  brim_runtime *runtime;
  const brim_json_document *document;
  const brim_token_model *model;
  const brim_normalizer *normalizer;
  brim_added *out;
  int32_t top, model_count; /* top: the highest id of an added token; -1: there is none */
  brim_error *err;
} loader;

/* The reference numbers tokens that the model lacks after everything there is so far. */
static int32_t next_id(const loader *l) {
  return l->top >= l->model_count ? l->top + 1 : l->model_count;
}

static int read_token(loader *l, const brim_json_value *value, brim_added_token *token, int64_t *id, const char **content) {
  if (value->kind != BRIM_JSON_OBJECT)
    return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT, "an added token must be an object");
  *token = (brim_added_token){0};
  *id = -1;
  BRIM_TRY(
      brim_fields_known(l->document, value, "added token", "id content single_word lstrip rstrip normalized special", l->err));
  BRIM_TRY(brim_fields_string(l->document, value, "content", content, &token->length, l->err));
  BRIM_TRY(brim_json_read_int(l->document, value, "id", 0, INT32_MAX - 1, id, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "special", &token->special, l->err));
  token->is_normalized = !token->special;
  BRIM_TRY(brim_json_read_bool(l->document, value, "normalized", &token->is_normalized, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "single_word", &token->single_word, l->err));
  BRIM_TRY(brim_json_read_bool(l->document, value, "lstrip", &token->left_strip, l->err));
  return brim_json_read_bool(l->document, value, "rstrip", &token->right_strip, l->err);
}

static int load_token(loader *l, const brim_json_value *value) {
  brim_added_token token;
  const char *content;
  int64_t said;
  BRIM_TRY(read_token(l, value, &token, &said, &content));
  if (token.length == 0)
    return BRIM_OK;
  int32_t index = brim_hashmap_get(&l->out->by_content, content, token.length, -1);
  token.id = index >= 0 ? l->out->tokens[index].id : brim_hashmap_get(&l->model->ids, content, token.length, -1);
  if (token.id < 0)
    token.id = next_id(l);
  if (token.id > l->top)
    l->top = token.id;
  if (said >= 0 && said != token.id)
    return brim_json_error(l->document, value, l->err, BRIM_E_FORMAT,
                           "the added token \"%.*s\" says id %lld, but its place makes it %d",
                           (int)(token.length < 100 ? token.length : 100), content, (long long)said, (int)token.id);
  if (index < 0) {
    brim_added *a = l->out;
    BRIM_TRY(brim_grow(l->runtime, (void **)&a->tokens, &a->capacity, a->count + 1, sizeof *a->tokens, l->err));
    BRIM_TRY(brim_hashmap_put(&l->out->by_content, content, token.length, (int32_t)a->count, NULL, NULL, l->err));
    token.content = brim_copy_string(l->runtime, content, token.length);
    if (!token.content)
      return BRIM_NOMEM(l->err);
    a->tokens[a->count++] = token;
    return BRIM_OK;
  }
  token.content = l->out->tokens[index].content;
  token.special = token.special || l->out->tokens[index].special;
  l->out->tokens[index] = token;
  return BRIM_OK;
}

/* The normalised content of tokens that are searched for in normalised text. */
static int normalize_token(loader *l, brim_added_token *token) {
  brim_runes text, spare, work;
  brim_runes_init(&text, l->runtime);
  brim_runes_init(&spare, l->runtime);
  brim_runes_init(&work, l->runtime);
  int status = brim_runes_decode(&text, token->content, token->length, 0, l->err);
  if (status == BRIM_OK)
    status = brim_normalizer_run(l->normalizer, &text, 0, &spare, &work, l->err);
  if (status == BRIM_OK) {
    token->normalized = brim_alloc(l->runtime, text.count * 4 + 1);
    if (!token->normalized)
      status = BRIM_NOMEM(l->err);
    for (size_t i = 0; status == BRIM_OK && i < text.count; i++)
      token->normalized_length += (size_t)brim_utf8_put(text.at[i].code, token->normalized + token->normalized_length);
  }
  brim_runes_free(&text);
  brim_runes_free(&spare);
  brim_runes_free(&work);
  return status;
}

static void add_start(brim_added_set *set, const char *text, size_t length) {
  uint8_t first = (uint8_t)text[0];
  if (length > 1)
    set->second[(uint8_t)text[1]] = true;
  else
    memset(set->second, true, sizeof set->second);
  if (!set->first[first] && set->first_count >= 0) {
    if (set->first_count < BRIM_ADDED_FIRSTS)
      set->firsts[set->first_count++] = first;
    else
      set->first_count = -1;
  }
  set->first[first] = true;
}

static int build_set(loader *l, bool normalized, brim_added_set *set) {
  brim_added *a = l->out;
  brim_trie_key *keys = brim_alloc_array(l->runtime, a->count + 1, sizeof *keys);
  if (!keys)
    return BRIM_NOMEM(l->err);
  int status = BRIM_OK;
  for (size_t i = 0; i < a->count && status == BRIM_OK; i++) {
    const brim_added_token *t = &a->tokens[i];
    if (t->is_normalized != normalized)
      continue;
    const char *text = t->normalized ? t->normalized : t->content;
    size_t length = t->normalized ? t->normalized_length : t->length;
    if (length == 0) {
      status = brim_error_set(l->err, BRIM_E_FORMAT, "nothing is left of the added token \"%.100s\" after normalisation",
                              t->content);
      break;
    }
    keys[set->count++] = (brim_trie_key){text, (uint32_t)length, (int32_t)i};
    add_start(set, text, length);
  }
  if (status == BRIM_OK)
    status = brim_trie_build(l->runtime, keys, set->count, &set->trie, l->err);
  brim_release(l->runtime, keys);
  return status;
}

static int load_all(loader *l, const brim_json_value *list) {
  brim_added *a = l->out;
  if (list && list->kind != BRIM_JSON_NULL) {
    if (list->kind != BRIM_JSON_ARRAY)
      return brim_json_error(l->document, list, l->err, BRIM_E_FORMAT, "\"added_tokens\" must be an array");
    for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
      BRIM_TRY(load_token(l, v));
  }
  for (size_t i = 0; i < a->count; i++) {
    if (a->tokens[i].id >= a->size)
      a->size = a->tokens[i].id + 1;
    if (a->tokens[i].is_normalized && l->normalizer->count)
      BRIM_TRY(normalize_token(l, &a->tokens[i]));
  }
  a->by_id = brim_alloc_array(a->runtime, (size_t)a->size + 1, sizeof *a->by_id);
  if (!a->by_id)
    return BRIM_NOMEM(l->err);
  for (int32_t id = 0; id < a->size; id++)
    a->by_id[id] = -1;
  for (size_t i = 0; i < a->count; i++)
    a->by_id[a->tokens[i].id] = (int32_t)i;
  BRIM_TRY(build_set(l, false, &a->raw));
  return build_set(l, true, &a->normalized);
}

int brim_added_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *list,
                    const brim_token_model *model, const brim_normalizer *normalizer, brim_added *out, brim_error *err) {
  *out = (brim_added){.runtime = runtime, .size = model->size};
  brim_hashmap_init(&out->by_content, runtime);
  loader l = {.runtime = runtime, .document = document, .model = model, .normalizer = normalizer, .out = out, .err = err};
  l.model_count = model->family == BRIM_UNIGRAM ? model->size : (int32_t)model->ids.count;
  l.top = -1;
  return load_all(&l, list);
}

void brim_added_free(brim_added *added) {
  if (!added->runtime)
    return;
  for (size_t i = 0; i < added->count; i++) {
    brim_release(added->runtime, added->tokens[i].content);
    brim_release(added->runtime, added->tokens[i].normalized);
  }
  brim_release(added->runtime, added->tokens);
  brim_release(added->runtime, added->by_id);
  brim_hashmap_free(&added->by_content);
  brim_trie_free(&added->raw.trie);
  brim_trie_free(&added->normalized.trie);
  *added = (brim_added){0};
}

const brim_added_token *brim_added_find(const brim_added *added, const char *text, size_t length) {
  int32_t index = added->count ? brim_hashmap_get(&added->by_content, text, length, -1) : -1;
  return index >= 0 ? &added->tokens[index] : NULL;
}

const brim_added_token *brim_added_by_id(const brim_added *added, int32_t id) {
  return id >= 0 && id < added->size && added->by_id[id] >= 0 ? &added->tokens[added->by_id[id]] : NULL;
}

/* ---- finding ---------------------------------------------------------------------------------------------- */

/* The longest token at text[at]; its end, or `at`. */
static size_t longest(const brim_added_scan *s, size_t at, int32_t *index) {
  const brim_trie *trie = &s->set->trie;
  uint32_t node = BRIM_TRIE_ROOT;
  size_t end = at;
  for (size_t i = at; i < s->length; i++) {
    node = brim_trie_child(trie, node, (uint8_t)s->text[i]);
    if (!node)
      break;
    if (trie->units[node].value < 0)
      continue;
    *index = trie->units[node].value;
    end = i + 1;
  }
  return end;
}

static uint32_t char_before(const char *text, size_t at) {
  uint32_t code;
  do
    at--;
  while (at > 0 && ((uint8_t)text[at] & 0xC0) == 0x80);
  brim_utf8_next(text + at, &code);
  return code;
}

static bool is_word_apart(const brim_added_scan *s, size_t begin, size_t end) {
  uint32_t code;
  if (begin > 0 && brim_char_is(char_before(s->text, begin), BRIM_CHAR_WORD))
    return false;
  if (end == s->length)
    return true;
  brim_utf8_next(s->text + end, &code);
  return !brim_char_is(code, BRIM_CHAR_WORD);
}

static size_t strip_left(const brim_added_scan *s, size_t begin) {
  while (begin > s->covered) {
    uint32_t code = char_before(s->text, begin);
    if (!brim_char_is(code, BRIM_CHAR_WHITE))
      break;
    begin -= (size_t)brim_utf8_size(code);
  }
  return begin;
}

static size_t strip_right(const brim_added_scan *s, size_t end) {
  while (end < s->length) {
    uint32_t code;
    int size = brim_utf8_next(s->text + end, &code);
    if (!brim_char_is(code, BRIM_CHAR_WHITE))
      break;
    end += (size_t)size;
  }
  return end;
}

#if defined(__SSE2__)
/* Which of text[0..16) are first bytes of tokens. */
static inline __m128i find_firsts(const brim_added_set *set, const char *text) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)text), found = _mm_setzero_si128();
  for (int i = 0; i < set->first_count; i++)
    found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)set->firsts[i])));
  return found;
}

/* The next first byte at or after `at`, as far as whole blocks go; there the caller continues by bytes. */
static size_t skip_ahead(const brim_added_set *set, const char *text, size_t at, size_t length) {
  for (; length - at >= 64; at += 64) {
    __m128i a = find_firsts(set, text + at), b = find_firsts(set, text + at + 16);
    __m128i c = find_firsts(set, text + at + 32), d = find_firsts(set, text + at + 48);
    if (_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d)))) {
      uint64_t low = (uint32_t)_mm_movemask_epi8(a) | (uint32_t)_mm_movemask_epi8(b) << 16;
      uint64_t high = (uint32_t)_mm_movemask_epi8(c) | (uint32_t)_mm_movemask_epi8(d) << 16;
      return at + (size_t)__builtin_ctzll(low | high << 32);
    }
  }
  return at;
}
#endif

/* The next place where a token may begin, or the end. */
static size_t find_start(const brim_added_set *set, const char *text, size_t at, size_t length) {
  for (; at < length; at++) {
#if defined(__SSE2__)
    if (set->first_count > 0)
      at = skip_ahead(set, text, at, length);
#endif
    while (at < length && !set->first[(uint8_t)text[at]])
      at++;
    if (at + 1 >= length || set->second[(uint8_t)text[at + 1]])
      break;
  }
  return at;
}

bool brim_added_next(brim_added_scan *s, brim_added_match *match) {
  if (s->set->count == 0)
    return false;
  while (s->at < s->length) {
    s->at = find_start(s->set, s->text, s->at, s->length);
    if (s->at == s->length)
      return false;
    size_t begin = s->at;
    int32_t index = -1;
    size_t end = longest(s, begin, &index);
    s->at = end > begin ? end : begin + 1;
    if (end == begin)
      continue;
    const brim_added_token *token = &s->added->tokens[index];
    if ((token->single_word && !is_word_apart(s, begin, end)) || (token->special && s->added->splits_special))
      continue;
    if (token->left_strip)
      begin = begin > s->covered ? strip_left(s, begin) : s->covered;
    if (token->right_strip)
      end = strip_right(s, end);
    if (begin >= end)
      continue; /* the spaces of the token before have swallowed it */
    *match = (brim_added_match){begin, end, token->id};
    s->covered = end;
    return true;
  }
  return false;
}
