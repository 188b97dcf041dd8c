/* labels.h: turns the labels of a source, one after another, into numbers. The rules are in brim/data.h. */
#ifndef BRIM_DATA_LABELS_H
#define BRIM_DATA_LABELS_H
#include "base/hashmap.h"
#include "data/blocks.h"
#include "data/label_text.h"
#include "task/task.h"

#define BRIM_MAX_CLASSES (1 << 24) /* class ids are kept as floats, which are exact up to here */

/* A class in the order of first appearance. */
typedef struct brim_label_class {
  char *name;
  brim_label_kind kind;
  bool plain;    /* a plain number wherever it is */
  bool string;   /* a string of JSON, Arrow or Python somewhere */
  double real;   /* of numbers */
  int32_t first; /* place in the order of appearance */
  size_t listed; /* 1 + the last row whose list has it; 0: none */
} brim_label_class;

/* A row's label as it is in the data. */
typedef struct brim_label_source {
  const char *text;
  size_t length;
  bool list; /* items with a NUL after each */
  const char *file;
  int64_t line;
  const char *forms; /* a brim_label_form for each item, or for the label; NULL: BRIM_FORM_TEXT */
} brim_label_source;

typedef struct brim_label_taker brim_label_taker;

/* A type of label: how a cell of data is read, and what becomes of it. It is chosen once, by the shape of the task
 * (label_types.c), and all that this folder asks of a task's labels. */
typedef struct brim_label_type {
  bool words;   /* texts are lists of words, and a cell has a label of each */
  bool made;    /* labels are made of the texts: no cell is read */
  bool empty;   /* an empty cell is a label */
  bool named;   /* labels are classes, which have names; else numbers */
  bool each;    /* a label has a number for each output; else one */
  bool scores;  /* numbers, as many as the rows have: a mapping says nothing of how many */
  bool ragged;  /* and rows may have different numbers of them */
  brim_per per; /* what has a label */
  int none;     /* which numbers may say that there is none: BRIM_NONE_.. or'ed */
  int (*take)(brim_label_taker *taker, const brim_label_source *source, brim_error *err);
  /* The mapping that the labels make, and their numbers by it. */
  int (*finish)(brim_label_taker *taker, brim_labels *labels, brim_error *err);
} brim_label_type;
/* Of AUTO: one that is not known yet. */
const brim_label_type *brim_label_type_of(brim_task task);
/* What a reader is to know of a task's labels. */
void brim_label_type_read(brim_task task, brim_source_options *source);

struct brim_label_taker {
  brim_runtime *runtime;
  const brim_labels *known;    /* NULL: the mapping is made here */
  brim_task task;              /* AUTO until the first label */
  const brim_label_type *type; /* of `task` */
  bool task_given;
  bool remembers;   /* `ids` has all names of `known` */
  brim_hashmap ids; /* label text -> class by appearance, or id in `known` */
  brim_label_class *classes;
  size_t class_count, class_capacity;
  /* [count] class or value; of lists [rows, width], but the classes of a mapping that is being made: row after row */
  float *values;
  size_t count, capacity;
  size_t *ends; /* [kept] of each row among those classes */
  size_t kept, ends_capacity;
  size_t rows;  /* taken */
  size_t width; /* values of a row of several; 0: not known yet */
  bool lists;   /* the first label was a list */
  bool hot;     /* of booleans, or of 0.0 and 1.0: one for every label there is */
  bool both;    /* every list had two items, 0 and 1 */
  bool begun;   /* first_... are set */
  brim_label_kind first_kind;
  bool first_string;
  int32_t *tokens; /* of the row that brim_label_taker_words had last */
  size_t token_room;
  uint64_t unlabelled; /* words whose label is null */
  /* After finish, where the mapping was made: [class_count] the class that each became, -1: none; and which labels are none. */
  int32_t *rank;
  int none;
  char first_text[64], first_file[256];
  int64_t first_line;
};

void brim_label_taker_init(brim_label_taker *taker, brim_runtime *runtime, brim_task task, const brim_labels *known);
/* The same for rows in memory: of embeddings and rerankers a mapping says the task alone, and the rows how many scores each has.
 */
void brim_label_taker_init_of_rows(brim_label_taker *taker, brim_runtime *runtime, brim_task task, const brim_labels *known);
void brim_label_taker_free(brim_label_taker *taker);
/* The next row's label; its place is for messages. Where its words have a label each, taker->values are those of this row's
 * words alone. */
int brim_label_taker_add(brim_label_taker *taker, const brim_label_source *label, brim_error *err) BRIM_CHECK;
/* The same, and those of the row's tokens go into `sample`, by sample->words, and are good until
 * the next is added. Without a known mapping they are numbered again by brim_dataset_renumber with `rank`, after finish. */
int brim_label_taker_words(brim_label_taker *taker, const brim_label_source *label, brim_sample *sample,
                           brim_error *err) BRIM_CHECK;
/* The numbers of all rows so far; what is known of the mapping stays. */
void brim_label_taker_forget(brim_label_taker *taker);
/* With a known mapping: the numbers of the row that was added last go into `sample` and are forgotten here; they are good until
 * the next is added. */
void brim_label_taker_pop(brim_label_taker *taker, brim_sample *sample);
/* The mapping and the numbers, which are the caller's now; NaN where the label is none. */
int brim_label_taker_finish(brim_label_taker *taker, brim_labels *labels, float **values, brim_error *err) BRIM_CHECK;

/* The class of a label, or -1: the class of that name; else, for a plain number, the class of that value where all names are
 * plain numbers, or the class of that number where all are Hugging Face's placeholders "LABEL_0", "LABEL_1", .. and, of tags,
 * where not all are numbers. Regression: -1. Searches all names. */
int32_t brim_labels_find(const brim_labels *labels, const char *text, size_t length, char form);
/* The block that such labels make. */
brim_block_shape brim_labels_shape(const brim_labels *labels);
/* Which of -1 and -100 are none with this mapping: BRIM_NONE_.. or'ed. */
int brim_labels_none(const brim_labels *labels);

/* ---- for the files of the taker ---- */

/* Bytes of a label that a message shows: few, and no half character. */
int brim_label_shown(const char *text, size_t length, size_t most);
int brim_label_taker_value(brim_label_taker *taker, float value, brim_error *err) BRIM_CHECK;
/* A finite number of a regression. */
int brim_label_taker_number(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at,
                            brim_error *err) BRIM_CHECK;
/* A class of a mapping that is being made. */
int brim_label_taker_class(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at,
                           brim_error *err) BRIM_CHECK;
/* A class of the known mapping; what was found once is remembered. */
int brim_label_taker_known(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at, int32_t *id,
                           brim_error *err) BRIM_CHECK;
/* Without a task labels are of the first one's kind. */
int brim_label_taker_kind(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at,
                          brim_error *err) BRIM_CHECK;
void brim_label_taker_where(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at);
/* The mapping of all names that were taken, into `labels`; taker->rank becomes the class of each. */
int brim_label_taker_map(brim_label_taker *taker, brim_labels *labels, brim_error *err) BRIM_CHECK;

/* ---- label_lists.c */
/* A row's set of names, or its 0 or 1 for every name there is. */
int brim_label_take_set(brim_label_taker *taker, const brim_label_source *source, brim_error *err) BRIM_CHECK;
/* Whether the first row's list says 0.0 or 1.0, or a boolean, for every name there is. */
bool brim_label_is_hot(const brim_label_taker *taker, const brim_label_source *source);
/* What was taken last are all labels of a row whose mapping is being made. */
int brim_label_end_row(brim_label_taker *taker, brim_error *err) BRIM_CHECK;
/* A row's list of numbers, as long as every row's. */
int brim_label_take_numbers(brim_label_taker *taker, const brim_label_source *source, brim_error *err) BRIM_CHECK;

/* The next item of a list. */
typedef struct brim_label_item {
  const char *text;
  size_t length, number; /* number: of the item, from 0 */
  char form;
} brim_label_item;
/* The item at *at (a byte; 0 at first, with item->number 0), which moves after it; false after the last. */
bool brim_label_item_next(const brim_label_source *source, size_t *at, brim_label_item *item);

#endif
