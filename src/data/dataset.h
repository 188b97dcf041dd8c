/* dataset.h: the inside of brim_dataset, and how its rows are put in.
 *
 * Tokens lie in chunks that never move, each twice as large as the one before up to a limit, so that growing neither copies
 * tokens nor ever needs twice the memory. A row lies in one chunk. */
#ifndef BRIM_DATA_DATASET_H
#define BRIM_DATA_DATASET_H
#include "brim/data.h"
#include "data/blocks.h"
#include "data/select.h"

typedef struct brim_chunk {
  struct brim_chunk *before;
  size_t used, size; /* bytes */
  unsigned char bytes[];
} brim_chunk;

struct brim_dataset {
  brim_runtime *runtime;
  brim_chunk *tokens, *types, *spare;
  uint64_t rows;
  /* [rows] each; they grow together. */
  const int32_t **ids;
  int32_t *lengths;
  /* Where rows have several texts: [rows + 1] where each row's begin, and [firsts[rows]] their tokens. NULL as long as each row
   * is one text. */
  uint64_t *firsts;
  int32_t *text_lengths;
  const uint8_t **type_ids;                  /* NULL as long as all are 0; rows of which all are 0 have NULL */
  brim_block_shape shapes[BRIM_MOST_BLOCKS]; /* [block_count] the label's, then further ones, which all rows have */
  brim_block blocks[BRIM_MOST_BLOCKS];
  int block_count;
  /* Where texts were lists of words: of each row the numbers of its tokens' words, and its words, a NUL after each. */
  struct brim_row_words {
    const int32_t *numbers;
    const char *text;
    size_t length;
  } *words;
  uint64_t *labelled_tokens; /* [rows + 1] before each row; NULL likewise, and until the dataset is sealed */
  uint64_t *origins;         /* NULL as long as row i comes from record i */
  uint32_t *losses;          /* tokens cut off each; NULL as long as nothing is */
  uint64_t *queries;         /* as in brim_sample; NULL as long as none is known */
  size_t losses_room, queries_room, ids_room, lengths_room, firsts_room, text_room, types_room, origins_room, words_room;

  uint64_t token_count, truncated, lost, fingerprint;
  uint64_t unlabelled_words; /* whose label is null */
  uint64_t stamp;            /* of the files that its rows are from: brim_source_stamp */
  uint64_t tokenizer;        /* brim_tokenizer_content of the one that encoded the rows; 0: not known */
  int32_t longest, highest_id;
  int32_t most_texts;     /* of a row, or that it could have had */
  brim_cutting cutting;   /* of the texts that are cut, as it was said */
  brim_windowing windows; /* most above 1: a row's texts are windows of one, and its answer is the mean of theirs; or */
  bool windows_are_rows;  /* of masked words each is a row */
  uint8_t highest_type;
  bool pairs, labelled, mapped; /* mapped: there is a mapping of labels */
  bool from_texts;              /* so that `pairs` is known */
  bool numbered;                /* labels of tokens are their numbers: they are to be masked */
  bool prompted;                /* it is known that texts begin with so many tokens of prompts: */
  int32_t prompt_tokens[BRIM_MOST_PROMPTS];
  bool lent;          /* labels alone are its own, all else is another data set's (relabel.c) */
  void *own_labels;   /* lent: where those of tokens lie */
  int32_t *own_ids;   /* lent: likewise, where the tokens are its own too (remask) */
  brim_labels labels; /* when mapped */
  brim_exclusions excluded;
  void *map; /* a cache, in which all of a row, and origins, then lie; NULL: they are its own */
  size_t map_size;
  int map_file; /* the descriptor of the cache's file; -1: it is a copy in memory */
};

brim_dataset *brim_dataset_new(brim_runtime *runtime, brim_error *err);
/* What rows of such a source, encoded so by this tokenizer, may have; where there are none yet, which blocks too. */
int brim_dataset_expect(brim_dataset *dataset, const brim_source_options *source, const brim_encode_options *encode,
                        const brim_tokenizer *tokenizer, brim_error *err) BRIM_CHECK;
/* Back to no rows, with the memory of those that were. Only for datasets that were neither sealed nor finished. */
void brim_dataset_clear(brim_dataset *dataset);
/* Is the file of a cache, if there is one, as long as it was? Who cuts it takes memory away from under the rows: to be asked
 * before they are read. BRIM_E_IO. */
int brim_dataset_intact(const brim_dataset *dataset, brim_error *err) BRIM_CHECK;
/* Adds a row: copies. sample->row is its origin; sample->label is kept if `labelled` (for all rows or for none), of further
 * blocks those that the data set has. The caller has checked that length > 0, ids >= 0 and that lengths of texts are those of the
 * row. */
int brim_dataset_add(brim_dataset *dataset, const brim_sample *sample, uint64_t lost, bool labelled, brim_error *err) BRIM_CHECK;
/* Whether tokens' words (-1: none) are among those of `text`, of so many bytes, a NUL after each. */
bool brim_words_fit(const int32_t *numbers, int32_t length, const char *text, size_t bytes);
/* Adds rows of ids alone, one after another in memory: copies. Their origins are their numbers. */
int brim_dataset_add_run(brim_dataset *dataset, const int32_t *ids, const int32_t *lengths, size_t count, uint64_t truncated,
                         uint64_t lost, brim_error *err) BRIM_CHECK;
/* A reader's row as a sample that is called `name` and is to be added: all but its labels, which of masked words are numbers.
 * Borrows from the row. BRIM_E_FORMAT: one of its texts has no token. A message has its place. */
int brim_dataset_sample_of(brim_dataset *dataset, const brim_encoded *row, uint64_t name, brim_sample *out,
                           brim_error *err) BRIM_CHECK;
/* The labels of all rows, [rows, width], whose memory it takes; NULL: these are of tokens, and are there. */
void brim_dataset_take_labels(brim_dataset *dataset, float *values, int32_t width);
/* A row's numbers of block b, one of its blocks; NULL: none. */
static inline const void *brim_dataset_block(const brim_dataset *dataset, int b, uint64_t row) {
  const brim_block *block = &dataset->blocks[b];
  if (block->rows)
    return block->rows[row];
  return block->flat ? (const char *)block->flat + row * brim_block_bytes(&dataset->shapes[b]) : NULL;
}
/* What a row has its numbers of. */
static inline size_t brim_dataset_units(const brim_dataset *dataset, int b, uint64_t row) {
  const uint64_t *firsts = dataset->firsts;
  const size_t texts = firsts ? (size_t)(firsts[row + 1] - firsts[row]) : 1;
  return brim_block_units(&dataset->shapes[b], 1, texts, (size_t)dataset->lengths[row]);
}
/* Labels of rows, [rows, width], and where those of each row's tokens are: NULL where it has none, or they are the other. */
static inline float *brim_dataset_row_labels(const brim_dataset *dataset) {
  return dataset->blocks[BRIM_LABEL_BLOCK].flat;
}
static inline const int32_t *const *brim_dataset_labels_of_tokens(const brim_dataset *dataset) {
  return (const int32_t *const *)dataset->blocks[BRIM_LABEL_BLOCK].rows;
}
/* Takes out some rows, in rising order, before it is sealed; what is left keeps its origins. Not where rows have words. */
int brim_dataset_drop(brim_dataset *dataset, const uint64_t *rows, size_t count, brim_error *err) BRIM_CHECK;
/* Where labels of tokens are not the final ones: label i becomes to[i]. */
void brim_dataset_renumber(brim_dataset *dataset, const int32_t *to);
/* Finds where each row's labelled tokens begin, if they have labels. */
int brim_dataset_count_labels(brim_dataset *dataset, brim_error *err) BRIM_CHECK;
/* Labels of tokens are their numbers (brim_encode_options.numbering): the data set is one of masked words. */
int brim_dataset_set_numbered(brim_dataset *dataset, brim_error *err) BRIM_CHECK;
/* Gives back unused room and finishes: the last step. */
int brim_dataset_seal(brim_dataset *dataset, brim_error *err) BRIM_CHECK;
/* Whether the row has a text without tokens. `lengths` NULL: it is one, of `length`. */
bool brim_lacks_tokens(size_t length, const int32_t *lengths, int32_t count);
/* Computes the fingerprint, and whether every row has a label. */
void brim_dataset_finish(brim_dataset *dataset);
/* brim_dataset_load without a cache (load.c). */
int brim_dataset_encode(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                        const brim_dataset_options *options, brim_dataset **out, brim_error *err) BRIM_CHECK;

#endif
