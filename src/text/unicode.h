/* unicode.h: the Unicode data of the profile "hf-0.23" (generated tables) and the algorithms on it.
 *
 * The reference mixes four versions of Unicode, one a step; that is why each property is named after the step that uses it. */
#ifndef BRIM_TEXT_UNICODE_H
#define BRIM_TEXT_UNICODE_H
#include "brim/base.h"
#include "text/unicode_tables.h"

/* Bits of a code point's record. Order and values are those of tools/make_unicode_tables.py. */
enum {
  BRIM_CHAR_DROPPED = 1 << 0,      /* removed by BertNormalizer's clean_text */
  BRIM_CHAR_WHITE = 1 << 1,        /* White_Space, also Oniguruma's \s */
  BRIM_CHAR_PUNCTUATION = 1 << 2,  /* isolated by BertPreTokenizer and Punctuation */
  BRIM_CHAR_CJK = 1 << 3,          /* spaced by handle_chinese_chars */
  BRIM_CHAR_NONSPACING = 1 << 4,   /* removed by BertNormalizer's strip_accents */
  BRIM_CHAR_COMBINING = 1 << 5,    /* removed by the StripAccents normalizer */
  BRIM_CHAR_NUMERIC = 1 << 6,      /* isolated by Digits */
  BRIM_CHAR_WORD = 1 << 7,         /* \w of the Whitespace pre-tokenizer and of single_word */
  BRIM_CHAR_ONIG_WORD = 1 << 8,    /* \w in patterns */
  BRIM_CHAR_PICTOGRAPHIC = 1 << 9, /* Extended_Pictographic */
  BRIM_CHAR_NFC_INERT = 1 << 10    /* NFC leaves it alone whatever its neighbours are */
};

typedef enum brim_category {
  BRIM_CN,
  BRIM_LU,
  BRIM_LL,
  BRIM_LT,
  BRIM_LM,
  BRIM_LO,
  BRIM_MN,
  BRIM_MC,
  BRIM_ME,
  BRIM_ND,
  BRIM_NL,
  BRIM_NO,
  BRIM_PC,
  BRIM_PD,
  BRIM_PS,
  BRIM_PE,
  BRIM_PI,
  BRIM_PF,
  BRIM_PO,
  BRIM_SM,
  BRIM_SC,
  BRIM_SK,
  BRIM_SO,
  BRIM_ZS,
  BRIM_ZL,
  BRIM_ZP,
  BRIM_CC,
  BRIM_CF,
  BRIM_CO,
  BRIM_CS
} brim_category;

#define BRIM_CODE_LIMIT  0x110000u
#define BRIM_REPLACEMENT 0xFFFDu

static inline uint32_t brim_char_record(uint32_t code) {
  return brim_unicode_record[brim_unicode_records_index[(uint32_t)brim_unicode_records_block[code / BRIM_UNICODE_BLOCK] *
                                                            BRIM_UNICODE_BLOCK +
                                                        code % BRIM_UNICODE_BLOCK]];
}
static inline bool brim_char_is(uint32_t code, uint32_t bit) {
  return (brim_char_record(code) & bit) != 0;
}
static inline brim_category brim_char_category(uint32_t code) {
  return (brim_category)(brim_char_record(code) >> 16 & 31);
}
/* Extend, ZWJ or SpacingMark: never begins a grapheme cluster after a space. */
static inline bool brim_char_joins(uint32_t code) {
  uint32_t break_class = brim_char_record(code) >> 21 & 15;
  return break_class == 4 || break_class == 5 || break_class == 8;
}
static inline bool brim_category_letter(brim_category category) {
  return category >= BRIM_LU && category <= BRIM_LO;
}
static inline bool brim_category_number(brim_category category) {
  return category >= BRIM_ND && category <= BRIM_NO;
}
static inline uint8_t brim_char_combining(uint32_t code) {
  return brim_unicode_combining_index[(uint32_t)brim_unicode_combining_block[code / BRIM_UNICODE_BLOCK] * BRIM_UNICODE_BLOCK +
                                      code % BRIM_UNICODE_BLOCK];
}

/* What a code point becomes, as a length and code points; NULL when it stays itself. */
static inline const uint32_t *brim_char_lower(uint32_t code) {
  uint32_t at = brim_unicode_lower_index[(uint32_t)brim_unicode_lower_block[code / BRIM_UNICODE_BLOCK] * BRIM_UNICODE_BLOCK +
                                         code % BRIM_UNICODE_BLOCK];
  return at ? &brim_unicode_sequence[at] : NULL;
}

/* Full canonical (or compatibility) decomposition of one code point into out[]; the number of code points, at most
 * BRIM_DECOMPOSITION_MAX. */
#define BRIM_DECOMPOSITION_MAX 18
int brim_char_decompose(uint32_t code, bool compatible, uint32_t out[BRIM_DECOMPOSITION_MAX]);
/* The composite of two code points, or 0. */
uint32_t brim_char_compose(uint32_t first, uint32_t second);

/* Decodes one character of valid UTF-8; returns its length. */
static inline int brim_utf8_next(const char *bytes, uint32_t *code) {
  const uint8_t *b = (const uint8_t *)bytes;
  if (b[0] < 0x80) {
    *code = b[0];
    return 1;
  }
  if (b[0] < 0xE0) {
    *code = (uint32_t)(b[0] & 31) << 6 | (b[1] & 63);
    return 2;
  }
  if (b[0] < 0xF0) {
    *code = (uint32_t)(b[0] & 15) << 12 | (uint32_t)(b[1] & 63) << 6 | (b[2] & 63);
    return 3;
  }
  *code = (uint32_t)(b[0] & 7) << 18 | (uint32_t)(b[1] & 63) << 12 | (uint32_t)(b[2] & 63) << 6 | (b[3] & 63);
  return 4;
}
static inline int brim_utf8_size(uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}
/* Writes 1-4 bytes; returns how many. */
static inline int brim_utf8_put(uint32_t code, char *out) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 63));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (char)(0xE0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 63));
    out[2] = (char)(0x80 | (code & 63));
    return 3;
  }
  out[0] = (char)(0xF0 | code >> 18);
  out[1] = (char)(0x80 | (code >> 12 & 63));
  out[2] = (char)(0x80 | (code >> 6 & 63));
  out[3] = (char)(0x80 | (code & 63));
  return 4;
}

/* The character that encodes a byte in byte-level vocabularies (GPT-2's table), and back (-1: none). */
static inline uint32_t brim_byte_char(uint8_t byte) {
  if ((byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD))
    return byte;
  if (byte <= ' ')
    return 256u + byte;
  if (byte <= 0xA0)
    return 256u + 33u + (uint32_t)(byte - 0x7F);
  return 256u + 67u; /* 0xAD */
}
static inline int brim_char_byte(uint32_t code) {
  if (code < 256)
    return brim_byte_char((uint8_t)code) == code ? (int)code : -1;
  if (code <= 256 + 32)
    return (int)(code - 256);
  if (code < 256 + 67)
    return (int)(code - 256 - 33 + 0x7F);
  return code == 256 + 67 ? 0xAD : -1;
}

#endif
