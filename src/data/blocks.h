/* blocks.h: numbers that come with rows besides ids: what each block is, and where a data set keeps it. The first is the label.
 */
#ifndef BRIM_DATA_BLOCKS_H
#define BRIM_DATA_BLOCKS_H
#include "brim/data.h"

enum { BRIM_LABEL_BLOCK = 0, BRIM_NUMBER = 4 /* bytes of a float and of an int32 */ };

/* A block of rows lies in one piece, so that labels may come when all rows are there; others lie row by row among the ids. */
typedef struct brim_block {
  void *flat;        /* of rows: [rows, width] */
  const void **rows; /* of texts and tokens: [rows] where each row's are. This and `flat` NULL: no row has any */
  size_t room;       /* of the one that is in use */
} brim_block;

brim_block_shape brim_row_label_shape(int32_t width);
brim_block_shape brim_token_label_shape(void);
uint64_t brim_block_hash(const brim_block_shape *shape, uint64_t hash);
/* What a block has `width` numbers of, in something of so many rows, texts and tokens. */
static inline size_t brim_block_units(const brim_block_shape *shape, size_t rows, size_t texts, size_t tokens) {
  return shape->per == BRIM_PER_ROW ? rows : shape->per == BRIM_PER_TEXT ? texts : tokens;
}
/* Bytes of the numbers of each. */
static inline size_t brim_block_bytes(const brim_block_shape *shape) {
  return (size_t)shape->width * BRIM_NUMBER;
}
/* `units` of them that are none. */
void brim_block_fill_none(const brim_block_shape *shape, void *to, size_t units);
/* One NaN is written for all, so that equal rows have equal bytes. */
void brim_block_one_nan(const brim_block_shape *shape, void *numbers, size_t units);

/* Checks blocks besides the label: of a caller's rows, and of a source, whose files have columns of them. */
int brim_blocks_check(const brim_block_shape *further, int count, brim_error *err) BRIM_CHECK;
int brim_block_columns_check(const brim_source_options *options, bool files, brim_error *err) BRIM_CHECK;
/* Nobody knows before how many windows a text makes: then no block is of texts. */
int brim_blocks_allow_windows(const brim_block_shape *shapes, int count, brim_error *err) BRIM_CHECK;
/* The further blocks of a row, of which so many numbers were read, go into the sample, which has its texts. A width that is not
 * known becomes known. */
int brim_blocks_take(brim_block_shape *shapes, int count, const void *const *from, const size_t *numbers, brim_sample *sample,
                     brim_error *err) BRIM_CHECK;

/* ---- lists in files (block_lists.c) ---- */

/* Numbers of 4 bytes, those of one row after another's. */
typedef struct brim_numbers {
  void *at; /* [count] */
  size_t count, room;
} brim_numbers;
/* Appends those of a list as JSON writes it: [1, 2] or, of texts, [[1, 2], [3, 4]]. */
int brim_numbers_read(brim_numbers *numbers, brim_runtime *runtime, const brim_block_shape *shape, brim_string list,
                      brim_error *err) BRIM_CHECK;

#endif
