/* fast_bytes.c: byte-level BPE with GPT-2's pattern in one pass: a hand-written scanner finds the pre-tokens, which are
 * remembered by their bytes. Normalised added tokens and NFC are dealt with section by section. */
#include "base/status.h"
#include "text/block.h"
#include "text/fast.h"
#include "text/unicode.h"
#include <string.h>

/* ---- the scanner ------------------------------------------------------------------------------------------ */

/* Classes of characters; WIDE: look further. */
enum { LETTER, NUMBER, OTHER, WHITE, WIDE };

static const uint8_t classes[256] = {
#define W4  WIDE, WIDE, WIDE, WIDE
#define W16 W4, W4, W4, W4
#define L4  LETTER, LETTER, LETTER, LETTER
#define O4  OTHER, OTHER, OTHER, OTHER
    O4,     O4,     OTHER,  WHITE,  WHITE,  WHITE,  WHITE,  WHITE,  OTHER,  OTHER,  O4,     O4,     O4,    O4, /* 00-1F */
    WHITE,  OTHER,  OTHER,  OTHER,  O4,     O4,     O4,                                                        /* 20-2F */
    NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, OTHER,  OTHER,  O4,        /* 30-3F */
    OTHER,  LETTER, LETTER, LETTER, L4,     L4,     L4,     L4,     L4,     LETTER, LETTER, LETTER, OTHER, O4, /* 40-5F */
    OTHER,  LETTER, LETTER, LETTER, L4,     L4,     L4,     L4,     L4,     LETTER, LETTER, LETTER, OTHER, O4, /* 60-7F */
    W16,    W16,    W16,    W16,    W16,    W16,    W16,    W16};

static uint8_t wide_class(const char *p, int *size) {
  uint32_t code;
  *size = brim_utf8_next(p, &code);
  uint32_t record = brim_char_record(code);
  if (record & BRIM_CHAR_WHITE)
    return WHITE;
  brim_category category = (brim_category)(record >> 16 & 31);
  return brim_category_letter(category) ? LETTER : brim_category_number(category) ? NUMBER : OTHER;
}

static inline uint8_t class_at(const char *p, int *size) {
  uint8_t class = classes[(uint8_t)*p];
  *size = 1;
  return class == WIDE ? wide_class(p, size) : class;
}

/* The end of the run of `class` that reaches to p. */
static inline const char *run_end(const char *p, const char *end, uint8_t class) {
  while (p < end) {
    uint8_t next = classes[(uint8_t)*p];
    int size = 1;
    if (next == WIDE)
      next = wide_class(p, &size);
    if (next != class)
      break;
    p += size;
  }
  return p;
}

/* 's 't 're 've 'm 'll 'd after the apostrophe at p; its length, or 0. */
static inline size_t contraction(const char *p, const char *end) {
  size_t left = (size_t)(end - p);
  if (left < 2)
    return 0;
  char a = p[1], b = left > 2 ? p[2] : 0;
  if (a == 's' || a == 't' || a == 'm' || a == 'd')
    return 2;
  return (b == 'e' && (a == 'r' || a == 'v')) || (a == 'l' && b == 'l') ? 3 : 0;
}

/* White space at p: all of it at the end of the text; else all but its last character, which may belong to the next token. */
static const char *white_end(const char *p, const char *end) {
  const char *last = p, *q = p;
  while (q < end) {
    int size;
    if (class_at(q, &size) != WHITE)
      break;
    last = q;
    q += size;
  }
  return q == end || last == p ? q : last;
}

/* The end of the pre-token at p. */
static inline const char *next_token(const char *p, const char *end) {
  int size;
  if (*p == '\'') {
    size_t n = contraction(p, end);
    if (n)
      return p + n;
  }
  uint8_t class = class_at(p, &size);
  const char *q = p + size;
  if (class == WHITE) {
    if (*p != ' ' || q == end)
      return white_end(p, end);
    class = class_at(q, &size);
    if (class == WHITE)
      return white_end(p, end);
    q += size;
  }
  return run_end(q, end, class);
}

/* ---- tokens ----------------------------------------------------------------------------------------------- */

/* Appends the ids of a pre-token. There is room for as many as it has bytes. */
static int merge(const brim_scan *p, const char *bytes, size_t length, bool plain) {
  (void)plain;
  brim_token_model_work *work = &p->scratch->work;
  int32_t known = brim_trie_get(&p->tokenizer->known, bytes, length);
  if (known >= 0) {
    p->ids->at[p->ids->count++] = known;
    return BRIM_OK;
  }
  BRIM_TRY(brim_bpe_merge_bytes(&p->tokenizer->model.bpe, work, bytes, length, p->err));
  for (int32_t i = work->symbol_count ? 0 : -1; i >= 0; i = work->symbols[i].next)
    p->ids->at[p->ids->count++] = work->symbols[i].id;
  return BRIM_OK;
}

/* Where pre-tokens begin in a block that begins with one: at spaces, and where the class changes but for after a space. */
static uint64_t token_starts(const brim_byte_block *b, const char *text) {
  uint64_t other = ~(b->letter | b->digit | b->space);
  uint64_t change = (b->letter ^ b->letter << 1) | (b->digit ^ b->digit << 1) | (other ^ other << 1);
  uint64_t starts = 1 | b->space | (change & ~(b->space << 1));
  for (uint64_t quotes = starts & b->apostrophe & brim_bits_below(BRIM_BLOCK - 4); quotes; quotes &= quotes - 1) {
    unsigned at = brim_lowest_bit(quotes);
    size_t n = contraction(text + at, text + BRIM_BLOCK);
    if (n)
      starts = (starts & ~((uint64_t)2 << at)) | (uint64_t)1 << (at + n);
  }
  return starts;
}

/* Adds the pre-tokens of a block of `length` bytes for which a look at ASCII is enough; how many bytes they have. A block shorter
 * than BRIM_BLOCK is the end of the text. What is at the end of others, wide characters, and runs of white space are left to
 * the caller. */
static size_t add_block(const brim_scan *p, brim_word_group *group, const char *text, size_t length) {
  brim_byte_block b = brim_byte_block_at(text);
  uint64_t starts = token_starts(&b, text), white = b.space | b.feed;
  uint64_t limits = b.wide | b.feed | (b.space & white >> 1) | (b.apostrophe & ~brim_bits_below(BRIM_BLOCK - 4));
  if (length < BRIM_BLOCK) {
    starts = (starts & brim_bits_below((unsigned)length)) | (uint64_t)1 << length;
    limits &= brim_bits_below((unsigned)length);
  }
  uint64_t sure = limits ? starts & (brim_bits_below(brim_lowest_bit(limits)) | (limits & -limits & ~b.wide)) : starts;
  if (!sure)
    return 0;
  unsigned cut = brim_highest_bit(sure), at = 0;
  for (uint64_t rest = sure & (sure - 1); rest; rest &= rest - 1) {
    unsigned next = brim_lowest_bit(rest);
    brim_word_group_add(group, &p->scratch->cache, text + at, next - at, true, true);
    at = next;
  }
  return cut;
}

/* Text in which there are no more added tokens. */
static int put_plain(const brim_scan *p, const char *text, size_t length) {
  brim_word_group group;
  brim_word_group_start(&group);
  bool is_tail = false;
  for (const char *at = text, *end = text + length, *next; at < end; at = next) {
    if (group.count > BRIM_GROUP - BRIM_BLOCK)
      BRIM_TRY(brim_word_group_drain(p, &group, merge));
    if (end - at < BRIM_TAIL && !is_tail) {
      at = brim_word_group_tail(&group, at, &end);
      is_tail = true;
    }
    size_t left = (size_t)(end - at), done = add_block(p, &group, at, left < BRIM_BLOCK ? left : BRIM_BLOCK);
    next = at + done;
    if (done > BRIM_BLOCK / 2 || next == end)
      continue;
    at = next;
    next = next_token(at, end);
    if (next - at > BRIM_WORD_BYTES) {
      BRIM_TRY(brim_word_group_drain(p, &group, merge));
      BRIM_TRY(merge(p, at, (size_t)(next - at), true));
      continue;
    }
    brim_word_group_add(&group, &p->scratch->cache, at, (size_t)(next - at), is_tail || end - at >= 16, true);
  }
  return brim_word_group_drain(p, &group, merge);
}

/* ---- sections --------------------------------------------------------------------------------------------- */

/* True when NFC leaves the text alone. Below U+0300 nothing composes or moves. */
static bool is_composed(const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    uint64_t eight;
    if (length - i >= 8 && (memcpy(&eight, text + i, 8), (eight & 0x8080808080808080u) == 0)) {
      i += 8;
      continue;
    }
    uint32_t code;
    int size = brim_utf8_next(text + i, &code);
    if ((uint8_t)text[i] >= 0xCC && !brim_char_is(code, BRIM_CHAR_NFC_INERT))
      return false;
    i += (size_t)size;
  }
  return true;
}

/* Normalises the section into scratch->bytes. */
static int compose(const brim_scan *p, const char **text, size_t *length) {
  brim_scratch *s = p->scratch;
  s->section.count = 0;
  BRIM_TRY(brim_runes_decode(&s->section, *text, *length, 0, p->err));
  BRIM_TRY(brim_normalizer_run(&p->tokenizer->normalizer, &s->section, 0, &s->spare, &s->form, p->err));
  brim_text_clear(&s->bytes);
  for (size_t i = 0; i < s->section.count; i++) {
    char bytes[4];
    brim_text_append(&s->bytes, bytes, (size_t)brim_utf8_put(s->section.at[i].code, bytes));
  }
  BRIM_TRY(brim_text_status(&s->bytes, p->err));
  *text = s->bytes.data;
  *length = s->bytes.length;
  return BRIM_OK;
}

int BRIM_PASS(brim_bytes_run)(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, brim_ids *ids,
                              brim_error *err) {
  brim_scan p = {t, s, length, ids, err};
  if (t->normalizer.count && !is_composed(text, length))
    BRIM_TRY(compose(&p, &text, &length));
  BRIM_TRY(brim_ids_reserve(ids, length, err));
  if (t->added.normalized.count == 0)
    return put_plain(&p, text, length);
  brim_added_scan scan = brim_added_start(&t->added, &t->added.normalized, text, length);
  brim_added_match match;
  for (size_t covered = 0;; covered = match.end) {
    bool found = brim_added_next(&scan, &match);
    size_t plain = found ? match.begin : length;
    if (plain > covered)
      BRIM_TRY(put_plain(&p, text + covered, plain - covered));
    if (!found)
      return BRIM_OK;
    ids->at[ids->count++] = match.id;
  }
}
