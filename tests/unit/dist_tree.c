/* The tree along which slices are added: sums of runs, in any number of runs, have the bits of the tree's definition. */
#include <stdlib.h>
#include <string.h>

#include "base/reduce_tree.h"
#include "dist/tree.h"
#include "tap.h"

enum { MOST_RUNS = 12, VALUES = 3 };

static uint64_t state = 1;

static uint32_t draw(void) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(state >> 33);
}

/* Of many sizes, so that the order of additions shows. */
static float value(int32_t slice, int i) {
  static const float sizes[] = {1e-4f, 1.0f, 1e4f, 3e7f};
  return sizes[(slice * 7 + i) % 4] * (float)(slice * 37 % 101 + i + 1) / 97.0f;
}

/* The definition: a node is the sum of its halves, and what has no rows is left out. */
static bool node(const bool *there, int32_t slices, int32_t first, int32_t size, int i, float *sum) {
  float left = 0, right = 0;
  if (first >= slices)
    return false;
  if (size == 1) {
    *sum = value(first, i);
    return there[first];
  }
  const bool has_left = node(there, slices, first, size / 2, i, &left);
  const bool has_right = node(there, slices, first + size / 2, size / 2, i, &right);
  *sum = has_left && has_right ? left + right : has_left ? left : right;
  return has_left || has_right;
}

/* The slices of a run in the order of its roots, and its end. Returns how many. */
static int32_t slices_of(const brim_slice_range *run, bool smaller_first, int32_t *slices) {
  brim_slice_range roots[BRIM_MOST_ROOTS];
  const int32_t root_count = brim_reduce_tree_roots(run, smaller_first, roots);
  int32_t count = 0;
  for (int32_t i = 0; i < root_count; i++)
    for (int32_t slice = roots[i].first; slice < roots[i].end; slice++)
      slices[count++] = slice;
  slices[count++] = run->end;
  return count;
}

static void sort(int32_t *names, float (*sums)[VALUES], int32_t count) {
  for (int32_t i = 0; i < count; i++)
    for (int32_t k = i; k > 0 && names[k - 1] > names[k]; k--) {
      float values[VALUES];
      const int32_t name = names[k];
      memcpy(values, sums[k], sizeof values);
      names[k] = names[k - 1], names[k - 1] = name;
      memcpy(sums[k], sums[k - 1], sizeof values);
      memcpy(sums[k - 1], values, sizeof values);
    }
}

/* What a rank does: sums wait until they may be added. Returns how many there were at once, without the last. */
static int32_t add_run(const brim_slice_range *run, bool smaller_first, const bool *there, int32_t *names, float (*sums)[VALUES],
                       int32_t *count) {
  int32_t order[BRIM_MOST_SLICES + 1], most = 0;
  const int32_t all = slices_of(run, smaller_first, order);
  *count = 0;
  for (int32_t at = 0; at < all; at++) {
    const int32_t slice = order[at];
    if (slice < run->end && !there[slice])
      continue;
    for (; *count >= 2 && brim_reduce_tree_adds(run, names[*count - 2], names[*count - 1], slice); --*count)
      for (int i = 0; i < VALUES; i++)
        sums[*count - 2][i] += sums[*count - 1][i];
    if (slice == run->end)
      break;
    most = *count > most ? *count : most;
    names[*count] = slice;
    for (int i = 0; i < VALUES; i++)
      sums[*count][i] = value(slice, i);
    ++*count;
  }
  sort(names, sums, *count);
  return most;
}

/* False: other bits, or more waited than was said. */
static bool same(int32_t slices, int32_t runs, bool smaller_first, const bool *there) {
  float sums[BRIM_MOST_SLICES][VALUES], *list[BRIM_MOST_SLICES];
  int32_t names[BRIM_MOST_SLICES], count = 0;
  bool fine = true;
  for (int32_t rank = 0; rank < runs; rank++) {
    const brim_slice_range run = brim_slice_range_of(slices, runs, rank);
    int32_t own;
    fine = add_run(&run, smaller_first, there, names + count, sums + count, &own) <=
               brim_reduce_tree_waiting(&run, smaller_first) &&
           fine;
    count += own;
  }
  for (int32_t i = 0; i < count; i++)
    list[i] = sums[i];
  brim_tree_add(list, names, count, VALUES);
  for (int i = 0; i < VALUES; i++) {
    float want = 0;
    if (node(there, slices, 0, 512, i, &want))
      fine = fine && memcmp(&want, &list[0][i], sizeof want) == 0;
  }
  return fine;
}

static void sums(void) {
  int tried = 0, good = 0;
  for (int32_t slices = 1; slices <= 33; slices++)
    for (int32_t runs = 1; runs <= MOST_RUNS; runs++)
      for (uint32_t empty = 0; empty < 4; empty++) {
        bool there[BRIM_MOST_SLICES];
        for (int32_t i = 0; i < slices; i++)
          there[i] = empty == 0 || draw() % 4 >= empty;
        for (int32_t smaller_first = 0; smaller_first < 2; smaller_first++)
          tried++, good += same(slices, runs, smaller_first, there);
      }
  bool all[BRIM_MOST_SLICES];
  memset(all, 1, sizeof all);
  for (int32_t runs = 1; runs <= 9; runs++)
    tried++, good += same(BRIM_MOST_SLICES, runs, runs % 2, all);
  ok_int(good, tried, "runs of slices, empty ones among them, have the bits of the tree, in the order of roots too");
}

/* All slices at once, added as brim_reduce_tree_joins says. */
static bool joined(int32_t slices, const bool *there) {
  int32_t names[BRIM_MOST_SLICES], count = 0, depth = 0, most = 0;
  uint8_t joins[BRIM_MOST_SLICES];
  float held[BRIM_SLICE_DEPTH], want = 0;
  for (int32_t i = 0; i < slices; i++)
    if (there[i])
      names[count++] = i;
  if (count == 0)
    return true;
  const int32_t said = brim_reduce_tree_joins(names, count, joins);
  for (int32_t i = 0; i < count; i++) {
    held[depth++] = value(names[i], 0);
    most = depth > most ? depth : most;
    for (int32_t k = 0; k < joins[i]; k++, depth--)
      held[depth - 2] += held[depth - 1];
  }
  (void)node(there, slices, 0, 512, 0, &want);
  return depth == 1 && said == most && said <= brim_reduce_tree_depth(slices) && memcmp(&want, held, sizeof want) == 0;
}

static void at_once(void) {
  int tried = 0, good = 0;
  bool there[BRIM_MOST_SLICES];
  for (int32_t slices = 1; slices <= BRIM_MOST_SLICES; slices++)
    for (uint32_t empty = 0; empty < 4; empty++) {
      for (int32_t i = 0; i < slices; i++)
        there[i] = empty == 0 || draw() % 4 >= empty;
      tried++, good += joined(slices, there);
    }
  ok_int(good, tried, "so has the sum of all, added after each slice as often as brim_reduce_tree_joins says");
}

/* Roots are the run, each once, no smaller one after a larger one; and no run has more than there is room for. */
static void roots(void) {
  int tried = 0, good = 0;
  for (int32_t slices = 1; slices <= BRIM_MOST_SLICES; slices += slices < 40 ? 1 : 36)
    for (int32_t first = 0; first < slices; first++)
      for (int32_t end = first; end <= slices; end++) {
        const brim_slice_range run = {slices, first, end};
        brim_slice_range list[BRIM_MOST_ROOTS], sorted[BRIM_MOST_ROOTS];
        const int32_t count = brim_reduce_tree_roots(&run, false, list);
        bool fine = brim_reduce_tree_roots(&run, true, sorted) == count && count <= BRIM_MOST_ROOTS;
        int32_t at = first, size = 0;
        for (int32_t i = 0; i < count; i++) {
          fine = fine && list[i].first == at && sorted[i].end - sorted[i].first >= size;
          at = list[i].end, size = sorted[i].end - sorted[i].first;
        }
        tried++, good += fine && at == end;
      }
  ok_int(good, tried, "roots of runs, in their order and the smaller ones first");
  const brim_slice_range half = brim_slice_range_of(24, 2, 0);
  brim_slice_range list[BRIM_MOST_ROOTS];
  ok(brim_reduce_tree_roots(&half, true, list) == 2 && list[0].first == 8 && list[0].end == 12 && list[1].first == 0 &&
         list[1].end == 8,
     "half of 24 slices: 4 of them first, then 8");
}

static void sizes(void) {
  const brim_slice_range one = brim_slice_range_of(24, 1, 0), half = brim_slice_range_of(24, 2, 1),
                         third = brim_slice_range_of(24, 3, 1);
  ok(one.first == 0 && one.end == 24 && half.first == 12 && half.end == 24 && third.first == 8 && third.end == 16,
     "runs of 24 slices");
  ok_int(brim_reduce_tree_depth(BRIM_MOST_SLICES), BRIM_SLICE_DEPTH, "as many sums at once as memory is kept for");
  ok_int(brim_reduce_tree_waiting(&one, false), 4, "24 slices on one rank: 4 sums wait");
  ok_int(brim_reduce_tree_waiting(&third, false), 3, "8 slices: 3 sums wait");
  const brim_slice_range none = brim_slice_range_of(2, 5, 0), single = brim_slice_range_of(1, 1, 0);
  bool fine = true;
  for (int32_t slice = 0; slice < 20; slice++) {
    const brim_slice_range run = brim_slice_range_of(20, 3, brim_slice_rank(20, 3, slice));
    fine = fine && run.first <= slice && slice < run.end;
  }
  ok(fine, "each of 20 slices is in the run of its rank, of 3");
  ok(none.first == none.end && brim_reduce_tree_waiting(&none, false) == 0 && brim_reduce_tree_waiting(&single, false) == 0,
     "a rank without a slice");
}

int main(void) {
  sums();
  at_once();
  roots();
  sizes();
  return tap_done();
}
