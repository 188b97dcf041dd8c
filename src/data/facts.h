/* facts.h: what the library alone asks of a data set. */
#ifndef BRIM_DATA_FACTS_H
#define BRIM_DATA_FACTS_H
#include "brim/data.h"

int32_t brim_dataset_highest_id(const brim_dataset *dataset);   /* to check against a model's vocabulary */
int32_t brim_dataset_highest_type(const brim_dataset *dataset); /* to check against a model's token types */
/* 1: the rows are pairs of texts; 0: single texts; -1: nobody said so, and no type id shows it. */
int brim_dataset_pairs_known(const brim_dataset *dataset);
/* How texts were cut where they were encoded, as the options said it. */
brim_cutting brim_dataset_cutting(const brim_dataset *dataset);
/* Numbers of a row's label (brim_labels_width). */
int32_t brim_dataset_label_width(const brim_dataset *dataset);

/* Its tokens are numbered, and not masked yet. */
bool brim_dataset_is_numbered(const brim_dataset *dataset);
/* And the numbers are of words, which shows where one has two tokens. */
bool brim_dataset_numbers_words(const brim_dataset *dataset);

/* Whether texts of a row are windows of one: the row's answer is the mean of theirs, and a word's that of one of them. */
bool brim_dataset_has_windows(const brim_dataset *dataset);
/* Of masked words: whether the row is a later window of the text of the row before. */
bool brim_dataset_row_continues(const brim_dataset *dataset, uint64_t row);
/* Of the row's tokens those that the window before has too, in this row or in the one that it continues. */
uint64_t brim_dataset_row_repeated(const brim_dataset *dataset, uint64_t row);
/* The first number of a row's tokens that is none of a special one; BRIM_NO_LABEL: there is none. Numbers continue from window to
 * window of a text, so that a row of masked words with a number above 0 continues the row before. */
int32_t brim_first_number(const int32_t *numbers, int32_t length);
#endif
