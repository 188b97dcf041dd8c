/* ops_dropout.c: what the masks of dropout must be like: the right share, the expected value kept, and no element's mask tied to
 * that of a neighbour: in the columns (the halves of a word, the words and blocks of a stretch, the next stretch), the rows, the
 * places, the sites and the steps. That every table makes the masks of the reference is a matter of ops_rows, ops_linear,
 * ops_attention. */
#include "ops_case.h"

#ifndef BRIM_REAL_DOUBLE
enum { ROWS = 500, WIDTH = 384, COUNT = ROWS * WIDTH };

static const double rates[] = {0.1, 0.5, 0.9};

/* 1 where dropout of this rate drops; counts in `bad` what is kept with another scale. */
typedef struct mask {
  uint8_t dropped[COUNT];
  int bad;
} mask;

static mask *make_mask(case_memory *m, double p, uint64_t step, uint32_t site, uint32_t place) {
  const int lengths[] = {ROWS};
  brim_layout layout = case_layout(m, 1, lengths, 0);
  const brim_rows all = {.count = ROWS};
  real *x = case_fill(m, COUNT, 1);
  mask *out = case_alloc(m, sizeof *out);
  brim_ops_context c = {0};
  uint32_t key[2];
  layout.places = &place;
  brim_dropout_key(42, step, key);
  const brim_dropout d = brim_dropout_make(p, key, site);
  brim_ops_ref()->dropout(&c, &(brim_dropout_rows){.layout = layout, .at = all, .width = WIDTH, .dropout = d, .x = x, .y = x});
  out->bad = 0;
  for (int i = 0; i < COUNT; i++) {
    out->dropped[i] = x[i] == 0;
    out->bad += x[i] != 0 && x[i] != d.scale;
  }
  return out;
}

/* a[row, column] against b[row + rows, column + columns]: how often both are dropped, in standard deviations of chance. */
static void check_pair(const char *name, double p, const mask *a, const mask *b, int rows, int columns) {
  double both = 0, pairs = 0;
  for (int r = 0; r + rows < ROWS; r++) {
    for (int i = 0; i + columns < WIDTH; i++) {
      both += a->dropped[r * WIDTH + i] && b->dropped[(r + rows) * WIDTH + i + columns];
      pairs++;
    }
  }
  const double chance = p * p, sigma = sqrt(chance * (1 - chance) / pairs), z = (both / pairs - chance) / sigma;
  ok(fabs(z) < 4.5, "dropout %.1f: %s: %.2f standard deviations from chance", p, name, z);
}

static void check_rate(double p) {
  static const int distances[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 128, 256};
  case_memory m = {0};
  const mask *a = make_mask(&m, p, 7, 3, 11);
  double share = 0;
  for (int i = 0; i < COUNT; i++)
    share += (double)a->dropped[i] / COUNT;
  const double z = (share - p) / sqrt(p * (1 - p) / COUNT);
  ok(fabs(z) < 4.5 && a->bad == 0, "dropout %.1f drops %.4f (%.2f standard deviations), the rest is scaled", p, share, z);
  for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
    char name[64];
    snprintf(name, sizeof name, "columns %d apart", distances[i]);
    check_pair(name, p, a, a, 0, distances[i]);
  }
  check_pair("the next row", p, a, a, 1, 0);
  check_pair("the next row and column", p, a, a, 1, 1);
  check_pair("the next step", p, a, make_mask(&m, p, 8, 3, 11), 0, 0);
  check_pair("the next site", p, a, make_mask(&m, p, 7, 4, 11), 0, 0);
  check_pair("the next place", p, a, make_mask(&m, p, 7, 3, 12), 0, 0);
  check_pair("the next place, the next row", p, a, make_mask(&m, p, 7, 3, 12), 1, 0);
  case_free(&m);
}

/* Rates are rounded to 65536ths, and the scale is that of the rounded rate. */
static void check_rounding(void) {
  static const uint32_t key[2] = {1, 2};
  static const double given[] = {0.1, 0.2, 0.25, 0.5, 0.9, 1.0 / 65536, 0.99999};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    const brim_dropout d = brim_dropout_make(given[i], key, 0);
    const double rate = d.threshold / 65536.0;
    ok(d.on && fabs(rate - given[i]) <= 0.5 / 65536 && fabs((double)d.scale * (1 - rate) - 1) < 1e-7,
       "dropout %.5f drops %.5f and keeps the expected value", given[i], rate);
  }
  static const double none[] = {0, -1, 1e-9, 7e-6, (double)NAN};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    const brim_dropout d = brim_dropout_make(none[i], key, 0);
    ok(!d.on && d.scale == 1, "dropout %g is none", none[i]);
  }
  static const double all[] = {1, 2, 0.999999};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const brim_dropout d = brim_dropout_make(all[i], key, 0);
    ok(d.on && d.scale == 0, "dropout %g leaves nothing", all[i]);
  }
}

#endif

/* A rate of one in every table: zeros, whatever the width. */
static void all_dropped(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const int width = *(const int *)parameters, lengths[] = {9, 4};
  static const uint32_t key[2] = {1, 2};
  case_memory m = {0};
  inputs in = {36};
  const brim_layout layout = case_layout(&m, 2, lengths, 0);
  const brim_rows all = {.count = layout.slots};
  const brim_dropout d = brim_dropout_make(1, key, 5);
  real *x = case_values(&m, &in, (int64_t)layout.slots * width, 1), left = 0;
  ops->dropout(c, &(brim_dropout_rows){.layout = layout, .at = all, .width = width, .dropout = d, .x = x, .y = x});
  for (int64_t i = 0; i < (int64_t)layout.slots * width; i++)
    left += x[i] != 0;
  if (left > 0)
    ok(false, "%s leaves %.0f values of dropout 1", ops->name, (double)left);
  emit(out, "left", &left, 1);
  case_free(&m);
}

CASES(dropout) {
  const brim_ops_limits limits = {
      .max_slots = 13, .max_sequences = 2, .max_length = 9, .hidden = 200, .intermediate = 8, .heads = 1};
  static const int widths[] = {1, 31, 32, 33, 65, 200};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    char name[32];
    snprintf(name, sizeof name, "dropout 1, width %d", widths[i]);
    check_case(name, &limits, all_dropped, &widths[i], 0);
  }
#ifndef BRIM_REAL_DOUBLE
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    check_rate(rates[i]);
  check_rounding();
  uint32_t a[2], b[2], again[2];
  brim_dropout_key(42, 7, a);
  brim_dropout_key(42, 8, b);
  brim_dropout_key(42, 7, again);
  ok(memcmp(a, b, sizeof a) != 0 && memcmp(a, again, sizeof a) == 0, "the key follows the step");
#endif
}
