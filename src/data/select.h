/* select.h: which rows are read, and the list of those that are not. */
#ifndef BRIM_DATA_SELECT_H
#define BRIM_DATA_SELECT_H
#include "brim/data.h"

/* Excluded rows, and the strings that they point to. */
typedef struct brim_exclusions {
  brim_runtime *runtime;
  brim_exclusion *items;
  size_t count, capacity;
  char **reasons; /* [reason_count] */
  int reason_count;
  char **files; /* [file_count] names, each once as long as files come one after another */
  size_t file_count, file_capacity;
  char **words; /* [word_count] reasons of damaged rows */
  size_t word_count, word_capacity;
} brim_exclusions;

void brim_exclusions_free(brim_exclusions *exclusions);

typedef struct brim_selection {
  int64_t min_chars;
  char **values; /* [where_count] what each condition asks for */
  int where_count;
  bool forget;              /* keep no list */
  brim_exclusions excluded; /* its reasons: 0 too few characters, 1 + i condition i does not hold, then no label, a label that is
                               none */
} brim_selection;

int brim_selection_init(brim_selection *selection, brim_runtime *runtime, const brim_source_options *options,
                        brim_error *err) BRIM_CHECK;
void brim_selection_free(brim_selection *selection);
/* Does condition `index` hold for the value? NULL is no value. */
bool brim_selection_holds(const brim_selection *selection, int index, const char *value, size_t length);
bool brim_selection_long_enough(const brim_selection *selection, const char *text, size_t length);
int brim_selection_exclude(brim_selection *selection, int reason, uint64_t row, int64_t line, const char *file,
                           brim_error *err) BRIM_CHECK;
/* A damaged row; copies `why`. */
int brim_exclusions_add_damaged(brim_exclusions *list, const char *why, uint64_t row, int64_t line, const char *file,
                                brim_error *err) BRIM_CHECK;
/* A row whose label says that there is none. */
int brim_exclusions_add_none(brim_exclusions *list, uint64_t row, int64_t line, const char *file, brim_error *err) BRIM_CHECK;
/* By row. */
void brim_exclusions_sort(brim_exclusions *list);
/* Forgets the exclusions so far. */
void brim_selection_restart(brim_selection *selection);

/* Bytes of the white space character (as Python's str.isspace has it) that begins here; 0: there is none. */
size_t brim_space_length(const char *text, size_t length);

#endif
