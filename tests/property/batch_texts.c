/* Plans and batches of rows of several texts against slow and obvious counts, over random texts and options: what a part takes,
 * rows that stay whole, limits that count texts, steps that depend on neither ranks nor limits, slices, places. */
#include <math.h>

#include "base/reduce_tree.h"
#include "data/dataset.h"
#include "plan_case.h"

enum { CASES = 1500, MOST_TEXTS = 5, ALL_TEXTS = MOST_ROWS * MOST_TEXTS };

typedef struct texts_case {
  plan_case plan;
  uint64_t firsts[MOST_ROWS + 1];
  int32_t texts[ALL_TEXTS];
  int32_t longest; /* of all */
} texts_case;

static void make_texts(texts_case *c, uint64_t number) {
  plan_case *p = &c->plan;
  make_case(p, number);
  brim_plan_options *o = &p->options;
  const uint64_t most = 1 + draw(p, MOST_TEXTS), longest = 1 + draw(p, 200);
  c->longest = 1;
  for (uint64_t row = 0; row < p->rows; row++) {
    const uint64_t count = 1 + draw(p, most);
    c->firsts[row + 1] = c->firsts[row] + count;
    p->lengths[row] = 0;
    for (uint64_t t = c->firsts[row]; t < c->firsts[row + 1]; t++) {
      c->texts[t] = (int32_t)(1 + draw(p, longest));
      p->lengths[row] += c->texts[t];
      c->longest = c->texts[t] > c->longest ? c->texts[t] : c->longest;
    }
  }
  if (o->max_length && o->max_length < c->longest)
    o->max_length = c->longest;
  o->oversize = BRIM_OVERSIZE_ALONE;
}

static brim_lengths lengths_of(const texts_case *c) {
  return (brim_lengths){.rows = c->plan.rows, .lengths = c->plan.lengths, .firsts = c->firsts, .text_lengths = c->texts};
}

static brim_plan *plan_texts(const texts_case *c, const brim_plan_options *options, uint64_t epoch) {
  const brim_lengths lengths = lengths_of(c);
  brim_plan *plan;
  brim_error error = {0};
  if (brim_plan_new_of(runtime, &lengths, options, epoch, &plan, &error)) {
    say(&c->plan, error.message);
    exit(1);
  }
  return plan;
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

static const char *check_part(const texts_case *c, const brim_planned *part) {
  const brim_plan_options *o = &c->plan.options;
  const int64_t rounding = o->pad_to_multiple_of > 1 ? o->pad_to_multiple_of : 1;
  int64_t tokens = 0, longest = 0, texts = 0;
  double cost = 0;
  for (uint32_t i = 0; i < part->count; i++)
    for (uint64_t t = c->firsts[part->rows[i]]; t < c->firsts[part->rows[i] + 1]; t++) {
      texts++, tokens += c->texts[t];
      longest = c->texts[t] > longest ? c->texts[t] : longest;
      cost += 4608.0 * c->texts[t] + (double)c->texts[t] * c->texts[t];
    }
  const int64_t bare = o->padding == BRIM_PAD_MAX_LENGTH ? o->max_length : longest;
  const int64_t width = o->padding == BRIM_PAD_NONE || texts == 0 ? 0 : (bare + rounding - 1) / rounding * rounding;
  if (o->padding != BRIM_PAD_NONE)
    cost = (double)texts * (4608.0 * (double)width + (double)width * (double)width);
  if (part->texts != texts || part->tokens != tokens || part->longest != longest || part->width != width || part->cut != 0)
    return "texts, tokens, the longest, the width";
  if (part->slots != (o->padding == BRIM_PAD_NONE ? tokens : texts * width))
    return "slots";
  if (fabs(part->cost - cost) > 1e-6 * cost)
    return "cost";
  if (part->count <= 1)
    return NULL;
  if (o->max_tokens && part->slots > o->max_tokens)
    return "slots <= max_tokens";
  if (o->max_rows && texts > o->max_rows)
    return "max_rows counts texts";
  if (o->rows_for && texts > rows_for_longest(o->rows_context, (int32_t)longest))
    return "rows_for counts texts";
  const int64_t multiple = o->required_batch_size_multiple;
  if (multiple > 1 && part->count > multiple && part->count % multiple)
    return "required multiple of rows";
  return o->batch_size && part->step_rows > o->batch_size ? "a step has at most batch_size rows" : NULL;
}

/* Each row once, whole, in one part. */
static const char *check_plan(const texts_case *c, const brim_plan *plan) {
  uint8_t seen[MOST_ROWS] = {0};
  uint64_t tokens = 0, slots = 0, rows = 0;
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++)
    for (int32_t rank = 0; rank < world_of(&c->plan.options); rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, i, &part);
      const char *wrong = check_part(c, &part);
      if (wrong)
        return wrong;
      for (uint32_t r = 0; r < part.count; r++)
        if (seen[part.rows[r]]++)
          return "a row is in one part";
      tokens += (uint64_t)part.tokens, slots += (uint64_t)part.slots, rows += part.count;
    }
  const bool same = ledger.tokens == tokens && ledger.slots == slots && ledger.rows_planned == rows &&
                    rows + ledger.dropped == c->plan.rows && ledger.rows_truncated == 0;
  return same ? NULL : "the ledger agrees with the parts";
}

static void test_parts(void) {
  static texts_case c;
  int bad = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    memset(&c, 0, sizeof c);
    make_texts(&c, number);
    brim_plan *plan = plan_texts(&c, &c.plan.options, 0);
    const char *wrong = check_plan(&c, plan);
    if (wrong)
      bad++, say(&c.plan, wrong);
    brim_plan_free(plan);
  }
  ok(bad == 0, "what parts take, in %d random cases", CASES);
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

static bool same_rows(const brim_plan *a, int32_t world, const brim_plan *b, int32_t other) {
  static uint32_t steps[2][MOST_ROWS], places[2][MOST_ROWS];
  places_of(a, world, steps[0], places[0]);
  places_of(b, other, steps[1], places[1]);
  return memcmp(steps[0], steps[1], sizeof steps[0]) == 0 && memcmp(places[0], places[1], sizeof places[0]) == 0;
}

/* With batch_size which rows make a step depends on no limit, rank or padding but in the key by which they are sorted. */
static void test_steps(void) {
  static texts_case c;
  int bad = 0, cases = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    memset(&c, 0, sizeof c);
    make_texts(&c, number);
    brim_plan_options one = c.plan.options, many;
    if (one.batch_size == 0 || one.required_batch_size_multiple > 1)
      continue;
    many = one;
    one.world_size = 1, one.max_tokens = one.batching == BRIM_PACKED ? 4096 : 0, one.max_rows = 0, one.accumulate = 0,
    one.rows_for = NULL;
    many.world_size = 3, many.max_tokens = 300, many.max_rows = 7;
    brim_plan *a = plan_texts(&c, &one, 2), *b = plan_texts(&c, &many, 2);
    if (!same_rows(a, 1, b, 3))
      bad++, say(&c.plan, "steps differ");
    brim_plan_free(a), brim_plan_free(b);
    cases++;
  }
  ok(bad == 0 && cases > 100, "steps are the same with other limits and ranks, in %d cases", cases);
}

/* `accumulate` cuts a full step into at least so many parts. */
static void test_accumulate(void) {
  static texts_case c;
  int bad = 0, cases = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    memset(&c, 0, sizeof c);
    make_texts(&c, number);
    brim_plan_options o = c.plan.options;
    o.batch_size = 16, o.accumulate = 4, o.required_batch_size_multiple = 0, o.drop_last = true;
    brim_plan *plan = plan_texts(&c, &o, 0);
    for (uint64_t i = 0; i < brim_plan_parts(plan); i++)
      for (int32_t rank = 0; rank < world_of(&o); rank++) {
        brim_planned part;
        brim_plan_part(plan, rank, i, &part);
        bad += part.count > 4;
      }
    brim_plan_free(plan);
    cases++;
  }
  ok(bad == 0, "accumulate caps the rows of a part, in %d cases", cases);
}

/* ---- rows of one text ---------------------------------------------------------------------------------------- */

static void test_singles(void) {
  static texts_case c;
  int bad = 0, cases = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    memset(&c, 0, sizeof c);
    make_case(&c.plan, number);
    for (uint64_t row = 0; row < c.plan.rows; row++)
      c.firsts[row + 1] = row + 1, c.texts[row] = c.plan.lengths[row] = c.plan.lengths[row] % 50 + 1;
    brim_plan_options o = c.plan.options;
    o.oversize = BRIM_OVERSIZE_ALONE;
    o.max_length = o.max_length ? 50 : 0;
    if (o.batch_size) /* a cap on rows and one on texts are kept in different ways */
      o.accumulate = 0;
    o.slices = number % 4 == 0 && o.batch_size ? 5 : 0;
    if (o.slices)
      o.max_tokens = o.max_rows = 0, o.rows_for = NULL, o.batching = o.batching == BRIM_PACKED ? BRIM_RANDOM : o.batching;
    brim_plan *several = plan_texts(&c, &o, 1), *plain = plan_of(&c.plan, &o, 1);
    brim_ledger a, b;
    brim_plan_ledger(several, &a), brim_plan_ledger(plain, &b);
    if (a.hash != b.hash || a.slots != b.slots)
      bad++, say(&c.plan, "another plan");
    brim_plan_free(several), brim_plan_free(plain);
    cases++;
  }
  ok(bad == 0, "rows of one text each have the plan that they have without firsts, in %d cases", cases);
}

/* ---- slices -------------------------------------------------------------------------------------------------- */

/* A slice's rows are the same for any number of ranks, and parts are whole slices. */
static void test_slices(void) {
  static texts_case c;
  static uint8_t slices[2][MOST_ROWS];
  int bad = 0, cases = 0;
  for (uint64_t number = 0; number < CASES / 3 && bad < 5; number++) {
    memset(&c, 0, sizeof c);
    make_texts(&c, number);
    brim_plan_options o = {.batching = c.plan.options.batching == BRIM_PACKED ? BRIM_RANDOM : c.plan.options.batching,
                           .padding = c.plan.options.padding == BRIM_PAD_MAX_LENGTH ? BRIM_PAD_LONGEST : c.plan.options.padding,
                           .batch_size = 24,
                           .slices = 8};
    for (int32_t k = 0; k < 2; k++) {
      o.world_size = 1 + 2 * k;
      brim_plan *plan = plan_texts(&c, &o, 0);
      for (uint64_t i = 0; i < brim_plan_parts(plan); i++)
        for (int32_t rank = 0; rank < o.world_size; rank++) {
          brim_planned part;
          brim_plan_part(plan, rank, i, &part);
          for (uint32_t r = 0; r < part.count; r++)
            slices[k][part.rows[r]] = part.slices[r], bad += brim_slice_rank(8, o.world_size, part.slices[r]) != rank;
        }
      brim_plan_free(plan);
    }
    bad += memcmp(slices[0], slices[1], c.plan.rows) != 0;
    cases++;
  }
  ok(bad == 0, "slices of whole rows, the same on 1 and 3 ranks, in %d cases", cases);
}

/* ---- batches ------------------------------------------------------------------------------------------------- */

static brim_dataset *dataset_of(const texts_case *c, int32_t *ids) {
  static brim_sample samples[MOST_ROWS];
  brim_dataset *dataset;
  int32_t at = 0;
  for (uint64_t row = 0; row < c->plan.rows; row++) {
    samples[row] = (brim_sample){.ids = ids + at,
                                 .length = c->plan.lengths[row],
                                 .text_lengths = c->texts + c->firsts[row],
                                 .text_count = (int32_t)(c->firsts[row + 1] - c->firsts[row]),
                                 .label = (float)(row % 7)};
    for (int32_t i = 0; i < c->plan.lengths[row]; i++, at++)
      ids[at] = at;
  }
  brim_error err = {0};
  if (brim_dataset_from_samples(runtime, samples, c->plan.rows, NULL, &dataset, &err)) {
    printf("# %s\n", err.message);
    exit(1);
  }
  return dataset;
}

static int wrong_texts(const texts_case *c, const brim_dataset *dataset, const brim_planned *part, const brim_batch *batch) {
  const uint32_t most = (uint32_t)brim_dataset_most_texts(dataset);
  int wrong = batch->count != (int32_t)part->texts || batch->row_count != (int32_t)part->count;
  int32_t text = 0;
  for (int32_t r = 0; r < batch->row_count; r++) {
    const uint64_t row = batch->rows[r];
    int32_t first, count = brim_batch_texts(batch, r, &first);
    wrong += row != part->rows[r] || first != text || count != (int32_t)(c->firsts[row + 1] - c->firsts[row]);
    wrong += batch->labels[r] != (float)(row % 7);
    int32_t id = dataset->ids[row][0];
    for (int32_t t = 0; t < count; t++, text++) {
      wrong += batch->places[text] != part->places[r] * most + (uint32_t)t;
      wrong += batch->offsets[text + 1] - batch->offsets[text] != c->texts[c->firsts[row] + (uint64_t)t];
      for (int32_t i = batch->offsets[text]; i < batch->offsets[text + 1]; i++)
        wrong += batch->ids[i] != id++;
    }
  }
  return wrong;
}

static void test_batches(void) {
  static texts_case c;
  static int32_t ids[ALL_TEXTS * 201];
  int bad = 0;
  for (uint64_t number = 0; number < 60 && bad < 5; number++) {
    memset(&c, 0, sizeof c);
    make_texts(&c, number);
    if (c.plan.rows == 0)
      continue;
    brim_dataset *dataset = dataset_of(&c, ids);
    const brim_lengths lengths = brim_lengths_of(dataset);
    brim_batch batch = {0}, copy = {0};
    brim_plan *plan;
    brim_error err = {0};
    if (brim_plan_new_of(runtime, &lengths, &c.plan.options, 0, &plan, &err))
      exit(1);
    for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
      brim_planned part;
      brim_plan_part(plan, 0, i, &part);
      bad += brim_batch_fill(&batch, runtime, dataset, &part, &err) || brim_batch_copy(&copy, runtime, &batch, &err);
      bad += wrong_texts(&c, dataset, &part, &batch) + wrong_texts(&c, dataset, &part, &copy);
    }
    if (bad)
      say(&c.plan, err.message);
    brim_plan_free(plan);
    brim_batch_free(&batch), brim_batch_free(&copy);
    brim_dataset_free(dataset);
  }
  ok(bad == 0, "batches hold the texts of their rows, and copies do");
}

/* ---- what is refused ----------------------------------------------------------------------------------------- */

static void refused(const brim_plan_options *options, const brim_lengths *lengths, const char *words) {
  brim_plan *plan;
  brim_error err = {0};
  ok(brim_plan_new_of(runtime, lengths, options, 0, &plan, &err) && strstr(err.message, words), "%s", err.message);
}

static void test_refusals(void) {
  const int32_t lengths[] = {5, 30}, texts[] = {5, 10, 20}, short_texts[] = {5, 10, 19}, none[] = {5, 0, 30};
  const uint64_t firsts[] = {0, 1, 3};
  const brim_lengths rows = {.rows = 2, .lengths = lengths, .firsts = firsts, .text_lengths = texts};
  brim_lengths wrong = rows, empty = rows;
  wrong.text_lengths = short_texts, empty.text_lengths = none;
  refused(&(brim_plan_options){.batch_size = 2, .max_length = 15}, &rows, "row 1 has a text of 20 tokens, and max_length is 15");
  refused(&(brim_plan_options){.max_tokens = 15, .oversize = BRIM_OVERSIZE_TRUNCATE}, &rows, "oversize truncate cuts a row");
  refused(&(brim_plan_options){.max_tokens = 25}, &rows, "row 1 with 30 tokens in 2 texts takes 30 slots");
  refused(&(brim_plan_options){.max_tokens = 35, .padding = BRIM_PAD_LONGEST}, &rows, "takes 40 slots");
  refused(&(brim_plan_options){.batch_size = 2, .max_rows = 1}, &rows, "row 1 has 2 texts, more than max_rows 1");
  refused(&(brim_plan_options){.batch_size = 2}, &wrong, "together as many as the row");
  refused(&(brim_plan_options){.batch_size = 2}, &empty, "row 1: its texts need at least one token each");
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  test_parts();
  test_steps();
  test_accumulate();
  test_singles();
  test_slices();
  test_batches();
  test_refusals();
  brim_runtime_free(runtime);
  return tap_done();
}
