/* What infinibatch's tests assert of permutations, chunks and buckets, asked of plans: every world and size, more ranks than rows
 * included; and read-ahead windows against a slow obvious version of them. */
#include "base/reduce_tree.h"
#include "batch/order.h"
#include "batch/share.h"
#include "plan_case.h"

/* ---- worlds 1 .. 73, rows 1 .. 57 ------------------------------------------------------------------------- */

/* Each row once over all ranks, and all ranks in step. */
static const char *check_world(const brim_plan *plan, int32_t world, uint64_t rows) {
  int seen[64] = {0};
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    uint64_t step = UINT64_MAX;
    for (int32_t rank = 0; rank < world; rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, i, &part);
      if (step != UINT64_MAX && part.step != step)
        return "ranks are not in the same step";
      step = part.step;
      for (uint32_t k = 0; k < part.count; k++)
        seen[part.rows[k]]++;
    }
  }
  for (uint64_t row = 0; row < rows; row++)
    if (seen[row] != 1)
      return "a row is missing or comes twice";
  return NULL;
}

/* One step of all rows in file order: the ranks' chunks follow one another, and their sizes differ by at most one. */
static const char *check_chunks(const brim_plan *plan, int32_t world, uint64_t rows) {
  uint64_t next = 0, least = UINT64_MAX, most = 0;
  if (brim_plan_parts(plan) != 1)
    return "more than one part a rank";
  for (int32_t rank = 0; rank < world; rank++) {
    brim_planned part;
    brim_plan_part(plan, rank, 0, &part);
    for (uint32_t k = 0; k < part.count; k++)
      if (part.rows[k] != next++)
        return "chunks are not in order";
    least = part.count < least ? part.count : least;
    most = part.count > most ? part.count : most;
  }
  return next != rows ? "rows are missing" : most - least > 1 ? "sizes differ by more than one" : NULL;
}

static void test_worlds(void) {
  static const brim_plan_options ways[] = {
      {.batching = BRIM_RANDOM, .batch_size = 8},
      {.batching = BRIM_SORTED, .padding = BRIM_PAD_LONGEST, .max_tokens = 90},
      {.batching = BRIM_BUCKETED, .padding = BRIM_PAD_LONGEST, .max_tokens = 90, .read_ahead = 20},
      {.batching = BRIM_PACKED, .max_tokens = 90},
      {.batching = BRIM_SEQUENTIAL, .batch_size = 64}};
  enum { WAYS = sizeof ways / sizeof *ways };
  int wrong[WAYS] = {0}, chunks = 0;
  plan_case c = {0};
  for (int32_t world = 1; world <= 73; world++) {
    for (c.rows = 1; c.rows <= 57; c.rows++) {
      if (!tap_takes("worlds", (uint64_t)world * 57 + c.rows))
        continue;
      for (int w = 0; w < WAYS; w++) {
        bool equal = w == WAYS - 1;
        for (uint64_t i = 0; i < c.rows; i++)
          c.lengths[i] = equal ? 7 : (int32_t)(1 + (i * 7919 + c.rows) % 29);
        c.options = ways[w];
        c.options.world_size = world;
        brim_plan *plan = plan_of(&c, &c.options, (uint64_t)world);
        const char *bad = check_world(plan, world, c.rows), *apart = equal ? check_chunks(plan, world, c.rows) : NULL;
        if ((bad && !wrong[w]++) || (apart && !chunks++))
          say(&c, bad ? bad : apart);
        brim_plan_free(plan);
      }
    }
  }
  for (int w = 0; w < WAYS; w++)
    ok(wrong[w] == 0, "%s: each row once, worlds 1 to 73 and 1 to 57 rows", brim_batching_name(ways[w].batching));
  ok(chunks == 0, "file order: the ranks' chunks make the file, of equal size to one row");
}

/* ---- slices ----------------------------------------------------------------------------------------------- */

typedef struct dealt {
  int32_t slice[64]; /* of each row */
  uint64_t step[64];
} dealt;

/* A part's slices, which are one node of the tree: no other slice of the rank is in its smallest. */
static bool is_node(const brim_plan_options *o, const brim_planned *part) {
  int32_t size = 1;
  const int32_t first = part->slices[0], last = part->slices[part->count - 1], world = o->world_size;
  while (first / size != last / size)
    size *= 2;
  const int32_t from = first / size * size, end = from + size < o->slices ? from + size : o->slices;
  return first == last || (from >= o->slices * part->rank / world && end <= o->slices * (part->rank + 1) / world);
}

/* Grows from slice to slice of a rank: the smaller roots of its run come first where nothing else cuts it. */
static int32_t turn_of(const brim_plan_options *o, int32_t rank, int32_t slice) {
  const brim_slice_range run = brim_slice_range_of(o->slices, o->world_size, rank);
  brim_slice_range roots[BRIM_MOST_ROOTS];
  if (!brim_slices_whole(o) || slice < run.first || slice >= run.end)
    return slice;
  (void)brim_reduce_tree_roots(&run, true, roots);
  int32_t root = 0;
  while (slice < roots[root].first || slice >= roots[root].end)
    root++;
  return root * BRIM_MOST_SLICES + slice;
}

/* Which slice each row is in; parts are nodes of slices of the rank's run, in their order, and where nothing else cuts it the
 * last one of a step is empty only where all are. */
static const char *read_slices(const brim_plan *plan, const brim_plan_options *o, dealt *d) {
  const int32_t world = o->world_size;
  for (int32_t rank = 0; rank < world; rank++) {
    uint64_t step = UINT64_MAX;
    int32_t last = -1;
    for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
      brim_planned part;
      brim_plan_part(plan, rank, i, &part);
      last = part.step == step ? last : -1;
      step = part.step;
      if (part.count == 0 && last >= 0 && brim_slices_whole(o))
        return "an empty part is not the first";
      if (part.count == 0)
        continue;
      if (!is_node(o, &part))
        return "a part is not a node of the tree";
      for (uint32_t k = 0; k < part.count; k++) {
        const int32_t slice = part.slices[k];
        const bool same = k > 0 && slice == part.slices[k - 1];
        if ((!same && turn_of(o, rank, slice) <= last) || slice < o->slices * rank / world ||
            slice >= o->slices * (rank + 1) / world)
          return "a slice is not in the rank's run, or out of order";
        if (same && part.places[k] <= part.places[k - 1])
          return "places are not in order";
        last = turn_of(o, rank, slice);
        d->slice[part.rows[k]] = slice, d->step[part.rows[k]] = part.step;
      }
    }
  }
  return NULL;
}

/* Slices have the same rows for every number of ranks and of tokens computed at once. */
static void test_slices(void) {
  static const brim_plan_options ways[] = {{.batching = BRIM_RANDOM, .batch_size = 16},
                                           {.batching = BRIM_SORTED, .padding = BRIM_PAD_LONGEST, .batch_size = 16},
                                           {.batching = BRIM_PACKED, .max_tokens = 190},
                                           {.batching = BRIM_RANDOM, .max_tokens = 190, .accumulate = 2},
                                           {.batching = BRIM_SEQUENTIAL, .batch_size = 24, .required_batch_size_multiple = 4}};
  static const int32_t counts[] = {1, 5, 24};
  int wrong = 0, tried = 0;
  plan_case c = {0};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    for (c.rows = 1; c.rows <= 57; c.rows += 4) {
      for (uint64_t i = 0; i < c.rows; i++)
        c.lengths[i] = (int32_t)(1 + (i * 7919 + c.rows) % 29);
      for (int k = 0; k < 3; k++) {
        dealt one = {0}, many = {0};
        for (int32_t world = 1; world <= 9; world++) {
          c.options = ways[w];
          c.options.slices = counts[k];
          c.options.world_size = world;
          if (w == 3 && counts[k] == 1)
            c.options.accumulate = 1; /* more would not be computed at once */
          if (world == 5 && c.options.batch_size)
            c.options.max_tokens = 2000;
          brim_plan *plan = plan_of(&c, &c.options, 3);
          const char *bad = check_world(plan, world, c.rows);
          if (!bad)
            bad = read_slices(plan, &c.options, world == 1 ? &one : &many);
          if (!bad && world > 1 && memcmp(&one, &many, sizeof one) != 0)
            bad = "slices depend on the number of ranks, or on what is computed at once";
          if (bad && !wrong++)
            say(&c, bad);
          tried++;
          brim_plan_free(plan);
        }
      }
    }
  }
  ok(wrong == 0, "slices: %d plans, worlds 1 to 9", tried);
}

/* The costliest rank by the mean of all, over full steps. */
static double imbalance(plan_case *c, int32_t world) {
  c->options.world_size = world;
  brim_plan *plan = plan_of(c, &c->options, 0);
  double worst = 0, all = 0, costs[9] = {0};
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    brim_planned part = {0}, next = {.step = UINT64_MAX};
    for (int32_t rank = 0; rank < world; rank++) {
      brim_plan_part(plan, rank, i, &part);
      costs[rank] += part.cost;
    }
    if (i + 1 < brim_plan_parts(plan))
      brim_plan_part(plan, 0, i + 1, &next);
    double most = 0;
    for (int32_t rank = 0; rank < world && next.step != part.step; rank++) {
      most = costs[rank] > most ? costs[rank] : most;
      all += costs[rank] / world;
      costs[rank] = 0;
    }
    worst += most;
  }
  brim_plan_free(plan);
  return worst / all;
}

static void test_slice_balance(void) {
  static const int32_t worlds[] = {2, 3, 4, 6, 8};
  plan_case c = {.rows = MOST_ROWS, .options = {.batching = BRIM_RANDOM, .batch_size = 80, .slices = 24}};
  for (uint64_t i = 0; i < c.rows; i++)
    c.lengths[i] = (int32_t)(60 + (i * 7919) % 340);
  for (int w = 0; w < 5; w++) {
    const double apart = imbalance(&c, worlds[w]);
    ok(apart < 1.03, "24 slices of 80 rows on %d ranks: the costliest has %.3f of the mean", (int)worlds[w], apart);
  }
}

/* Slices of the first step that have rows. */
static int32_t used_slices(plan_case *c, bool *used) {
  brim_plan *plan = plan_of(c, &c->options, 0);
  int32_t count = 0;
  memset(used, 0, BRIM_MOST_SLICES * sizeof *used);
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    for (uint32_t k = 0; k < part.count; k++)
      used[part.slices[k]] = true;
  }
  brim_plan_free(plan);
  for (int32_t i = 0; i < BRIM_MOST_SLICES; i++)
    count += used[i];
  return count;
}

/* 96 rows in 24 slices: below 128 tokens a slice those are empty with which no run of 2, 3, 4, 6 or 8 ranks begins. */
static void test_short_steps(void) {
  static const bool begins[24] = {1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0};
  bool used[BRIM_MOST_SLICES];
  plan_case c = {.rows = 96, .options = {.batching = BRIM_RANDOM, .batch_size = 96, .slices = 24}};
  for (int length = 31; length <= 32; length++) {
    for (uint64_t i = 0; i < c.rows; i++)
      c.lengths[i] = length;
    const int32_t count = used_slices(&c, used);
    ok(count == (length < 32 ? 12 : 24) && (length == 32 || memcmp(used, begins, sizeof begins) == 0),
       "rows of %d tokens are in %d of 24 slices", length, (int)count);
  }
  c.options.slices = 8;
  ok(used_slices(&c, used) == 8, "eight slices are never joined");
}

/* ---- read-ahead windows ----------------------------------------------------------------------------------- */

/* Batches of rows, one after another. */
typedef struct batch_list {
  uint32_t rows[MOST_ROWS], ends[MOST_ROWS];
  uint64_t count, batches;
} batch_list;

/* Slots of rows[0 .. count) when padded to the longest. */
static int64_t padded(const plan_case *c, const uint32_t *rows, uint64_t count) {
  int32_t longest = 0;
  for (uint64_t i = 0; i < count; i++)
    longest = c->lengths[rows[i]] > longest ? c->lengths[rows[i]] : longest;
  return (int64_t)count * longest;
}

static bool is_full(const plan_case *c, const uint32_t *rows, uint64_t count, bool over) {
  const brim_plan_options *o = &c->options;
  if (o->batch_size)
    return over ? (int64_t)count > o->batch_size : (int64_t)count >= o->batch_size;
  return over ? padded(c, rows, count) > o->max_tokens : padded(c, rows, count) >= o->max_tokens;
}

static int64_t waste(const plan_case *c, const uint32_t *rows, uint64_t count) {
  int64_t tokens = 0;
  for (uint64_t i = 0; i < count; i++)
    tokens += c->lengths[rows[i]];
  return padded(c, rows, count) - tokens;
}

/* Stable, longest first. */
static void sort_window(const plan_case *c, uint32_t *rows, uint64_t count) {
  for (uint64_t i = 1; i < count; i++)
    for (uint64_t j = i; j > 0 && c->lengths[rows[j - 1]] < c->lengths[rows[j]]; j--) {
      uint32_t row = rows[j];
      rows[j] = rows[j - 1];
      rows[j - 1] = row;
    }
}

/* Takes rows[0 .. count) off the window. */
static void take_off(uint32_t *window, uint64_t *size, uint64_t at, uint64_t count) {
  memmove(window + at, window + at + count, (*size - at - count) * sizeof *window);
  *size -= count;
}

/* The window's batches in a list of their own; what waits is left in the window, the tail before the uneven batch taken back. */
static void cut_window(const plan_case *c, uint32_t *window, uint64_t *size, bool last, bool *waited, batch_list *cut) {
  uint32_t starts[MOST_ROWS], sizes[MOST_ROWS], kept[MOST_ROWS];
  uint64_t batches = 0, at = 0, keep = 0;
  while (at < *size) {
    uint64_t count = 1;
    while (at + count < *size && !is_full(c, window + at, count + 1, true))
      count++;
    if (at + count == *size && !is_full(c, window + at, count, false) && !last)
      break;
    starts[batches] = (uint32_t)at, sizes[batches++] = (uint32_t)count;
    at += count;
  }
  uint64_t worst = batches;
  int64_t most = 0;
  for (uint64_t b = 0; b < batches && !last; b++) {
    int64_t uneven = waste(c, window + starts[b], sizes[b]);
    if (!waited[window[starts[b]]] && uneven > most)
      most = uneven, worst = b;
  }
  cut->count = cut->batches = 0;
  for (uint64_t b = 0; b < batches; b++) {
    for (uint32_t i = 0; i < sizes[b]; i++) {
      uint32_t row = window[starts[b] + i];
      if (b == worst)
        waited[row] = true, kept[keep++] = row;
      else
        cut->rows[cut->count++] = row;
    }
    if (b != worst)
      cut->ends[cut->batches++] = (uint32_t)cut->count;
  }
  take_off(window, size, 0, at);
  memmove(window + keep, window, *size * sizeof *window);
  memcpy(window, kept, keep * sizeof *window);
  *size += keep;
}

static void slow_bucketed(const plan_case *c, uint64_t epoch, batch_list *out) {
  uint32_t order[MOST_ROWS], window[MOST_ROWS], which[MOST_ROWS];
  bool waited[MOST_ROWS] = {0};
  brim_random rows = brim_random_make(c->options.seed, epoch, BRIM_PURPOSE_SHUFFLE),
              batches = brim_random_make(c->options.seed, epoch, BRIM_PURPOSE_BATCHES);
  if (brim_order_shuffle(runtime, &rows, 0, order, c->rows, NULL))
    exit(1);
  out->count = out->batches = 0;
  for (uint64_t read = 0, size = 0; read < c->rows;) {
    for (int64_t i = 0; i < c->options.read_ahead && read < c->rows; i++)
      window[size++] = order[read++];
    batch_list cut;
    sort_window(c, window, size);
    cut_window(c, window, &size, read == c->rows, waited, &cut);
    if (brim_order_shuffle(runtime, &batches, out->batches, which, cut.batches, NULL))
      exit(1);
    for (uint64_t b = 0; b < cut.batches; b++) {
      uint32_t from = which[b] ? cut.ends[which[b] - 1] : 0, end = cut.ends[which[b]];
      memcpy(out->rows + out->count, cut.rows + from, (end - from) * sizeof *out->rows);
      out->count += end - from;
      out->ends[out->batches++] = (uint32_t)out->count;
    }
  }
}

static bool same_batches(const brim_plan *plan, const batch_list *want) {
  uint64_t at = 0;
  if (brim_plan_parts(plan) != want->batches)
    return false;
  for (uint64_t b = 0; b < want->batches; b++) {
    brim_planned part;
    brim_plan_part(plan, 0, b, &part);
    if (at + part.count != want->ends[b])
      return false;
    for (uint32_t i = 0; i < part.count; i++)
      if (part.rows[i] != want->rows[at++])
        return false;
  }
  return true;
}

static void test_windows(void) {
  int wrong = 0, windows = 0;
  for (uint64_t number = 0; number < 2000; number++) {
    plan_case c;
    if (!tap_takes("windows", number))
      continue;
    make_case(&c, number);
    c.options = (brim_plan_options){.batching = BRIM_BUCKETED, .padding = BRIM_PAD_LONGEST, .seed = number, .read_ahead = 40};
    c.options.read_ahead += (int64_t)(number % 60);
    if (number % 2)
      c.options.batch_size = (int64_t)(1 + number % 13);
    else
      c.options.max_tokens = (int64_t)(5000 + number % 977);
    if (c.rows <= (uint64_t)c.options.read_ahead)
      continue; /* one window is the strategy `sorted` */
    windows++;
    batch_list want;
    slow_bucketed(&c, number % 3, &want);
    brim_plan *plan = plan_of(&c, &c.options, number % 3);
    if (!same_batches(plan, &want) && !wrong++)
      say(&c, "batches of windows");
    brim_plan_free(plan);
  }
  ok(wrong == 0 && windows > 500 / (2 * TAP_ONE_IN), "bucketed is the obvious loop over windows, batch for batch (%d cases)",
     windows);
}

int main(void) {
  brim_runtime_options one = {.threads = 1};
  if (brim_runtime_new(&one, &runtime, NULL))
    return 1;
  test_worlds();
  test_slices();
  test_short_steps();
  test_slice_balance();
  test_windows();
  brim_runtime_free(runtime);
  return tap_done();
}
