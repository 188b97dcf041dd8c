/* fast_bert.c: BertNormalizer, BertPreTokenizer and WordPiece in one pass.
 *
 * ASCII spaces and ASCII punctuation bound everything that these steps look at (combining marks are reordered only after a
 * character that is no mark), so the text falls into segments of other bytes. A segment's ids depend on its bytes alone: short
 * ones are remembered. A segment of ASCII letters and digits is one word; any other is taken through the steps, character by
 * character. */
#include "base/status.h"
#include "text/block.h"
#include "text/fast.h"
#include "text/unicode.h"

enum { MAX_PLAIN = 128 }; /* longer words of ASCII take the general way */

/* ---- words ------------------------------------------------------------------------------------------------ */

/* Appends the pieces of a word, or the unknown token. There is room. */
static void put_word(const brim_wordpiece *w, const char *bytes, size_t length, size_t chars, brim_ids *ids) {
  size_t before = ids->count;
  if (chars > w->max_chars)
    goto unknown;
  for (size_t at = 0; at < length;) {
    size_t end = at;
    int32_t best = brim_wordpiece_longest(w, bytes, at, length, &end);
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
typedef struct growing_word {
  const brim_tokenizer *tokenizer;
  brim_text *bytes;
  size_t chars;
  brim_ids *ids;
} growing_word;

static void end_word(growing_word *w) {
  if (w->bytes->length)
    put_word(&w->tokenizer->model.wordpiece, w->bytes->data, w->bytes->length, w->chars, w->ids);
  w->bytes->length = 0; /* not cleared: a failure must stay known */
  w->chars = 0;
}

/* A character after all of the normalizer. */
static void take_normal(growing_word *w, uint32_t code) {
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

static void take_lower(growing_word *w, uint32_t code) {
  const uint32_t *lower = w->tokenizer->bert.lower ? brim_char_lower(code) : NULL;
  if (!lower)
    take_normal(w, code);
  for (uint32_t i = 0; lower && i < lower[0]; i++)
    take_normal(w, lower[1 + i]);
}

/* False for marks that would have to be put in order. */
static bool take(growing_word *w, uint32_t code) {
  const brim_bert *b = &w->tokenizer->bert;
  uint32_t record = brim_char_record(code), decomposed[BRIM_DECOMPOSITION_MAX];
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
    int n = brim_char_decompose(code, false, decomposed);
    for (int i = 0; i < n; i++) {
      if (brim_char_is(decomposed[i], BRIM_CHAR_NONSPACING))
        continue;
      if (brim_char_combining(decomposed[i]))
        return false;
      take_lower(w, decomposed[i]);
    }
  }
  if (alone)
    end_word(w);
  return true;
}

static int put_segment(const brim_scan *p, const char *bytes, size_t length) {
  brim_scratch *s = p->scratch;
  size_t before = p->ids->count;
  growing_word w = {.tokenizer = p->tokenizer, .bytes = &s->bytes, .ids = p->ids};
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

static int put_new(const brim_scan *p, const char *bytes, size_t length, bool plain) {
  if (!plain || length > MAX_PLAIN)
    return put_segment(p, bytes, length);
  put_ascii_word(p->tokenizer, bytes, length, p->ids);
  return BRIM_OK;
}

/* The length of the segment that the text begins with; *plain: it holds nothing but letters and digits. */
static size_t segment_length(const uint8_t *kinds, const char *text, size_t length, bool *plain) {
  uint8_t seen = 0;
  size_t at = 0;
  for (; at < length; at++) {
    uint8_t kind = kinds[(uint8_t)text[at]];
    if (kind == BRIM_BYTE_BLANK || kind == BRIM_BYTE_PUNCTUATION)
      break;
    seen |= kind;
  }
  *plain = seen == BRIM_BYTE_WORD;
  return at;
}

/* Adds the segments of a block that begins with one, as far as they are plain or punctuation and end within it; how many bytes
 * they take with the spaces between them. A block of less than BRIM_BLOCK bytes is the end of the text. */
static size_t add_block(const brim_scan *p, brim_word_group *group, const char *text, size_t length) {
  brim_byte_block b = brim_byte_block_at(text);
  uint64_t plain = b.letter | b.digit, tabs = 0;
  for (uint64_t feeds = b.feed; feeds; feeds &= feeds - 1) { /* of these only \t, \n and \r are spaces */
    unsigned at = brim_lowest_bit(feeds);
    tabs |= (uint64_t)(p->tokenizer->bert.kinds[(uint8_t)text[at]] == BRIM_BYTE_BLANK) << at;
  }
  uint64_t odd = ~(b.visible | b.space | tabs), starts = (plain & ~(plain << 1)) | (b.visible & ~plain);
  unsigned cut;
  if (length < BRIM_BLOCK && !(odd & brim_bits_below((unsigned)length))) {
    cut = (unsigned)length;
  } else { /* the last segment may continue in the next block, and what touches an odd byte is not plain */
    uint64_t gaps = ~plain & brim_bits_below(odd ? brim_lowest_bit(odd) : BRIM_BLOCK);
    if (!gaps)
      return 0;
    cut = brim_highest_bit(gaps) + 1;
  }
  for (starts &= brim_bits_below(cut); starts; starts &= starts - 1) {
    unsigned at = brim_lowest_bit(starts);
    uint64_t run = plain >> at;
    brim_word_group_add(group, &p->scratch->cache, text + at, run & 1 ? brim_lowest_bit(~run) : 1, true, true);
  }
  return cut;
}

int BRIM_PASS(brim_bert_run)(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, brim_ids *ids,
                             brim_error *err) {
  BRIM_TRY(brim_ids_reserve(ids, length, err)); /* no character becomes more tokens than it has bytes */
  brim_scan p = {t, s, length, ids, err};
  const uint8_t *kinds = t->bert.kinds;
  brim_word_group group;
  brim_word_group_start(&group);
  bool is_tail = false;
  for (const char *at = text, *end = text + length, *next; at < end; at = next) {
    if (group.count > BRIM_GROUP - BRIM_BLOCK)
      BRIM_TRY(brim_word_group_drain(&p, &group, put_new));
    if (end - at < BRIM_TAIL && !is_tail) {
      at = brim_word_group_tail(&group, at, &end);
      is_tail = true;
    }
    size_t left = (size_t)(end - at), done = add_block(&p, &group, at, left < BRIM_BLOCK ? left : BRIM_BLOCK);
    next = at + done;
    if (done > BRIM_BLOCK / 2 || next == end)
      continue;
    at = next;
    next = at + 1;
    uint8_t kind = kinds[(uint8_t)*at];
    bool plain = true;
    if (kind == BRIM_BYTE_BLANK)
      continue;
    if (kind != BRIM_BYTE_PUNCTUATION)
      next = at + segment_length(kinds, at, (size_t)(end - at), &plain);
    if (next - at <= BRIM_WORD_BYTES) {
      brim_word_group_add(&group, &s->cache, at, (size_t)(next - at), is_tail || end - at >= 16, plain);
      continue;
    }
    BRIM_TRY(brim_word_group_drain(&p, &group, put_new));
    BRIM_TRY(put_new(&p, at, (size_t)(next - at), plain));
  }
  return brim_word_group_drain(&p, &group, put_new);
}
