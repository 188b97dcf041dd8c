/* lengths.c: what rows lose at some lengths when they are cut there, and when they become windows; and what either computes. */
#include "base/status.h"
#include "brim/study.h"
#include "data/facts.h"
#include "text/windows.h"

enum { FIRST = 128 };

/* Rows as they were before anything was cut. */
typedef struct whole_rows {
  const brim_dataset *dataset;
  uint64_t added; /* special tokens of a row */
} whole_rows;

/* Tokens of a row's text, or of its pair, without special ones. */
static uint64_t tokens_of(const whole_rows *w, uint64_t row) {
  const uint64_t *firsts = brim_dataset_firsts(w->dataset), texts = firsts ? firsts[row + 1] - firsts[row] : 1;
  const uint64_t again = w->added * texts + brim_dataset_row_repeated(w->dataset, row);
  const uint32_t *losses = brim_dataset_losses(w->dataset);
  const uint64_t length = (uint64_t)brim_dataset_lengths(w->dataset)[row];
  return (length > again ? length - again : 0) + (losses ? losses[row] : 0);
}

/* The same of all rows that its text has from `*row` on; *row: the first of the next text. */
static uint64_t next_whole(const whole_rows *w, uint64_t *row) {
  uint64_t tokens = tokens_of(w, *row);
  while (++*row < brim_dataset_rows(w->dataset) && brim_dataset_row_continues(w->dataset, *row))
    tokens += tokens_of(w, *row);
  return tokens;
}

static bool has_several(const brim_dataset *dataset) {
  return brim_dataset_firsts(dataset) && brim_dataset_windows(dataset).most < 2;
}

static void add_cut(brim_length_study *out, uint64_t whole, uint64_t room, uint64_t added) {
  const uint64_t kept = whole < room ? whole : room;
  out->cut_rows += whole > room;
  out->lost += whole - kept;
  out->computed += kept + added;
}

static void add_windows(brim_length_study *out, uint64_t whole, uint64_t room, uint64_t added, const brim_windowing *how) {
  const uint64_t overlap = (uint64_t)how->overlap, most = brim_windows_hold(room, overlap, how->most);
  const uint64_t kept = whole < most ? whole : most, count = brim_window_count(kept, room, overlap);
  out->windows += count;
  out->window_cut_rows += whole > kept;
  out->window_lost += whole - kept;
  out->window_computed += kept + (count - 1) * overlap + count * added;
}

/* At a length that has room for a token. */
static brim_length_study study_length(const whole_rows *rows, const brim_windowing *windows, int32_t length) {
  brim_length_study out = {.length = length};
  const uint64_t room = (uint64_t)length - rows->added;
  out.has_windows = windows->most > 1 && windows->overlap >= 0 && (uint64_t)windows->overlap < room &&
                    !brim_dataset_has_pairs(rows->dataset);
  for (uint64_t row = 0; row < brim_dataset_rows(rows->dataset);) {
    const uint64_t whole = next_whole(rows, &row);
    out.rows++;
    out.tokens += whole;
    add_cut(&out, whole, room, rows->added);
    if (out.has_windows)
      add_windows(&out, whole, room, rows->added, windows);
  }
  return out;
}

int brim_study_lengths(const brim_dataset *dataset, const brim_tokenizer *tokenizer, const brim_windowing *windows, int32_t own,
                       brim_length_study out[BRIM_MOST_LENGTHS]) {
  const whole_rows rows = {dataset, (uint64_t)brim_tokenizer_added(tokenizer, brim_dataset_has_pairs(dataset))};
  uint64_t longest = 0;
  int count = 0;
  if (has_several(dataset))
    return 0;
  for (uint64_t row = 0; row < brim_dataset_rows(dataset);) {
    const uint64_t whole = next_whole(&rows, &row) + rows.added;
    longest = whole > longest ? whole : longest;
  }
  bool put = own < 0 || (uint64_t)own <= rows.added;
  for (int64_t length = FIRST; count < BRIM_MOST_LENGTHS - 1; length *= 2) {
    if (!put && own <= length) {
      out[count++] = study_length(&rows, windows, own);
      put = true;
    }
    if (length != own)
      out[count++] = study_length(&rows, windows, (int32_t)length);
    if ((uint64_t)length >= longest && put)
      break;
  }
  return count;
}
