/* fast_bert.c: BertNormalizer, BertPreTokenizer and WordPiece in one pass.
 *
 * ASCII blanks and ASCII punctuation bound everything that these steps look at (combining marks are reordered only behind a
 * character that is no mark), so the text falls into segments of other bytes. A segment's ids depend on its bytes alone: short
 * ones are remembered. A segment of ASCII letters and digits is one word; any other is taken through the steps, character by
 * character. */
#include "base/status.h"
#include "text/fast.h"
#include "text/unicode.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Kinds of bytes. */
enum { BYTE_WORD, BYTE_BLANK, BYTE_PUNCTUATION, BYTE_OTHER };
enum { MAX_PLAIN = 128 }; /* longer words of ASCII take the general way */

typedef struct pass {
  const brim_tokenizer *tokenizer;
  brim_scratch *scratch;
  size_t length; /* of the section */
  brim_ids *ids;
  brim_error *err;
} pass;

static bool is_step(const brim_tokenizer *t, size_t index, brim_normal_kind kind) {
  return index < t->normalizer.count && t->normalizer.steps[index].kind == kind;
}

bool brim_bert_fits(const brim_tokenizer *t) {
  if (t->model.family != BRIM_WORDPIECE || t->added.normalized.count)
    return false;
  if (t->pretokenizer.count != 2 || t->pretokenizer.steps[0].kind != BRIM_SPLIT_WHITE ||
      t->pretokenizer.steps[1].kind != BRIM_SPLIT_PUNCTUATION || t->pretokenizer.steps[1].behavior != BRIM_ISOLATED)
    return false;
  size_t i = 0;
  i += is_step(t, i, BRIM_NORMAL_CLEAN);
  i += is_step(t, i, BRIM_NORMAL_CJK);
  if (is_step(t, i, BRIM_NORMAL_FORM)) {
    brim_form form = t->normalizer.steps[i].form;
    if (form.compose || form.compatible || !is_step(t, i + 1, BRIM_NORMAL_DROP_NONSPACING))
      return false;
    i += 2;
  }
  i += is_step(t, i, BRIM_NORMAL_LOWER);
  return i == t->normalizer.count && t->model.wordpiece.unknown >= 0;
}

void brim_bert_prepare(brim_tokenizer *t) {
  brim_bert *b = &t->bert;
  for (size_t i = 0; i < t->normalizer.count; i++) {
    b->clean = b->clean || t->normalizer.steps[i].kind == BRIM_NORMAL_CLEAN;
    b->chinese = b->chinese || t->normalizer.steps[i].kind == BRIM_NORMAL_CJK;
    b->strip = b->strip || t->normalizer.steps[i].kind == BRIM_NORMAL_FORM;
    b->lower = b->lower || t->normalizer.steps[i].kind == BRIM_NORMAL_LOWER;
  }
  for (int c = 0; c < 256; c++) {
    bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    bool punctuation = c < 0x80 && brim_char_is((uint32_t)c, BRIM_CHAR_PUNCTUATION);
    b->kinds[c] = word ? BYTE_WORD : blank ? BYTE_BLANK : punctuation ? BYTE_PUNCTUATION : BYTE_OTHER;
    char byte = (char)c;
    int32_t id = c < 0x80 ? brim_trie_get(&t->model.wordpiece.begin, &byte, 1) : -1;
    b->single[c] = id >= 0 && t->model.wordpiece.max_chars >= 1 ? id : t->model.wordpiece.unknown;
  }
}

/* ---- words ------------------------------------------------------------------------------------------------ */

/* Appends the pieces of a word, or the unknown token. There is room. */
static void put_word(const brim_wordpiece *w, const char *bytes, size_t length, size_t chars, brim_ids *ids) {
  size_t before = ids->count;
  if (chars > w->max_chars)
    goto unknown;
  for (size_t at = 0; at < length;) {
    const brim_trie *trie = at ? &w->inside : &w->begin;
    uint32_t node = BRIM_TRIE_ROOT;
    int32_t best = -1;
    size_t end = at;
    for (size_t i = at; i < length; i++) {
      node = brim_trie_child(trie, node, (uint8_t)bytes[i]);
      if (!node)
        break;
      int32_t value = trie->units[node].value;
      if (value >= 0) {
        best = value;
        end = i + 1;
      }
    }
    if (best < 0)
      goto unknown;
    ids->at[ids->count++] = best;
    at = end;
  }
  return;
unknown:
  ids->count = before;
  ids->at[ids->count++] = w->unknown;
}

static void put_ascii_word(const brim_tokenizer *t, const char *bytes, size_t length, brim_ids *ids) {
  char lower[MAX_PLAIN];
  if (t->bert.lower) {
    for (size_t i = 0; i < length; i++)
      lower[i] = (char)(bytes[i] | ((uint8_t)(bytes[i] - 'A') < 26 ? 32 : 0));
    bytes = lower;
  }
  put_word(&t->model.wordpiece, bytes, length, length, ids);
}

/* ---- segments with other characters ------------------------------------------------------------------------- */

/* The word that is being put together. */
typedef struct word {
  const brim_tokenizer *tokenizer;
  brim_text *bytes;
  size_t chars;
  brim_ids *ids;
} word;

static void end_word(word *w) {
  if (w->bytes->length)
    put_word(&w->tokenizer->model.wordpiece, w->bytes->data, w->bytes->length, w->chars, w->ids);
  brim_text_clear(w->bytes);
  w->chars = 0;
}

/* A character behind all of the normalizer. */
static void take_normal(word *w, uint32_t code) {
  uint32_t record = brim_char_record(code);
  if (record & BRIM_CHAR_WHITE) {
    end_word(w);
    return;
  }
  if (record & BRIM_CHAR_PUNCTUATION)
    end_word(w);
  char bytes[4];
  brim_text_append(w->bytes, bytes, (size_t)brim_utf8_put(code, bytes));
  w->chars++;
  if (record & BRIM_CHAR_PUNCTUATION)
    end_word(w);
}

static void take_lower(word *w, uint32_t code) {
  const uint32_t *lower = w->tokenizer->bert.lower ? brim_char_lower(code) : NULL;
  if (!lower)
    take_normal(w, code);
  for (uint32_t i = 0; lower && i < lower[0]; i++)
    take_normal(w, lower[1 + i]);
}

/* False for marks that would have to be put in order. */
static bool take(word *w, uint32_t code) {
  const brim_bert *b = &w->tokenizer->bert;
  uint32_t record = brim_char_record(code), parts[BRIM_DECOMPOSITION_MAX];
  if (b->clean && (record & BRIM_CHAR_DROPPED))
    return true;
  bool alone = b->chinese && (record & BRIM_CHAR_CJK);
  if (alone || (record & BRIM_CHAR_WHITE))
    end_word(w);
  if (record & BRIM_CHAR_WHITE)
    return true;
  if (!b->strip) {
    take_lower(w, code);
  } else {
    int n = brim_char_decompose(code, false, parts);
    for (int i = 0; i < n; i++) {
      if (brim_char_is(parts[i], BRIM_CHAR_NONSPACING))
        continue;
      if (brim_char_combining(parts[i]))
        return false;
      take_lower(w, parts[i]);
    }
  }
  if (alone)
    end_word(w);
  return true;
}

static int put_segment(const pass *p, const char *bytes, size_t length) {
  brim_scratch *s = p->scratch;
  size_t before = p->ids->count;
  word w = {.tokenizer = p->tokenizer, .bytes = &s->bytes, .ids = p->ids};
  brim_text_clear(&s->bytes);
  for (size_t i = 0; i < length;) {
    uint32_t code;
    i += (size_t)brim_utf8_next(bytes + i, &code);
    if (!take(&w, code)) {
      p->ids->count = before;
      BRIM_TRY(brim_fast_exact(p->tokenizer, s, bytes, length, p->ids, p->err));
      return brim_ids_reserve(p->ids, p->length, p->err);
    }
  }
  end_word(&w);
  return brim_text_status(&s->bytes, p->err);
}

/* ---- the pass --------------------------------------------------------------------------------------------- */

/* Bytes of [p, end) that are ASCII letters or digits, counted up to 16; 16 bytes can be read. */
static inline size_t count_word_bytes(const char *p) {
#if defined(__SSE2__)
  __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i letters = _mm_add_epi8(_mm_or_si128(v, _mm_set1_epi8(32)), _mm_set1_epi8((char)(128 - 'a')));
  __m128i digits = _mm_add_epi8(v, _mm_set1_epi8((char)(128 - '0')));
  __m128i found =
      _mm_or_si128(_mm_cmplt_epi8(letters, _mm_set1_epi8(-128 + 26)), _mm_cmplt_epi8(digits, _mm_set1_epi8(-128 + 10)));
  return (size_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(found) | 0x10000u);
#else
  size_t n = 0;
  while (n < 16 && ((uint8_t)((p[n] | 32) - 'a') < 26 || (uint8_t)(p[n] - '0') < 10))
    n++;
  return n;
#endif
}

/* A segment of letters and digits (plain) or of anything. `wide`: 16 bytes can be read at it. */
static inline int put_short(const pass *p, const char *bytes, size_t length, bool wide, bool plain) {
  brim_word_key key = wide ? brim_word_key_wide(bytes, length) : brim_word_key_narrow(bytes, length);
  brim_cache_set *set = brim_cache_at(&p->scratch->cache, key);
  const brim_cached_word *found = brim_cache_find(set, key);
  if (__builtin_expect(found != NULL, 1)) {
    brim_ids_take(p->ids, found);
    return BRIM_OK;
  }
  size_t before = p->ids->count;
  if (plain)
    put_ascii_word(p->tokenizer, bytes, length, p->ids);
  else
    BRIM_TRY(put_segment(p, bytes, length));
  if (p->ids->count - before <= BRIM_WORD_IDS)
    brim_cache_put(set, key, p->ids->at + before, p->ids->count - before);
  return BRIM_OK;
}

/* A segment that is long or not plain, from `at` on; its end. */
static int put_hard(const pass *p, const char *text, size_t at, size_t length, size_t *end) {
  const uint8_t *kinds = p->tokenizer->bert.kinds;
  size_t i = at;
  uint8_t seen = 0;
  for (; i < length; i++) {
    uint8_t kind = kinds[(uint8_t)text[i]];
    if (kind == BYTE_BLANK || kind == BYTE_PUNCTUATION)
      break;
    seen |= kind;
  }
  *end = i;
  if (i - at <= BRIM_WORD_BYTES)
    return put_short(p, text + at, i - at, length - at >= 16, seen == BYTE_WORD);
  if (seen != BYTE_WORD || i - at > MAX_PLAIN)
    return put_segment(p, text + at, i - at);
  put_ascii_word(p->tokenizer, text + at, i - at, p->ids);
  return BRIM_OK;
}

int brim_bert_run(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, brim_ids *ids, brim_error *err) {
  BRIM_TRY(brim_ids_reserve(ids, length, err)); /* no character becomes more tokens than it has bytes */
  pass p = {t, s, length, ids, err};
  const uint8_t *kinds = t->bert.kinds;
  for (size_t at = 0; at < length;) {
    uint8_t kind = kinds[(uint8_t)text[at]];
    if (kind == BYTE_BLANK) {
      at++;
    } else if (kind == BYTE_PUNCTUATION) {
      ids->at[ids->count++] = t->bert.single[(uint8_t)text[at++]];
    } else {
      size_t n = kind == BYTE_WORD && length - at > 16 ? count_word_bytes(text + at) : 16;
      if (n < 16 && kinds[(uint8_t)text[at + n]] != BYTE_OTHER) {
        BRIM_TRY(put_short(&p, text + at, n, true, true));
        at += n;
        at += text[at] == ' ';
      } else {
        BRIM_TRY(put_hard(&p, text, at, length, &at));
      }
    }
  }
  return BRIM_OK;
}
