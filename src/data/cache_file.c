/* cache_file.c: how the file of a cache lies, and its checksum: of the header after `check`, and the sections that the
 * fingerprint does not cover, one after another. */
#include "data/cache_file.h"

#include <string.h>

#include "base/hashmap.h"

brim_cache_sections brim_cache_lay_out(const brim_cache_header *h) {
  const bool typed = h->typed_tokens > 0;
  uint64_t sizes[SECTIONS] = {[SOURCES] = h->sources * sizeof(brim_cache_source),
                              [LENGTHS] = h->rows * sizeof(int32_t),
                              [FIRSTS] = h->texts > 0 ? (h->rows + 1) * sizeof(uint64_t) : 0,
                              [TEXT_LENGTHS] = h->texts * sizeof(int32_t),
                              [IDS] = h->tokens * sizeof(int32_t),
                              [TYPED] = typed ? h->rows : 0,
                              [TYPES] = h->typed_tokens,
                              [NUMBERS] = h->numbered * sizeof(int32_t),
                              [WORD_SIZES] = h->numbered > 0 ? h->rows * sizeof(uint64_t) : 0,
                              [ORIGINS] = h->origins * sizeof(uint64_t),
                              [EXCLUSIONS] = h->exclusions * sizeof(brim_stored_exclusion),
                              [STRINGS] = h->string_bytes,
                              [WORD_TEXTS] = h->word_bytes,
                              [LOSSES] = h->losses * sizeof(uint32_t),
                              [QUERIES] = h->queries * sizeof(uint64_t)};
  for (int b = 0; b < BRIM_MOST_BLOCKS; b++)
    sizes[BLOCKS + b] = h->blocks[b].numbers * BRIM_NUMBER;
  brim_cache_sections s = {.at[0] = sizeof *h};
  for (int i = 0; i < SECTIONS; i++) {
    s.size[i] = sizes[i];
    s.at[i + 1] = s.at[i] + (sizes[i] + 7) / 8 * 8;
  }
  return s;
}

bool brim_cache_counts_fit(const brim_cache_header *h, uint64_t size) {
  const uint64_t counts[] = {h->sources,    h->rows,  h->tokens,  h->typed_tokens, h->origins,      h->exclusions,
                             h->classes,    h->files, h->reasons, h->words,        h->string_bytes, h->numbered,
                             h->word_bytes, h->texts, h->losses,  h->queries};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (counts[i] > size)
      return false;
  for (int b = 0; b < BRIM_MOST_BLOCKS; b++)
    if (h->blocks[b].numbers > size)
      return false;
  return size < (uint64_t)1 << 56 && brim_cache_lay_out(h).at[SECTIONS] == size;
}

uint64_t brim_cache_hash_header(const brim_cache_header *h) {
  const size_t covered = offsetof(brim_cache_header, key);
  return brim_hash64((const char *)h + covered, sizeof *h - covered, 0);
}

bool brim_cache_is_checked(int section) {
  return section != IDS && section != TYPES && (section < BLOCKS || section >= BLOCKS + BRIM_MOST_BLOCKS);
}

bool brim_cache_check(const void *bytes, size_t size, uint64_t *check) {
  brim_cache_header h;
  if (size < sizeof h)
    return false;
  memcpy(&h, bytes, sizeof h);
  if (!brim_cache_counts_fit(&h, size))
    return false;
  const brim_cache_sections s = brim_cache_lay_out(&h);
  *check = brim_cache_hash_header(&h);
  for (int i = 0; i < SECTIONS; i++)
    if (brim_cache_is_checked(i))
      *check = brim_hash64((const char *)bytes + s.at[i], s.size[i], *check);
  return true;
}
