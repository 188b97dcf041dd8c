/* cache_file.h: how the file of a cache lies, for those who write and read it. */
#ifndef BRIM_DATA_CACHE_FILE_H
#define BRIM_DATA_CACHE_FILE_H
#include "data/cache.h"

#define BRIM_CACHE_MAGIC "brimrows"
#define BRIM_CACHE_ORDER 0x01020304u

enum brim_cache_section {
  SOURCES,
  LENGTHS,
  FIRSTS,
  TEXT_LENGTHS,
  IDS,
  TYPED,
  TYPES,
  BLOCKS, /* BLOCKS + b: the numbers of block b */
  NUMBERS = BLOCKS + BRIM_MOST_BLOCKS,
  WORD_SIZES,
  ORIGINS,
  EXCLUSIONS,
  STRINGS,
  WORD_TEXTS,
  LOSSES,
  QUERIES,
  SECTIONS
};

/* An excluded row; file and reason are numbers of strings. A damaged row's reason is its own and counts on after the shared
 * ones. */
typedef struct brim_stored_exclusion {
  uint64_t row;
  int64_t line;
  uint32_t file, reason;
} brim_stored_exclusion;

/* Where each section begins, and after the last one the end of the file. */
typedef struct brim_cache_sections {
  uint64_t at[SECTIONS + 1], size[SECTIONS];
} brim_cache_sections;

brim_cache_sections brim_cache_lay_out(const brim_cache_header *header);
/* Counts that a file of this size can have, so that no sum of theirs overflows. */
bool brim_cache_counts_fit(const brim_cache_header *header, uint64_t size);
/* Of the header after `check`: `check` begins with it, and continues over the sections that brim_cache_is_checked. */
uint64_t brim_cache_hash_header(const brim_cache_header *header);
bool brim_cache_is_checked(int section);

#endif
