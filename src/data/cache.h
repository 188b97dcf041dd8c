/* cache.h: the file that holds an encoded dataset, and what it must fit.
 *
 *   header | sources | lengths | firsts | lengths of texts | ids | typed | types | blocks | numbers of words | sizes of
 *   their texts | origins | exclusions | strings | texts of words | losses | queries
 *
 * Each section begins at a multiple of 8; their sizes follow from the header's counts, and together they are the file. Numbers
 * are those of the machine that wrote it; another byte order is refused. The file is mapped, and nothing in it is believed before
 * it was looked at: the dataset's fingerprint covers ids, types and blocks, `check` all the rest, and ids, lengths and labels are
 * compared with what they may be, so that even a forged file only gives another dataset. */
#ifndef BRIM_DATA_CACHE_H
#define BRIM_DATA_CACHE_H
#include "data/dataset.h"

enum { BRIM_CACHE_VERSION = 10 };

/* A block, in place of brim_block_shape. */
typedef struct brim_cache_block {
  char name[BRIM_BLOCK_NAME];
  uint64_t per, integers, width;
  uint64_t numbers; /* of all rows; 0: no row has any */
} brim_cache_block;

typedef struct brim_cache_header {
  char magic[8];
  uint32_t version, byte_order;
  uint64_t check; /* of all after it but the sections that the fingerprint covers */
  uint64_t key;   /* hash of tokenizer, options and labels */
  uint64_t sources, rows, tokens, typed_tokens, origins, exclusions; /* counts */
  uint64_t classes, files, reasons, words, string_bytes;             /* of strings, and bytes of all of them */
  uint64_t task, mapped, pairs, truncated, lost, fingerprint;
  uint64_t tokenizer, from_texts, unlabelled_words;
  uint64_t texts, most_texts;    /* texts: 0 where each row is one */
  uint64_t numbered, word_bytes; /* tokens that have a word's number; bytes of words */
  uint64_t block_count;
  uint64_t losses, queries; /* rows of which it is known how much was cut off, and what the query is */
  uint64_t windows, window_overlap, windows_are_rows, truncation, truncation_side;
  brim_cache_block blocks[BRIM_MOST_BLOCKS];
} brim_cache_header;

/* A file that the rows come from. */
typedef struct brim_cache_source {
  uint64_t size, hash; /* of its bytes */
} brim_cache_source;

/* What a cache is made from. */
typedef struct brim_cache_origin {
  uint64_t key;
  const char **paths;         /* [count], borrowed */
  brim_cache_source *sources; /* [count] */
  size_t count;
} brim_cache_origin;

/* Writes a sealed dataset, complete or not at all. */
int brim_cache_write(brim_runtime *runtime, const char *path, const brim_cache_origin *origin, const brim_dataset *dataset,
                     brim_error *err) BRIM_CHECK;
/* The same through a descriptor, which stays open. */
int brim_cache_write_to(brim_runtime *runtime, int descriptor, const brim_cache_origin *origin, const brim_dataset *dataset,
                        brim_error *err) BRIM_CHECK;
/* Maps a cache. BRIM_E_MISMATCH: it was made from something else, and the message says what differs; BRIM_E_FORMAT: it is
 * damaged; BRIM_E_IO: it cannot be read. `origin` may be NULL: whatever it was made from. */
int brim_cache_read(brim_runtime *runtime, const char *path, const brim_cache_origin *origin, brim_dataset **out,
                    brim_error *err) BRIM_CHECK;
/* The hash that belongs in the header of these bytes, which hold the whole file. False: they are too few for their counts. */
bool brim_cache_check(const void *bytes, size_t size, uint64_t *check);

/* brim_dataset_load with options->cache (cache.c). */
int brim_cache_load(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                    const brim_dataset_options *options, brim_dataset **out, brim_error *err) BRIM_CHECK;

#endif
