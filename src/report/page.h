/* page.h: what the parts of a page share: escaped text, pictures and their frame. */
#ifndef BRIM_REPORT_PAGE_H
#define BRIM_REPORT_PAGE_H
#include "brim/report.h"

struct brim_page {
  brim_runtime *runtime;
  brim_text out; /* what is in <main> */
  char *title;
  int pictures; /* so far: makes their ids */
  bool in_grid; /* pictures that follow each other are side by side where there is room */
};

/* Text as text: & < > and quotes escaped, malformed UTF-8 and control characters as U+FFFD. */
void brim_markup(brim_text *out, const char *text, size_t length);
void brim_markup_string(brim_text *out, const char *text);
/* The same, at most `columns` columns wide: what is longer ends in an ellipsis. */
void brim_markup_fitted(brim_text *out, const char *text, int columns);

/* Pictures are drawn in a space of PICTURE_WIDTH units, which is about the width of a phone: letters stay readable there, and on
 * wide screens several pictures are side by side. */
enum { PICTURE_WIDTH = 360 };

/* Opens the picture; SVG follows, in a space of PICTURE_WIDTH x height. */
void brim_picture_open(brim_page *page, brim_caption caption, int height);
/* After the SVG; the numbers as a table follow (brim_table_markup) until brim_picture_close. */
void brim_picture_numbers(brim_page *page);
void brim_picture_close(brim_page *page);
/* Between the SVG and the numbers: what the colours mean. */
void brim_picture_legend(brim_page *page, const char *const *names, int count);
/* The class of the n-th colour: "c0" to "c5", again from the first after them. */
int brim_picture_color(int index);

void brim_table_markup(brim_text *out, const char *caption, const brim_column *columns, int column_count,
                       const char *const *cells, int row_count);

/* The style sheet of a page and its pictures. */
extern const char brim_page_style[];

void brim_page_advice(brim_page *page, const char *text); /* a paragraph that stands out */
/* A text of the user's data under a line that says what it is; long ones scroll. */
void brim_page_passage(brim_page *page, const char *caption, const char *text, size_t length);

/* counts[truth * count + predicted]. */
void brim_page_confusion(brim_page *page, brim_caption caption, const char *const *names, const uint64_t *counts, int count);

/* Batches as they are computed: a bar a row, as high as it is long, and what is filled up to `width` (0: nothing) above it. At
 * most a few hundred rows are good to look at. */
typedef struct brim_block {
  const int32_t *lengths;
  int32_t count, width;
} brim_block;
/* `tallest`: the scale, so that several pictures can be compared; 0: this picture's own. */
void brim_page_blocks(brim_page *page, brim_caption caption, const brim_block *blocks, int count, int32_t tallest);

#endif
