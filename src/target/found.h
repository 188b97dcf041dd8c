/* found.h: what became of single rows, for who looks at the worst, at neighbours, and at what lies apart. */
#ifndef BRIM_TARGET_FOUND_H
#define BRIM_TARGET_FOUND_H
#include "task/rules.h"

typedef struct brim_row_found {
  double loss;                /* what is wrong about it; 0: nothing */
  double label;               /* what it should give; NaN: its right text should come before all others */
  double predicted;           /* what it gives, or its right text does */
  double rival;               /* what the best of the others gives; NaN: there are none */
  uint64_t other;             /* that one: a row, or where a row has further texts, which of them */
  brim_similarity similarity; /* of vectors: what these are */
} brim_row_found;

/* How relevant the documents of a row are: its labels, or of a row without a label the first is (1) and others are not. Labels of
 * all documents but the first are margins, and say no more than that. `text`: which of the row's. */
double brim_relevance(const brim_scored *s, uint64_t row, uint64_t text);
/* A row whose second text is like another row's first. */
typedef struct brim_near {
  uint64_t row;
  double similarity;
} brim_near;

/* Of rows 0, every, 2 every, ..: out [(rows + every - 1) / every]. The data set was checked. */
int brim_find_vectors(const brim_scored *s, uint64_t every, brim_row_found *out, brim_error *err);
int brim_find_scores(const brim_scored *s, uint64_t every, brim_row_found *out, brim_error *err);
/* What a row's label and prediction are in words; `own`: it has other texts itself. */
void brim_say_vectors(const brim_row_found *found, bool own, char *label, char *predicted, size_t size);
void brim_say_scores(const brim_row_found *found, bool own, char *label, char *predicted, size_t size);
/* The best `most` others of a row, best first; returns their number, or -1: there is no memory. */
int brim_nearest_vectors(const brim_scored *s, uint64_t row, int most, brim_near *out);

#endif
