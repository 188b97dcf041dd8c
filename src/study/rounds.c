#include "study/rounds.h"

#include <math.h>
#include <stdlib.h>

int brim_rounds_order(int count, int round, int turn) {
  return ((round % 2 ? count - 1 - turn : turn) + round / 2) % count;
}

static int compare_numbers(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median_of(const double *sorted, int count) {
  return count > 0 ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : (double)NAN;
}

/* Seconds of the whole run at the pace of a round, whose steps may be longer or shorter than others: a slot takes as long. */
static double seconds_at(const brim_mode_result *r, int round) {
  const brim_mode_round *of = &r->rounds[round];
  return of->slots > 0 ? of->seconds * ((double)r->slots / (double)of->slots) : (double)NAN;
}

static double rate_at(const brim_mode_result *r, int round) {
  return (double)r->tokens / seconds_at(r, round);
}

/* How many of the least, and of the greatest, ratios are left out. From five rounds on what is between the others holds the true
 * median in about nine cases of ten, whatever ratios are distributed like: each is as likely above it as below. */
static int left_out(int rounds) {
  return rounds >= 10 ? 2 : rounds >= 8 ? 1 : 0;
}

static void judge_mode(brim_mode_result *r, const brim_mode_result *first) {
  double ratios[BRIM_MOST_ROUNDS];
  const int n = r->round_count;
  bool known = n > 0 && n == first->round_count;
  for (int i = 0; i < n; i++) {
    r->rounds[i].speed = ratios[i] = r == first ? 1.0 : rate_at(r, i) / rate_at(first, i);
    known = known && isfinite(ratios[i]);
  }
  qsort(ratios, (size_t)n, sizeof *ratios, compare_numbers);
  r->speed = known ? median_of(ratios, n) : (double)NAN;
  r->speed_low = known && n >= BRIM_LEAST_ROUNDS ? ratios[left_out(n)] : (double)NAN;
  r->speed_high = known && n >= BRIM_LEAST_ROUNDS ? ratios[n - 1 - left_out(n)] : (double)NAN;
}

/* The first mode's median; the others' follow from it, so that one column does not contradict another. */
void brim_rounds_judge(brim_mode_result *results, int count) {
  double seconds[BRIM_MOST_ROUNDS];
  brim_mode_result *first = &results[0];
  for (int i = 0; i < first->round_count; i++)
    seconds[i] = seconds_at(first, i);
  qsort(seconds, (size_t)first->round_count, sizeof *seconds, compare_numbers);
  first->seconds = median_of(seconds, first->round_count);
  for (int i = 0; i < count; i++) {
    brim_mode_result *r = &results[i];
    judge_mode(r, first);
    r->tokens_per_second = first->seconds > 0 ? r->speed * ((double)first->tokens / first->seconds) : 0.0;
    r->seconds = i == 0 || !(r->tokens_per_second > 0) ? r->seconds : (double)r->tokens / r->tokens_per_second;
  }
}
