/* fast_spaced.c: Unigram with Metaspace in one pass, for the three shapes of normalizers and pre-tokenizers that real files have.
 * In all of them the text is cut at spaces into words that know nothing of each other, so a word's ids depend on its bytes
 * alone: short words are remembered. Plain ASCII goes straight to the model; other words take the exact way by themselves. */
#include "base/status.h"
#include "text/block.h"
#include "text/fast.h"
#include "text/unicode.h"
#include <string.h>

/* ---- words ------------------------------------------------------------------------------------------------ */

static int put_new_word(const brim_scan *p, const char *bytes, size_t length, bool plain) {
  if (!plain)
    return brim_fast_exact(p->tokenizer, p->scratch, bytes, length, p->ids, p->err);
  brim_text *piece = &p->scratch->bytes;
  brim_text_clear(piece);
  brim_text_append(piece, p->tokenizer->spaced.lead, p->tokenizer->spaced.lead_length);
  brim_text_append(piece, bytes, length);
  BRIM_TRY(brim_text_status(piece, p->err));
  return brim_fast_piece(p->tokenizer, p->scratch, piece->data, piece->length, p->ids, p->err);
}

/* A word that is read differently among others than by itself: white space that runs together with the space before it or would
 * be stripped after it, a replacement character (which is not prepended again), a mark that shares the space's grapheme. */
static bool is_guarded(const brim_spaced *s, const char *bytes, size_t length) {
  uint32_t code;
  size_t first = (size_t)brim_utf8_next(bytes, &code);
  if (s->guard_joining && brim_char_joins(code))
    return true;
  if (s->guard_white &&
      (brim_char_is(code, BRIM_CHAR_WHITE) || (length >= s->lead_length && memcmp(bytes, s->lead, s->lead_length) == 0)))
    return true;
  for (size_t at = first; s->guard_inner && at < length;) {
    at += (size_t)brim_utf8_next(bytes + at, &code);
    if (brim_char_is(code, BRIM_CHAR_WHITE))
      return true;
  }
  return false;
}

/* Not a status of the library: the section must go the exact way. */
enum { GUARDED = -1 };

static int put_checked(const brim_scan *p, const char *bytes, size_t length, bool plain) {
  if (!plain && is_guarded(&p->tokenizer->spaced, bytes, length))
    return GUARDED;
  return put_new_word(p, bytes, length, plain);
}

/* The length of the word that the text begins with; *plain: nothing but bytes that the normalizer leaves alone. */
static size_t word_length(const brim_spaced *s, const char *text, size_t length, bool *plain) {
  size_t at = 0;
  *plain = true;
  for (; at < length && !s->blanks[(uint8_t)text[at]]; at++)
    *plain = *plain && s->plain[(uint8_t)text[at]];
  return at;
}

/* Adds the words of a block that begins with one (or with spaces), as far as they are visible ASCII and end within it; how many
 * bytes they take with the spaces between them. A block of less than BRIM_BLOCK bytes is the end of the text. */
static size_t add_block(const brim_scan *p, brim_word_group *group, const char *text, size_t length) {
  brim_byte_block b = brim_byte_block_at(text);
  uint64_t blanks = b.space;
  for (uint64_t feeds = b.feed; feeds; feeds &= feeds - 1) {
    unsigned at = brim_lowest_bit(feeds);
    blanks |= (uint64_t)p->tokenizer->spaced.blanks[(uint8_t)text[at]] << at;
  }
  uint64_t odd = ~(b.visible | blanks);
  unsigned cut;
  if (length < BRIM_BLOCK && !(odd & brim_bits_below((unsigned)length))) {
    cut = (unsigned)length;
  } else {
    uint64_t ends = blanks & brim_bits_below(odd ? brim_lowest_bit(odd) : BRIM_BLOCK);
    if (!ends)
      return 0;
    cut = brim_highest_bit(ends) + 1;
  }
  for (uint64_t starts = b.visible & ~(b.visible << 1) & brim_bits_below(cut); starts; starts &= starts - 1) {
    unsigned at = brim_lowest_bit(starts), size = brim_lowest_bit(~(b.visible >> at));
    brim_word_group_add(group, &p->scratch->cache, text + at, size, true, true);
  }
  return cut;
}

static int put_words(const brim_scan *p, const char *text, size_t length) {
  const brim_spaced *s = &p->tokenizer->spaced;
  brim_word_group group;
  brim_word_group_start(&group);
  bool is_tail = false;
  for (const char *at = text, *end = text + length, *next; at < end; at = next) {
    if (group.count > BRIM_GROUP - BRIM_BLOCK)
      BRIM_TRY(brim_word_group_drain(p, &group, put_checked));
    if (end - at < BRIM_TAIL && !is_tail) {
      at = brim_word_group_tail(&group, at, &end);
      is_tail = true;
    }
    if (s->ascii_plain) {
      size_t left = (size_t)(end - at), done = add_block(p, &group, at, left < BRIM_BLOCK ? left : BRIM_BLOCK);
      next = at + done;
      if (done > BRIM_BLOCK / 2 || next == end)
        continue;
      at = next;
    }
    next = at + 1;
    if (s->blanks[(uint8_t)*at])
      continue;
    bool plain;
    next = at + word_length(s, at, (size_t)(end - at), &plain);
    if (next - at <= BRIM_WORD_BYTES) {
      brim_word_group_add(&group, &p->scratch->cache, at, (size_t)(next - at), is_tail || end - at >= 16, plain);
      continue;
    }
    BRIM_TRY(brim_word_group_drain(p, &group, put_checked));
    BRIM_TRY(put_checked(p, at, (size_t)(next - at), plain));
  }
  return brim_word_group_drain(p, &group, put_checked);
}

int BRIM_PASS(brim_spaced_run)(const brim_tokenizer *t, brim_scratch *scratch, const char *text, size_t length, brim_ids *ids,
                               brim_error *err) {
  brim_scan p = {t, scratch, length, ids, err};
  size_t before = ids->count;
  int status = put_words(&p, text, length);
  if (status != GUARDED)
    return status;
  ids->count = before;
  return brim_fast_exact(t, scratch, text, length, ids, err);
}
