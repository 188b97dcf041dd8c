/* block.h: 64 bytes at a time: which of them are letters, digits, spaces, ... as one bit a byte. */
#ifndef BRIM_TEXT_BLOCK_H
#define BRIM_TEXT_BLOCK_H
#include "brim/base.h"
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { BRIM_BLOCK = 64 };

/* All are ASCII but `wide`. */
typedef struct brim_byte_block {
  uint64_t letter, digit, space, feed, apostrophe, wide, visible; /* feed: \t \n \v \f \r */
} brim_byte_block;

/* In each of these 64 bytes can be read. */
#if defined(__AVX512BW__)
/* Bytes in [low, low + count). */
static inline uint64_t brim_byte_block_range(__m512i v, char low, int count) {
  return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(low)), _mm512_set1_epi8((char)count));
}
static inline brim_byte_block brim_byte_block_at(const char *p) {
  __m512i v = _mm512_loadu_si512(p);
  return (brim_byte_block){.letter = brim_byte_block_range(_mm512_or_si512(v, _mm512_set1_epi8(32)), 'a', 26),
                           .digit = brim_byte_block_range(v, '0', 10),
                           .space = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(' ')),
                           .feed = brim_byte_block_range(v, '\t', 5),
                           .apostrophe = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\'')),
                           .visible = brim_byte_block_range(v, 0x21, 0x7F - 0x21),
                           .wide = _mm512_movepi8_mask(v)};
}
#elif defined(__AVX2__)
static inline uint64_t brim_byte_block_bits(__m256i found, int vector) {
  return (uint64_t)(uint32_t)_mm256_movemask_epi8(found) << (32 * vector);
}
static inline __m256i brim_byte_block_range(__m256i v, char low, int count) {
  return _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(-128 + count)), _mm256_add_epi8(v, _mm256_set1_epi8((char)(128 - low))));
}
static inline brim_byte_block brim_byte_block_at(const char *p) {
  brim_byte_block b = {0};
  for (int i = 0; i < 2; i++) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * i));
    b.letter |= brim_byte_block_bits(brim_byte_block_range(_mm256_or_si256(v, _mm256_set1_epi8(32)), 'a', 26), i);
    b.digit |= brim_byte_block_bits(brim_byte_block_range(v, '0', 10), i);
    b.space |= brim_byte_block_bits(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(' ')), i);
    b.feed |= brim_byte_block_bits(brim_byte_block_range(v, '\t', 5), i);
    b.apostrophe |= brim_byte_block_bits(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\'')), i);
    b.visible |= brim_byte_block_bits(brim_byte_block_range(v, 0x21, 0x7F - 0x21), i);
    b.wide |= brim_byte_block_bits(v, i);
  }
  return b;
}
#elif defined(__SSE2__)
static inline uint64_t brim_byte_block_bits(__m128i found, int vector) {
  return (uint64_t)(uint32_t)_mm_movemask_epi8(found) << (16 * vector);
}
static inline __m128i brim_byte_block_range(__m128i v, char low, int count) {
  return _mm_cmplt_epi8(_mm_add_epi8(v, _mm_set1_epi8((char)(128 - low))), _mm_set1_epi8((char)(-128 + count)));
}
static inline brim_byte_block brim_byte_block_at(const char *p) {
  brim_byte_block b = {0};
  for (int i = 0; i < 4; i++) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
    b.letter |= brim_byte_block_bits(brim_byte_block_range(_mm_or_si128(v, _mm_set1_epi8(32)), 'a', 26), i);
    b.digit |= brim_byte_block_bits(brim_byte_block_range(v, '0', 10), i);
    b.space |= brim_byte_block_bits(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')), i);
    b.feed |= brim_byte_block_bits(brim_byte_block_range(v, '\t', 5), i);
    b.apostrophe |= brim_byte_block_bits(_mm_cmpeq_epi8(v, _mm_set1_epi8('\'')), i);
    b.visible |= brim_byte_block_bits(brim_byte_block_range(v, 0x21, 0x7F - 0x21), i);
    b.wide |= brim_byte_block_bits(v, i);
  }
  return b;
}
#else
static inline brim_byte_block brim_byte_block_at(const char *p) {
  brim_byte_block b = {0};
  for (int i = 0; i < BRIM_BLOCK; i++) {
    uint8_t c = (uint8_t)p[i];
    b.letter |= (uint64_t)((uint8_t)((c | 32) - 'a') < 26) << i;
    b.digit |= (uint64_t)((uint8_t)(c - '0') < 10) << i;
    b.space |= (uint64_t)(c == ' ') << i;
    b.feed |= (uint64_t)((uint8_t)(c - '\t') < 5) << i;
    b.apostrophe |= (uint64_t)(c == '\'') << i;
    b.visible |= (uint64_t)(c > 0x20 && c < 0x7F) << i;
    b.wide |= (uint64_t)(c >> 7) << i;
  }
  return b;
}
#endif

/* The bits below `bit` (at most 64). */
static inline uint64_t brim_bits_below(unsigned bit) {
  return bit >= 64 ? UINT64_MAX : ((uint64_t)1 << bit) - 1;
}
static inline unsigned brim_lowest_bit(uint64_t bits) {
  return (unsigned)__builtin_ctzll(bits);
}
static inline unsigned brim_highest_bit(uint64_t bits) {
  return 63u - (unsigned)__builtin_clzll(bits);
}

#endif
