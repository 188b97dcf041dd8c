/* tree.c: see tree.h. */
#include "dist/tree.h"

#include "base/memory.h"
#include "base/reduce_tree.h"
#include "base/status.h"
#include "dist/group.h"

enum { PIECE = 1 << 14 };

int32_t brim_tree_sums_of(const brim_tree_sum *sum, int32_t rank) {
  int32_t count = 0;
  for (int32_t slice = 0; slice < sum->slices; slice++)
    count += sum->owners[slice] == rank;
  return count;
}

int32_t brim_tree_names(const brim_tree_sum *sum, int32_t *names) {
  int32_t count = 0;
  for (int32_t slice = 0; slice < sum->slices; slice++)
    if (sum->owners[slice] >= 0)
      names[count++] = slice;
  return count;
}

/* All sums of a stretch whose names agree above `bit`. */
static void add_node(float *const *sums, const int32_t *names, int32_t sum_count, size_t count) {
  if (sum_count < 2)
    return;
  const int32_t h = brim_reduce_tree_height(names[0], names[sum_count - 1]);
  int32_t left = 1;
  while (names[left] >> (h - 1) == names[0] >> (h - 1))
    left++;
  add_node(sums, names, left, count);
  add_node(sums + left, names + left, sum_count - left, count);
  float *restrict to = sums[0];
  const float *restrict from = sums[left];
  for (size_t i = 0; i < count; i++)
    to[i] += from[i];
}

void brim_tree_add(float *const *sums, const int32_t *names, int32_t sum_count, size_t count) {
  add_node(sums, names, sum_count, count);
}

/* ---- over any group --------------------------------------------------------------------------------------- */

typedef struct separate_sums {
  int32_t names[BRIM_MOST_SLICES];
  int32_t count;
  double *values; /* [count][PIECE] */
  float *pieces;  /* likewise */
} separate_sums;

static int sum_piece(const brim_group *group, const brim_tree_sum *s, separate_sums *p, int64_t from, size_t count,
                     brim_error *err) {
  float *lists[BRIM_MOST_SLICES];
  for (int32_t i = 0; i < p->count; i++) {
    const bool is_own = s->owners[p->names[i]] == group->rank;
    for (size_t k = 0; k < count; k++)
      p->values[(size_t)i * count + k] = is_own ? (double)s->sums[s->numbers[p->names[i]]][from + (int64_t)k] : 0.0;
    lists[i] = p->pieces + (size_t)i * count;
  }
  BRIM_TRY(group->sum_double(group->context, p->values, (int64_t)count * p->count, err));
  for (size_t k = 0; k < count * (size_t)p->count; k++)
    p->pieces[k] = (float)p->values[k];
  brim_tree_add(lists, p->names, p->count, count);
  for (size_t k = 0; k < count; k++)
    s->out[from + (int64_t)k] = lists[0][k];
  return BRIM_OK;
}

static int sum_separately(const brim_group *group, const brim_tree_sum *s, separate_sums *p, brim_error *err) {
  for (int64_t from = 0; from < s->count; from += PIECE) {
    const int64_t rest = s->count - from;
    BRIM_TRY(sum_piece(group, s, p, from, (size_t)(rest < PIECE ? rest : PIECE), err));
  }
  return BRIM_OK;
}

int brim_group_sum_tree(const brim_group *group, brim_runtime *runtime, const brim_tree_sum *s, brim_error *err) {
  if (group->sum_tree)
    return group->sum_tree(group->context, s, err);
  if (s->call == BRIM_TREE_EARLY)
    return BRIM_OK;
  separate_sums *p = brim_alloc_zero(runtime, sizeof *p);
  if (p && (p->count = brim_tree_names(s, p->names)) > 0) {
    p->values = brim_alloc_array(runtime, (size_t)p->count * PIECE, sizeof *p->values);
    p->pieces = brim_alloc_array(runtime, (size_t)p->count * PIECE, sizeof *p->pieces);
  }
  int status = p && (p->count == 0 || (p->values && p->pieces)) ? BRIM_OK : BRIM_NOMEM(err);
  status = brim_group_agree(group, status, err);
  if (!status && p->count > 0)
    status = sum_separately(group, s, p, err);
  if (p) {
    brim_release(runtime, p->values);
    brim_release(runtime, p->pieces);
  }
  brim_release(runtime, p);
  return status;
}
