/* What rows lose at a length and what they cost there, next to data sets that are encoded so. */
#include "brim/study.h"
#include "data_tokenizer.h"

enum { ROWS = 120 };

static char texts[ROWS][80];

static void make_texts(void) {
  for (int r = 0; r < ROWS; r++) {
    const int length = r % 9 == 0 ? 0 : (r * r * 7 + 3 * r) % 70;
    for (int i = 0; i < length; i++)
      texts[r][i] = (char)(i % 5 == 4 ? ' ' : 'a' + (r + i) % 26);
    texts[r][length] = 0;
  }
}

static int give(void *context, uint64_t row, brim_text_row *out, brim_error *err) {
  (void)err;
  *out = (brim_text_row){.text = texts[row], .text_length = strlen(texts[row])};
  if (context)
    out->pair = texts[ROWS - 1 - row], out->pair_length = strlen(out->pair);
  return BRIM_OK;
}

static brim_dataset *encode(const brim_tokenizer *tokenizer, brim_encode_options how, bool pairs) {
  const brim_dataset_options options = {.encode = how};
  brim_dataset *dataset;
  brim_error err;
  if (brim_dataset_from_texts(data_runtime, give, pairs ? texts : NULL, ROWS, tokenizer, &options, &dataset, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return dataset;
}

/* Whatever the rows were cut at, or what windows they are, they lose at `length` what rows lose that are encoded so. */
static int wrong_at(const brim_tokenizer *tokenizer, const brim_dataset *d, int32_t length, brim_windowing windows) {
  const brim_encode_options cut = {.max_length = length},
                            wide = {.max_length = length, .max_windows = windows.most, .window_overlap = windows.overlap};
  brim_dataset *a = encode(tokenizer, cut, false), *b = encode(tokenizer, wide, false);
  brim_length_study all[BRIM_MOST_LENGTHS], s;
  int wrong = brim_study_lengths(d, tokenizer, &windows, length, all) != 2;
  s = all[0];
  wrong += s.length != length || !s.has_windows || s.rows != ROWS;
  wrong += s.computed != brim_dataset_tokens(a) || s.lost != brim_dataset_lost(a) || s.cut_rows != brim_dataset_truncated(a);
  wrong += s.window_computed != brim_dataset_tokens(b) || s.window_lost != brim_dataset_lost(b) ||
           s.windows != brim_dataset_texts(b) || s.window_cut_rows != brim_dataset_truncated(b);
  brim_dataset_free(a), brim_dataset_free(b);
  return wrong;
}

static void lengths(const brim_tokenizer *tokenizer) {
  static const brim_encode_options ways[] = {
      {.max_length = 100},
      {.max_length = 12},
      {.max_length = 9, .max_windows = 3, .window_overlap = 2},
      {.max_length = 9, .max_windows = 3, .window_overlap = 2, .truncation_side = BRIM_SIDE_LEFT},
      {.max_length = 9, .max_windows = 3, .window_overlap = 2, .numbering = BRIM_NUMBER_TOKENS},
      {.max_length = 9, .max_windows = 3, .numbering = BRIM_NUMBER_WORDS}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    brim_dataset *d = encode(tokenizer, ways[i], false);
    int wrong = 0;
    for (int32_t length = 5; length < 70; length += 6) {
      wrong += wrong_at(tokenizer, d, length, (brim_windowing){4, length % 3});
      wrong += wrong_at(tokenizer, d, length, (brim_windowing){2, 0});
    }
    ok(wrong == 0, "rows encoded in way %d lose at other lengths what rows encoded so do", (int)i);
    brim_dataset_free(d);
  }
}

static void edges(const brim_tokenizer *tokenizer) {
  brim_dataset *d = encode(tokenizer, (brim_encode_options){.max_length = 12}, false),
               *pairs = encode(tokenizer, (brim_encode_options){.max_length = 12}, true);
  const brim_windowing windows = {4, 3};
  brim_length_study all[BRIM_MOST_LENGTHS];
  ok(brim_study_lengths(pairs, tokenizer, &windows, 20, all) == 2 && !all[0].has_windows && all[0].lost > 0 &&
         all[0].cut_rows > 0,
     "pairs are cut, and have no windows");
  ok(brim_study_lengths(d, tokenizer, &windows, 5, all) == 2 && all[0].length == 5 && !all[0].has_windows,
     "windows have something new");
  ok(brim_study_lengths(d, tokenizer, &windows, 12, all) == 2 && all[0].length == 12 && all[1].length == 128 &&
         all[0].cut_rows > 0 && all[1].cut_rows == 0,
     "the usual lengths end where nothing is cut, and have the one that is asked for");
  ok(brim_study_lengths(d, tokenizer, &windows, 512, all) == 3 && all[1].length == 256 && all[2].length == 512,
     "however long that is");
  for (int32_t own = -1; own <= 2; own++)
    ok(brim_study_lengths(d, tokenizer, &windows, own, all) == 1 && all[0].length == 128, "or none, as %d has room for none",
       (int)own);
  brim_dataset_free(d), brim_dataset_free(pairs);
}

/* A share of the texts is held out, each with all of its windows; of one text a share of its windows. */
static void held_out(const brim_tokenizer *tokenizer) {
  brim_dataset *d = encode(tokenizer, (brim_encode_options){.max_length = 9, .max_windows = 9, .numbering = BRIM_NUMBER_TOKENS},
                           false),
               *kept = NULL, *held = NULL, *one = NULL;
  const uint64_t first[] = {12, 13, 14};
  bool is_held[ROWS] = {false};
  brim_error err = {0};
  int status = brim_hold_out(data_runtime, d, 0.25, 7, &kept, &held, &err), records = 0, shared = 0;
  for (uint64_t r = 0; !status && r < brim_dataset_rows(held); r++) {
    records += !is_held[brim_dataset_origin(held, r)];
    is_held[brim_dataset_origin(held, r)] = true;
  }
  for (uint64_t r = 0; !status && r < brim_dataset_rows(kept); r++)
    shared += is_held[brim_dataset_origin(kept, r)];
  ok(status == BRIM_OK && records == ROWS / 4 && shared == 0 &&
         brim_dataset_rows(kept) + brim_dataset_rows(held) == brim_dataset_rows(d) && brim_dataset_rows(d) > ROWS,
     "%d texts are held out, with all of their windows %s", records, err.message);
  brim_dataset_free(kept), brim_dataset_free(held);
  kept = held = NULL;
  status = brim_dataset_subset(data_runtime, d, first, 3, &one, &err);
  const bool alone = !status && brim_dataset_origin(one, 0) == brim_dataset_origin(one, 2);
  ok(alone && brim_hold_out(data_runtime, one, 0.25, 7, &kept, &held, &err) == BRIM_OK && brim_dataset_rows(held) == 1,
     "of one text a window is held out %s", err.message);
  brim_dataset_free(kept), brim_dataset_free(held), brim_dataset_free(one), brim_dataset_free(d);
}

int main(void) {
  data_start(1);
  make_texts();
  brim_tokenizer *tokenizer = data_tokenizer();
  lengths(tokenizer);
  edges(tokenizer);
  held_out(tokenizer);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  return tap_done();
}
