/* nfx.c: decompose, order, compose. In the work buffer `from` is the combining class and `to` the change (as the rewriter means
 * it, an int32). */
#include "text/nfx.h"
#include "base/status.h"
#include "text/unicode.h"
#include <string.h>

/* Stable order by combining class of items[0..count), all of non-zero class. After them there is room for as many again. */
static void order_marks(brim_rune *items, size_t count) {
  if (count <= 16) {
    for (size_t i = 1; i < count; i++) {
      brim_rune item = items[i];
      size_t j = i;
      for (; j > 0 && items[j - 1].from > item.from; j--)
        items[j] = items[j - 1];
      items[j] = item;
    }
    return;
  }
  size_t starts[257] = {0};
  for (size_t i = 0; i < count; i++)
    starts[items[i].from + 1]++;
  for (int class = 1; class < 257; class++)
    starts[class] += starts[class - 1];
  memcpy(items + count, items, count * sizeof *items);
  for (size_t i = 0; i < count; i++)
    items[starts[items[count + i].from]++] = items[count + i];
}

static int decompose(bool compatible, const brim_rune *in, size_t count, brim_runes *work, brim_error *err) {
  size_t marks = 0; /* so many items at the end wait to be ordered */
  work->count = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t decomposed[BRIM_DECOMPOSITION_MAX];
    int n = brim_char_decompose(in[i].code, compatible, decomposed);
    BRIM_TRY(brim_runes_reserve(work, (size_t)n + 2 * (marks + (size_t)n), err));
    for (int j = 0; j < n; j++) {
      uint32_t class = decomposed[j] < 0x300 ? 0 : brim_char_combining(decomposed[j]);
      if (class == 0) {
        if (marks > 1)
          order_marks(work->at + work->count - marks, marks);
        marks = 0;
      } else {
        marks++;
      }
      work->at[work->count++] = (brim_rune){decomposed[j], class, j > 0};
    }
  }
  if (marks > 1)
    order_marks(work->at + work->count - marks, marks);
  return BRIM_OK;
}

static void compose(brim_runes *work) {
  brim_rune *at = work->at;
  size_t starter = SIZE_MAX, out = 0;
  int64_t last = -1; /* class of the last mark between the starter and what comes */
  for (size_t i = 0; i < work->count; i++) {
    brim_rune item = at[i];
    if (starter != SIZE_MAX && last < (int64_t)item.from) {
      uint32_t composite = brim_char_compose(at[starter].code, item.code);
      if (composite) {
        at[starter].code = composite;
        at[starter].to += item.to - 1;
        continue;
      }
    }
    if (item.from == 0) {
      starter = out;
      last = -1;
    } else if (starter != SIZE_MAX) {
      last = item.from;
    }
    at[out++] = item;
  }
  work->count = out;
}

int brim_normalize_form(brim_form form, const brim_rune *in, size_t count, uint32_t origin, brim_runes *work, brim_runes *out,
                        brim_error *err) {
  BRIM_TRY(decompose(form.compatible, in, count, work, err));
  if (form.compose)
    compose(work);
  brim_rewriter rewriter = {.old = in, .count = count, .origin = origin, .out = out};
  for (size_t i = 0; i < work->count; i++)
    BRIM_TRY(brim_rewriter_put(&rewriter, work->at[i].code, (int32_t)work->at[i].to, err));
  return BRIM_OK;
}
