/* reduce_tree.c: see slices.h. */
#include "base/reduce_tree.h"

brim_slice_range brim_slice_range_of(int32_t slices, int32_t world, int32_t rank) {
  return (brim_slice_range){slices, (int32_t)((int64_t)slices * rank / world), (int32_t)((int64_t)slices * (rank + 1) / world)};
}

int32_t brim_slice_rank(int32_t slices, int32_t world, int32_t slice) {
  int32_t rank = (int32_t)((int64_t)slice * world / slices);
  while (brim_slice_range_of(slices, world, rank).end <= slice)
    rank++;
  return rank;
}

int32_t brim_reduce_tree_height(int32_t one, int32_t other) {
  int32_t h = 0;
  for (uint32_t differ = (uint32_t)(one ^ other); differ; differ >>= 1)
    h++;
  return h;
}

bool brim_reduce_tree_adds(const brim_slice_range *run, int32_t one, int32_t other, int32_t next) {
  const int32_t h = brim_reduce_tree_height(one, other);
  const int64_t first = (int64_t)(one >> h) << h, end = first + ((int64_t)1 << h);
  if (first < run->first || (end > run->end && run->end < run->slices))
    return false;
  return next >= run->end || h < brim_reduce_tree_height(other, next);
}

int32_t brim_reduce_tree_depth(int32_t slices) {
  int32_t depth = 1;
  for (; slices > 1; slices = (slices + 1) / 2)
    depth++;
  return depth;
}

static int32_t size_of(const brim_slice_range *root) {
  return root->end - root->first;
}

int32_t brim_reduce_tree_roots(const brim_slice_range *run, bool smaller_first, brim_slice_range roots[BRIM_MOST_ROOTS]) {
  int32_t count = 0;
  for (int32_t at = run->first; at < run->end;) {
    int32_t size = 1;
    for (int32_t next = 2; at % next == 0 && (at + next <= run->end || run->end == run->slices) && size < run->slices; next *= 2)
      size = next;
    const int32_t end = at + size < run->end ? at + size : run->end;
    const brim_slice_range root = {run->slices, at, end};
    int32_t index = count++;
    for (; smaller_first && index > 0 && size_of(&roots[index - 1]) > size_of(&root); index--)
      roots[index] = roots[index - 1];
    roots[index] = root;
    at = end;
  }
  return count;
}

/* Where no slice is empty, which is when most wait. */
int32_t brim_reduce_tree_waiting(const brim_slice_range *run, bool smaller_first) {
  brim_slice_range roots[BRIM_MOST_ROOTS];
  int32_t names[64], count = 0, most = 0;
  const int32_t root_count = brim_reduce_tree_roots(run, smaller_first, roots);
  for (int32_t i = 0; i < root_count; i++)
    for (int32_t slice = roots[i].first; slice < roots[i].end; slice++) {
      for (; count >= 2 && brim_reduce_tree_adds(run, names[count - 2], names[count - 1], slice); count--)
        names[count - 2] = names[count - 1];
      most = count > most ? count : most;
      names[count++] = slice;
    }
  return most;
}

int32_t brim_reduce_tree_joins(const int32_t *names, int32_t count, uint8_t *joins) {
  int32_t held[BRIM_SLICE_DEPTH], depth = 0, most = 0;
  for (int32_t i = 0; i < count; i++) {
    held[depth++] = names[i];
    most = depth > most ? depth : most;
    for (joins[i] = 0; depth >= 2; joins[i]++, depth--)
      if (i + 1 < count &&
          brim_reduce_tree_height(held[depth - 2], held[depth - 1]) >= brim_reduce_tree_height(held[depth - 1], names[i + 1]))
        break;
  }
  return most;
}
