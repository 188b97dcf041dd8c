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

typedef struct brim_label_taker {
  brim_runtime *runtime;
  const brim_labels *known; /* NULL: the mapping is made here */
  brim_task task;           /* AUTO until the first label */
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
  int32_t *tokens; /* of the row that brim_label_taker_words had last */
  size_t token_room;
  uint64_t unlabelled; /* words whose label is null */
  /* After finish, where the mapping was made: [class_count] the class that each became, -1: none; and which labels are none. */
  int32_t *rank;
  int none;
  char first_text[64], first_file[256];
  int64_t first_line;
} brim_label_taker;

void brim_label_taker_init(brim_label_taker *taker, brim_runtime *runtime, brim_task task, const brim_labels *known);
void brim_label_taker_free(brim_label_taker *taker);
/* The next row's label; its place is for messages. */
int brim_label_taker_add(brim_label_taker *taker, const brim_label_source *label, brim_error *err) BRIM_CHECK;
/* The same where the row's words have a label each, without the tokens: taker->values are those of this row's words alone. */
int brim_label_taker_tags(brim_label_taker *taker, const brim_label_source *label, brim_error *err) BRIM_CHECK;
/* And with them: those of its tokens go into `sample`, by sample->words, and are good until
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
 * plain numbers or, where all are Hugging Face's placeholders "LABEL_0", "LABEL_1", .., the class of that number. Regression: -1.
 * Searches all names. */
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
/* The first label says what the task is, where it is not given; later ones are of its kind. */
int brim_label_taker_kind(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at,
                          brim_error *err) BRIM_CHECK;
void brim_label_taker_where(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at);
int brim_label_taker_list(brim_label_taker *taker, const brim_label_source *source, brim_error *err) BRIM_CHECK;

/* The next item of a list. */
typedef struct brim_label_item {
  const char *text;
  size_t length, number; /* number: of the item, from 0 */
  char form;
} brim_label_item;
/* The item at *at (a byte; 0 at first, with item->number 0), which moves after it; false after the last. */
bool brim_label_item_next(const brim_label_source *source, size_t *at, brim_label_item *item);

#endif
