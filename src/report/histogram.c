/* histogram.c: counts as bars of blocks. */
#include "brim/report.h"

#include <stdio.h>
#include <string.h>

/* The smallest of 1, 2, 5, 10, 20, 25, 50, 100, ... that needs at most `lines` bins for `count` values. */
static int64_t round_bin(int64_t count, int lines) {
  static const int steps[] = {10, 20, 25, 50};
  if (count <= lines)
    return 1;
  for (int64_t bin = 2; bin <= 5; bin += 3)
    if (bin * lines >= count)
      return bin;
  for (int64_t tens = 1;; tens *= 10)
    for (int i = 0; i < 4; i++)
      if (tens * steps[i] * lines >= count)
        return tens * steps[i];
}

/* A bar of `eighths` eighths of a column. */
static void put_bar(brim_text *out, int64_t eighths) {
  static const char *const blocks[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  for (int64_t i = 0; i < eighths / 8; i++)
    brim_text_string(out, "█");
  brim_text_string(out, blocks[eighths % 8]);
}

static uint64_t sum(const uint64_t *counts, int64_t from, int64_t to) {
  uint64_t total = 0;
  for (int64_t i = from; i < to; i++)
    total += counts[i];
  return total;
}

static int digits_of(int64_t value) {
  return snprintf(NULL, 0, "%lld", (long long)value);
}

void brim_histogram_text(brim_text *out, const uint64_t *counts, int64_t count, int lines, int width) {
  int64_t first = 0;
  while (first < count && counts[first] == 0)
    first++;
  if (first == count || lines < 1 || width < 1)
    return;
  const int64_t bin = round_bin(count, lines);
  uint64_t most = 0;
  for (int64_t from = 0; from < count; from += bin) {
    const uint64_t total = sum(counts, from, from + bin < count ? from + bin : count);
    most = total > most ? total : most;
  }
  const int digits = digits_of(count - 1);
  for (int64_t from = first - first % bin; from < count; from += bin) {
    const int64_t to = from + bin < count ? from + bin : count;
    const uint64_t total = sum(counts, from, to);
    const int64_t eighths = (int64_t)((double)total / (double)most * 8 * width + 0.5);
    char number[32];
    brim_count_text((int64_t)total, number, sizeof number);
    if (bin == 1)
      brim_text_printf(out, "%*lld  ", digits, (long long)from);
    else
      brim_text_printf(out, "%*lld-%-*lld  ", digits, (long long)from, digits, (long long)(to - 1));
    put_bar(out, total && !eighths ? 1 : eighths); /* what is there shows */
    brim_text_printf(out, "%s%s\n", total ? " " : "", number);
  }
}
