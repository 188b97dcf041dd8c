/* exact.c: the pipeline as written, one step after the other, with the origin of every character. */
#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include <string.h>

/* Runes as UTF-8 in scratch->bytes, and for each byte (and the end) the rune it belongs to in scratch->rune_of. */
static int spell(brim_scratch *s, const brim_rune *runes, size_t count, brim_error *err) {
  brim_text_clear(&s->bytes);
  if (count * 4 + 1 > s->rune_of_capacity)
    BRIM_TRY(brim_grow(s->runtime, (void **)&s->rune_of, &s->rune_of_capacity, count * 4 + 1, sizeof *s->rune_of, err));
  size_t length = 0;
  for (size_t i = 0; i < count; i++) {
    char bytes[4];
    int n = brim_utf8_put(runes[i].code, bytes);
    brim_text_append(&s->bytes, bytes, (size_t)n);
    for (int j = 0; j < n; j++)
      s->rune_of[length++] = (uint32_t)i;
  }
  s->rune_of[length] = (uint32_t)count;
  return brim_text_status(&s->bytes, err);
}

static int add_span(brim_scratch *s, size_t begin, size_t end, int32_t id, brim_error *err) {
  if (begin == end)
    return BRIM_OK;
  return brim_pieces_add(&s->pieces, (brim_span){begin, end, s->pieces.runes.at[begin].from, id}, err);
}

/* Appends the normalised section to the pieces, cut at the tokens that are searched for in normalised text. */
static int add_section(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t begin, size_t end, brim_error *err) {
  brim_runes *all = &s->pieces.runes;
  size_t base = all->count;
  s->section.count = s->section.most = 0;
  BRIM_TRY(brim_runes_decode(&s->section, text + begin, end - begin, (uint32_t)begin, err));
  BRIM_TRY(brim_normalizer_run(&t->normalizer, &s->section, (uint32_t)begin, &s->spare, &s->form, err));
  BRIM_TRY(brim_runes_reserve(all, s->section.count, err));
  if (s->section.count)
    memcpy(all->at + base, s->section.at, s->section.count * sizeof *all->at);
  all->count += s->section.count;
  if (t->added.normalized.count == 0)
    return add_span(s, base, all->count, -1, err);
  BRIM_TRY(spell(s, s->section.at, s->section.count, err));
  brim_added_scan scan = brim_added_start(&t->added, &t->added.normalized, s->bytes.data ? s->bytes.data : "", s->bytes.length);
  brim_added_match match;
  for (size_t covered = 0;; covered = match.end) {
    bool found = brim_added_next(&scan, &match);
    size_t plain = found ? match.begin : s->bytes.length;
    if (plain > covered)
      BRIM_TRY(add_span(s, base + s->rune_of[covered], base + s->rune_of[plain], -1, err));
    if (!found)
      return BRIM_OK;
    BRIM_TRY(add_span(s, base + s->rune_of[match.begin], base + s->rune_of[match.end], match.id, err));
  }
}

static int cut_sections(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, brim_error *err) {
  brim_added_scan scan = brim_added_start(&t->added, &t->added.raw, text, length);
  brim_added_match match;
  s->pieces.count = s->pieces.runes.count = s->pieces.runes.most = 0;
  for (size_t covered = 0;; covered = match.end) {
    bool found = brim_added_next(&scan, &match);
    size_t plain = found ? match.begin : length;
    if (plain > covered)
      BRIM_TRY(add_section(t, s, text, covered, plain, err));
    if (!found)
      return BRIM_OK;
    size_t begin = s->pieces.runes.count;
    BRIM_TRY(brim_runes_decode(&s->pieces.runes, text + match.begin, match.end - match.begin, (uint32_t)match.begin, err));
    BRIM_TRY(add_span(s, begin, s->pieces.runes.count, match.id, err));
  }
}

static int add_token(brim_exact_tokens *tokens, brim_exact_token token, brim_error *err) {
  if (tokens->count == tokens->capacity)
    BRIM_TRY(brim_grow(tokens->runtime, (void **)&tokens->at, &tokens->capacity, tokens->count + 1, sizeof token, err));
  tokens->at[tokens->count++] = token;
  return BRIM_OK;
}

int brim_exact_run(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, brim_error *err) {
  if (length > INT32_MAX)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "a text has %zu bytes; at most %d are supported", length, INT32_MAX);
  BRIM_TRY(cut_sections(t, s, text, length, err));
  BRIM_TRY(brim_pretokenizer_run(&t->pretokenizer, &s->pieces, &s->spare_pieces, err));
  for (size_t word = 0; word < s->pieces.count; word++) {
    brim_span span = s->pieces.spans[word];
    const brim_rune *runes = s->pieces.runes.at + span.begin;
    size_t count = span.end - span.begin;
    if (span.id >= 0) {
      BRIM_TRY(add_token(&s->exact, (brim_exact_token){span.id, runes[0].from, runes[count - 1].to, (uint32_t)word, true}, err));
      continue;
    }
    BRIM_TRY(spell(s, runes, count, err));
    s->piece_tokens.count = 0;
    BRIM_TRY(brim_token_model_run(&t->model, &s->work, s->bytes.data, s->bytes.length, &s->piece_tokens, err));
    for (size_t i = 0; i < s->piece_tokens.count; i++) {
      brim_piece_token token = s->piece_tokens.at[i];
      size_t first = s->rune_of[token.from], last = s->rune_of[token.to - (token.to > token.from)];
      BRIM_TRY(add_token(&s->exact, (brim_exact_token){token.id, runes[first].from, runes[last].to, (uint32_t)word, false}, err));
    }
  }
  return BRIM_OK;
}

size_t brim_malformed_length(const uint8_t *b, size_t length) {
  uint8_t lead = b[0], low = 0x80, high = 0xBF;
  size_t need = lead >= 0xC2 && lead <= 0xDF ? 1 : lead >= 0xE0 && lead <= 0xEF ? 2 : lead >= 0xF0 && lead <= 0xF4 ? 3 : 0;
  if (lead == 0xE0)
    low = 0xA0;
  if (lead == 0xED)
    high = 0x9F;
  if (lead == 0xF0)
    low = 0x90;
  if (lead == 0xF4)
    high = 0x8F;
  size_t n = 1;
  for (; n <= need && n < length && b[n] >= low && b[n] <= high; n++) {
    low = 0x80;
    high = 0xBF;
  }
  return n;
}

/* True when none of 64 bytes has its top bit set. */
static inline bool is_ascii(const uint8_t *p) {
  uint64_t eights[8], seen = 0;
  memcpy(eights, p, sizeof eights);
  for (int i = 0; i < 8; i++)
    seen |= eights[i];
  return (seen & 0x8080808080808080u) == 0;
}

/* True for well-formed UTF-8. Most of what comes is, so this runs ahead of the slower search for what is not. */
static bool is_valid(const uint8_t *p, const uint8_t *end) {
  while (p < end) {
    uint64_t eight;
    if (end - p >= 64 && is_ascii(p)) {
      p += 64;
    } else if (end - p >= 8 && (memcpy(&eight, p, 8), (eight & 0x8080808080808080u) == 0)) {
      p += 8;
    } else if (*p < 0x80) {
      p++;
    } else if (*p < 0xE0) {
      if (*p < 0xC2 || end - p < 2 || (p[1] & 0xC0) != 0x80)
        return false;
      p += 2;
    } else if (*p < 0xF0) {
      if (end - p < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 || (*p == 0xE0 && p[1] < 0xA0) ||
          (*p == 0xED && p[1] > 0x9F))
        return false;
      p += 3;
    } else {
      if (*p > 0xF4 || end - p < 4 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 || (p[3] & 0xC0) != 0x80 ||
          (*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] > 0x8F))
        return false;
      p += 4;
    }
  }
  return true;
}

int brim_clean_utf8(brim_scratch *scratch, int which, const char **text, size_t *length, brim_error *err) {
  if (is_valid((const uint8_t *)*text, (const uint8_t *)*text + *length))
    return BRIM_OK;
  size_t valid = brim_utf8_valid(*text, *length);
  brim_text *clean = &scratch->clean[which];
  brim_text_clear(clean);
  for (size_t at = 0;;) {
    brim_text_append(clean, *text + at, valid);
    at += valid;
    if (at == *length)
      break;
    brim_text_append(clean, "\xEF\xBF\xBD", 3);
    at += brim_malformed_length((const uint8_t *)*text + at, *length - at);
    valid = brim_utf8_valid(*text + at, *length - at);
  }
  BRIM_TRY(brim_text_status(clean, err));
  *text = clean->data;
  *length = clean->length;
  return BRIM_OK;
}
