/* plan_case.h: random lengths and plan options for property tests; a case is a pure function of its number. */
#ifndef BRIM_TESTS_PLAN_CASE_H
#define BRIM_TESTS_PLAN_CASE_H
#include "base/random.h"
#include "brim/batch.h"
#include "tap.h"

enum { MOST_ROWS = 400 };

static brim_runtime *runtime; /* the test's to make */

/* ---- random cases ----------------------------------------------------------------------------------------- */

typedef struct plan_case {
  uint64_t number, drawn;
  int32_t lengths[MOST_ROWS];
  uint64_t rows;
  brim_plan_options options;
} plan_case;

static uint64_t draw(plan_case *c, uint64_t below) {
  brim_random random = brim_random_make(c->number, 0, BRIM_PURPOSE_SAMPLE);
  return brim_random_below(&random, c->drawn++, below);
}

static void draw_lengths(plan_case *c) {
  uint64_t kind = draw(c, 7);
  c->rows = kind == 0 ? 0 : kind == 1 ? 1 : 2 + draw(c, MOST_ROWS - 2);
  for (uint64_t i = 0; i < c->rows; i++) {
    uint64_t u = 1 + draw(c, 1000);
    switch (kind) {
    case 2: /* all equal */
      c->lengths[i] = 37;
      break;
    case 3: /* one huge */
      c->lengths[i] = i == c->rows / 2 ? 5000 : (int32_t)(1 + u % 30);
      break;
    case 4: /* heavy tail */
      c->lengths[i] = (int32_t)(1 + 4000 / u);
      break;
    case 5: /* all different */
      c->lengths[i] = (int32_t)(1 + (i * 7919) % 1009);
      break;
    default:
      c->lengths[i] = (int32_t)(1 + u % 512);
    }
  }
}

static int64_t rows_for_longest(void *context, int32_t longest) {
  return *(int64_t *)context / longest;
}

static int64_t rows_budget = 900;

static void draw_options(plan_case *c) {
  static const int32_t cuts[] = {0, 0, 64, 300};
  static const int32_t roundings[] = {0, 0, 0, 8};
  static const int64_t sizes[] = {1, 2, 8, 16, 32};
  brim_plan_options *o = &c->options;
  *o = (brim_plan_options){.batching = (brim_batching)draw(c, 6), .padding = (brim_padding)draw(c, 3), .seed = draw(c, 5)};
  o->max_length = cuts[draw(c, 4)];
  if (o->padding == BRIM_PAD_MAX_LENGTH && !o->max_length)
    o->max_length = 128;
  o->pad_to_multiple_of = roundings[draw(c, 4)];
  uint64_t limits = draw(c, 4);
  if (limits != 0)
    o->batch_size = sizes[draw(c, 5)];
  if (limits != 1 || o->batching == BRIM_PACKED)
    o->max_tokens = (int64_t)(64 + draw(c, 4000));
  if (draw(c, 4) == 0)
    o->accumulate = (int64_t)(1 + draw(c, 6));
  if (draw(c, 3) == 0)
    o->read_ahead = (int64_t)(10 + draw(c, 200));
  if (draw(c, 4) == 0 && o->batch_size % 8 == 0)
    o->required_batch_size_multiple = 8;
  if (draw(c, 4) == 0)
    o->max_rows = (int64_t)(1 + draw(c, 16) + (o->required_batch_size_multiple ? 7 : 0));
  if (draw(c, 4) == 0 && o->max_tokens) {
    o->rows_for = rows_for_longest;
    o->rows_context = &rows_budget;
  }
  o->drop_last = draw(c, 4) == 0;
  o->oversize = draw(c, 2) ? BRIM_OVERSIZE_TRUNCATE : BRIM_OVERSIZE_ALONE;
  o->tail = (brim_tail)draw(c, 3);
  o->world_size = (int32_t)(draw(c, 3) ? 1 + draw(c, 9) : 1);
}

__attribute__((unused)) static void make_case(plan_case *c, uint64_t number) {
  memset(c, 0, sizeof *c);
  c->number = number;
  draw_lengths(c);
  draw_options(c);
}

static void say(const plan_case *c, const char *what) {
  const brim_plan_options *o = &c->options;
  printf("# case %llu: %s: %s+%s rows %llu B %lld M %lld max_rows %lld N %lld cut %d multiple of %d ahead %lld required %lld "
         "drop %d oversize %s tail %s world %d\n",
         (unsigned long long)c->number, what, brim_batching_name(o->batching), brim_padding_name(o->padding),
         (unsigned long long)c->rows, (long long)o->batch_size, (long long)o->max_tokens, (long long)o->max_rows,
         (long long)o->accumulate, o->max_length, o->pad_to_multiple_of, (long long)o->read_ahead,
         (long long)o->required_batch_size_multiple, o->drop_last, brim_oversize_name(o->oversize), brim_tail_name(o->tail),
         o->world_size);
}

static brim_plan *plan_of(const plan_case *c, const brim_plan_options *options, uint64_t epoch) {
  brim_plan *plan;
  brim_error error = {0};
  if (brim_plan_new(runtime, c->lengths, c->rows, options, epoch, &plan, &error)) {
    say(c, error.message);
    exit(1);
  }
  return plan;
}

__attribute__((unused)) static int32_t world_of(const brim_plan_options *o) {
  return o->world_size ? o->world_size : 1;
}

/* Length after max_length and, with oversize truncate, what one row may take. */
__attribute__((unused)) static int32_t cut_length(const brim_plan_options *o, int32_t length) {
  int64_t limit = o->max_length ? o->max_length : INT32_MAX, rounding = o->pad_to_multiple_of > 1 ? o->pad_to_multiple_of : 1;
  if (o->oversize == BRIM_OVERSIZE_TRUNCATE && o->max_tokens) {
    int64_t fit = o->padding == BRIM_PAD_NONE ? o->max_tokens : o->max_tokens / rounding * rounding;
    if (fit < limit)
      limit = fit;
  }
  return length < limit ? length : (int32_t)limit;
}

/* steps[row] and places[row] of a plan; UINT32_MAX for dropped rows. */
__attribute__((unused)) static void places_of(const brim_plan *plan, int32_t world, uint32_t *steps, uint32_t *places) {
  memset(steps, 0xff, MOST_ROWS * sizeof *steps);
  memset(places, 0xff, MOST_ROWS * sizeof *places);
  for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
    for (int32_t rank = 0; rank < world; rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, p, &part);
      for (uint32_t i = 0; i < part.count; i++) {
        steps[part.rows[i]] = (uint32_t)part.step;
        places[part.rows[i]] = part.places[i];
      }
    }
  }
}

__attribute__((unused)) static bool same_steps(const plan_case *c, const brim_plan_options *a, const brim_plan_options *b) {
  static uint32_t steps[2][MOST_ROWS], places[2][MOST_ROWS];
  const brim_plan_options *options[] = {a, b};
  for (int i = 0; i < 2; i++) {
    brim_plan *plan = plan_of(c, options[i], 3);
    places_of(plan, world_of(options[i]), steps[i], places[i]);
    brim_plan_free(plan);
  }
  return memcmp(steps[0], steps[1], sizeof steps[0]) == 0 && memcmp(places[0], places[1], sizeof places[0]) == 0;
}

#endif
