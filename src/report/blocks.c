/* blocks.c: batches as they are computed. */
#include "base/number.h"
#include "report/page.h"
#include "report/scale.h"

typedef struct block_sums {
  int64_t rows, tokens, slots;
  int32_t tallest;
} block_sums;

static int32_t height_of(const brim_block *block, int32_t row) {
  const int32_t length = block->lengths[row];
  return length > block->width ? length : block->width;
}

static block_sums sum_blocks(const brim_block *blocks, int count) {
  block_sums sums = {0};
  for (int b = 0; b < count; b++)
    for (int32_t i = 0; i < blocks[b].count; i++) {
      const int32_t height = height_of(&blocks[b], i);
      sums.rows++, sums.tokens += blocks[b].lengths[i], sums.slots += height;
      sums.tallest = height > sums.tallest ? height : sums.tallest;
    }
  return sums;
}

/* All bars of text, or all of padding, as one path. */
static void put_bars(brim_text *out, const brim_block *blocks, int count, const brim_scale *y, double bar, double gap,
                     bool padding) {
  double x = PLOT_LEFT + gap;
  brim_text_printf(out, "<path class=\"%s\" d=\"", padding ? "waste" : "f0");
  for (int b = 0; b < count; b++, x += gap)
    for (int32_t i = 0; i < blocks[b].count; i++, x += bar) {
      const int32_t length = blocks[b].lengths[i], height = height_of(&blocks[b], i);
      const double low = brim_scale_at(y, padding ? length : 0), high = brim_scale_at(y, padding ? height : length);
      if (padding ? height > length : length > 0)
        brim_text_printf(out, "M%.2f %.1fV%.1fh%.2fV%.1fz", x, low, high, bar * 0.86, low);
    }
  brim_text_string(out, "\"/>\n");
}

static void put_numbers(brim_page *page, const block_sums *sums, int count) {
  static const brim_column columns[] = {{"batches", true}, {"rows", true}, {"tokens", true}, {"slots", true}, {"padding", true}};
  char text[5][32];
  const int64_t values[] = {count, sums->rows, sums->tokens, sums->slots};
  const char *cells[5];
  for (int i = 0; i < 4; i++) {
    brim_count_text(values[i], text[i], sizeof text[i]);
    cells[i] = text[i];
  }
  brim_number_format(text[4], sizeof text[4], "%.1f %%",
                     sums->slots ? 100 * (1 - (double)sums->tokens / (double)sums->slots) : 0.0);
  cells[4] = text[4];
  brim_table_markup(&page->out, "of the batches in the picture", columns, 5, cells, 1);
}

void brim_page_blocks(brim_page *page, brim_caption caption, const brim_block *blocks, int count, int32_t tallest) {
  const block_sums sums = sum_blocks(blocks, count);
  const brim_scale y = brim_scale_make(0,
                                       tallest        ? tallest
                                       : sums.tallest ? sums.tallest
                                                      : 1,
                                       false, true, 4, PLOT_BOTTOM, PLOT_TOP);
  const double room = PLOT_RIGHT - PLOT_LEFT, gap = room * 0.12 / (count + 1),
               bar = sums.rows ? room * 0.88 / (double)sums.rows : 0;
  brim_picture_open(page, caption, PLOT_HEIGHT);
  brim_axes_draw(&page->out, NULL, &y, "rows, batch by batch", "tokens");
  put_bars(&page->out, blocks, count, &y, bar, gap, true);
  put_bars(&page->out, blocks, count, &y, bar, gap, false);
  brim_text_string(&page->out,
                   "</svg>\n<ul class=\"legend\"><li><svg class=\"key\" viewBox=\"0 0 24 8\" aria-hidden=\"true\"><rect "
                   "class=\"f0\" width=\"24\" height=\"8\"/></svg> text</li><li><svg class=\"key\" viewBox=\"0 0 24 8\" "
                   "aria-hidden=\"true\"><rect class=\"waste\" width=\"24\" height=\"8\"/></svg> padding</li></ul>\n");
  brim_picture_numbers(page);
  put_numbers(page, &sums, count);
  brim_picture_close(page);
}
