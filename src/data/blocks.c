#include "data/blocks.h"

#include <math.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/status.h"

enum { WIDEST = 1 << 20 };

/* ---- shapes ------------------------------------------------------------------------------------------------- */

brim_block_shape brim_row_label_shape(int32_t width) {
  return (brim_block_shape){.name = "label", .per = BRIM_PER_ROW, .width = width};
}

brim_block_shape brim_token_label_shape(void) {
  return (brim_block_shape){.name = "label", .per = BRIM_PER_TOKEN, .integers = true, .width = 1};
}

uint64_t brim_block_hash(const brim_block_shape *shape, uint64_t hash) {
  const int32_t numbers[] = {(int32_t)shape->per, shape->integers, shape->width};
  return brim_hash64(numbers, sizeof numbers, brim_hash64(shape->name, strlen(shape->name), hash));
}

int brim_block_find(const brim_block_shape *shapes, int count, const char *name) {
  for (int b = 0; b < count; b++)
    if (strcmp(shapes[b].name, name) == 0)
      return b;
  return -1;
}

static int check_shape(const brim_block_shape *shape, brim_error *err) {
  if (!memchr(shape->name, 0, sizeof shape->name) || !shape->name[0] || strcmp(shape->name, "label") == 0)
    return brim_error_set(err, BRIM_E_USAGE, "a block has a name of 1 to %d bytes, and \"label\" is the first one's",
                          BRIM_BLOCK_NAME - 1);
  if (shape->per < BRIM_PER_ROW || shape->per > BRIM_PER_TOKEN || shape->width < 0 || shape->width > WIDEST)
    return brim_error_set(err, BRIM_E_USAGE, "block %s: a row, text or token has 1 to %d numbers", shape->name, WIDEST);
  return BRIM_OK;
}

int brim_blocks_check(const brim_block_shape *further, int count, brim_error *err) {
  if (count < 0 || count >= BRIM_MOST_BLOCKS)
    return brim_error_set(err, BRIM_E_USAGE, "rows have at most %d blocks besides the label, not %d", BRIM_MOST_BLOCKS - 1,
                          count);
  for (int b = 0; b < count; b++) {
    BRIM_TRY(check_shape(&further[b], err));
    if (brim_block_find(further, b, further[b].name) >= 0)
      return brim_error_set(err, BRIM_E_USAGE, "two blocks are named %s: give each its own name", further[b].name);
  }
  return BRIM_OK;
}

int brim_block_columns_check(const brim_source_options *o, bool files, brim_error *err) {
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
  BRIM_TRY(brim_given_array(err, "blocks", o->blocks, "block_count", o->block_count));
  for (int b = 0; b < o->block_count && b < BRIM_MOST_BLOCKS; b++) {
    shapes[b] = o->blocks[b].shape;
    if ((files && !o->blocks[b].column) || shapes[b].per == BRIM_PER_TOKEN)
      return brim_error_set(err, BRIM_E_USAGE, "block %.*s: a column's numbers are of rows or of texts", BRIM_BLOCK_NAME,
                            shapes[b].name);
  }
  return brim_blocks_check(shapes, o->block_count, err);
}

int brim_blocks_allow_windows(const brim_block_shape *shapes, int count, brim_error *err) {
  for (int b = 0; b < count; b++)
    if (shapes[b].per == BRIM_PER_TEXT)
      return brim_error_set(err, BRIM_E_USAGE,
                            "block %s is of texts, and windows make a row's texts: give it of rows, or no windows",
                            shapes[b].name);
  return BRIM_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

void brim_block_fill_none(const brim_block_shape *shape, void *to, size_t units) {
  const size_t count = units * (size_t)shape->width;
  for (size_t i = 0; i < count && shape->integers; i++)
    ((int32_t *)to)[i] = BRIM_NO_LABEL;
  for (size_t i = 0; i < count && !shape->integers; i++)
    ((float *)to)[i] = NAN;
}

void brim_block_one_nan(const brim_block_shape *shape, void *numbers, size_t units) {
  const size_t count = shape->integers ? 0 : units * (size_t)shape->width;
  float *at = numbers;
  for (size_t i = 0; i < count; i++)
    if (isnan(at[i]))
      at[i] = NAN;
}

static int fits(brim_block_shape *shape, size_t numbers, int32_t texts, brim_error *err) {
  const size_t units = brim_block_units(shape, 1, (size_t)texts, 1), width = (size_t)shape->width;
  if (width == 0 && numbers > 0 && numbers % units == 0 && numbers / units <= WIDEST)
    shape->width = (int32_t)(numbers / units);
  if (shape->width > 0 && numbers == units * (size_t)shape->width)
    return BRIM_OK;
  if (shape->per == BRIM_PER_TEXT)
    return brim_error_set(err, BRIM_E_FORMAT, "%zu number%s of %s for %d text%s: each has %s%d", numbers, numbers == 1 ? "" : "s",
                          shape->name, (int)texts, texts == 1 ? "" : "s", width ? "" : "as many, at least ",
                          width ? (int)width : 1);
  return brim_error_set(err, BRIM_E_FORMAT, "%zu number%s of %s: a row has %s%d%s", numbers, numbers == 1 ? "" : "s", shape->name,
                        width ? "" : "at least ", width ? (int)width : 1, width ? ", and every row has as many" : "");
}

int brim_blocks_take(brim_block_shape *shapes, int count, const void *const *from, const size_t *numbers, brim_sample *sample,
                     brim_error *err) {
  for (int b = BRIM_LABEL_BLOCK + 1; b < count; b++) {
    BRIM_TRY(fits(&shapes[b], from[b] ? numbers[b] : 0, sample->text_lengths ? sample->text_count : 1, err));
    sample->blocks[b] = from[b];
  }
  return BRIM_OK;
}
