/* blocks.h: numbers that come with rows besides the label: columns of files, or arrays in memory. */
#ifndef BRIM_PYTHON_BLOCKS_H
#define BRIM_PYTHON_BLOCKS_H
#include "core.h"

typedef struct core_blocks {
  int count;
  const brim_block_column *columns; /* [count] as long as `held` */
  PyObject *held;
  core_array *values[BRIM_MOST_BLOCKS]; /* numbers of all rows; NULL: they are in a column */
  core_array *begins[BRIM_MOST_BLOCKS]; /* [rows + 1] where each row's begin */
} core_blocks;

/* Takes "blocks" out of the options: None, or a list of (name, column, per, integers, width, values, begins), of which the last
 * two are None for files. To be freed whatever comes back. */
bool core_blocks_take(core_state *state, PyObject *module, PyObject *options, core_blocks *out);
bool core_blocks_read(core_state *state, PyObject *module, PyObject *list, core_blocks *out);
void core_blocks_free(core_blocks *blocks);
/* Those of a row in memory, from [1] on. */
void core_blocks_row(const core_blocks *blocks, uint64_t row, const void **values, size_t *numbers);
/* Whether each has numbers for so many rows. */
bool core_blocks_fit(const core_blocks *blocks, Py_ssize_t rows);

#endif
