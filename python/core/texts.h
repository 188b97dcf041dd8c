/* texts.h: texts where Python or Arrow keeps them, as brim_dataset_from_texts asks for them. */
#ifndef BRIM_PYTHON_TEXTS_H
#define BRIM_PYTHON_TEXTS_H
#include "blocks.h"

/* The further texts of a row whose cell is a list. */
typedef struct core_further {
  brim_string *at;
  size_t count;
} core_further;

/* One column: a pointer and a length a row; data NULL: nothing there. */
typedef struct core_column {
  core_bytes *rows;
  core_further *further; /* NULL: no cell is a list */
} core_column;

typedef struct core_texts {
  Py_ssize_t count;
  core_column text, pair, label; /* rows NULL: no such column */
  bool pairs_may_lack;           /* a row without a second text is one text */
  char *made;                    /* label texts that were made from numbers */
  void *kept;                    /* Arrow's arrays */
  Py_ssize_t kept_count;
  const core_blocks *blocks; /* borrowed; NULL: there are none */
} core_texts;

/* first: the number of the first row, in errors. */
bool core_texts_lists(core_state *state, core_texts *texts, PyObject *text, PyObject *pair, PyObject *label, Py_ssize_t first);
/* capsule: "arrow_array_stream"; it is consumed. text NULL: "text"; pair and label NULL: "text_pair" and "label" if there are. */
bool core_texts_arrow(core_texts *texts, PyObject *capsule, const char *text, const char *pair, const char *label);
void core_texts_free(core_texts *texts);
/* A brim_text_row_fn. */
int core_texts_row(void *context, uint64_t index, brim_text_row *out, brim_error *error);

#endif
